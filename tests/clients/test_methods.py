"""The generated methods of the Python client: each sends its request, and type checkers know its params and result."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from snapd_client import types
from snapd_client.methods import Methods

from snapd.wire import converter
from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS
from snapd.wire.values import Hexadecimal, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HASH = "0123456789abcdef0123456789abcdef01234567"


class Recorder(Methods):
    """Keeps the requests, and answers with what it was given."""

    folders = ["file:///w"]  # noqa: RUF012 - a property in the original

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, dict[str, Any], float | None]] = []

    def _send(self, method: str, params: Any, *, timeout: float | None, on_progress: Any) -> Any:
        self.sent.append((method, params, timeout))
        return self.answers.pop(0) if self.answers else {}

    def _pages(self, method: str, params: Callable[[str | None, int], Any], *_: Any) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._send(method, params(cursor, 100), timeout=None, on_progress=None)
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return


def method_of(name: str) -> str:
    """The method of the client for a request."""
    family, _, verb = name.partition("/")
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in verb)
    return snake if family == "snapshot" else f"{family}_{snake}"


@pytest.mark.parametrize("name", METHODS)
def test_each_request_can_be_sent_with_every_param(name: str) -> None:
    kind = METHODS[name].params
    recorder = Recorder()
    fields = [field for field in fields_of(kind) if field.name not in ("workspace_uri", "work_done_token")]
    values = {field.name: sample(field.type) for field in fields}
    getattr(recorder, method_of(name))(**values, workspace_uri="/w", timeout=3.0)
    [(method, params, timeout)] = recorder.sent
    assert (method, timeout) == (name, 3.0)
    assert set(params) == {wire_name(field) for field in (*values, "workspace_uri")}
    converter.structure(params, kind, forbid_extra=True)


def sample(kind: Any) -> Any:
    """A JSON value of a type of the wire."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return HASH if any(isinstance(mark, Hexadecimal) for mark in arguments[1:]) else sample(arguments[0])
    if origin is Literal:
        return arguments[0]
    if origin is list:
        return [sample(arguments[0])]
    if origin is dict:
        return {"a": sample(arguments[1])}
    if origin is not None:
        return next(sample(each) for each in arguments if each is not type(None))
    plain: dict[Any, Any] = {str: "a", bool: True, int: 1, float: 1.0}
    return plain[kind] if kind in plain else {wire_name(each.name): sample(each.type) for each in fields_of(kind)}


def test_absent_params_are_left_out() -> None:
    recorder = Recorder()
    recorder.session_undo("s")
    assert recorder.sent == [("session/undo", {"sessionId": "s"}, None)]


def test_names_that_json_cannot_hold_are_sent_as_uris() -> None:
    recorder = Recorder()
    recorder.export(HASH, b"/o\xff", ["a", b"\xff"])
    recorder.revert([{"hash": HASH, "files": ["/w/a"]}])
    assert [params for _, params, _ in recorder.sent] == [
        {"hash": HASH, "directory": "file:///o%FF", "files": ["a", "file:///w/%FF"]},
        {"patches": [{"hash": HASH, "files": ["/w/a"]}]},
    ]


def test_all_pages_of_a_diff_and_of_the_history() -> None:
    recorder = Recorder({"diffs": ["a", "b"], "nextCursor": "c"}, {"diffs": ["d"]})
    assert list(recorder.session_diff_all("s", message_id="m")) == ["a", "b", "d"]
    first, second = (params for _, params, _ in recorder.sent)
    assert first == {"sessionId": "s", "messageId": "m", "limit": 64}
    assert second == {"sessionId": "s", "messageId": "m", "cursor": "c", "limit": 128}
    recorder = Recorder({"entries": [1], "nextCursor": "c"}, {"entries": [2]})
    assert list(recorder.session_history_all(limit=1)) == [1, 2]
    assert [params for _, params, _ in recorder.sent] == [{"limit": 1}, {"limit": 1, "cursor": "c"}]


def test_shapes_can_be_read_at_run_time() -> None:
    for method in METHODS.values():
        for kind in (method.params, method.result):
            fields = {wire_name(field.name) for field in fields_of(kind)}
            assert set(get_type_hints(getattr(types, kind.__name__))) == fields
    assert all(inspect.getdoc(getattr(Methods, method_of(name))) for name in METHODS)


TYPED = """\
from snapd_client import Client

def work(client: Client) -> None:
    client.request("session/undo", {"sessionId": "s", "stepId": None})["steps"][0]["stepId"].upper()
    client.request("snapshot/status", timeout=3)["files"].bit_length()
    client.session_undo("s", step_id="p")["plan"].upper()
    client.request("session/undone", {})  # wrong
    client.request("session/undo", {"sesionId": "s"})  # wrong
    client.request("session/undo", {"count": "1"})  # wrong
    client.request("step/end")  # wrong
    client.request("step/end", {"stepId": "p"})["files"][0]["name"]  # wrong
    client.request("snapshot/status", {}, timout=3)  # wrong
    client.session_undo(step="p")  # wrong
"""


def test_type_checkers_reject_what_the_protocol_does_not_have(tmp_path: Path) -> None:
    file = tmp_path / "typed.py"
    file.write_text(TYPED, "utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(file),
    ]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = {int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line}
    wrong = {number for number, line in enumerate(TYPED.splitlines(), 1) if line.endswith("# wrong")}
    assert lines == wrong, checked.stdout
