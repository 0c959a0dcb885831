"""Memory is given back after large work, and never on the way of a small step."""

from __future__ import annotations

import ctypes
import gc
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd import heap
from snapd.worktree.snapshot import scanner as scan
from tests.support.workspace import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path, "")
    yield found
    found.close()


def test_free_pages_go_back_to_the_system() -> None:
    """glibc tells with `mallinfo2` what it holds; what it gave back it does not hold."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(100_000) for _ in range(400)]
    for block in blocks:
        ctypes.memset(block, 1, 100_000)
    full = resident()
    # every other one, so that no end of the heap is free: that would go back by itself
    for block in blocks[::2]:
        libc.free(block)
    held = resident()
    heap.release_pages()
    assert full - held < 5_000_000
    assert held - resident() > 10_000_000
    for block in blocks[1::2]:
        libc.free(block)


def resident() -> int:
    """Bytes of memory that this process has."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))


THREADS = """
import ctypes, sys, threading
from snapd import heap
if sys.argv[1] == "shared":
    heap.share_among_threads()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
barrier = threading.Barrier(8)
def work():
    # at once, so that each thread has a heap of its own, if it may
    first = libc.malloc(1000)
    barrier.wait()
    for size, count in ((100_000, 50), (6_000_000, 1)):
        blocks = [libc.malloc(size) for _ in range(count)]
        for block in blocks:
            ctypes.memset(block, 1, size)
        for block in blocks:
            libc.free(block)
    barrier.wait()
    libc.free(first)
for _ in range(3):
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("RssAnon")))
"""


def held_after_threads(how: str) -> int:
    """KiB that a process holds whose threads have freed all that they took."""
    run = subprocess.run([sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True)
    return int(run.stdout)


def test_threads_leave_little_behind() -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    assert held_after_threads("shared") + 10_000 < held_after_threads("apart")


def test_what_stays_is_not_looked_at_for_garbage() -> None:
    gc.collect()
    before = gc.get_freeze_count()
    try:
        with heap.frozen_objects():
            assert not gc.isenabled()
            made = [[] for _ in range(1000)]  # type: ignore[var-annotated]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(made)
        with pytest.raises(ZeroDivisionError), heap.frozen_objects():
            raise ZeroDivisionError
        assert gc.isenabled()
    finally:
        gc.unfreeze()


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "trim", None)
    monkeypatch.setattr(heap, "mallopt", None)
    heap.release_pages()
    heap.share_among_threads()


def test_elsewhere_there_is_nothing_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap.os, "name", "nt")
    assert heap.find("malloc_trim") is None
    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert heap.find("malloc_trim") is None


def test_a_large_look_gives_back_and_a_step_does_not(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SAVE_FROM", 30)
    given: list[int] = []
    monkeypatch.setattr(scan, "release_pages", lambda: given.append(1))
    bench.write({f"{name}.txt": b"%d" % name for name in range(40)})
    bench.open()
    bench.track()
    # each look waits for what the one before left to be done
    bench.track()
    assert given == [1]
    for at in range(5):
        bench.write({"7.txt": b"step %d" % at})
        bench.track()
    assert given == [1]
