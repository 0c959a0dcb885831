"""The process that packs: it answers with what happened there, and is gone whenever nobody waits for it any more."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snapd.model.errors import IoError, StoreCorrupt
from snapd.store.maintenance import packing, scheduler
from snapd.store.maintenance import repack as module
from snapd.store.maintenance.packing import NOW, RepackNeed
from snapd.store.maintenance.repack import CancelToken, TokenRevoked, repack
from snapd.workers import processes
from snapd.workers.processes import ChildProcess
from tests.store.gate import Gate
from tests.store.steps import Steps, expire_nothing

ROOT = Path(__file__).parents[3]
ALWAYS = RepackNeed()


@pytest.fixture(autouse=True)
def jobs_run_here() -> None:
    """They do not."""


@pytest.fixture
def steps(steps: Steps) -> Steps:
    for at in range(6):
        steps.take({"a": b"%d\n" % at * 40, "b/c": b"%d\n" % (at // 2) * 50})
    return steps


def files(steps: Steps) -> dict[Path, int]:
    return {path: path.lstat().st_ino for path in (steps.path / "objects").rglob("*") if not path.is_dir()}


def leftovers(steps: Steps) -> list[Path]:
    return list((steps.path / module.PACKING).glob("*"))


def is_gone(child: ChildProcess) -> bool:
    try:
        os.kill(child.pid, 0)
    except ProcessLookupError:
        return True
    return False


class Behind:
    """A call in a thread, and what it raised."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.raised: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self.raised = error

    def end(self) -> BaseException | None:
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.raised


def consolidated(steps: Steps, due: RepackNeed = NOW, token: CancelToken | None = None) -> Behind:
    return Behind(lambda: repack(steps.store.repository, due, token or CancelToken()))


@pytest.mark.parametrize("due", [NOW, ALWAYS])
def test_this_process_packs_nothing(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, children: list[ChildProcess], due: RepackNeed
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(packing, "survey", never)
    monkeypatch.setattr(packing.PathPackBuilder, "__init__", never)
    done = repack(steps.store.repository, due, CancelToken())
    assert done.count > 0
    assert done.loose_left == 0
    (child,) = children
    assert is_gone(child)
    steps.check()


def test_nothing_is_done_below_the_limits(steps: Steps, children: list[ChildProcess]) -> None:
    before = files(steps)
    done = repack(steps.store.repository, RepackNeed(len(before), 1), CancelToken())
    assert (done.count, done.loose_left, done.packs_left) == (0, len(before), 0)
    assert files(steps) == before
    assert leftovers(steps) == []
    assert len(children) == 1


@pytest.mark.parametrize(("due", "nicer"), [(NOW, 0), (ALWAYS, 10)])
def test_it_gives_way_where_nobody_waits_for_it(
    steps: Steps, gate: Gate, children: list[ChildProcess], due: RepackNeed, nicer: int
) -> None:
    behind = consolidated(steps, due)
    waits = gate.wait()
    ours, theirs = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, children[0].pid))
    os.close(waits)
    assert theirs == min(19, ours + nicer)
    assert behind.end() is None
    steps.check()


def test_what_went_wrong_there_is_told_here(steps: Steps) -> None:
    last = "ff" * 20
    damaged = steps.path / "objects" / last[:2] / last[2:]
    damaged.parent.mkdir(mode=0o700, exist_ok=True)
    damaged.write_bytes(b"nothing that zlib made")
    before = files(steps)
    error = consolidated(steps).end()
    assert isinstance(error, StoreCorrupt)
    assert error.data == {"object": last}
    assert last in error.message
    assert files(steps) == before
    assert leftovers(steps) == []


@pytest.mark.parametrize("how", ["at once", "at work"])
def test_one_that_dies_changes_nothing(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, gate: Gate, children: list[ChildProcess], how: str
) -> None:
    if how == "at once":

        class Dead(ChildProcess):
            def __init__(self, *args: Any, **more: Any) -> None:
                super().__init__(*args, **more)
                self.kill()
                self.wait()

        monkeypatch.setattr(processes, "ChildProcess", Dead)
    before = files(steps)
    behind = consolidated(steps)
    if how == "at work":
        waits = gate.wait()
        os.kill(children[0].pid, signal.SIGKILL)
        os.close(waits)
    error = behind.end()
    assert isinstance(error, IoError)
    assert str(-signal.SIGKILL) in error.message
    assert files(steps) == before
    assert leftovers(steps) == []
    monkeypatch.setattr(processes, "ChildProcess", ChildProcess)
    assert consolidated(steps).end() is None
    steps.check()


def test_one_that_cannot_be_started_changes_nothing(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EAGAIN, "no more processes")

    before = files(steps)
    monkeypatch.setattr(processes, "ChildProcess", fails)
    error = consolidated(steps).end()
    assert isinstance(error, IoError)
    assert error.data["errno"] == "EAGAIN"
    assert files(steps) == before
    assert leftovers(steps) == []


def test_what_an_earlier_one_left_is_swept(steps: Steps) -> None:
    left = steps.path / module.PACKING / "0123456789abcdef"
    left.mkdir(parents=True)
    (left / "pack_git2_a").write_bytes(b"half")
    assert consolidated(steps).end() is None
    assert leftovers(steps) == []
    steps.check()


def test_to_revoke_ends_the_process(steps: Steps, gate: Gate, children: list[ChildProcess]) -> None:
    before = files(steps)
    token = CancelToken()
    behind = consolidated(steps, NOW, token)
    waits = gate.wait()
    token.revoke()
    assert isinstance(behind.end(), TokenRevoked)
    assert is_gone(children[0])
    os.close(waits)
    assert files(steps) == before
    assert leftovers(steps) == []


def test_who_is_revoked_before_ends_it_too(
    steps: Steps, gate: Gate, children: list[ChildProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = CancelToken()
    gated = processes.ChildProcess

    def late(module: str) -> ChildProcess:
        child = gated(module)
        token.revoke()
        return child

    monkeypatch.setattr(processes, "ChildProcess", late)
    before = files(steps)
    assert isinstance(consolidated(steps, NOW, token).end(), TokenRevoked)
    assert is_gone(children[0])
    assert files(steps) == before


def test_a_close_ends_the_one_behind_it(
    steps: Steps,
    gate: Gate,
    children: list[ChildProcess],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(scheduler, "LOOSE_LIMIT", 1)
    steps.take({"a": b"one more\n"})
    thread = steps.store.scheduler.thread
    assert thread is not None
    waits = gate.wait()
    before = files(steps)
    joined: list[float | None] = []
    join = thread.join
    monkeypatch.setattr(thread, "join", lambda timeout=None: (joined.append(timeout), join(timeout)))
    steps.store.close()
    assert joined == [None]
    assert not thread.is_alive()
    assert is_gone(children[0])
    os.close(waits)
    assert files(steps) == before
    assert leftovers(steps) == []
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []
    steps.open()
    steps.check()


def test_large_work_gives_memory_back_and_steps_do_not(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(scheduler, "release_pages", lambda: given.append(1))
    steps.take({"a": b"nothing is due\n"})
    assert given == []
    monkeypatch.setattr(scheduler, "LOOSE_LIMIT", 1)
    steps.take({"a": b"now it is\n"})
    thread = steps.store.scheduler.thread
    if thread is not None:
        thread.join(60)
    assert given == [1]
    expire_nothing(steps.store)
    assert given == [1, 1]
