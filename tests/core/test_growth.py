"""What operations cost with many files in one directory, many steps or many patches: no more than linearly more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from snapd.model.call import Call
from tests.core.large_operations import (
    changed,
    flat,
    foreseeing,
    redoing,
    restoring,
    reverting,
    reverting_a_session,
    unreverting_a_session,
)
from tests.support.amounts import amount
from tests.support.counting import calls_of
from tests.support.sessions import Agents
from tests.support.workspace import Bench, make

pytestmark = pytest.mark.slow

Work = Callable[[], Any]

FILES = amount(120, 300)


def two_states(folder: Path, count: int) -> tuple[Bench, bytes, list[str]]:
    """A flat directory that was tracked twice; gives the first snapshot and the names."""
    return *changed(folder, count), [*flat(count, b"")]


def merging(folder: Path, count: int) -> Work:
    bench, then, names = two_states(folder, count)
    return lambda: bench.revert((then, names), on_conflict="merge", dry_run=True)


def reverting_what_was_deleted(folder: Path, count: int) -> Work:
    bench, then, names = two_states(folder, count)
    bench.remove(*names)
    bench.track()
    return lambda: bench.revert((then, names), dry_run=True)


def reverting_what_is_new(folder: Path, count: int) -> Work:
    bench, _, names = two_states(folder, count)
    bench.become({"other": b""})
    then = bench.track()
    bench.write(flat(count, b"two"))
    return lambda: bench.revert((then, names), dry_run=True)


def reverting_by_many_patches(folder: Path, count: int) -> Work:
    bench, then, names = two_states(folder, count)
    return lambda: bench.revert(*[(then, [name]) for name in names], dry_run=True)


def emptying_directories(folder: Path, count: int) -> Work:
    """Directories, each with a file in it, that were empty ones then."""
    bench = make(folder, {f"d{at}/": None for at in range(count)})
    then = bench.track()
    bench.write({f"d{at}/file": b"" for at in range(count)})
    return lambda: bench.restore(then, dry_run=True)


def reading_many_files(folder: Path, count: int) -> Work:
    bench, then, names = two_states(folder, count)
    return lambda: [bench.workspace.snapshots.file_at(then, os.fsencode(name)) for name in names]


def finding_beside_skipped_files(folder: Path, count: int) -> Work:
    """Files that were skipped as too large when the snapshot was taken."""
    bench = make(folder, flat(count, b"too large for this"))
    bench.configure(max_file_size=4)
    then = bench.track()
    bench.configure()
    return lambda: bench.revert((then, [*flat(count, b"")]), dry_run=True)


def one_step(folder: Path, count: int) -> tuple[Agents, str]:
    bench = make(folder, flat(count, b"one"))
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, flat(count, b"two"))
    return agents, session


def undoing(folder: Path, count: int) -> Work:
    agents, session = one_step(folder, count)
    return lambda: agents.undo(session)


def making_files_of_directories(folder: Path, count: int) -> Work:
    bench = make(folder, flat(count, b"one"))
    agents = Agents(bench)
    session = agents.start()

    def replace() -> None:
        for name in flat(count, b""):
            os.unlink(bench.path(name))
            bench.write({f"{name}/file": b"one"})

    agents.step(session, replace)
    return lambda: agents.undone(session, dry_run=True)


def reading_pages_of_a_session(folder: Path, count: int) -> Work:
    agents, session = one_step(folder, count)

    def pages() -> None:
        after: bytes | None = None
        for _ in range(count // 10):
            page, after = agents.bench.workspace.net_changes.page(
                session, None, None, Call(), contents=False, after=after, limit=10
            )
            assert len(page) == 10
        assert after is None

    return pages


@pytest.mark.parametrize("prepare", [
    restoring, reverting, foreseeing, merging, reverting_what_was_deleted, reverting_what_is_new,
    reverting_by_many_patches, emptying_directories, reading_many_files, finding_beside_skipped_files, undoing, redoing,
    making_files_of_directories, reading_pages_of_a_session, reverting_a_session, unreverting_a_session,
])  # fmt: skip
def test_twice_as_many_cost_twice_as_much(tmp_path: Path, prepare: Callable[[Path, int], Work]) -> None:
    once, twice = (calls_of(prepare(tmp_path / str(count), count)) for count in (FILES, 2 * FILES))
    assert twice < 2.4 * once


def test_a_revert_costs_no_more_than_a_restore_of_the_same_files(tmp_path: Path) -> None:
    revert, restore = (calls_of(prepare(tmp_path / prepare.__name__, FILES)) for prepare in (reverting, restoring))
    assert revert < 1.2 * restore


def test_a_directory_deep_down_is_looked_at_once_for_all_files_that_come_back_there(tmp_path: Path) -> None:
    deep = "/".join("d" * 60)

    def work(count: int) -> Work:
        names = [f"{deep}/f{at}" for at in range(count)]
        bench = make(tmp_path / str(count), dict.fromkeys(names, b""))
        then = bench.track()
        bench.remove("d")
        bench.track()
        return lambda: bench.revert((then, names), dry_run=True)

    once, twice = (calls_of(work(count)) for count in (1, 101))
    # not 60 directories, each opened part by part, for each of the hundred
    assert twice - once < 100 * 60 * 60


def test_kills_in_a_row_do_not_add_up(tmp_path: Path) -> None:
    ran = run([sys.executable, "-m", "tests.core.killed_lives", str(tmp_path), "31"], capture_output=True, check=True)
    starts = [[int(word) for word in line.split()] for line in ran.stdout.splitlines()]
    # the first follows an orderly close, and the second learns what only such a close would have saved
    calls, journal, log = zip(*starts[2:], strict=True)
    assert max(calls) < 1.1 * min(calls)
    assert max(journal) < 1.5 * min(journal)
    # SQLite begins its log again after a thousand pages
    assert max(log) < 3 << 20
