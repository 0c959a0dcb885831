"""What is swapped while we look, write or delete; `HAZARD_ROUNDS=20000` lets the races go on for longer."""

from __future__ import annotations

import os
import stat
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from snapd.model.errors import SnapdError
from snapd.model.snapshot import SkipReason
from tests.hazards.races import rounds, swapping
from tests.support.workspace import Symlink, outcomes

if TYPE_CHECKING:
    from pathlib import Path

    from snapd.model.snapshot import ObjectId
    from tests.hazards.conftest import Build
    from tests.support.workspace import Bench, Item

_MOST = 50
"""How many times as many rounds it may take until the swap was met once."""


def _to_and_fro(bench: Bench, one: ObjectId, other: ObjectId, met: str, done: str) -> Counter[str]:
    """Restores two snapshots in turn, until all rounds are done and something met the swap.

    Args:
        bench: the workspace.
        one: a snapshot.
        other: another.
        met: the outcomes, parted by spaces, that show that a restore was under way at the swap.
        done: the outcome that shows that one went well.

    Returns:
        How often there was which outcome.
    """
    seen: Counter[str] = Counter()
    wanted = rounds(25)
    for at in range(wanted * _MOST):
        if at >= wanted and seen[done] and seen.keys() & set(met.split()):
            break
        try:
            result = bench.restore(other if at % 2 else one)
        except SnapdError as error:
            seen[error.kind] += 1
        else:
            seen.update(file.outcome for file in result.files)
    return seen


def _come_to(bench: Bench, goal: ObjectId) -> None:
    """Restores a snapshot once nobody swaps any more.

    Where a look found something gone, and the next one found it back, it came from outside: a restore leaves it, and
    says so.
    """
    left = [name for name, became in outcomes(bench.restore(goal)).items() if became == "kept:onlyCopy"]
    if left:
        bench.remove(*left)
        bench.restore(goal)
    assert bench.track() == goal


def _left_over(folder: Path) -> list[str]:
    """Files of ours that nobody asked for."""
    return [str(path) for path in folder.rglob("*snapd-tmp*")]


@pytest.mark.hazard(1)
def test_a_parent_directory_swapped_for_a_symlink_between_check_and_write(
    build: Build, outside: Path, tmp_path: Path
) -> None:
    names = ("d/a", "d/b", "d/e/a", "d/e/b")
    bench = build({"kept": b"1", **dict.fromkeys(names, b"one")})
    one = bench.track()
    bench.write(dict.fromkeys(names, b"two"))
    two = bench.track()
    with swapping("directory", bench.path("d"), tmp_path / "aside", outside / "d"):
        seen = _to_and_fro(bench, one, two, "failed conflict", "restored")
    assert seen["restored"]
    _come_to(bench, one)
    assert _left_over(bench.root) == []


@pytest.mark.hazard(3)
def test_a_directory_swapped_for_a_symlink_while_all_in_it_is_deleted(
    build: Build, outside: Path, tmp_path: Path
) -> None:
    bench = build({"kept": b"1", "d/x": b""})
    bare = bench.track()
    bench.write(dict.fromkeys(("d/a", "d/b", "d/e/a", "d/e/b"), b"two"))
    full = bench.track()
    with swapping("directory", bench.path("d"), tmp_path / "aside", outside / "d"):
        seen = _to_and_fro(bench, bare, full, "failed conflict", "deleted")
    assert seen["deleted"]
    _come_to(bench, bare)
    assert _left_over(bench.root) == []


@pytest.mark.hazard(3)
def test_a_directory_that_became_a_symlink_is_deleted_as_a_symlink(build: Build, outside: Path) -> None:
    bench = build({"kept": b"1"})
    bare = bench.track()
    bench.write({"d": Symlink(str(outside / "d")), "x/y": Symlink(str(outside))})
    assert outcomes(bench.restore(bare)) == {"d": "deleted", "x/y": "deleted"}
    assert bench.read() == {"kept": b"1", "nested/inner": b"inner\n"}


@pytest.mark.hazard(11)
def test_a_fifo_swapped_in_after_the_lstat(build: Build, tmp_path: Path) -> None:
    bench = build({"f": b"1", "kept": b"2"})
    whole = bench.track()
    seen: Counter[str] = Counter()
    wanted = rounds(25)
    with swapping("fifo", bench.path("f"), tmp_path / "aside", "/"):
        for at in range(wanted * _MOST):
            if at >= wanted and seen["captured"] and seen["special"]:
                break
            # so that the file is asked for, and not only looked at
            bench.workspace.writer.work_tree.scanner.forget_all()
            taken = bench.take()
            skipped = {skip.path: skip.reason for skip in taken.skipped}
            if taken.tree == whole:
                seen["captured"] += 1
            else:
                assert skipped.get(b"f") in (SkipReason.SPECIAL, SkipReason.UNSTABLE, None)
                seen["special" if skipped else "gone"] += 1
    assert {"kept", "nested/inner"} <= set(bench.names(taken.tree))


