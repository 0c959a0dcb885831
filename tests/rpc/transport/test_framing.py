"""What comes in: whatever it is, there is exactly one answer or the connection is closed, and others are served on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rpc.machine import error_of, framed, initialize, notification, request

if TYPE_CHECKING:
    from pathlib import Path

    from tests.rpc.machine import Machine

STATUS = request(2, "snapshot/status")


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":5,"result":{}}',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":""}}',
        b'{"jsonrpc":"2.0","method":"snapshot/no"}',
        b'{"jsonrpc":"2.0","method":"snapshot/track"}',
        b'{"jsonrpc":"2.0","method":"snapshot/restore","params":{"hash":"x"}}',
        b'{"jsonrpc":"2.0","method":"initialize","params":{}}',
        b'{"jsonrpc":"2.0","method":"shutdown"}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[1]}}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":[]}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest"}',
        b'{"jsonrpc":"2.0","method":"workspace/didChangeWorkspaceFolders","params":{"event":5}}',
        b'{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":5}',
        b'{"jsonrpc":"2.0","method":"textDocument/didOpen","params":5}',
    ],
)
def test_what_is_no_request_is_never_answered(daemon: Machine, folder: Path, body: bytes) -> None:
    raw = daemon.raw().open(folder)
    raw.send(framed(body) + STATUS)
    assert "result" in raw.answer(2)
    raw.half_close()
    assert raw.says_nothing_more()
    assert not [other for other in raw.others if other["method"] != "window/logMessage"]


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length:   %d  \r\nX-Other: GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_headers_that_are_understood(daemon: Machine, folder: Path, header: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":"x","method":"snapshot/status","params":null}'
    raw = daemon.raw().open(folder)
    raw.send(header % len(body) + body)
    assert "result" in raw.answer("x")


@pytest.mark.parametrize(
    "sent",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
        b"[]",
        b'\n{"jsonrpc":"2.0"}\n',
        b"hello: you\n",
        b"Content-Length: 2\n\n{}",
        b"nonsense\n",
    ],
)
def test_what_is_no_frame_is_answered_at_once(daemon: Machine, sent: bytes) -> None:
    raw = daemon.raw()
    raw.send(sent)
    answer = raw.answer(None)
    assert error_of(answer) == (-32700, None)
    assert "Content-Length: N" in answer["error"]["data"]["hint"]
    assert raw.says_nothing_more()


def test_split_and_joined_frames(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    for at in range(len(STATUS)):
        raw.send(STATUS[at : at + 1])
    assert "result" in raw.answer(2)
    raw.send(b"".join(request(number, "snapshot/status") for number in range(100)))
    assert sorted(raw.answer()["id"] for _ in range(100)) == list(range(100))


def test_stream_that_ends_within_a_frame(daemon: Machine, folder: Path) -> None:
    for cut in (STATUS[:5], STATUS[:-1]):
        raw = daemon.raw().open(folder)
        raw.send(request(1, "snapshot/status") + cut)
        raw.half_close()
        answers = [raw.answer() for _ in range(1 + (cut == STATUS[:5]))]
        assert [answer["id"] for answer in answers if "result" in answer] == [1]
        assert all(error_of(answer) == (-32700, None) for answer in answers if "result" not in answer)
        assert raw.says_nothing_more()


def test_values_that_are_understood(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    for params in (None, {}, {"jsonrpc": "1.0", "id": 5, "method": "x", "unknown": [{"jsonrpc": "2.0"}]}):
        assert raw.result("snapshot/status", params)["enabled"] is True
    assert raw.ask(-5, "snapshot/status")["id"] == -5
    assert raw.ask("", "snapshot/status")["id"] == ""
    assert raw.ask(2**53, "snapshot/status")["id"] == 2**53
    raw.send(framed('{"jsonrpc":"2.0","id":"\U0001f600","method":"snapshot/status"}'.encode()))
    assert "result" in raw.answer("\U0001f600")


def test_huge_strings(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw().open(folder)
    tree = raw.result("snapshot/track")["hash"]
    assert raw.result("snapshot/fileExists", {"hash": tree, "file": "x" * 5_000_000}) == {"exists": False}
    assert error_of(raw.ask(1, "snapshot/fileExists", {"hash": "0" * 5_000_000, "file": "x"}))[0] == -32602
    assert error_of(raw.ask(1, "x" * 1_000_000))[0] == -32601


def test_frames_over_a_configured_limit_are_refused_from_their_header(machine: Machine, folder: Path) -> None:
    machine.serve_socket("--max-message", "2000")
    raw = machine.raw().open(folder)
    raw.send(b"Content-Length: 2001\r\n\r\n")
    assert error_of(raw.answer(None))[0] == -32600
    assert raw.says_nothing_more()


def test_initialize_cares_for_nothing_that_it_does_not_need(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw()
    params = {"processId": "x", "capabilities": {"textDocument": 5}, "trace": 7, "rootUri": folder.as_uri()}
    assert "capabilities" in raw.result("initialize", params)
    assert raw.result("snapshot/status")["workspaceUri"] == folder.as_uri()


@pytest.mark.parametrize("key", ["rootPath", "rootUri", "workspaceFolders"])
def test_a_path_in_place_of_a_uri_is_named_as_the_reason(daemon: Machine, folder: Path, key: str) -> None:
    raw = daemon.raw()
    named = str(folder)
    raw.result("initialize", {key: [{"uri": named, "name": "f"}] if key == "workspaceFolders" else named})
    error = raw.ask(2, "snapshot/status")["error"]
    assert error["data"]["kind"] == "workspaceNotOpen"
    assert folder.as_uri() in error["data"]["hint"]
    assert any(folder.as_uri() in other["params"]["message"] for other in raw.others)


@pytest.mark.parametrize("folders", ["abc", [1], [{"name": "x"}], {"uri": "x"}, 5])
def test_initialize_with_wrong_params(daemon: Machine, folders: object) -> None:
    raw = daemon.raw()
    answer = raw.ask(1, "initialize", {"workspaceFolders": folders})
    assert error_of(answer) == (-32602, "invalidParams")
    assert error_of(raw.ask(2, "snapshot/status"))[0] == -32002


def test_pipelined_from_initialize_to_exit(daemon: Machine, folder: Path) -> None:
    raw = daemon.raw()
    raw.send(
        initialize(folder)
        + notification("initialized", {})
        + request(1, "snapshot/status")
        + request(2, "shutdown")
        + notification("exit")
    )
    found = {answer["id"]: answer for answer in (raw.answer(), raw.answer(), raw.answer())}
    assert set(found) == {0, 1, 2}
    assert found[2]["result"] is None
    assert raw.says_nothing_more()
