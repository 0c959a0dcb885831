"""What is sent again after the daemon was lost, and what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import ConnectionLost

from snapd.mcp.link import Link
from snapd.model.errors import IoError, NothingToUndo

if TYPE_CHECKING:
    from snapd.backend import RemoteBackend


def lost() -> IoError:
    error = IoError("the daemon did not answer", errno="EPIPE")
    error.__cause__ = ConnectionLost("lost")
    return error


class Backend:
    """A connection that ends with the first request that fails so."""

    def __init__(self, outcomes: list[Any], sent: list[str]) -> None:
        self.is_open = True
        self.is_closed = False
        self._outcomes = outcomes
        self._sent = sent

    def request(self, method: str, params: Any, report: Any, cancellation: Any) -> Any:
        self._sent.append(method)
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            self.is_open = not isinstance(outcome.__cause__, ConnectionLost)
            raise outcome
        return outcome

    def close(self) -> None:
        self.is_closed = True


class Daemon:
    """Answers requests with these outcomes, one after the other; and connections, None for one that is made."""

    def __init__(self, *outcomes: Any, connecting: tuple[Exception | None, ...] = ()) -> None:
        self.sent: list[str] = []
        self.made: list[Backend] = []
        self._outcomes = list(outcomes)
        self._connecting = list(connecting)

    def connect(self) -> RemoteBackend:
        error = self._connecting.pop(0) if self._connecting else None
        if error is not None:
            raise error
        self.made.append(Backend(self._outcomes, self.sent))
        return self.made[-1]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("snapshot/track", {}),
        ("session/history", {}),
        ("step/end", {"stepId": "s"}),
        ("session/start", {"sessionId": "s"}),
        ("session/undo", {"dryRun": True}),
        ("snapshot/revert", {"patches": [], "dryRun": True}),
    ],
)
def test_what_changes_nothing_twice_is_sent_again(method: str, params: dict[str, Any]) -> None:
    daemon = Daemon(lost(), "answer")
    link = Link(daemon.connect)
    assert link.request(method, params) == "answer"
    assert daemon.sent == [method, method]
    old, new = daemon.made
    assert (old.is_closed, new.is_closed) == (True, False)
    link.close()
    assert new.is_closed


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/undo", {}),
        ("session/undo", {"dryRun": False}),
        ("session/redo", {"dryRun": None}),
        ("snapshot/revert", {"patches": []}),
        ("step/revertFiles", {"stepId": "s", "files": []}),
        ("step/begin", {"sessionId": "s"}),
        ("session/start", {"sessionId": None}),
    ],
)
def test_what_may_have_been_done_is_not_sent_again(method: str, params: dict[str, Any]) -> None:
    daemon = Daemon(lost(), "answer")
    link = Link(daemon.connect)
    with pytest.raises(IoError):
        link.request(method, params)
    assert daemon.sent == [method]
    # the next one finds a new connection
    assert link.request(method, params) == "answer"
    assert len(daemon.made) == 2


def test_other_errors_are_not_tried_again() -> None:
    daemon = Daemon(NothingToUndo("nothing"), IoError("the disk", errno="EIO"))
    link = Link(daemon.connect)
    for error in (NothingToUndo, IoError):
        with pytest.raises(error):
            link.request("snapshot/track", {})
    assert len(daemon.sent) == 2
    assert len(daemon.made) == 1


def test_a_daemon_that_is_lost_twice_is_told() -> None:
    daemon = Daemon(lost(), lost(), "answer")
    with pytest.raises(IoError):
        Link(daemon.connect).request("snapshot/track", {})
    assert len(daemon.sent) == 2


def test_a_connection_that_is_lost_at_once_is_made_again() -> None:
    daemon = Daemon("answer", connecting=(lost(), lost(), None))
    assert Link(daemon.connect).request("session/undo", {}) == "answer"
    daemon = Daemon(connecting=(lost(), lost(), lost(), None))
    with pytest.raises(IoError):
        Link(daemon.connect).request("session/undo", {})
    daemon = Daemon(connecting=(IoError("refused", errno="ECONNREFUSED"), None))
    with pytest.raises(IoError, match="refused"):
        Link(daemon.connect).request("session/undo", {})
