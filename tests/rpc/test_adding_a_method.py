"""Makes a toy method in a copy of snapd, by the steps of "Adding a method" in CONTRIBUTING.md and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client, SnapdError

from snapd.cli.reference.__main__ import ROOT, SOURCES

from .machine import PATIENCE, Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

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

METHODS: """

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
    lines = text.count_lines(context.workspace.snapshots.file_at(convert.tree(params.hash), path).data)
    return wire.CountLinesResult(lines=lines, empty=None if lines else True)
'''

EDITS = [
    ("snapd/wire/snapshot.py", None, PARAMS_AND_RESULT),
    ("snapd/wire/methods.py", "\nMETHODS: ", ROW),
    ("snapd/core/compare/text.py", None, CORE_FUNCTION),
    ("snapd/handlers/look.py", None, HANDLER),
    (
        "snapd/handlers/look.py",
        "from . import convert\n",
        "from snapd.core.compare import text\nfrom . import convert\n",
    ),
]
"""Files, and what in them is replaced by what; text without anything to replace goes to the end."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of snapd and its clients that has the toy method, except for what is generated."""
    for part in ("snapd", "clients/python/snapd_client"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "docs/design").mkdir(parents=True)
    for source in SOURCES:
        shutil.copy(ROOT / source, tmp_path / source)
    for name, old, new in EDITS:
        path = tmp_path / name
        code = path.read_text("utf-8")
        assert old is None or code.count(old) == 1, (name, old)
        path.write_text(code + new if old is None else code.replace(old, new), "utf-8")
    return tmp_path


def environment(machine: Machine, checkout: Path) -> dict[str, str]:
    return machine.environment(PYTHONPATH=os.pathsep.join(map(str, (checkout, checkout / "clients/python"))))


@pytest.fixture
def generate(machine: Machine, checkout: Path) -> Any:
    """What `make generate` runs, in the copy."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "snapd.cli.reference", "--quick", *arguments],
            cwd=checkout,
            env=environment(machine, checkout),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    return run


@pytest.fixture
def client(machine: Machine, checkout: Path, folder: Path) -> Iterator[Client]:
    command = [sys.executable, "-m", "snapd", "serve", "--stdio"]
    with Client.spawn(command, cwd=str(checkout), env=environment(machine, checkout), timeout=PATIENCE) as client:
        client.initialize([str(folder)])
        yield client


def test_a_method_is_generated_from_its_row(checkout: Path, generate: Any) -> None:
    assert generate("--check").returncode == 1
    assert generate().returncode == 0, "the row is not one that can be generated from"
    assert generate("--check").returncode == 0

    reference = (checkout / "docs/protocol.md").read_text("utf-8")
    section = reference.partition("### `snapshot/countLines`")[2].partition("\n### ")[0]
    assert "Counts the lines of a file in a snapshot." in section
    assert "| `empty?` | `true` | Present if it has none. |" in section
    assert "`fileNotInSnapshot`" in section

    typescript = (checkout / "clients/typescript/src/protocol.ts").read_text("utf-8")
    assert '  "snapshot/countLines": { params: CountLinesParams; result: CountLinesResult };' in typescript
    assert "export interface CountLinesParams extends RequestParams {" in typescript

    python = (checkout / "clients/python/snapd_client/protocol.py").read_text("utf-8")
    shapes: dict[str, Any] = {}
    exec(compile(python, "protocol.py", "exec"), shapes)
    assert shapes["CountLinesResult"].__required_keys__ == {"lines"}
    assert shapes["CountLinesResult"].__optional_keys__ == {"empty"}
    methods = (checkout / "clients/python/snapd_client/methods.py").read_text("utf-8")
    assert '    "snapshot/countLines": True,\n' in methods


def test_a_method_is_served_without_another_word(client: Client) -> None:
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
