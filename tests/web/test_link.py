"""What the server hears and is answered when the daemon is lost and comes again, step by step, with made-up daemons."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import ConnectionLost, Notification
from snapd_client.notifications import DISCONNECTED

from snapd.model.errors import Cancelled, InvalidParams, IoError, SnapdError
from snapd.web.link import Link
from tests.rpc.machine import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.backend import RemoteBackend


def lost() -> IoError:
    error = IoError("the daemon did not answer", errno="EPIPE")
    error.__cause__ = ConnectionLost("lost")
    return error


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
            if isinstance(answer.__cause__, ConnectionLost):
                self.lose()
            raise answer
        return answer

    def answer(self, name: str, answer: Any) -> None:
        self._answers[name] = answer

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


def test_each_notification_is_heard_once(play: Callable[..., tuple[Link, Heard]]) -> None:
    """Also one that comes both as what was missed and by itself."""
    first = Connection()
    second = Connection(
        events={"latest": 8, "events": [{"method": "snapshot/didTrack", "params": {"seq": n}} for n in (7, 8)]}
    )
    _, heard = play(first, second)
    first.told.add(news(6))
    assert heard.wait_for(2) == [("begin", 5), 6]
    second.told.add(news(7), news(8), news(9))
    first.lose()
    assert heard.wait_for(7) == [("begin", 5), 6, ("disconnected", "killed"), 7, 8, "reconnected", 9]


def test_what_is_lost_is_told(play: Callable[..., tuple[Link, Heard]]) -> None:
    first, second = Connection(), Connection(events={"latest": 100, "reset": True})
    _, heard = play(first, second)
    second.told.add(news(99), news(101))
    first.lose()
    assert heard.wait_for(5) == [("begin", 5), ("disconnected", "killed"), ("missed", 100), "reconnected", 101]


def test_who_cannot_keep_up_begins_anew(play: Callable[..., tuple[Link, Heard]]) -> None:
    first, second = Connection(), Connection(events={"latest": 50, "reset": True})
    _, heard = play(first, second)
    first.told.dropped = 3
    first.told.add(news(40))
    assert heard.wait_for(5)[1:] == [
        40,
        ("disconnected", "more was told than this server could pass on"),
        ("missed", 50),
        "reconnected",
    ]
    assert not first.is_open


@pytest.mark.parametrize(
    ("method", "params", "again"),
    [
        ("session/list", {}, True),
        ("session/undo", {"dryRun": True}, True),
        ("session/undo", {}, False),
        ("review/keep", {"all": True}, False),
    ],
)
def test_what_is_sent_again(
    play: Callable[..., tuple[Link, Heard]], method: str, params: dict[str, Any], again: bool
) -> None:
    name = method.partition("/")[2]
    dying = Connection(**{name: lost()})
    # what changes something has a connection of its own
    before = [Connection()] if method != "session/list" else []
    after = [Connection(**{name: "answer"}), Connection(**{name: "answer"})]
    link, _ = play(*before, dying, *after)
    if again:
        assert link.request(method, params) == "answer"
    else:
        with pytest.raises(IoError, match="did not answer"):
            link.request(method, params)
        assert not any(method in each.asked for each in after)


def test_a_daemon_that_is_about_to_die_is_not_asked_again() -> None:
    """It takes connections for a moment, and answers nothing; nobody noticed before somebody asks on the old one."""
    listening, dying = Connection(), Connection(undo=lost())

    def connect() -> tuple[RemoteBackend, Any]:
        if not listening.asked:
            found = listening
        elif not dying.asked:
            found = dying
            listening.answer("events", lost())
        else:
            found = Connection(undo=lost() if listening.is_open else "answer")
        return found, found  # type: ignore[return-value]

    link = Link(connect, Heard())
    try:
        assert link.request("session/undo", {"dryRun": True}) == "answer"
    finally:
        link.close()


def test_why_there_is_none(play: Callable[..., tuple[Link, Heard]]) -> None:
    first = Connection()
    link, heard = play(first, InvalidParams("a setting is wrong"))
    assert link.trouble is None
    first.lose()
    heard.wait_for(2)
    wait_until(lambda: link.trouble == "a setting is wrong" or link.trouble == "there is none", "the reason")
    for method in ("session/list", "session/undo"):
        with pytest.raises(IoError, match="cannot be reached"):
            link.request(method, {})


def test_nothing_is_asked_after_the_end(play: Callable[..., tuple[Link, Heard]]) -> None:
    first = Connection()
    link, _ = play(first)
    link.close()
    assert not first.is_open
    for method in ("session/list", "session/undo"):
        with pytest.raises(Cancelled):
            link.request(method, {})


def test_a_folder_that_is_refused_leaves_no_connection() -> None:
    refusing = Connection(events=InvalidParams("no"))
    with pytest.raises(InvalidParams):
        Link(lambda: (refusing, refusing), Heard())  # type: ignore[arg-type, return-value]
    assert not refusing.is_open
