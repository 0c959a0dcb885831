"""What the server hears, and over which connection it asks, with made-up daemons."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Notification
from snapd_client.notifications import DISCONNECTED, RECONNECTED, RESET, UNREACHABLE

from snapd.model.errors import Cancelled, InvalidParams, IoError, SnapdError
from snapd.web.link import Link
from tests.rpc.machine import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.backend import RemoteBackend


def news(seq: int) -> Notification:
    return Notification("snapshot/didTrack", {"seq": seq})


class Told:
    """A subscription, to which the test adds."""

    def __init__(self) -> None:
        self.dropped = 0
        self._kept: list[Notification] = []
        self._changed = threading.Condition()
        self._is_over = False

    def add(self, *notifications: Notification) -> None:
        with self._changed:
            self._kept += notifications
            self._changed.notify()

    def end(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()

    def __iter__(self) -> Iterator[Notification]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._kept or self._is_over)
                if not self._kept:
                    return
                found = self._kept.pop(0)
            yield found


class Connection:
    """A connection: backend and client in one. Requests are answered by what `answers` says, or it raises that."""

    def __init__(self, **answers: Any) -> None:
        self.told = Told()
        self.is_open = True
        self.asked: list[str] = []
        self._answers = {"events": {"latest": 5}, **answers}

    def request(self, method: str, params: Any, cancellation: Any = None) -> Any:
        self.asked.append(method)
        answer = self._answers[method.partition("/")[2]]
        if isinstance(answer, SnapdError):
            raise answer
        return answer

    def lose(self) -> None:
        self.is_open = False
        self.told.add(Notification(DISCONNECTED, {"reason": "killed"}))

    def subscribe(self) -> Told:
        return self.told

    def close(self) -> None:
        self.is_open = False
        self.told.end()


class Heard:
    """All that was heard, in order."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def begin(self, seq: int) -> None:
        self.all.append(("begin", seq))

    def notified(self, method: str, params: dict[str, Any]) -> None:
        self.all.append(params["seq"])

    def missed(self, latest: int) -> None:
        self.all.append(("missed", latest))

    def disconnected(self, why: str) -> None:
        self.all.append(("disconnected", why))

    def reconnected(self) -> None:
        self.all.append("reconnected")

    def wait_for(self, count: int) -> list[Any]:
        wait_until(lambda: len(self.all) >= count, f"{count} things to hear, not {self.all}")
        return self.all


@pytest.fixture
def play() -> Iterator[Callable[..., tuple[Link, Heard]]]:
    """A link that gets these connections, one after the other; an error for one that cannot be made."""
    links: list[Link] = []

    def begin(*connections: Connection | SnapdError) -> tuple[Link, Heard]:
        coming = list(connections)

        def connect() -> tuple[RemoteBackend, Any]:
            found = coming.pop(0) if coming else IoError("there is none", errno="ECONNREFUSED")
            if isinstance(found, SnapdError):
                raise found
            return found, found  # type: ignore[return-value]

        heard = Heard()
        links.append(Link(connect, heard))
        return links[-1], heard

    yield begin
    for link in links:
        link.close()


def test_what_is_heard(play: Callable[..., tuple[Link, Heard]]) -> None:
    daemon = Connection()
    link, heard = play(daemon)
    # one that came before the latest number was known
    daemon.told.add(news(5), news(6))
    assert heard.wait_for(2) == [("begin", 5), 6]
    assert link.problem is None
    daemon.lose()
    daemon.told.add(Notification(UNREACHABLE, {"reason": "there is none"}))
    heard.wait_for(3)
    wait_until(lambda: link.problem == "there is none", "the reason")
    daemon.told.add(news(7), Notification(RESET, {"seq": 100}), Notification(RECONNECTED, {}), news(101))
    assert heard.wait_for(7)[2:] == [("disconnected", "killed"), 7, ("missed", 100), "reconnected", 101]


def test_who_cannot_keep_up_begins_anew(play: Callable[..., tuple[Link, Heard]]) -> None:
    daemon = Connection()
    _, heard = play(daemon)
    daemon.told.dropped = 3
    daemon.told.add(news(40), news(41))
    assert heard.wait_for(3)[1:] == [("missed", 40), 41]


def test_what_changes_something_has_one_connection_of_its_own(play: Callable[..., tuple[Link, Heard]]) -> None:
    reader, writer = Connection(list="listed"), Connection(undo="undone", keep="kept")
    link, _ = play(reader, writer)
    assert link.request("session/list", {}) == "listed"
    assert [link.request("session/undo", {}), link.request("review/keep", {})] == ["undone", "kept"]
    assert (reader.asked, writer.asked) == (["snapshot/events", "session/list"], ["session/undo", "review/keep"])
    link.close()
    assert (reader.is_open, writer.is_open) == (False, False)


def test_nothing_is_asked_after_the_end(play: Callable[..., tuple[Link, Heard]]) -> None:
    first = Connection(list=IoError("it is closed", errno="EPIPE"))
    link, _ = play(first)
    link.close()
    for method in ("session/list", "session/undo"):
        with pytest.raises(Cancelled):
            link.request(method, {})


def test_a_folder_that_is_refused_leaves_no_connection() -> None:
    refusing = Connection(events=InvalidParams("no"))
    with pytest.raises(InvalidParams):
        Link(lambda: (refusing, refusing), Heard())  # type: ignore[arg-type, return-value]
    assert not refusing.is_open
