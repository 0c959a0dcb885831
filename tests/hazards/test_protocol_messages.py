"""What a client may say: whatever it is, it gets one answer or a closed connection, and everybody else is served on."""

from __future__ import annotations

import json
import types
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import attrs
import pytest

from snapd.wire.converter import wire_name
from snapd.wire.methods import METHODS
from snapd.wire.values import fields_of
from tests.rpc.machine import Raw, error_of, framed, notification, request, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.rpc.machine import Machine

UNKNOWN = "0123456789" * 4
STATUS = request("next", "snapshot/status")


@pytest.fixture
def bystander(daemon: Machine, other_folder: Path) -> Iterator[Raw]:
    """Another client of the same daemon: after whatever the first one said, it is served as before."""
    raw = daemon.raw().open(other_folder)
    first = raw.result("snapshot/track")["hash"]
    yield raw
    (other_folder / "later.txt").write_text("later\n")
    assert raw.result("snapshot/track")["hash"] != first
    assert raw.result("snapshot/patch", {"hash": first})["files"] == [str(other_folder / "later.txt")]


def body(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "snapshot/status", **fields}).encode()


BODIES: list[tuple[str, bytes, int, object]] = [
    ("cut off", b'{"jsonrpc":"2.0","id":1', -32700, None),
    ("empty", b"", -32700, None),
    ("two values", b"{}{}", -32700, None),
    ("a comment", b"{} // x", -32700, None),
    ("a byte order mark", b"\xef\xbb\xbf" + body(), -32700, None),
    ("UTF-16", body().decode().encode("utf-16"), -32700, None),
    ("invalid UTF-8 in a string", body(method="@").replace(b"@", b"\xff"), -32700, None),
    ("overlong UTF-8", body(method="@").replace(b"@", b"\xc0\xaf"), -32700, None),
    ("a NUL", body() + b"\0", -32700, None),
    ("Infinity", body(id=5).replace(b"5", b"Infinity"), -32700, None),
    ("NaN", body(id=5).replace(b"5", b"NaN"), -32700, None),
    ("a lone surrogate", body(method="snapshot/fileExists", params={"file": "\ud800"}), -32700, None),
    (
        "an integer of 20 digits",
        body(method="snapshot/diffFull", params={"from": UNKNOWN, "limit": 1 << 64}),
        -32602,
        1,
    ),
    ("an id beyond 64 bits", body(id=1 << 64), -32600, None),
    ("a string", b'"x"', -32600, None),
    ("null", b"null", -32600, None),
    ("no jsonrpc", b'{"id":1,"method":"snapshot/status"}', -32600, 1),
    ("jsonrpc 1.0", body(jsonrpc="1.0"), -32600, 1),
    ("jsonrpc a number", body(jsonrpc=2.0), -32600, 1),
    ("an unknown method", body(method="snapshot/no"), -32601, 1),
    ("a method of pygls", body(method="workspace/executeCommand"), -32601, 1),
    ("a notification as a request", body(method="exit"), -32601, 1),
    ("a cancel as a request", body(method="$/cancelRequest", params={"id": 1}), -32601, 1),
    ("a batch", b"[" + body() + b"," + body(id=2) + b"]", -32600, None),
    ("an empty batch", b"[]", -32600, None),
    ("true", b"true", -32600, None),
    ("no method", b'{"jsonrpc":"2.0","id":1}', -32600, 1),
    ("a method that is a number", body(method=5), -32600, 1),
    ("params a string", body(params="{}"), -32602, 1),
    ("params an array", body(params=[{}]), -32602, 1),
    ("params false", body(params=False), -32602, 1),
    ("params 0", body(params=0), -32602, 1),
    ("jsonrpc null", body(jsonrpc=None), -32600, 1),
    ("an answer and a request", b'{"jsonrpc":"2.0","id":1,"result":{},"method":5}', -32600, 1),
]


