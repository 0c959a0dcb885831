"""Directories that are listed before the look has come to them: whatever changes in between is in the snapshot."""

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
from snapd.worktree.snapshot import walker
from snapd.worktree.snapshot.lister_pool import ListerLost, ListerPool
from snapd.worktree.snapshot.prefetch import remembered, tracked
from snapd.worktree.state.nodes import DirectoryNode
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
    monkeypatch.setattr(walker, "_WORTH_HELP", 1)


@attrs.define
class Between:
    """What is done while directories are listed early, once.

    Attributes:
        below: it is done when what lies deeper is listed, and what is above it is not; else when all is.
        step: what is done.
    """

    below: bool
    step: Callable[[], None] | None = None


@pytest.fixture(params=[False, True], ids=["all", "below"])
def between(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Between]:
    """When the look has seen nothing of what is listed already."""
    between = Between(request.param)
    real = ListerPool.ask_early

    def ask_early(lister: ListerPool[Any], paths: list[bytes]) -> None:
        first = [path for path in paths if not between.below or b"/" in path]
        real(lister, first)
        while any(asked.listing is None for asked in lister._early.values()):
            lister._take()
        if first and between.step is not None:
            between.step()
            between.step = None
        real(lister, [path for path in paths if path not in first])

    monkeypatch.setattr(ListerPool, "ask_early", ask_early)
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
def test_what_changes_after_a_new_process_listed_it_early(
    tmp_path: Path, between: Between, change: Change, heard: bool
) -> None:
    bench = make(tmp_path, FILES)
    bench.track()
    bench.reopen()
    between.step = lambda: make_change(bench, change, heard=heard)
    check(bench)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_after_a_first_look_listed_it_early(
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


def test_a_process_that_dies_early_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FILES)
    tree = bench.track()
    bench.reopen()

    def lost(lister: ListerPool[Any], paths: list[bytes]) -> None:
        raise ListerLost

    monkeypatch.setattr(ListerPool, "ask_early", lost)
    assert bench.track() == tree
    check(bench)


def test_the_order_is_that_of_the_look() -> None:
    root = DirectoryNode()
    nodes = {b"": root}
    for path in (b"a", b"a/b", b"a/c", b"a.d", b"e"):
        above, _, name = path.rpartition(b"/")
        nodes[path] = nodes[above].directories[name] = DirectoryNode(name, nodes[above])
    assert remembered(root) == [b"e", b"a.d", b"a", b"a/c", b"a/b"]
    held = (b"1", b"a/b/1", b"a/b/2", b"a/c/1", b"a.d/x", b"e/1", b"f/g/h")
    assert tracked(held) == [b"f", b"f/g", b"e", b"a.d", b"a", b"a/c", b"a/b"]
    assert tracked(()) == remembered(DirectoryNode()) == []
