"""Memory is given back after large work, and never on the way of a small step."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd import heap
from snapd.worktree import scan
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
    heap.give_back()
    assert full - held < 5_000_000
    assert held - resident() > 10_000_000
    for block in blocks[1::2]:
        libc.free(block)


def resident() -> int:
    """Bytes of memory that this process has."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))


def test_without_glibc_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "_trim", None)
    heap.give_back()


def test_elsewhere_there_is_nothing_to_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap.os, "name", "nt")
    assert heap._find_trim() is None
    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert heap._find_trim() is None


def test_a_large_look_gives_back_and_a_step_does_not(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_WORTH_KEEPING", 30)
    given: list[int] = []
    monkeypatch.setattr(scan, "give_back", lambda: given.append(1))
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
