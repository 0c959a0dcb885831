"""What `snapd run` asks of the daemon, and in which order, by what the daemon tells."""

from __future__ import annotations

import threading
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, cast

from snapd_client import Notification

from snapd.backend import LocalBackend
from snapd.cli.commands.recorder import Recorder
from tests.support.workspace import make

if TYPE_CHECKING:
    from pathlib import Path

    from snapd_client import Client

    from tests.support.workspace import Bench

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
            self.asked.append(f"{method} {params.get('event', '')}".strip())
            self.changed.notify_all()
            if method == "agent/report":
                self.steps += 1
                return {"stepId": f"step{self.steps}", "hash": self.trees.pop(0)}
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
    made = Recorder(daemon, cast("Client", daemon), QUIET)
    made.start("agent", "title")
    return made


class Writing:
    """Answers by a real workspace, and writes a new file before and after each request about a step.

    Attributes:
        written: the files that were there when no step had begun are not among them.
    """

    is_open = True

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._found = LocalBackend(bench.workspaces, str(bench.root), bench.options)
        self._numbers = count()
        self.begun: list[str] = []
        self.written: list[str] = []
        self.changed = threading.Condition()

    def request(self, method: str, params: dict[str, Any], report: object = None) -> Any:
        if method != "agent/report":
            return self._found.request(method, params)
        self._write()
        result = self._found.request(method, params)
        if method == "agent/report":
            if not self.begun:
                self.written.clear()
            with self.changed:
                self.begun.append(result["hash"])
                self.changed.notify_all()
        self._write()
        return result

    def _write(self) -> None:
        name = f"f{next(self._numbers)}"
        self._bench.write({name: b"1\n"})
        self.written.append(name)

    def wait_for(self, steps: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.begun) == steps, 60), self.begun

    def close(self) -> None:
        self._found.close()


START = ("session/start", "agent/report callBegin")
TURN = ("agent/report callBegin",)


def test_a_step_ends_as_the_next_one_begins() -> None:
    daemon = Daemon("a", "b", "c")
    made = recorder(daemon)
    daemon.tell("snapshot/didTrack", hash="a")
    daemon.tell("snapshot/didChange", base="a", files=["f"])
    daemon.wait_for(*START, *TURN)
    daemon.tell("snapshot/didChange", base="b", files=["f"])
    daemon.wait_for(*START, *TURN, *TURN)
    made.finish()
    daemon.wait_for(*START, *TURN, *TURN, "session/end", "session/steps")


def test_what_is_written_at_any_time_is_in_one_step_alone(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"a\n"})
    writing, client = Writing(bench), Daemon()
    made = Recorder(writing, cast("Client", client), QUIET)
    made.start("agent", "title")
    for number in range(1, 4):
        client.tell("snapshot/didChange", base=writing.begun[-1], files=["f"])
        writing.wait_for(number + 1)
    steps = made.finish()
    assert made.trouble is None
    assert len(steps) == 4
    assert sorted(row["file"] for step in steps for row in step["files"]) == sorted(writing.written)
    for step, following in pairwise(steps):
        assert step["to"] == following["from"]
    writing.close()


def test_what_says_nothing_new_ends_no_step() -> None:
    daemon = Daemon("a", "b", "c")
    made = recorder(daemon)
    # it is as it was; and what others' steps are
    daemon.tell("snapshot/didChange", base="a", files=[])
    daemon.tell("session/didChange", session={}, step={"stepId": "other", "state": "applied"})
    daemon.tell("snapshot/didTrack", hash="a")
    daemon.wait_until_heard()
    assert made.seconds_left() is None
    daemon.tell("snapshot/didChange", base="a", files=["f"])
    daemon.wait_for(*START, *TURN)
    # told before the step ended, and heard afterwards; and that it ended
    daemon.tell("snapshot/didChange", base="a", files=["f", "g"])
    daemon.tell("session/didChange", session={}, step={"stepId": "step1", "state": "applied"})
    daemon.wait_until_heard()
    assert made.seconds_left() is None
    daemon.tell("snapshot/didTrack", hash="b")
    daemon.tell("snapshot/didRevert", after="r")
    daemon.tell("snapshot/didTrack", hash="r")
    daemon.tell("snapshot/didChange", base="r", files=["h"])
    daemon.wait_for(*START, *TURN, *TURN)
    made.finish()
    assert made.trouble is None
