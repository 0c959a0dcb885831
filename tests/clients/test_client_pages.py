"""Lists that come in pages: the Python client asks for the next page while the one before is taken."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import (
    ConnectionLost,
    SnapdError,
)
from snapd_client.framing import decode_message

from tests.clients.peer import HASH, WAIT, World, framed, taken

if TYPE_CHECKING:
    from collections.abc import Callable


def test_pages(world: World) -> None:
    def serve(key: str, pages: list[list[Any]]) -> list[dict[str, Any]]:
        asked = []
        for number, page in enumerate(pages, 1):
            message = world.peer.read()
            asked.append(message["params"])
            more = {"nextCursor": str(number)} if number < len(pages) else {}
            world.peer.send(id=message["id"], result={key: page, **more})
        return asked

    served = world.later(serve, "files", [["a", "b"], [], ["c"]])
    assert list(world.client.list_files_all(HASH, "p", limit=2, timeout=WAIT)) == ["a", "b", "c"]
    common = {"hash": HASH, "prefix": "p", "limit": 2}
    assert served.result(WAIT) == [common, {**common, "cursor": "1"}, {**common, "cursor": "2"}]
    served = world.later(serve, "diffs", [[{"file": "a"}], [{"file": "b"}]])
    names = iter(["x", "y"])
    assert [d["file"] for d in world.client.diff_full_all(HASH, files=names, timeout=WAIT)] == ["a", "b"]
    assert [asked["files"] for asked in served.result(WAIT)] == [["x", "y"], ["x", "y"]]


def compact(request_id: int, **result: Any) -> bytes:
    """An answer as the daemon writes it."""
    message = {"jsonrpc": "2.0", "id": request_id, "result": result}
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize("answer", [compact, lambda number, **result: framed({"id": number, "result": result})])
def test_a_page_is_asked_for_while_the_one_before_is_taken(world: World, answer: Callable[..., bytes]) -> None:
    """However the daemon writes its answers: one page ahead, and never two."""
    subscription = world.client.subscribe()
    found = world.client.list_files_all(HASH, limit=2)
    first = world.later(next, found)
    asked = world.peer.read()
    assert "cursor" not in asked["params"]
    world.peer.sock.sendall(answer(asked["id"], files=["a", "b"], nextCursor="c1=="))
    assert first.result(WAIT) == "a"
    ahead = world.peer.read()
    assert ahead["params"]["cursor"] == "c1=="
    world.peer.sock.sendall(answer(ahead["id"], files=["c"], nextCursor="c2=="))
    world.peer.tell("after the second page")
    assert taken(subscription).method == "after the second page"
    # nobody has taken anything of it: the third is not asked for
    world.client.notify("marked")
    assert world.peer.read()["method"] == "marked"
    assert next(found) == "b"
    assert world.later(next, found).result(WAIT) == "c"
    last = world.peer.read()
    assert last["params"]["cursor"] == "c2=="
    world.peer.sock.sendall(answer(last["id"], files=["d"]))
    assert list(found) == ["d"]


def test_the_next_page_is_asked_for_before_the_answer_is_parsed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_again = threading.Event()
    in_time: list[bool] = []

    def decode(body: bytes) -> dict[str, Any]:
        if b"nextCursor" in body:
            in_time.append(asked_again.wait(WAIT))
        return decode_message(body)

    monkeypatch.setattr("snapd_client.connection.decode_message", decode)
    found = world.later(list, world.client.list_files_all(HASH))
    world.peer.sock.sendall(compact(world.peer.read()["id"], files=["a"], nextCursor="c"))
    second = world.peer.read()
    asked_again.set()
    world.peer.sock.sendall(compact(second["id"], files=["b"]))
    assert found.result(WAIT) == ["a", "b"]
    assert in_time == [True]


@pytest.mark.parametrize("name", ['"nextCursor":"x"}}', 'x","nextCursor":"x"}}', '\\","nextCursor":"x"}}'])
def test_text_that_looks_like_a_cursor_is_none(world: World, name: str) -> None:
    found = world.later(list, world.client.list_files_all(HASH))
    world.peer.sock.sendall(compact(world.peer.read()["id"], files=[name]))
    assert found.result(WAIT) == [name]
    world.client.notify("marked")
    assert world.peer.read()["method"] == "marked"


def test_a_page_that_nobody_takes_is_cancelled(world: World) -> None:
    found = world.client.list_files_all(HASH)
    first = world.later(next, found)
    world.peer.sock.sendall(compact(world.peer.read()["id"], files=["a", "b"], nextCursor="c"))
    assert first.result(WAIT) == "a"
    ahead = world.peer.read()
    found.close()  # type: ignore[attr-defined]
    cancel = world.peer.read()
    assert (cancel["method"], cancel["params"]) == ("$/cancelRequest", {"id": ahead["id"]})


def test_a_page_that_fails_fails_when_it_is_reached(world: World) -> None:
    found = world.client.list_files_all(HASH, timeout=WAIT)
    first = world.later(next, found)
    world.peer.sock.sendall(compact(world.peer.read()["id"], files=["a"], nextCursor="c"))
    assert first.result(WAIT) == "a"
    world.peer.send(id=world.peer.read()["id"], error={"code": 1, "message": "gone", "data": {"kind": "storeCorrupt"}})
    with pytest.raises(SnapdError, match="gone"):
        next(found)
    again = world.client.list_files_all(HASH, timeout=WAIT)
    first = world.later(next, again)
    world.peer.sock.sendall(compact(world.peer.read()["id"], files=["a"], nextCursor="c"))
    assert first.result(WAIT) == "a"
    world.peer.read()
    world.peer.close()
    with pytest.raises(ConnectionLost):
        next(again)


def test_pages_of_a_diff_have_a_few_megabytes(world: World) -> None:
    found = world.later(list, world.client.diff_full_all(HASH, timeout=WAIT))
    limits = []
    for size in (100, 100, 8 << 20, 40 << 20, 2 << 20):
        asked = world.peer.read()
        limits.append(asked["params"]["limit"])
        last = len(limits) == 5
        diff = {"file": "a", "after": "x" * size}
        world.peer.sock.sendall(compact(asked["id"], diffs=[diff], **({} if last else {"nextCursor": "c"})))
    assert len(found.result(WAIT)) == 5
    # twice as many as long as that is little, then what comes to 2 MiB
    assert limits[:3] == [64, 128, 256]
    assert 60 <= limits[3] <= 64
    assert 2 <= limits[4] <= 3