@pytest.mark.hazard(11)
def test_a_fifo_swapped_in_where_a_file_is_replaced(build: Build, tmp_path: Path) -> None:
    bench = build({"f": b"one"})
    one = bench.track()
    bench.write({"f": b"two"})
    two = bench.track()
    with swapping("fifo", bench.path("f"), tmp_path / "aside", "/"):
        seen = _to_and_fro(bench, one, two, "conflict skipped failed", "restored")
    assert set(seen) <= {"restored", "conflict", "skipped", "failed", "kept", "unchanged"}


@pytest.mark.hazard(16)
def test_a_file_that_is_written_while_it_is_read_is_captured_as_it_was_at_one_moment(build: Build) -> None:
    size = 4 << 20
    bench = build({"kept": b"1", "f": b"\0" * size})
    bench.configure(max_file_size=size * 2)
    seen = Counter[str]()
    pid = _fork_writer(bench.path("f"), size)
    try:
        for at in range(rounds(3) * _MOST):
            if at >= rounds(3) and seen["unstable"] + seen["captured"] > 1:
                break
            taken = bench.take()
            if any(skip.path == b"f" for skip in taken.skipped):
                assert [skip.reason for skip in taken.skipped] == [SkipReason.UNSTABLE]
                seen["unstable"] += 1
                continue
            seen["captured"] += 1
            assert _is_of_one_moment(bench.workspace.snapshots.file_at(taken.tree, b"f").data)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    # it is quiet again: nothing is left of the doubt
    last = (bench.root / "f").read_bytes()
    tree = bench.track()
    assert bench.workspace.snapshots.file_at(tree, b"f").data == last


def _fork_writer(path: str, size: int) -> int:
    """A process that writes the whole file anew all the time, in place, each time another byte."""
    pid = os.fork()
    if pid:
        return pid
    descriptor = os.open(path, os.O_WRONLY)
    number = 0
    while True:
        number = (number + 1) % 251
        for at in range(0, size, 1 << 16):
            os.pwrite(descriptor, bytes([number]) * (1 << 16), at)


def _is_of_one_moment(data: bytes) -> bool:
    """Whether that writer left some bytes so at a moment: one pass up to a place, from there on the one before."""
    values = [data[at] for at in range(0, len(data), 1 << 12)]
    changes = [(one, two) for one, two in pairwise(values) if one != two]
    return len(changes) <= 1 and all((two + 1) % 251 == one for one, two in changes)


@pytest.mark.hazard(19)
def test_a_file_swapped_for_a_directory_and_a_symlink_while_it_is_restored(
    build: Build, outside: Path, tmp_path: Path
) -> None:
    """All that the other process made lies aside or in the workspace, whatever a restore made of its own."""
    bench = build({"p": b"one", "kept": b"1"})
    one = bench.track()
    bench.remove("p")
    bench.write({"p/a": b"two"})
    two = bench.track()
    with swapping("kinds", bench.path("p"), tmp_path / "aside", outside / "a"):
        _to_and_fro(bench, one, two, "conflict failed", "restored")
    for goal, items in ((one, {"p": b"one"}), (two, {"p/a": b"two"})):
        _come_to(bench, goal)
        assert bench.read() == {**items, "kept": b"1", "nested/inner": b"inner\n"}


_KINDS: dict[str, dict[str, Item]] = {
    "file": {"p": b"file"},
    "directory": {"p/a": b"in it", "p/q/b": b"below"},
    "symlink": {"p": Symlink("kept")},
    "dangling symlink": {"p": Symlink("/nowhere")},
    "nothing": {},
}


@pytest.mark.hazard(19)
@pytest.mark.parametrize("then", _KINDS)
def test_file_directory_and_symlink_take_each_others_place(build: Build, then: str) -> None:
    bench = build({"kept": b"1", **_KINDS[then]})
    tree = bench.track()
    for now in _KINDS.keys() - {then}:
        if os.path.lexists(bench.path("p")):
            bench.remove("p")
        bench.write(_KINDS[now])
        bench.restore(tree)
        assert bench.read() == {"kept": b"1", "nested/inner": b"inner\n", **_KINDS[then]}


@pytest.mark.hazard(19)
@pytest.mark.parametrize("then", ["file", "symlink"])
def test_what_is_not_ours_survives_in_a_directory_where_a_file_was(build: Build, then: str) -> None:
    bench = build({".gitignore": b"*.log\n", "kept": b"1", **_KINDS[then]})
    tree = bench.track()
    bench.remove("p")
    bench.write({"p/a": b"ours", "p/theirs.log": b"ignored", "p/.git/config": b"a repository"})
    os.mkfifo(bench.path("p/fifo"))
    assert outcomes(bench.restore(tree))["p"] == "skipped:directoryNotEmpty"
    assert bench.read()["p/theirs.log"] == b"ignored"
    assert (bench.root / "p/.git/config").read_bytes() == b"a repository"
    assert stat.S_ISFIFO(os.lstat(bench.path("p/fifo")).st_mode)
