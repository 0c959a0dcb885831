"""A method is two classes, a row, a core function, a handler, and what is generated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client, SnapdError

from tests.cli.running import WAIT

if TYPE_CHECKING:
    from .checkout import Checkout

PARAMS_AND_RESULT = '''

@attrs.frozen(kw_only=True)
class CountLinesParams(RequestParams):
    """Counts the lines of a file in a snapshot."""

    hash: Annotated[TreeHash, "The snapshot."]
    file: Annotated[str, "The file to count in."]


@attrs.frozen(kw_only=True)
class CountLinesResult:
    """The result of `snapshot/countLines`."""

    lines: Annotated[int, "How many lines the file has."]
    empty: Annotated[Literal[True] | None, "Present if it has none."] = None
'''

ROW = """
COUNT_LINES = Method(
    "snapshot/countLines",
    snapshot.CountLinesParams,
    snapshot.CountLinesResult,
    "reads",
    ("unknownSnapshot", "pathOutsideWorkspace", "fileNotInSnapshot"),
)
"""

CORE_FUNCTION = '''

def count_lines(data: bytes) -> int:
    """The number of lines in a text."""
    return len(data.splitlines())
'''

HANDLER = '''

@handles(methods.COUNT_LINES)
def count_lines(context: Context, params: wire.CountLinesParams) -> wire.CountLinesResult:
    """Counts the lines of a file."""
    path = convert.path(context, params.file, "file")
    lines = text.count_lines(context.workspace.snapshots.file_at(convert.tree(context, params.hash), path).data)
    return wire.CountLinesResult(lines=lines, empty=None if lines else True)
'''

IMPORT = "from snapd.core.compare import text\n"


def test_a_method_is_five_places(checkout: Checkout) -> None:
    checkout.append("snapd/wire/snapshot.py", PARAMS_AND_RESULT)
    checkout.insert("snapd/wire/methods.py", "\nMETHODS: ", ROW)
    checkout.append("snapd/core/compare/text.py", CORE_FUNCTION)
    checkout.append("snapd/handlers/look.py", HANDLER)
    checkout.insert("snapd/handlers/look.py", "from . import convert\n", IMPORT)
    assert len(checkout.touched) == 4
    checkout.generate()

    reference = checkout.read("docs/protocol.md")
    section = reference.partition("### `snapshot/countLines`")[2].partition("\n### ")[0]
    assert "Counts the lines of a file in a snapshot." in section
    assert "| `empty?` | `true` | Present if it has none. |" in section
    assert "`fileNotInSnapshot`" in section

    typescript = checkout.read("clients/typescript/src/protocol.ts")
    assert '  "snapshot/countLines": { params: CountLinesParams; result: CountLinesResult };' in typescript
    assert "export interface CountLinesParams extends RequestParams {" in typescript

    python = checkout.read("clients/python/snapd_client/protocol.py")
    shapes: dict[str, Any] = {}
    exec(compile(python, "protocol.py", "exec"), shapes)
    assert shapes["CountLinesResult"].__required_keys__ == {"lines"}
    assert shapes["CountLinesResult"].__optional_keys__ == {"empty"}
    methods = checkout.read("clients/python/snapd_client/methods.py")
    assert '    "snapshot/countLines": True,\n' in methods

    (checkout.work / "a.txt").write_text("one\n")
    command = [sys.executable, "-m", "snapd", "serve", "--stdio"]
    with Client.spawn(command, cwd=str(checkout.path), env=checkout.environment, timeout=WAIT) as client:
        client.initialize([str(checkout.work)])
        _is_served(client)


def _is_served(client: Client) -> None:
    before = client.track()["hash"]
    params = {"hash": before, "file": "a.txt"}

    assert client.initialize_result is not None
    announced = client.initialize_result["capabilities"]["experimental"]["snapshot"]["methods"]
    assert "snapshot/countLines" in announced
    assert client.request("snapshot/countLines", params) == {"lines": 1}

    with pytest.raises(SnapdError) as refused:
        client.request("snapshot/countLines", {"hash": before, "file": 3})
    assert (refused.value.kind, refused.value.data["field"]) == ("invalidParams", "file")
    with pytest.raises(SnapdError) as missing:
        client.request("snapshot/countLines", {"hash": before, "file": "none.txt"})
    assert missing.value.kind == "fileNotInSnapshot"
