"""The hourly task of the daemon, by a clock of the test's own, and maintenance that gives way."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from snapd.core.workspace import Workspace
from snapd.housekeeping import AGAIN_SECONDS, INTERVAL_SECONDS, JITTER, Calendar, Housekeeping
from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.store import store
from snapd.store.repository import ShadowRepository
from tests.support.git import run_git
from tests.support.workspace import Bench, make

DAY = 86400.0
PATIENCE = 60.0


class Clock:
    """The time, which goes on when it is told to; stands in for the module `time` too."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.slept: list[float] = []
        self._wake = asyncio.Event()
        self._asleep = asyncio.Event()

    def time(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return int(self.now * 10**9)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._asleep.set()
        await self._wake.wait()
        self._wake.clear()
        self.now += seconds

    async def settled(self) -> None:
        """Until it waits for the time to go on."""
        await asyncio.wait_for(self._asleep.wait(), PATIENCE)

    async def goes_on(self) -> None:
        """Until the time is over that is waited for, and all is done that was waiting for it."""
        await self.settled()
        self._asleep.clear()
        self._wake.set()
        await self.settled()


class Fake:
    """The upkeep of a workspace that does as it is told."""

    root = b"/somewhere"

    def __init__(self, *answers: int | Exception | None) -> None:
        self.answers = list(answers)
        self.asked: list[float] = []
        self.upkeep = self

    def keep_house(self, now: float) -> int | None:
        self.asked.append(now)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def test_each_open_workspace_has_its_turn_about_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    fakes = [Fake(0, 2, None, 0), Fake(StoreCorrupt("damaged", object="x"), 0, 0, 0)]
    with ThreadPoolExecutor(2) as executor:
        task = Housekeeping(
            lambda: fakes,  # type: ignore[arg-type,return-value]
            executor,
            sleep=clock.sleep,
            now=clock.time,
            chance=max,
        )
        task.start()
        begun = clock.now
        for _ in range(4):
            await clock.goes_on()
        await task.stop()
        await task.stop()
    longest = INTERVAL_SECONDS * (1 + JITTER)
    again = AGAIN_SECONDS * (1 + JITTER)
    assert clock.slept == [longest, longest, longest, again, longest]
    expected = [begun + longest, begun + 2 * longest, begun + 3 * longest, begun + 3 * longest + again]
    assert [fake.asked for fake in fakes] == [expected, expected]
    assert "maintenance failed: damaged" in caplog.text


async def test_it_drops_what_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    bench = make(tmp_path, {"a": b"0"})
    monkeypatch.setattr(store, "time", clock)
    trees = []
    for day in range(12):
        bench.write({"a": b"%d" % day})
        trees.append(bench.track())
        clock.now += DAY
    with ThreadPoolExecutor(2) as executor:
        task = Housekeeping(lambda: bench.workspaces.all_open, executor, sleep=clock.sleep, now=clock.time, chance=min)
        task.start()
        await clock.goes_on()
        await task.stop()
        bench.workspace.store.scheduler.thread.join(PATIENCE)  # type: ignore[attr-defined]
        assert [bench.workspace.store.knows(tree) for tree in trees] == [False] * 6 + [True] * 6
        assert run_git(bench.store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling") == b""
        assert sum(name.endswith(".pack") for name in os.listdir(os.path.join(bench.store, "objects", "pack"))) == 1
        bench.close()
        task.start()
        await clock.goes_on()
        await task.stop()


def crowded(tmp_path: Path) -> Bench:
    """A workspace with something to be dropped."""
    bench = make(tmp_path, {"a": b"0"})
    for number in range(6):
        bench.write({"a": b"%d" % number, f"d{number}/x": b"x%d" % number})
        bench.track()
    bench.keep(0)
    return bench


def test_who_is_at_work_is_not_disturbed(tmp_path: Path) -> None:
    bench = crowded(tmp_path)
    with bench.workspace.writer.turn(Call()):
        assert bench.workspace.upkeep.keep_house(1.0) is None
    bench.workspace.store.scheduler.stop()  # type: ignore[attr-defined]
    assert bench.workspace.upkeep.keep_house(4e9) == 5


@pytest.mark.parametrize("ask", [Bench.track, Bench.close], ids=["track", "close"])
@pytest.mark.parametrize("reads", [0, 1, 3])
def test_it_gives_way_to_whoever_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Bench], object], reads: int
) -> None:
    """Somebody asks for something while it marks: that is answered before anything else is read."""
    bench = crowded(tmp_path)
    workspace: Workspace = bench.workspace
    bench.write({"a": b"new"})
    came, real, left, after = threading.Event(), ShadowRepository.read_tree, reads, 0
    other = threading.Thread(target=lambda: ask(bench))

    def read_tree(self: ShadowRepository, oid: bytes) -> object:
        nonlocal left, after
        if threading.current_thread() is threading.main_thread():
            if came.is_set():
                after += 1
            elif left:
                left -= 1
            else:
                other.start()
                while not workspace.writer.write_lock.waiting:
                    pass
                came.set()
        return real(self, oid)

    monkeypatch.setattr(ShadowRepository, "read_tree", read_tree)
    assert workspace.upkeep.keep_house(4e9) is None
    other.join(PATIENCE)
    assert not other.is_alive()
    assert after == 0
    monkeypatch.undo()
    if ask is Bench.close:
        assert workspace.upkeep.keep_house(4e9) is None
        bench.open()
        bench.keep(0)
    # what it was about to sweep is swept the next time
    assert bench.workspace.upkeep.keep_house(4e9) is not None
    bench.close()
    bench.open()
    assert run_git(bench.store, "--git-dir=.", "fsck", "--strict", "--full", "--unreachable") == b""
    last = bench.track()
    bench.write({"a": b"?"})
    bench.restore(last)


def test_a_clock_that_is_set_ahead_is_not_believed() -> None:
    clock, running = [1000 * DAY], [5.0]
    calendar = Calendar(lambda: clock[0], lambda: running[0])
    assert calendar.now() == 1000 * DAY
    for hours, ahead in ((1, 0.0), (2, 20 * DAY), (3, -DAY), (4, 0.0)):
        running[0] = 5.0 + 3600 * hours
        clock[0] = 1000 * DAY + 3600 * hours + ahead
        assert calendar.now() == 1000 * DAY + 3600 * hours + min(ahead, 0.0)
