"""An error is a class, a row of the wire's table, and what a method's row says that it may fail with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client, SnapdError

from tests.cli.running import WAIT

if TYPE_CHECKING:
    from .checkout import Checkout

CLASS = '''

class TooLong(SnapdError):
    """A file has more lines than are shown; `data["lines"]` says how many."""

    kind = "tooLong"
    default_hint = "'snapd export' writes the whole file"
'''
ROW = """        ErrorKind(
            1999, "tooLong", "file too long", "A file is too long. `data.lines` says how many it has.", status=413
        ),
"""


def test_an_error_is_three_places(checkout: Checkout) -> None:
    checkout.append("snapd/model/errors.py", CLASS)
    checkout.insert("snapd/wire/errors.py", '    )\n}\n"""Every kind of error, by its name."""', ROW)
    methods = checkout.read("snapd/wire/methods.py")
    row = '"snapshot/fileAt",\n    snapshot.FileAtParams,\n    snapshot.FileAtResult,\n    "reads",\n    ('
    assert methods.count(row) == 1
    checkout.write("snapd/wire/methods.py", methods.replace(row, f'{row}"tooLong", '))
    assert len(checkout.touched) == 3
    # what raises it
    look = checkout.read("snapd/handlers/look.py")
    raised = 'from snapd.model.errors import TooLong\n\n    raise TooLong("a.txt has 9 lines", lines=9)\n'
    start = look.index("@handles(methods.FILE_AT)")
    end = look.index('"""\n', start) + len('"""\n')
    checkout.write("snapd/handlers/look.py", f"{look[:end]}    {raised}{look[end:]}")
    checkout.generate()

    protocol = checkout.read("docs/protocol.md")
    assert "| 1999 | `tooLong` | A file is too long. `data.lines` says how many it has. |" in protocol
    assert "`tooLong`" in protocol.partition("### `snapshot/fileAt`")[2].partition("\n### ")[0]
    typescript = checkout.read("clients/typescript/src/protocol.ts")
    assert '  | "tooLong"' in typescript
    assert "  tooLong: 1999,\n" in typescript
    assert 'tooLong: "file too long"' in checkout.read("clients/typescript/src/words.ts")
    assert 'tooLong = "file too long"' in checkout.read("clients/neovim/lua/snapd/words.lua")
    status = (
        "from snapd.model.errors import TooLong; from snapd.web.errors import status_of; print(status_of(TooLong('')))"
    )
    assert checkout.run("-c", status) == "413\n"

    (checkout.work / "a.txt").write_text("a\n")
    command = [sys.executable, "-m", "snapd", "serve", "--stdio"]
    with Client.spawn(command, cwd=str(checkout.path), env=checkout.environment, timeout=WAIT) as client:
        client.initialize([str(checkout.work)])
        params = {"hash": client.track()["hash"], "file": "a.txt"}
        with pytest.raises(SnapdError) as caught:
            client.request("snapshot/fileAt", params)
    assert (caught.value.kind, caught.value.data["lines"]) == ("tooLong", 9)
    assert "'snapd export' writes the whole file" in str(caught.value.data["hint"])
