"""The protocol, in this process and without a daemon: handshakes, errors, bad input, ends."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from snapd._version import __version__
from snapd.mcp.call import Link
from snapd.mcp.messages import Output, read_lines
from snapd.mcp.server import MAX_CALLS, Server
from snapd.model.errors import Cancelled, IoError
from tests.rpc.machine import wait_until

from .peer import MIDDLE, NEW, OLD, VERSIONS, Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.backend import RemoteBackend

LIMIT = 10_000
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Backend:
    """Answers as the test wants; `Link` needs no more of one."""

    is_open = True

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.waiting = threading.Semaphore(0)

    def request(self, method: str, params: Any, report: Any, cancellation: Any) -> Any:
        self.waiting.release()
        wait_until(lambda: self.gate.is_set() or cancellation.cancelled, "an end of the request")
        if cancellation.cancelled:
            raise Cancelled("cancelled")
        if report is not None:
            report("looking at the files", None)
            report("looking at the files", 40)
        return {"entries": []}

    def close(self) -> None:
        pass


class Running:
    """A server on pipes, in a thread."""

    def __init__(self) -> None:
        self.backend = Backend()
        self.connect_error: Exception | None = None
        read_fd, self.server_out = os.pipe()
        self.server_in, write_fd = os.pipe()
        self.peer = Peer(read_fd, write_fd)
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        server = Server(Output(self.server_out), Link(self._connect), "s")
        server.serve(read_lines(self.server_in, LIMIT))
        os.close(self.server_out)
        os.close(self.server_in)

    def _connect(self) -> RemoteBackend:
        if self.connect_error is not None:
            raise self.connect_error
        return self.backend  # type: ignore[return-value]

    def finish(self) -> None:
        self.backend.gate.set()
        self.peer.close()
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.finish()


@pytest.fixture
def peer(running: Running) -> Peer:
    return running.peer


# -- agreeing on a version


@pytest.mark.parametrize("version", [OLD, MIDDLE])
def test_the_handshake_gives_the_version_that_is_asked_for(peer: Peer, version: str) -> None:
    peer.version = version
    result = peer.connect()
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"] == {"name": "snapd", "title": "snapd", "version": __version__}
    assert "history" in result["instructions"]


@pytest.mark.parametrize("version", ["2024-11-05", "2031-01-01", NEW, ""])
def test_an_unknown_version_gets_the_newest_with_a_handshake(peer: Peer, version: str) -> None:
    result = peer.result("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {}})
    assert result["protocolVersion"] == MIDDLE


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "protocolVersion"),
        ({"protocolVersion": 1}, "protocolVersion"),
        ({"protocolVersion": MIDDLE, "capabilities": 1}, "capabilities"),
    ],
)
def test_a_wrong_handshake_is_refused(peer: Peer, params: dict[str, Any], said: str) -> None:
    error = peer.error("initialize", params)
    assert error["code"] == INVALID_PARAMS
    assert said in error["message"]


def test_discover_tells_what_the_server_is(peer: Peer) -> None:
    peer.version = NEW
    result = peer.connect()
    assert result["supportedVersions"] == list(VERSIONS)
    assert result["capabilities"] == {"tools": {}}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "snapd"
    assert (result["ttlMs"], result["cacheScope"]) == (0, "public")


def test_a_version_that_no_request_can_state_is_refused_with_those_that_it_can(peer: Peer) -> None:
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": "2030-01-01", f"{prefix}/clientCapabilities": {}}
    error = peer.error("tools/list", {"_meta": meta})
    assert error["code"] == -32022
    assert error["data"] == {"supported": list(VERSIONS), "requested": "2030-01-01"}


@pytest.mark.parametrize(
    "meta", [{"io.modelcontextprotocol/protocolVersion": NEW}, 1, []], ids=["no capabilities", "number", "array"]
)
def test_what_a_request_states_has_to_be_whole(peer: Peer, meta: Any) -> None:
    assert peer.error("tools/list", {"_meta": meta})["code"] == INVALID_PARAMS


def test_nothing_is_listed_or_called_before_versions_are_agreed_on(peer: Peer) -> None:
    for method in ("tools/list", "tools/call"):
        error = peer.error(method, {"name": "history"})
        assert error["code"] == INVALID_REQUEST
        assert "initialize" in error["message"]
    assert peer.result("ping") == {}
    assert peer.error("server/discover")["code"] == METHOD_NOT_FOUND


def test_one_connection_may_have_requests_of_both_kinds(peer: Peer) -> None:
    peer.connect()
    peer.version = NEW
    assert peer.result("tools/list")["resultType"] == "complete"
    peer.version = MIDDLE
    assert "resultType" not in peer.result("tools/list")


# -- methods


@pytest.mark.parametrize("version", VERSIONS)
def test_tools_are_listed_with_all_that_clients_ask_for(peer: Peer, version: str) -> None:
    peer.version = version
    peer.connect()
    tools = {tool["name"]: tool for tool in peer.result("tools/list")["tools"]}
    looking = ["history", "show", "diff", "blame"]
    changing = ["checkpoint", "undo", "redo", "restore_file"]
    assert list(tools) == [*looking, *changing, "comments", "reply"]
    for name, tool in tools.items():
        assert tool["title"]
        assert len(tool["description"]) > 50
        assert set(tool["annotations"]) == {
            *("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
        }
        assert tool["annotations"]["openWorldHint"] is False
        assert tool["annotations"]["readOnlyHint"] is (name in (*looking, "comments"))
        assert tool["annotations"]["destructiveHint"] is (name in ("undo", "redo", "restore_file"))
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
            assert "$ref" not in json.dumps(schema)
        assert all(each["description"] for each in tool["inputSchema"]["properties"].values())
    assert tools["show"]["inputSchema"]["required"] == ["step"]


def test_there_is_one_page_of_tools(peer: Peer) -> None:
    peer.connect()
    assert "nextCursor" not in peer.result("tools/list")
    assert peer.error("tools/list", {"cursor": "x"})["code"] == INVALID_PARAMS


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "logging/setLevel", "subscriptions/listen", ""])
def test_other_methods_are_not_found(peer: Peer, method: str) -> None:
    peer.connect()
    assert peer.error(method)["code"] == METHOD_NOT_FOUND


def test_an_unknown_tool_is_an_error_of_the_protocol(peer: Peer) -> None:
    peer.connect()
    for params in ({"name": "bisect"}, {"name": 1}, {}):
        assert peer.error("tools/call", params)["code"] == INVALID_PARAMS


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("show", {}, "step: is missing"),
        ("show", {"step": 1}, "step: expected a string"),
        ("show", {"step": "last", "stpe": 1}, "stpe: is unknown"),
        ("show", {"step": "nothing hexadecimal"}, "step: expected a step id"),
        ("history", {"limit": 0}, "limit: expected an integer of at least 1"),
        ("history", {"limit": True}, "limit: expected an integer"),
        ("history", {"files": "a.txt"}, "files: expected an array"),
        ("history", [1], "params: expected an object"),
        ("diff", {"step": "ab", "snapshot": "last"}, "snapshot: cannot be used with step"),
        ("blame", {}, "path: is missing"),
        ("blame", {"path": "a.txt", "first": 0}, "first: expected an integer of at least 1"),
        ("blame", {"path": "a.txt", "first": 3, "last": 2}, "last: must not be before first"),
        ("undo", {"step": "ab", "message": "m"}, "message: cannot be used with step"),
        ("undo", {"message": "m", "count": 2}, "count: cannot be used with"),
        ("undo", {"files": ["a.txt"]}, "files: only with a step"),
        ("restore_file", {"path": "a.txt"}, "step: give a step or a snapshot"),
        ("restore_file", {"path": "a.txt", "step": "ab", "when": "during"}, "when: expected"),
        ("checkpoint", {"name": "  "}, "name: expected 1 to 100 printable characters"),
        ("checkpoint", {"name": "x" * 101}, "name: expected 1 to 100 printable characters"),
        ("checkpoint", {"name": "two\nlines"}, "name: expected 1 to 100 printable characters"),
        ("checkpoint", {"name": "last"}, "looks like a snapshot"),
        ("checkpoint", {"name": "abcdef"}, "looks like a snapshot"),
    ],
)
def test_wrong_arguments_are_told_to_the_model(peer: Peer, tool: str, arguments: Any, said: str) -> None:
    peer.connect()
    result = peer.result("tools/call", {"name": tool, "arguments": arguments})
    peer.check(tool, result)
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert error["kind"] == "invalidParams"
    assert said in error["message"]
    assert error["hint"]


def test_a_daemon_that_cannot_be_reached_is_told_to_the_model_each_time(running: Running) -> None:
    running.connect_error = IoError("the daemon did not start: \udcff", hint="look", errno="ECONNREFUSED")
    running.peer.connect()
    for _ in range(2):
        error = running.peer.failed("history")
        assert error == {"kind": "ioError", "message": "the daemon did not start: ?", "hint": "look"}
    running.connect_error = None
    running.backend.gate.set()
    assert running.peer.done("history") == {"entries": []}


def test_a_defect_is_answered_and_the_server_goes_on(running: Running) -> None:
    running.connect_error = RuntimeError("a secret path")
    running.peer.connect()
    error = running.peer.error("tools/call", {"name": "history"})
    assert error["code"] == -32603
    assert "secret" not in error["message"]
    assert running.peer.result("ping") == {}


# -- calls that take their time


def test_stdin_is_read_while_a_call_runs(running: Running) -> None:
    peer = running.peer
    peer.connect()
    call = peer.begin("history")
    assert running.backend.waiting.acquire(timeout=30)
    assert peer.result("ping") == {}
    running.backend.gate.set()
    assert peer.checked(peer.answer(call))["isError"] is False


def test_progress_is_told_to_who_wants_it(running: Running) -> None:
    peer = running.peer
    peer.connect()
    running.backend.gate.set()
    for token in ("t", 7):
        call = peer.ask("tools/call", {"name": "history", "_meta": {"progressToken": token}})
        peer.answer(call)
        told = [message["params"] for message in peer.told]
        assert [each["progressToken"] for each in told] == [token, token]
        assert [each["progress"] for each in told] == [1, 2]
        assert [each["message"] for each in told] == ["looking at the files", "looking at the files (40 %)"]
        peer.told.clear()
    peer.answer(peer.ask("tools/call", {"name": "history"}))
    assert peer.told == []


def test_an_id_that_is_in_use_is_refused(running: Running) -> None:
    peer = running.peer
    peer.connect()
    params = {"name": "history", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params}
    peer.send(message)
    peer.send(message)
    error = peer.answer("same")["error"]
    assert error["code"] == INVALID_REQUEST
    running.backend.gate.set()
    assert "result" in peer.answer("same")


def test_a_flood_of_calls_is_bounded(running: Running) -> None:
    peer = running.peer
    peer.connect()
    calls = [peer.begin("history") for _ in range(MAX_CALLS)]
    assert peer.error("tools/call", {"name": "history"})["code"] == -32603
    running.backend.gate.set()
    answers = [peer.read() for _ in calls]
    assert sorted(answer["id"] for answer in answers if answer) == calls
    assert peer.call("history")["isError"] is False


def test_what_was_cancelled_is_not_answered(running: Running) -> None:
    peer = running.peer
    peer.connect()
    call = peer.begin("history")
    assert running.backend.waiting.acquire(timeout=30)
    for params in ({"requestId": call, "reason": "enough"}, {"requestId": 999}, {"requestId": [call]}, {}):
        peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    wait_until(lambda: "snapd-mcp-history" not in {each.name for each in threading.enumerate()}, "the end of the call")
    assert peer.result("ping") == {}
    peer.hang_up()
    assert peer.read() is None


def test_calls_are_answered_before_the_server_ends(running: Running) -> None:
    peer = running.peer
    peer.connect()
    call = peer.begin("history")
    assert running.backend.waiting.acquire(timeout=30)
    peer.hang_up()
    running.backend.gate.set()
    assert "result" in peer.answer(call)
    assert peer.read() is None


# -- bad input


@pytest.mark.parametrize(
    ("line", "identity", "code"),
    [
        (b"x", None, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', None, PARSE_ERROR),
        (b'"\xed\xa0\x80"', None, PARSE_ERROR),
        (b"[" * 5000, None, PARSE_ERROR),
        (b"NaN", None, PARSE_ERROR),
        (b"1", None, INVALID_REQUEST),
        (b"null", None, INVALID_REQUEST),
        (b"[]", None, INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST),
        (b"{}", None, INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}', 1, INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":"a","method":"ping"}', "a", INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}', 1, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', 1, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 1, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1, INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', 1, INVALID_PARAMS),
        (b"x" * (LIMIT + 1), None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 300_000 + b'"}', None, INVALID_REQUEST),
    ],
    ids=str,
)
def test_bad_lines_are_answered_and_passed_over(peer: Peer, line: bytes, identity: Any, code: int) -> None:
    peer.send_line(line)
    answer = peer.read()
    assert answer is not None
    assert (answer["id"], answer["error"]["code"]) == (identity, code)
    assert answer["error"]["message"]
    assert peer.result("ping") == {}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"  \r",
        b'{"jsonrpc":"2.0","method":"notifications/of/tomorrow"}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}',
        b'{"jsonrpc":"2.0","id":"snapd-77","result":{"action":"accept"}}',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}',
    ],
)
def test_what_asks_for_nothing_is_not_answered(peer: Peer, line: bytes) -> None:
    peer.send_line(line)
    assert peer.result("ping") == {}


def test_lines_may_end_as_they_do_on_windows_and_params_may_be_an_empty_array(peer: Peer) -> None:
    peer.send_line(b'{"jsonrpc":"2.0","id":"x","method":"ping","params":[]}\r')
    assert peer.answer("x")["result"] == {}


def test_the_last_line_needs_no_end(running: Running) -> None:
    peer = running.peer
    os.write(peer.write_fd, b'{"jsonrpc":"2.0","id":"x","method":"ping"}')
    peer.hang_up()
    assert peer.answer("x")["result"] == {}
    assert peer.read() is None


def test_streams_may_be_such_that_do_not_block(running: Running) -> None:
    for descriptor in (running.server_in, running.server_out):
        os.set_blocking(descriptor, False)
    peer = running.peer
    peer.connect()
    # more than a pipe holds, before anything is read
    calls = [peer.ask("tools/list") for _ in range(30)]
    for call in calls:
        assert peer.checked(peer.answer(call))["tools"]


def test_a_client_that_is_gone_ends_the_server(running: Running) -> None:
    peer = running.peer
    peer.connect()
    peer.begin("history")
    assert running.backend.waiting.acquire(timeout=30)
    os.close(peer.read_fd)
    peer.read_fd = -1
    peer.ask("ping")
    # although its input goes on, and a call would take long
    running.thread.join(30)
    assert not running.thread.is_alive()