@pytest.mark.hazard(58)
def test_malformed_message_is_answered_once_and_the_next_is_read(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    for what, said, code, message_id in BODIES:
        raw.send(framed(said) + STATUS)
        answers = {answer["id"]: answer for answer in (raw.answer(), raw.answer())}
        assert set(answers) == {message_id, "next"}, what
        assert answers[message_id]["error"]["code"] == code, what
        assert answers[message_id]["error"]["data"]["hint"], what
        assert "Traceback" not in str(answers), what
        assert "result" in answers["next"], what
    raw.half_close()
    assert raw.says_nothing_more()


@pytest.mark.hazard(58)
def test_absent_and_null_params_stand_for_none(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    for said in (body(), body(params=None), body(params={})):
        raw.send(framed(said))
        assert raw.answer(1)["result"]["enabled"] is True
    for params in (None, {}, ...):
        raw.send(framed(body(method="snapshot/patch", **({} if params is ... else {"params": params}))))
        answer = raw.answer(1)
        assert (*error_of(answer), answer["error"]["data"]["field"]) == (-32602, "invalidParams", "hash")


HEADERS: list[tuple[bytes, int]] = [
    (b"Content-Length: -1\r\n\r\n", -32700),
    (b"Content-Length: ten\r\n\r\n", -32700),
    (b"Content-Length: 0x10\r\n\r\n", -32700),
    (b"Content-Length: 2, 2\r\n\r\n", -32700),
    (b"Content-Length: 1_0\r\n\r\n", -32700),
    (b"Content-Length: +5\r\n\r\n", -32700),
    (b"Content-Length: 5.0\r\n\r\n", -32700),
    (b"Content-Length: \xd9\xa3\r\n\r\n", -32700),
    (b"Content-Length: 67108865\r\n\r\n", -32600),
    (b"Content-Length: " + b"1" * 5000 + b"\r\n\r\n", -32700),
    (b"Content-Length: 2\r\ncontent-length: 3\r\n\r\n", -32700),
    (b"Content-Length: 10000000000\r\n\r\n", -32600),
    (b"Content-Length: 18446744073709551618\r\n\r\n", -32700),
    (b"Content-Length: \r\n\r\n", -32700),
    (b"Content-Length 2\r\n\r\n", -32700),
    (b"Transfer-Encoding: chunked\r\n\r\n", -32700),
    (b"\r\n\r\n", -32700),
    (b"x" * 200_000, -32700),
    (b"X-Long: " + b"x" * 200_000 + b"\r\nContent-Length: 2\r\n\r\n", -32700),
    (b"X: y\r\n" * 40_000, -32700),
    (b"\0" * 70_000, -32700),
]


@pytest.mark.hazard(59)
def test_broken_header_is_answered_and_ends_that_connection_alone(
    daemon: Machine, folder: Path, bystander: Raw
) -> None:
    for header, code in HEADERS:
        raw = daemon.raw().open(folder)
        raw.send_as_much_as_is_read(header + b"{}" + STATUS)
        assert raw.answer(None)["error"]["code"] == code, header[:80]
        assert raw.says_nothing_more(), header[:80]


@pytest.mark.hazard(59)
def test_header_in_any_case_does_not_shift_the_stream(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    said = body()
    for name in (b"content-length", b"CONTENT-LENGTH", b"cOnTeNt-LeNgTh"):
        raw.send((name + b": %d\r\n\r\n" % len(said) + said) * 3 + STATUS)
        assert sorted(str(raw.answer()["id"]) for _ in range(4)) == ["1", "1", "1", "next"]


ABSURD = {
    "arrays": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "open arrays": b"[" * 100_000,
    "an integer": b'{"olderThanDays":' + b"9" * 5000 + b"}",
    "a negative one": b'{"olderThanDays":-' + b"9" * 5000 + b"}",
    "an exponent": b'{"olderThanDays":1e999999999}',
}


@pytest.mark.hazard(60)
def test_absurd_nesting_and_numbers_are_refused(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    for what, params in ABSURD.items():
        raw.send(framed(body(method="snapshot/cleanup", params="@").replace(b'"@"', params)) + STATUS)
        answers = {answer["id"]: answer for answer in (raw.answer(), raw.answer())}
        assert "result" in answers.pop("next"), what
        (bad,) = answers.values()
        assert bad["error"]["code"] in (-32700, -32602), what


@pytest.mark.hazard(61)
def test_params_that_look_like_messages_are_params(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    inner = {"jsonrpc": "2.0", "id": 9, "method": "snapshot/restore", "params": {"hash": UNKNOWN}, "result": None}
    before = tree_of(folder)
    for params in (inner, {"x": [inner, {"y": inner}]}, {"jsonrpc": "1.0", "error": inner}):
        assert raw.result("snapshot/status", params)["enabled"] is True
    raw.half_close()
    assert raw.says_nothing_more()
    assert tree_of(folder) == before


def wrong_values(annotation: Any) -> Iterator[Any]:
    """JSON values that a field of a type cannot have; null is always one where the field has to be there."""
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [member for member in get_args(annotation) if member is not type(None)]
    else:
        kinds = [annotation]
    plain = {kind if get_origin(kind) is not Annotated else get_args(kind)[0] for kind in kinds}
    for value, fits in (
        (True, {bool}),
        (7, {int, float}),
        (1.5, {float}),
        ("x", {str}),
        ([[]], set()),
        ({"a": 1}, set()),
    ):
        if not plain & fits:
            yield value


FIELDS = [
    (method.name, each)
    for method in METHODS.values()
    for each in fields_of(method.params)
    if each.name not in ("workspace_uri", "work_done_token") or method.name in ("snapshot/track", "session/undo")
]


@pytest.mark.hazard(62)
def test_wrong_type_in_any_field_of_any_method_is_named(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    right: dict[str, Any] = {
        "event": "turnEnd",
        "hash": UNKNOWN,
        "from_": UNKNOWN,
        "files": [],
        "hunks": [],
        "patches": [],
    }
    before, asked = tree_of(folder), 0
    for method, field in FIELDS:
        whole = {
            wire_name(each.name): right.get(each.name, "x")
            for each in attrs.fields(METHODS[method].params)
            if each.default is attrs.NOTHING
        }
        for value in wrong_values(field.type):
            answer = raw.ask(asked, method, {**whole, wire_name(field.name): value})
            assert error_of(answer) == (-32602, "invalidParams"), (method, field.name, value, answer)
            assert answer["error"]["data"]["field"].startswith(wire_name(field.name)), (method, field.name, value)
            asked += 1
        if field.default is attrs.NOTHING:
            for absent in ({}, {wire_name(field.name): None}):
                said = {name: each for name, each in whole.items() if name != wire_name(field.name)} | absent
                assert error_of(raw.ask(asked, method, said)) == (-32602, "invalidParams"), (method, field.name)
                asked += 1
    assert asked > 250
    assert tree_of(folder) == before
    assert "lastHash" not in raw.result("snapshot/status")


@pytest.mark.hazard(62)
def test_unknown_fields_are_ignored(daemon: Machine, folder: Path, bystander: Raw) -> None:
    raw = daemon.raw().open(folder)
    newer = {"colour": "red", "__class__": "x", "hash_": 5, "": [], "dry_run": True, "workspace_uri": 5, "\0": {}}
    tree = raw.result("snapshot/track", newer)["hash"]
    (folder / "a.txt").write_text("changed\n")
    assert raw.result("snapshot/patch", {"hash": tree, **newer})["files"] == [str(folder / "a.txt")]
    # where files change, what is misspelt might have kept them
    assert error_of(raw.ask(7, "snapshot/restore", {"hash": tree, **newer})) == (-32602, "invalidParams")
    assert (folder / "a.txt").read_text() == "changed\n"


@pytest.mark.hazard(63)
def test_requests_before_initialize_and_after_shutdown_do_nothing(
    daemon: Machine, folder: Path, bystander: Raw
) -> None:
    raw = daemon.raw()
    for method in (*METHODS, "shutdown", "no/such"):
        assert raw.ask(1, method, {"workspaceUri": folder.as_uri()})["error"]["code"] == -32002
    raw.send(notification("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}}))
    raw.open(folder)
    for params in ({}, {"rootUri": "file:///"}, None):
        assert raw.ask(2, "initialize", params)["error"]["code"] == -32600
    tree = raw.result("snapshot/track")["hash"]
    assert raw.ask(3, "shutdown")["result"] is None
    (folder / "a.txt").write_text("changed\n")
    for method in (*METHODS, "shutdown", "initialize", "no/such"):
        assert raw.ask(4, method, {"hash": tree})["error"]["code"] == -32600
    assert (folder / "a.txt").read_text() == "changed\n"
    raw.send(notification("exit"))
    assert raw.says_nothing_more()


@pytest.mark.hazard(65)
def test_duplicate_and_null_ids_never_give_two_answers_under_one_id(
    daemon: Machine, folder: Path, bystander: Raw
) -> None:
    raw = daemon.raw().open(folder)
    for message_id in (7, "7", "", -1, 2**53):
        raw.send(request(message_id, "snapshot/track") * 2)
        answers = [raw.answer(message_id), raw.answer(message_id)]
        assert sorted("result" in answer for answer in answers) == [False, True]
        assert next(error_of(answer) for answer in answers if "error" in answer)[0] == -32600
    # nothing was done for those that were refused
    raw.result("snapshot/track")
    assert raw.others[-1]["params"]["seq"] == 6
    for message_id in (None, True, 1.5, [], {}):
        raw.send(request(message_id, "snapshot/track"))
        assert raw.answer(None)["error"]["code"] == -32600
    raw.half_close()
    assert raw.says_nothing_more()


@pytest.mark.hazard(65)
def test_equal_ids_of_two_clients_are_two_requests(
    daemon: Machine, folder: Path, other_folder: Path, bystander: Raw
) -> None:
    one, other = daemon.raw().open(folder), daemon.raw().open(other_folder)
    for at in range(20):
        first, second = (one, other) if at % 2 else (other, one)
        for raw in (first, second):
            raw.send(request(1, "snapshot/status"))
        assert one.answer(1)["result"]["workspaceUri"] == folder.as_uri()
        assert other.answer(1)["result"]["workspaceUri"] == other_folder.as_uri()
    # a cancel of one client's request is none of the other's, whatever its id
    one.send(request(1, "snapshot/track"))
    other.send(notification("$/cancelRequest", {"id": 1}))
    assert other.result("snapshot/status")["enabled"] is True
    assert one.answer(1)["result"]["hash"]
