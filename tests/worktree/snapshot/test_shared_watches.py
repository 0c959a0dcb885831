"""Directories that other processes watch and list: what changes before this one takes them in is in the snapshot."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.watch.inotify_clock import InotifyClock
from snapd.workers.processes import WorkerLost
from snapd.worktree.fs.listing import Listing
from snapd.worktree.snapshot import walker
from snapd.worktree.snapshot.walker import ListerPool
from tests.support.git import run_git
from tests.support.workspace import Bench, make
from tests.worktree.changes import Edit, check, exchange, put, put_all, remove, rename, symlink, together

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")

FILES: dict[str, bytes] = {
    f"d{at}/e{number}/f{size}": b"x" * size for at in range(4) for number in range(4) for size in (1, 2)
}

REPLACED = put_all({"d9/e1/f1": b"z", "d9/e2/new": b"new"})
CHANGES: dict[str, Edit] = {
    "a file gets another content of the same size": put("d1/e1/f1", b"y"),
    "a directory goes": remove("d1"),
    "another directory takes the place of one": together(REPLACED, rename("d1", "old"), rename("d9", "d1")),
    "another takes the place of one that leaves": together(REPLACED, rename("d1", "../gone"), rename("d9", "d1")),
    "two directories change places, then change": together(
        exchange("d1", "d2"), put_all({"d1/e1/f1": b"1", "d2/e1/f2": b"22", "d2/e3/more": b"more"})
    ),
    "a directory moves below another by its old name": together(
        remove("d2/e1"), rename("d1/e1", "d2/e1"), put("d2/e1/later", b"later")
    ),
    # it may get the inode of the one that went
    "a directory is made anew": together(remove("d1/e1"), put("d1/e1/only", b"only")),
    "a directory is ignored by now": put_all({"d1/.gitignore": b"e1/\n", ".gitignore": b"d3/\n"}),
    "a symlink takes the place of a directory": together(rename("d1", "real"), symlink("real", "d1")),
}


@attrs.define
class Between:
    """What is done, once, when directories are listed and watched by other processes and not yet taken in here.

    Attributes:
        patch: restored after the test.
        round: 0 for when the directories of the root are listed, 1 for those below them.
        step: what is done.
    """

    patch: pytest.MonkeyPatch
    round: int
    step: Callable[[], None] | None = None

    def do(self, step: Callable[[], None]) -> None:
        """Has processes list the directories from now on, and something done in between."""
        self.patch.setattr(walker, "LISTER_FROM", 1)
        self.step = step


@pytest.fixture(params=[0, 1], ids=["first", "below"])
def between(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    """The moment at which something changes."""
    between = Between(monkeypatch, request.param)
    real = ListerPool.answers
    rounds = [0]

    def answers(lister: ListerPool[Any], seconds: float) -> Iterator[tuple[Any, Listing]]:
        found: list[tuple[Any, Listing]] = []
        while lister.is_waiting:
            found += real(lister, seconds)
        if between.step is not None:
            if rounds[0] == between.round:
                between.step()
                between.step = None
            rounds[0] += 1
        yield from found

    monkeypatch.setattr(ListerPool, "answers", answers)
    yield between
    assert between.step is None


def make_change(bench: Bench, change: Edit, *, heard: bool) -> None:
    """Changes something; if it is heard, a listener's thread takes in at once what the queue has."""
    change(bench)
    clock = bench.workspace.work_tree.clock
    # where all queues of the user are in use there is none
    if heard and isinstance(clock, InotifyClock):
        clock.gather()


def check_twice(bench: Bench) -> None:
    """Checks a snapshot, and another after one more change to everything that is watched."""
    check(bench)
    for above, _, names in list(os.walk(bench.root)):
        if ".git" not in Path(above).parts:
            for name in names:
                if not os.path.islink(os.path.join(above, name)) and name.startswith("f"):
                    Path(above, name).write_bytes(b"afterwards")
    check(bench)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_while_a_new_process_looks(tmp_path: Path, between: Between, change: Edit, heard: bool) -> None:
    bench = make(tmp_path, FILES)
    bench.track()
    bench.reopen()
    between.do(lambda: make_change(bench, change, heard=heard))
    check_twice(bench)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_while_a_first_look_is_taken(tmp_path: Path, between: Between, change: Edit, heard: bool) -> None:
    bench = Bench(tmp_path, "")
    bench.write(FILES)
    run_git(bench.root, "init", "-q")
    run_git(bench.root, "add", ".")
    later = time.time_ns() + 10_000_000_000
    os.utime(bench.path(".git/index"), ns=(later, later))
    bench.open()
    between.do(lambda: make_change(bench, change, heard=heard))
    check_twice(bench)


def test_a_process_that_dies_at_once_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FILES)
    tree = bench.track()
    bench.reopen()

    def lost(lister: ListerPool[Any], path: bytes, tag: Any) -> None:
        raise WorkerLost

    monkeypatch.setattr(walker, "LISTER_FROM", 1)
    monkeypatch.setattr(ListerPool, "list_directory", lost)
    assert bench.track() == tree
    check_twice(bench)
