"""What editors send is taken as lsprotocol's own converter takes it, and types that nobody needs cost nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from snapd._version import __version__
from snapd.rpc.language_server import CONVERTER, OpeningParams
from snapd.rpc.params import structure
from snapd.rpc.transport.framing import RpcError
from tests.support.amounts import amount

from .machine import initialize, notification, request

if TYPE_CHECKING:
    from pathlib import Path

    from cattrs import Converter

    from .machine import Machine

    Values = st.SearchStrategy[Any]

ODD: Values = st.sampled_from([None, 0, 1, -1, True, 1.5, "", "a", "file:///x", [], {}, ["a"], {"a": 1}, 1 << 40])


def mostly(values: Values) -> Values:
    """Values as the protocol has them, and now and then something else."""
    return st.integers(0, 9).flatmap(lambda number: ODD if number == 0 else values)


def objects(needed: dict[str, Values], optional: dict[str, Values] | None = None) -> Values:
    """Objects that sometimes lack what they need, and sometimes have more."""
    whole = st.fixed_dictionaries(needed, optional=optional or {})
    broken = st.fixed_dictionaries({}, optional={**needed, **(optional or {}), "more": ODD})
    return mostly(st.integers(0, 4).flatmap(lambda number: broken if number == 0 else whole))


TEXT, NUMBER = mostly(st.sampled_from(["file:///x", "a", "python"])), mostly(st.integers(0, 5))
POSITION = objects({"line": NUMBER, "character": NUMBER})
CHANGE = objects({"text": TEXT}, {"range": objects({"start": POSITION, "end": POSITION}), "rangeLength": NUMBER})
DOCUMENT = objects({"uri": TEXT})
FOLDERS = mostly(st.lists(objects({"uri": TEXT, "name": TEXT}), max_size=3))
MESSAGES: dict[Any, Values] = {
    lsp.CancelParams: objects({"id": ODD}),
    lsp.DidChangeConfigurationParams: objects({"settings": ODD}),
    lsp.DidChangeTextDocumentParams: objects(
        {
            "textDocument": objects({"uri": TEXT, "version": NUMBER}),
            "contentChanges": mostly(st.lists(CHANGE, max_size=3)),
        }
    ),
    lsp.DidChangeWorkspaceFoldersParams: objects({"event": objects({"added": FOLDERS, "removed": FOLDERS})}),
    lsp.DidCloseTextDocumentParams: objects({"textDocument": DOCUMENT}),
    lsp.DidOpenTextDocumentParams: objects(
        {"textDocument": objects({"uri": TEXT, "languageId": TEXT, "version": NUMBER, "text": TEXT})}
    ),
    lsp.DidSaveTextDocumentParams: objects({"textDocument": DOCUMENT}, {"text": TEXT}),
}


@cache
def oracle() -> Converter:
    return get_converter()


def outcome(converter: Converter, value: Any, cls: Any) -> str:
    """The object that a converter makes of a JSON value, or the type of the error."""
    try:
        return repr(converter.structure(value, cls))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__name__)
@settings(max_examples=amount(100, 5000), deadline=None)
@given(data=st.data())
def test_messages_are_taken_as_lsprotocol_takes_them(cls: Any, data: st.DataObject) -> None:
    value = data.draw(MESSAGES[cls])
    assert outcome(CONVERTER, value, cls) == outcome(oracle(), value, cls)


@settings(max_examples=amount(100, 5000), deadline=None)
@given(
    value=objects(
        {"capabilities": st.just({})}, {"rootUri": TEXT, "workspaceFolders": FOLDERS, "initializationOptions": ODD}
    ),
    process=st.sampled_from([None, 7]),
)
def test_initialize_is_taken_as_lsprotocol_takes_it(value: Any, process: int | None) -> None:
    if isinstance(value, dict):
        value = {**value, "capabilities": {}, "processId": process}
    try:
        made = structure(lsp.INITIALIZE, value)
    except RpcError:
        made = None
    try:
        expected = oracle().structure(value, lsp.InitializeParams)
    except Exception:
        expected = None
    names = [field.name for field in attrs.fields(OpeningParams) if field.name != "capabilities"]
    assert (made is None) == (expected is None)
    assert [getattr(made, name, None) for name in names] == [getattr(expected, name, None) for name in names]


def test_the_answer_to_initialize_is_that_of_the_protocol(daemon: Machine) -> None:
    result = daemon.raw().result("initialize", {})
    own = result["capabilities"]["experimental"]
    expected = lsp.InitializeResult(
        capabilities=lsp.ServerCapabilities(
            text_document_sync=lsp.TextDocumentSyncOptions(
                open_close=True, change=lsp.TextDocumentSyncKind.Full, save=True
            ),
            workspace=lsp.WorkspaceOptions(
                workspace_folders=lsp.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
            ),
            experimental=own,
        ),
        server_info=lsp.ServerInfo(name="snapd", version=__version__),
    )
    assert result == oracle().unstructure(expected, lsp.InitializeResult)


SERVE = """
import atexit, json, sys
from snapd.cli.main import main

def report():
    from lsprotocol import types
    classes = [each for each in types.ALL_TYPES_MAP.values() if "__attrs_attrs__" in getattr(each, "__dict__", ())]
    made = sorted(each.__name__ for each in classes if isinstance(vars(each)["__attrs_attrs__"], tuple))
    print(json.dumps({"classes": len(classes), "made": made, "modules": list(sys.modules)}), file=sys.stderr)

atexit.register(report)
sys.exit(main(["serve", "--stdio"]))
"""


def served(machine: Machine, frames: bytes) -> dict[str, Any]:
    """What a daemon has loaded that answered these frames."""
    done = subprocess.run(
        [sys.executable, "-c", SERVE], input=frames, env=machine.environment(), capture_output=True, check=True
    )
    assert done.stdout.count(b'"result"') == frames.count(b'"id"')
    report: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return report


def test_a_daemon_makes_the_classes_of_the_protocol_that_it_needs(machine: Machine, folder: Path) -> None:
    ending = request(2, "shutdown") + notification("exit")
    report = served(machine, initialize(folder) + ending)
    assert report["classes"] > 500
    assert report["made"] == ["WorkspaceFolder"]
    closing = notification("textDocument/didClose", {"textDocument": {"uri": (folder / "a").as_uri()}})
    report = served(machine, initialize(folder) + closing + ending)
    assert report["made"] == ["DidCloseTextDocumentParams", "TextDocumentIdentifier", "WorkspaceFolder"]


def test_what_only_some_commands_need_is_not_loaded(machine: Machine, folder: Path) -> None:
    report = served(machine, initialize(folder) + request(2, "shutdown") + notification("exit"))
    tops = {name.partition(".")[0] for name in report["modules"]}
    assert {"snapd", "pygls", "pygit2"} <= tops
    unneeded = {"email", "http", "multiprocessing", "platformdirs", "rich", "shtab", "starlette", "textual", "uvicorn"}
    assert tops & (unneeded | {"watchdog", "xml"}) == set()
