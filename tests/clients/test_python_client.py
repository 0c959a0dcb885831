"""The Python client against a daemon that the tests play, with a framing of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import snapd_client
from hypothesis import given, settings
from hypothesis import strategies as st
from snapd_client import (
    Cancelled,
    ConnectionLost,
    FramingError,
    Progress,
    RequestTimeout,
    SnapdError,
    from_uri,
    to_uri,
)
from snapd_client.framing import FrameReader, encode_message
from snapd_client.requests import file_name

from tests.clients.peer import HASH, WAIT, World, framed, taken

if TYPE_CHECKING:
    pass


# Requests and answers


def test_answers_in_any_order_reach_the_thread_that_asked(world: World) -> None:
    first = world.ask("a", {"x": 1})
    one = world.peer.read()
    second = world.ask("b")
    two = world.peer.read()
    assert (one["method"], one["params"], two["method"]) == ("a", {"x": 1}, "b")
    assert "params" not in two
    assert isinstance(one["id"], int)
    world.peer.send(id=two["id"], result="for b")
    assert second.result(WAIT) == "for b"
    assert not first.done()
    world.peer.send(id=one["id"], result=None)
    assert first.result(WAIT) is None


def test_many_threads_get_their_own_answers(world: World) -> None:
    asked = [world.ask("echo", {"n": n}) for n in range(100)]
    seen = []
    for _ in range(0, 100, 4):
        seen = [world.peer.read() for _ in range(4)]
        for message in reversed(seen):
            world.peer.send(id=message["id"], result=message["params"]["n"])
    assert [future.result(WAIT) for future in asked] == list(range(100))


def test_error_answer(world: World) -> None:
    asked = world.ask()
    data = {"kind": "unknownSnapshot", "hash": HASH}
    world.peer.send(id=world.peer.read()["id"], error={"code": 1001, "message": "no such snapshot", "data": data})
    with pytest.raises(SnapdError) as raised:
        asked.result(WAIT)
    error = raised.value
    assert (error.code, error.kind, error.message, error.data) == (1001, "unknownSnapshot", "no such snapshot", data)
    assert "no such snapshot" in str(error)
    assert "unknownSnapshot" in str(error)


@pytest.mark.parametrize("error", [{"code": -32601, "message": "no"}, {}, None, "odd", {"code": "x", "data": [1]}])
def test_error_answer_without_data(world: World, error: object) -> None:
    asked = world.ask()
    world.peer.send(id=world.peer.read()["id"], error=error)
    with pytest.raises(SnapdError) as raised:
        asked.result(WAIT)
    assert raised.value.kind == ""


def test_cancelled_answer(world: World) -> None:
    asked = world.ask()
    world.peer.send(id=world.peer.read()["id"], error={"code": -32800, "message": "cancelled"})
    with pytest.raises(Cancelled):
        asked.result(WAIT)


def test_params_that_json_cannot_say_leave_the_connection_alone(world: World) -> None:
    for bad in ("\udcff", float("nan")):
        with pytest.raises(ValueError, match=r"surrogate|JSON compliant"):
            world.client.request("any", {"x": bad})
    asked = world.ask()
    world.peer.send(id=world.peer.read()["id"], result=1)
    assert asked.result(WAIT) == 1


def test_answers_that_nobody_waits_for_are_passed_over(world: World) -> None:
    asked = world.ask()
    request_id = world.peer.read()["id"]
    odd: object
    for odd in (12345, "x", [1], {}):
        world.peer.send(id=odd, result="odd")
    world.peer.send(id=request_id, result="mine")
    assert asked.result(WAIT) == "mine"


# Giving up


def test_timeout_cancels(world: World) -> None:
    with pytest.raises(RequestTimeout):
        world.client.request("slow", timeout=0.01)
    asked = world.peer.read()
    cancel = world.peer.read()
    assert (cancel["method"], cancel["params"]) == ("$/cancelRequest", {"id": asked["id"]})
    assert "id" not in cancel
    world.peer.send(id=asked["id"], error={"code": -32800, "message": "late"})
    again = world.ask()
    world.peer.send(id=world.peer.read()["id"], result="next")
    assert again.result(WAIT) == "next"


def test_timeout_of_the_client_holds_where_none_is_given(world: World) -> None:
    world.client.timeout = 0.01
    with pytest.raises(TimeoutError):
        world.client.request("slow")


def test_keyboard_interrupt_cancels(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert threading.current_thread() is threading.main_thread(), "signals come to the main thread"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.get_ident()

    def interrupt() -> list[dict[str, Any]]:
        asked = world.peer.read()
        signal.pthread_kill(main, signal.SIGINT)
        return [asked, world.peer.read()]

    try:
        played = world.later(interrupt)
        with pytest.raises(KeyboardInterrupt):
            world.client.request("slow", timeout=WAIT)
        asked, cancel = played.result(WAIT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (cancel["method"], cancel["params"]) == ("$/cancelRequest", {"id": asked["id"]})


def test_timeout_holds_where_the_daemon_does_not_read(world: World) -> None:
    with pytest.raises(RequestTimeout):
        world.client.request("large", {"x": "y" * (1 << 23)}, timeout=0.05)
    # A frame was left half written: nothing more may follow it.
    with pytest.raises(ConnectionLost):
        world.client.request("any", timeout=WAIT)


# Progress


def test_progress(world: World) -> None:
    seen: list[Progress] = []
    asked = world.ask("long", {"x": 1}, on_progress=seen.append)
    message = world.peer.read()
    token = message["params"]["workDoneToken"]
    assert message["params"]["x"] == 1
    world.peer.progress(token, kind="begin", title="Reading", percentage=0)
    world.peer.progress("somebody else's", kind="begin", title="Other")
    world.peer.progress(token, kind="report", message="half", percentage=50)
    world.peer.progress(token, kind="end", message="done")
    world.peer.send(id=message["id"], result="r")
    assert asked.result(WAIT) == "r"
    assert [(p.kind, p.title, p.message, p.percentage) for p in seen] == [
        ("begin", "Reading", None, 0),
        ("report", "Reading", "half", 50),
        ("end", "Reading", "done", None),
    ]


def test_progress_may_ask_in_turn(world: World) -> None:
    inner: list[Any] = []
    asked = world.ask("outer", on_progress=lambda _: inner.append(world.client.request("inner", timeout=WAIT)))
    outer = world.peer.read()
    world.peer.progress(outer["params"]["workDoneToken"], kind="begin", title="t")
    world.peer.send(id=world.peer.read()["id"], result="in")
    world.peer.send(id=outer["id"], result="out")
    assert asked.result(WAIT) == "out"
    assert inner == ["in"]


def test_progress_that_raises_cancels(world: World) -> None:
    def stop(_: Progress) -> None:
        raise LookupError

    asked = world.ask("long", on_progress=stop)
    message = world.peer.read()
    world.peer.progress(message["params"]["workDoneToken"], kind="begin", title="t")
    with pytest.raises(LookupError):
        asked.result(WAIT)
    assert world.peer.read()["params"] == {"id": message["id"]}


def test_progress_that_nobody_takes_stays_bounded(world: World) -> None:
    seen: list[Progress] = []
    go = threading.Event()

    def slow(progress: Progress) -> None:
        assert go.wait(WAIT)
        seen.append(progress)

    asked = world.ask("long", on_progress=slow)
    message = world.peer.read()
    token = message["params"]["workDoneToken"]
    world.peer.progress(token, kind="begin", title="t")
    for n in range(1000):
        world.peer.progress(token, kind="report", percentage=n)
    world.peer.progress(token, kind="end")
    world.peer.send(id=1, method="no/such")
    world.peer.read()
    # The answer to that tells that all the others were read.
    go.set()
    world.peer.send(id=message["id"], result=None)
    asked.result(WAIT)
    assert (seen[0].kind, seen[-1].kind) == ("begin", "end")
    assert len(seen) < 200


# Notifications


def test_notifications_before_and_after_the_answer(world: World) -> None:
    everything = world.client.subscribe()
    some = world.client.subscribe({"snapshot/didTrack"})
    asked = world.ask()
    world.peer.tell("snapshot/didTrack", seq=1)
    world.peer.tell("other", seq=2)
    world.peer.send(id=world.peer.read()["id"], result=None)
    world.peer.tell("snapshot/didTrack", seq=3)
    world.peer.send(method="bare")
    asked.result(WAIT)
    # What came before the answer is there without waiting.
    got = everything.get(0)
    assert got is not None
    assert (got.method, got.params) == ("snapshot/didTrack", {"seq": 1})
    assert [taken(everything).params for _ in range(3)] == [{"seq": 2}, {"seq": 3}, {}]
    assert [taken(some).params["seq"] for _ in range(2)] == [1, 3]
    assert some.get(0) is None
    assert everything.dropped == 0


def test_subscription_drops_the_oldest(world: World) -> None:
    subscription = world.client.subscribe(bound=3)
    asked = world.ask()
    for n in range(10):
        world.peer.tell("n", n=n)
    world.peer.send(id=world.peer.read()["id"], result=None)
    asked.result(WAIT)
    assert [taken(subscription).params["n"] for _ in range(3)] == [7, 8, 9]
    assert subscription.dropped == 7


def test_subscription_ends_with_itself_and_with_the_client(world: World) -> None:
    own, other = world.client.subscribe(), world.client.subscribe()
    iterated = [world.later(list, subscription) for subscription in (own, other)]
    own.close()
    own.close()
    assert iterated[0].result(WAIT) == []
    assert own.closed
    assert not other.closed
    world.client.close()
    assert iterated[1].result(WAIT) == []
    assert list(world.client.subscribe()) == []


def test_notify(world: World) -> None:
    world.client.notify("textDocument/didSave", {"x": 1})
    assert world.peer.read() == {"jsonrpc": "2.0", "method": "textDocument/didSave", "params": {"x": 1}}


def test_requests_of_the_daemon_are_answered(world: World) -> None:
    world.peer.send(id="s1", method="window/workDoneProgress/create", params={"token": 1})
    assert world.peer.read() == {"jsonrpc": "2.0", "id": "s1", "result": None}
    world.peer.send(id=2, method="no/such")
    answer = world.peer.read()
    assert (answer["id"], answer["error"]["code"]) == (2, -32601)
    world.peer.send(id=3, method="workspace/workspaceFolders")
    assert world.peer.read()["result"] == []


def test_daemon_asks_while_a_large_request_is_on_its_way(world: World) -> None:
    text = "y" * (1 << 22)
    asked = world.ask("large", {"x": text})
    # The request does not fit into the socket: its thread is in the middle of it when the daemon asks.
    assert world.peer.sock.recv(1, socket.MSG_PEEK)
    for n in range(50):
        world.peer.send(id=n, method="window/workDoneProgress/create", params={})
    message = world.peer.read()
    assert message["params"]["x"] == text
    assert [world.peer.read()["id"] for _ in range(50)] == list(range(50))
    world.peer.send(id=message["id"], result=True)
    assert asked.result(WAIT) is True


# The connection


def test_end_fails_everything_that_waits(world: World) -> None:
    subscription = world.client.subscribe({"none of these"})
    asked = [world.ask() for _ in range(3)]
    for _ in asked:
        world.peer.read()
    world.peer.close()
    for future in asked:
        with pytest.raises(ConnectionLost):
            future.result(WAIT)
    with pytest.raises(ConnectionLost):
        world.client.request("any")
    with pytest.raises(ConnectionLost):
        world.client.notify("any")
    assert taken(subscription).method == "snapd/disconnected"
    assert taken(world.client.subscribe()).method == "snapd/disconnected"
    assert not world.client.connected


def test_close_fails_what_waits(world: World) -> None:
    asked = world.ask()
    world.peer.read()
    world.client.close()
    with pytest.raises(ConnectionLost):
        asked.result(WAIT)
    assert world.peer.at_end()
    with pytest.raises(ConnectionLost):
        world.client.reconnect()


def test_what_the_daemon_said_at_the_end_is_the_reason(world: World) -> None:
    asked = world.ask()
    world.peer.read()
    world.peer.send(id=None, error={"code": -32600, "message": "a frame over the limit"})
    world.peer.close()
    with pytest.raises(ConnectionLost, match="a frame over the limit") as raised:
        asked.result(WAIT)
    assert isinstance(raised.value.__cause__, SnapdError)


def test_refusal_of_a_large_request_is_the_reason(world: World) -> None:
    asked = world.ask("large", {"x": "y" * (1 << 23)})
    assert world.peer.sock.recv(1, socket.MSG_PEEK)
    world.peer.send(id=None, error={"code": -32600, "message": "a frame over the limit"})
    world.peer.sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(ConnectionLost, match="a frame over the limit"):
        asked.result(WAIT)


BAD_FRAMES = {
    "not a number": b"Content-Length: ten\r\n\r\n",
    "negative": b"Content-Length: -1\r\n\r\n",
    "signed": b"Content-Length: +2\r\n\r\n{}",
    "none": b"Content-Type: x\r\n\r\n{}",
    "two": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "no colon": b"GET / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "over the limit": b"Content-Length: 1073741825\r\n\r\n",
    "far over the limit": b"Content-Length: " + b"9" * 9000 + b"\r\n\r\n",
    "endless header": b"X: " + b"y" * 20000,
    "long header": b"X: " + b"y" * 20000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "not JSON": b"Content-Length: 2\r\n\r\n{]",
    "not UTF-8": b'Content-Length: 3\r\n\r\n"\xff"',
    "not an object": b"Content-Length: 2\r\n\r\n[]",
    "too deep": b"Content-Length: 200000\r\n\r\n" + b"[" * 200000,
}


@pytest.mark.parametrize("frame", BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_bad_frames_end_the_connection(world: World, frame: bytes) -> None:
    asked = world.ask()
    world.peer.read()
    world.peer.sock.sendall(frame)
    with pytest.raises(ConnectionLost) as raised:
        asked.result(WAIT)
    assert isinstance(raised.value.__cause__, FramingError)
    assert world.peer.at_end()


def test_split_frames_and_other_headers(world: World) -> None:
    subscription = world.client.subscribe()
    body = '{"jsonrpc":"2.0","method":"m","params":{"x":"é"}}'.encode()
    head = f"content-type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:{len(body)}\r\n\r\n"
    for byte in head.encode() + body:
        world.peer.sock.send(bytes([byte]))
    assert taken(subscription).params == {"x": "é"}
    world.peer.sock.sendall(framed({"method": "a"}) + framed({"method": "b"}) + b"CONTENT-LENGTH: 014 \r\n\r\n")
    world.peer.sock.sendall(b'{"method":"c"}')
    assert [taken(subscription).method for _ in range(3)] == ["a", "b", "c"]


@settings(deadline=None)
@given(
    messages=st.lists(st.dictionaries(st.text(), st.text(max_size=500), max_size=3), max_size=5),
    sizes=st.lists(st.integers(1, 700), min_size=1, max_size=20),
)
def test_frames_survive_any_splitting(messages: list[dict[str, str]], sizes: list[int]) -> None:
    data = b"".join(map(encode_message, messages))
    assert data == b"".join(
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        for body in (json.dumps(m, ensure_ascii=False, separators=(",", ":")).encode() for m in messages)
    )
    position = turn = 0

    def read(size: int) -> bytes:
        nonlocal position, turn
        chunk = data[position : position + min(size, sizes[turn % len(sizes)])]
        position, turn = position + len(chunk), turn + 1
        return chunk

    reader = FrameReader(read)
    for message in messages:
        body = reader.read_frame()
        assert body is not None
        assert json.loads(body) == message
    assert reader.read_frame() is None


@pytest.mark.parametrize("data", [b"Content-", b"Content-Length: 5\r\n\r\n", b"Content-Length: 5\r\n\r\n{}"])
def test_stream_that_ends_inside_a_frame(data: bytes) -> None:
    chunks = iter([data, b""])
    with pytest.raises(FramingError, match="ended"):
        FrameReader(lambda _: next(chunks)).read_frame()


def test_odd_names_of_files() -> None:
    assert file_name("plain é", []) == "plain é"
    assert file_name("file:///a", []) == "file:///a"
    assert file_name(b"a", []) == "a"
    assert file_name(b"/w/\xff", []) == "file:///w/%FF"
    assert file_name("/w/\udcff", []) == "file:///w/%FF"
    assert file_name(b"d/\xff", ["file:///w"]) == "file:///w/d/%FF"
    assert file_name(b"file:x", ["file:///w"]) == "file:///w/file%3Ax"
    with pytest.raises(ValueError, match="workspace"):
        file_name(b"\xff", [])


# URIs


@settings(deadline=None)
@given(st.binary(max_size=40).filter(lambda raw: b"\0" not in raw))
def test_uris_go_round(raw: bytes) -> None:
    path = b"/" + raw
    uri = to_uri(path)
    assert uri.isascii()
    assert uri.isprintable()
    assert os.fsencode(from_uri(uri)) == path
    assert to_uri(os.fsdecode(path)) == uri


@settings(deadline=None)
@given(st.text(max_size=40).filter(lambda text: "\0" not in text))
def test_uris_of_text_go_round(text: str) -> None:
    assert from_uri(to_uri("/" + text)) == "/" + text


def test_uris() -> None:
    assert to_uri("/a b/é%#?:") == "file:///a%20b/%C3%A9%25%23%3F%3A"
    assert to_uri(b"/\xff") == to_uri("/\udcff") == "file:///%FF"
    for same in ("file:///a%20%c3%a9", "file:/a é", "FILE://localhost/a%20é", "file:///%61%20%C3%A9"):
        assert from_uri(same) == "/a é"
    for bad in ("relative", "", "/a\0"):
        with pytest.raises(ValueError, match="absolute"):
            to_uri(bad)
    for bad in (
        "/a",
        "http://a/",
        "file://host/a",
        "file:a",
        "file:///a?b",
        "file:///%4",
        "file:///%zz",
        "file:///%00",
    ):
        with pytest.raises(ValueError, match="URI"):
            from_uri(bad)


# The package


def test_import_is_cheap() -> None:
    code = "import sys, snapd_client; print(*sys.modules)"
    # -S: what the packages of this environment load at start-up is not ours
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(snapd_client.__file__))}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=environment, check=True, stdout=subprocess.PIPE)
    heavy = {"asyncio", "typing", "http", "logging", "subprocess", "socket", "inspect", "dataclasses", "urllib.parse"}
    assert not heavy & set(done.stdout.decode().split())
