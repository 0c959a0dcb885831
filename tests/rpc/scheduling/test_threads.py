"""Threads for whatever may wait."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

import pytest

from snapd.rpc.scheduling import turns
from snapd.rpc.scheduling.turns import Threads

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60.0


@pytest.fixture
def pool() -> Iterator[Threads]:
    pool = Threads()
    yield pool
    pool.shutdown()


def test_nobody_waits_for_a_thread(pool: Threads) -> None:
    everybody = threading.Barrier(200)
    done = [pool.submit(everybody.wait, PATIENCE) for _ in range(200)]
    assert sorted(future.result(PATIENCE) for future in done) == list(range(200))


def test_results_and_errors_come_back(pool: Threads) -> None:
    assert pool.submit(lambda one, *, two: one + two, 1, two=2).result(PATIENCE) == 3
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 // 0).result(PATIENCE)


def test_an_idle_thread_is_used_again(pool: Threads) -> None:
    used = set()
    for _ in range(50):
        used.add(pool.submit(threading.get_ident).result(PATIENCE))
        deadline = time.monotonic() + PATIENCE
        while not pool.idle:
            assert time.monotonic() < deadline
    assert len(used) == 1


def test_threads_without_work_leave_and_lose_none_that_comes_meanwhile(
    pool: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "IDLE_SECONDS", 0.0)
    before = len(os.listdir("/proc/self/task"))
    done: list[Future[int]] = [pool.submit(lambda number=number: number) for number in range(5000)]
    assert [future.result(PATIENCE) for future in done] == list(range(5000))
    deadline = time.monotonic() + PATIENCE
    while len(os.listdir("/proc/self/task")) > before or pool.idle:
        assert time.monotonic() < deadline, "threads stay"


def test_shutdown_waits_for_what_is_under_way_and_takes_no_more(pool: Threads) -> None:
    ends = threading.Event()
    under_way = pool.submit(ends.wait, PATIENCE)
    stopping = threading.Thread(target=pool.shutdown)
    stopping.start()
    assert not wait([under_way], 0.0).done
    ends.set()
    stopping.join(PATIENCE)
    assert under_way.done()
    with pytest.raises(RuntimeError):
        pool.submit(ends.wait)
