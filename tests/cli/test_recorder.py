"""What `snapd run` asks of the daemon, and in which order, by what the daemon tells."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from snapd_client import Notification

from snapd.cli.recorder import Recorder

if TYPE_CHECKING:
    from snapd_client import Client

QUIET = 0.01


class Daemon:
    """Answers, remembers what it was asked, and tells; the tree of a snapshot is what the test says it is."""

    is_open = connected = True

    def __init__(self, *trees: str) -> None:
        self.trees = list(trees)
        self.asked: list[str] = []
        self.told: list[Notification] = []
        self.changed = threading.Condition()
        self.closed = False
        self.steps = 0

    def request(self, method: str, params: dict[str, Any], report: object = None) -> Any:
        with self.changed:
            self.asked.append(f"{method} {params.get('stepId', '')}".strip())
            self.changed.notify_all()
            if method == "step/begin":
                self.steps += 1
                return {"stepId": f"step{self.steps}", "hash": self.trees.pop(0)}
            if method == "step/end":
                return {"to": self.trees.pop(0)}
        return {"sessionId": "s", "steps": []}

    def tell(self, method: str, **params: Any) -> None:
        with self.changed:
            self.told.append(Notification(method, params))
            self.changed.notify_all()

    def wait_until_heard(self) -> None:
        # who takes the second has dealt with all before it
        for _ in range(2):
            self.tell("session/didChange", session={})
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.told) < 2, 60)

    def wait_for(self, *asked: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.asked == list(asked), 60), self.asked

    def subscribe(self, methods: frozenset[str]) -> Daemon:
        return self

    def get(self, timeout: float | None) -> Notification | None:
        with self.changed:
            self.changed.wait_for(lambda: self.told or self.closed, timeout)
            self.changed.notify_all()
            return self.told.pop(0) if self.told else None

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()


def recorder(daemon: Daemon) -> Recorder:
    made = Recorder(daemon, cast("Client", daemon), lambda: None, QUIET)
    made.start("agent", "title")
    return made


START = ("session/start", "step/begin")
TURN = ("step/begin", "step/end step1")


def test_the_next_step_begins_before_one_ends() -> None:
    daemon = Daemon("a", "b", "b")
    made = recorder(daemon)
    daemon.tell("snapshot/didTrack", hash="a")
    daemon.tell("snapshot/didChange", base="a", files=["f"])
    daemon.wait_for(*START, *TURN)
    made.finish()
    daemon.wait_for(*START, *TURN, "session/end", "session/steps")


def test_what_came_between_the_two_belongs_to_a_step_that_will_end_too() -> None:
    daemon = Daemon("a", "b", "c", "c", "c")
    made = recorder(daemon)
    daemon.tell("snapshot/didChange", base="a", files=["f"])
    daemon.wait_for(*START, *TURN, "step/begin", "step/end step2")
    made.finish()


def test_what_says_nothing_new_ends_no_step() -> None:
    daemon = Daemon("a", "b", "b", "c", "c")
    made = recorder(daemon)
    # it is as it was; and what others' steps are
    daemon.tell("snapshot/didChange", base="a", files=[])
    daemon.tell("session/didChange", session={}, step={"stepId": "other", "state": "applied"})
    daemon.tell("snapshot/didTrack", hash="a")
    daemon.wait_until_heard()
    assert made._left() is None
    daemon.tell("snapshot/didChange", base="a", files=["f"])
    daemon.wait_for(*START, *TURN)
    # told before the step ended, and heard afterwards
    daemon.tell("snapshot/didChange", base="a", files=["f", "g"])
    daemon.wait_until_heard()
    assert made._left() is None
    daemon.tell("snapshot/didTrack", hash="b")
    daemon.tell("snapshot/didRevert", after="r")
    daemon.tell("snapshot/didTrack", hash="r")
    daemon.tell("snapshot/didChange", base="r", files=["h"])
    daemon.wait_for(*START, *TURN, "step/begin", "step/end step2")
    made.finish()
    assert made.trouble is None
