"""Directories that other processes watch and list: what changes before this one takes them in is in the snapshot."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.watch.inotify_clock import InotifyClock
from snapd.workers.pool import WorkerLost
from snapd.worktree.fs.listing import Listing
from snapd.worktree.snapshot import walker
from snapd.worktree.snapshot.lister_pool import ListerPool
from tests.support.git import run_git
from tests.support.workspace import Bench, make
from tests.worktree.oracle import Oracle

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")

FILES: dict[str, bytes] = {
    f"d{at}/e{number}/f{size}": b"x" * size for at in range(4) for number in range(4) for size in (1, 2)
}

Change = Callable[[Bench], None]


def edit(bench: Bench) -> None:
    """A file gets another content of the same size."""
    bench.write({"d1/e1/f1": b"y"})


def remove(bench: Bench) -> None:
    """A directory goes."""
    bench.remove("d1")


def replace(bench: Bench) -> None:
    """Another directory takes the place of one, with others below it by the same names."""
    bench.write({"d9/e1/f1": b"z", "d9/e2/new": b"new"})
    os.rename(bench.path("d1"), bench.path("old"))
    os.rename(bench.path("d9"), bench.path("d1"))


def replace_from_outside(bench: Bench) -> None:
    """As before, and what was there is in the work tree no more."""
    bench.write({"d9/e1/f1": b"z", "d9/e2/new": b"new"})
    os.rename(bench.path("d1"), f"{bench.root}-gone")
    os.rename(bench.path("d9"), bench.path("d1"))


def swap(bench: Bench) -> None:
    """Two directories change places, and what is in them changes after that."""
    os.rename(bench.path("d1"), bench.path("aside"))
    os.rename(bench.path("d2"), bench.path("d1"))
    os.rename(bench.path("aside"), bench.path("d2"))
    bench.write({"d1/e1/f1": b"1", "d2/e1/f2": b"22", "d2/e3/more": b"more"})


def move_inside(bench: Bench) -> None:
    """A directory moves below another, by its old name, and gets a file."""
    bench.remove("d2/e1")
    os.rename(bench.path("d1/e1"), bench.path("d2/e1"))
    bench.write({"d2/e1/later": b"later"})


def recreate(bench: Bench) -> None:
    """A directory is made anew: it may get the inode of the one that went."""
    bench.remove("d1/e1")
    bench.write({"d1/e1/only": b"only"})


def ignore(bench: Bench) -> None:
    """A directory is ignored by now."""
    bench.write({"d1/.gitignore": b"e1/\n", ".gitignore": b"d3/\n"})


def link(bench: Bench) -> None:
    """A symlink takes the place of a directory."""
    os.rename(bench.path("d1"), bench.path("real"))
    os.symlink("real", bench.path("d1"))


CHANGES = (edit, remove, replace, replace_from_outside, swap, move_inside, recreate, ignore, link)


@pytest.fixture(autouse=True)
def _help_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker, "_LISTER_FROM", 1)


@attrs.define
class Between:
    """What is done, once, when directories are listed and watched by other processes and not yet taken in here.

    Attributes:
        round: 0 for when the directories of the root are listed, 1 for those below them.
        step: what is done.
    """

    round: int
    step: Callable[[], None] | None = None


@pytest.fixture(params=[0, 1], ids=["first", "below"])
def between(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    """The moment at which something changes."""
    between = Between(request.param)
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


def make_change(bench: Bench, change: Change, *, heard: bool) -> None:
    """Changes something; where it is heard, a listener's thread takes in at once what the queue has to tell."""
    change(bench)
    clock = bench.workspace._work_tree._clock  # type: ignore[attr-defined]
    # where all queues of the user are in use there is none
    if heard and isinstance(clock, InotifyClock):
        clock._gather()


def check(bench: Bench, held: Iterable[str] = ()) -> None:
    """A snapshot is what is there, also after one more change to whatever is watched; `held` is in the user's index."""
    oracle = Oracle(bench.root, 1 << 20, tracked=frozenset(map(os.fsencode, held)))
    assert bench.track() == oracle.tree()
    for above, _, names in list(os.walk(bench.root)):
        if ".git" not in Path(above).parts:
            for name in names:
                if not os.path.islink(os.path.join(above, name)) and name.startswith("f"):
                    Path(above, name).write_bytes(b"afterwards")
    assert bench.track() == oracle.tree()


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_while_a_new_process_looks(tmp_path: Path, between: Between, change: Change, heard: bool) -> None:
    bench = make(tmp_path, FILES)
    bench.track()
    bench.reopen()
    between.step = lambda: make_change(bench, change, heard=heard)
    check(bench)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_while_a_first_look_is_taken(
    tmp_path: Path, between: Between, change: Change, heard: bool
) -> None:
    bench = Bench(tmp_path, "")
    bench.write(FILES)
    run_git(bench.root, "init", "-q")
    run_git(bench.root, "add", ".")
    later = time.time_ns() + 10_000_000_000
    os.utime(bench.path(".git/index"), ns=(later, later))
    bench.open()
    between.step = lambda: make_change(bench, change, heard=heard)
    check(bench, FILES)


def test_a_process_that_dies_at_once_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FILES)
    tree = bench.track()
    bench.reopen()

    def lost(lister: ListerPool[Any], path: bytes, tag: Any) -> None:
        raise WorkerLost

    monkeypatch.setattr(ListerPool, "list_directory", lost)
    assert bench.track() == tree
    check(bench)
