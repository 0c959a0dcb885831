"""Disks that are really full: a tmpfs of few bytes or few inodes, for the store or for the work tree.

At every amount of space that is left, from none to enough, an operation is done, or is refused and has changed nothing;
and it is done once there is space again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from snapd.model.errors import SnapdError, StorageFull
from tests.support.workspace import Bench, Items

from .checks import holds, leftovers, same
from .forks import Say, run
from .mounts import apart, mount
from .scenarios import FIRST, MANY, bytes_of

_PAGE = 4096
BEFORE: Items = {**FIRST, "large": bytes_of(1, 90_000)}
AFTER: Items = {**MANY, "large": bytes_of(2, 90_000), "other": bytes_of(3, 50_000)}
CASES = ("store bytes", "store inodes", "work bytes", "work inodes")


def check(directory: Path, case: str, strides: int) -> tuple[int, int, str | None]:
    """One of the cases.

    Args:
        directory: a new one, for it.
        case: which.
        strides: how many steps of free space there are from none to enough, about.

    Returns:
        How many operations there were, how many of them were refused, and what does not hold, if anything.
    """
    place, _, kind = case.partition(" ")

    def work(say: Say) -> None:
        apart()
        bench = Bench(directory, "")
        full = directory / ("data" if place == "store" else "work")
        full.mkdir(exist_ok=True)
        mount("-t", "tmpfs", "-o", "size=4m,nr_inodes=900", "none", str(full))
        bench.write(AFTER)
        bench.open()
        after = bench.track()
        bench.become(BEFORE)
        before = bench.track()
        filled = _Filling(full if place == "store" else full / ".git", kind)
        for left in itertools.count(0, 40 // strides + 1):
            done = _attempts(bench, filled, left, before, after, say)
            if done:
                break
        bench.close()

    ended = run(work)
    crash = next(iter(ended.all("crash")), None)
    return sum(ended.all("tried")), sum(ended.all("refused")), crash


def _attempts(bench: Bench, filled: _Filling, left: int, before: bytes, after: bytes, say: Say) -> bool:
    """Operations with so much space left; whether all were done."""
    refused = 0
    extra = {**BEFORE, "new/file": bytes_of(left, 9000)}
    # the user's own writes come first: they need their space
    bench.become(extra)
    operations: tuple[tuple[str, Callable[[], object], Items], ...] = (
        ("track", bench.track, extra),
        ("restore", lambda: bench.restore(after), AFTER),
        ("restore back", lambda: bench.restore(before), BEFORE),
    )
    for name, operation, wanted in operations:
        found = bench.read()
        with filled.up_to(left):
            try:
                operation()
            except StorageFull:
                refused += 1
                same(bench.read(), found, f"{name} was refused with {left} left")
            except SnapdError as error:
                raise AssertionError(f"{name} with {left} left: {error!r}") from error
            else:
                same(bench.read(), wanted, f"{name} with {left} left")
        kept = [path for path in leftovers(bench.folder) if "journal/" not in path]
        holds(not kept, f"{name} with {left} left leaves {kept}")
        # with space again, it is done
        operation()
        same(bench.read(), wanted, f"{name} again after {left} were left")
    holds(bench.names(before) == sorted(name for name in BEFORE if not name.endswith("/")), "a snapshot lost files")
    say(tried=len(operations), refused=refused)
    return refused == 0


class _Filling:
    """What takes the space of a disk.

    Args:
        directory: where it lies; not captured.
        kind: "bytes" or "inodes".
    """

    def __init__(self, directory: Path, kind: str) -> None:
        self._directory = directory / "filling"
        self._kind = kind

    @contextlib.contextmanager
    def up_to(self, left: int) -> Iterator[None]:
        """Takes all but so many pages or inodes."""
        self._directory.mkdir(parents=True)
        try:
            if self._kind == "bytes":
                self._write(left)
            else:
                self._touch(left)
            yield
        finally:
            shutil.rmtree(self._directory)

    def _write(self, left: int) -> None:
        with open(self._directory / "bytes", "wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(_PAGE))
            file.truncate(max(0, os.fstat(file.fileno()).st_size // _PAGE - left) * _PAGE)

    def _touch(self, left: int) -> None:
        made: list[Path] = []
        with contextlib.suppress(OSError):
            while True:
                path = self._directory / str(len(made))
                path.touch()
                made.append(path)
        for path in made[len(made) - left :] if left else ():
            path.unlink()
