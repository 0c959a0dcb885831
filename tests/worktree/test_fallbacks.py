"""Restores where the system or the file system moves files in fewer ways: each way is forced, with the same cases."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from snapd import failpoints
from snapd.model.snapshot import ObjectId
from snapd.worktree.fs import system
from tests.support.renames import MODES, force
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Executable, Items, Symlink, make, outcomes

THEN: Items = {"a": b"one", "d/e/f": b"gone", "link": Symlink(b"a"), "run": Executable(b"#!"), "to": b"file"}
NOW: Items = {"a": b"two", "d2/new": b"new", "link": b"no link", "run": b"#!", "to/be": b"a directory"}


@pytest.fixture(params=MODES, autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    force(monkeypatch, request.param)
    yield request.param
    failpoints.listener = None


def at(point: str, meanwhile: Callable[[], object]) -> None:
    """Has something done once, when an operation comes to a failpoint."""
    left = [meanwhile]

    def listen(name: str) -> None:
        if name == point and left:
            left.pop()()

    failpoints.listener = listen


def temporaries(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".snapd-*")]


def changed(folder: Path, then: Items, now: Items) -> tuple[Bench, ObjectId]:
    """A workspace that changed after a snapshot, which comes with it."""
    bench = make(folder, then)
    tree = bench.track()
    bench.become(now)
    bench.track()
    return bench, tree


def test_a_restore_there_and_back(tmp_path: Path) -> None:
    bench = make(tmp_path, THEN)
    then = bench.track()
    bench.become(NOW)
    now = bench.track()
    for tree, items in ((then, THEN), (now, NOW), (then, THEN)):
        expected_outcomes = outcomes(bench.restore(tree, dry_run=True))
        assert outcomes(bench.restore(tree)) == expected_outcomes
        assert set(expected_outcomes.values()) <= {"restored", "deleted"}
        assert bench.read() == items
        assert bench.track() == tree
        assert not temporaries(bench.root)


def test_undo_and_redo(tmp_path: Path) -> None:
    bench = make(tmp_path, THEN)
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, lambda: bench.become(NOW))
    agents.undo(session)
    assert bench.read() == THEN
    agents.redo(session)
    assert bench.read() == NOW


def test_a_file_that_somebody_makes_where_one_is_to_come_back_stays(tmp_path: Path) -> None:
    bench, then = changed(tmp_path, {"a": b"one", "kept": b""}, {"kept": b""})
    at("apply.move", lambda: bench.write({"a": b"theirs"}))
    assert outcomes(bench.restore(then)) == {"a": "failed:inTheWay"}
    assert bench.read() == {"a": b"theirs", "kept": b""}
    assert not temporaries(bench.root)


@pytest.mark.parametrize("in_the_way", [os.mkdir, lambda path: os.symlink("nowhere", path)])
def test_a_directory_or_a_link_to_nowhere_counts_as_taken(tmp_path: Path, in_the_way: Callable[[str], object]) -> None:
    bench, then = changed(tmp_path, {"a": b"one", "kept": b""}, {"kept": b""})
    at("apply.move", lambda: in_the_way(bench.path("a")))
    assert outcomes(bench.restore(then)) == {"a": "failed:inTheWay"}
    assert not stat.S_ISREG(os.lstat(bench.path("a")).st_mode)


def test_a_file_that_is_written_before_it_is_taken_away_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, then = changed(tmp_path, {"kept": b""}, {"kept": b"", "new": b"1"})
    real = os.rename

    def late(old: bytes, new: bytes, **given: int) -> None:
        if old == b"new":
            # after the look, before the file is moved aside
            monkeypatch.setattr(os, "rename", real)
            bench.write({"new": b"theirs"})
        real(old, new, **given)

    monkeypatch.setattr(os, "rename", late)
    assert outcomes(bench.restore(then)) == {"new": "conflict:changedMeanwhile"}
    assert bench.read() == {"kept": b"", "new": b"theirs"}
    assert not temporaries(bench.root)


def test_a_file_that_cannot_go_is_put_back(tmp_path: Path) -> None:
    bench, then = changed(tmp_path, {"kept": b""}, {"kept": b"", "new": b"1"})

    def refuse() -> None:
        raise OSError(1, "Operation not permitted")

    at("apply.deleted", refuse)
    assert outcomes(bench.restore(then)) == {"new": "failed:EPERM"}
    assert bench.read() == {"kept": b"", "new": b"1"}
    assert not temporaries(bench.root)


def test_a_file_that_cannot_go_and_whose_name_is_taken_meanwhile_is_kept(tmp_path: Path) -> None:
    bench, then = changed(tmp_path, {"kept": b""}, {"kept": b"", "new": b"1"})

    def refuse() -> None:
        bench.write({"new": b"theirs"})
        raise OSError(1, "Operation not permitted")

    at("apply.deleted", refuse)
    assert outcomes(bench.restore(then)) == {"new": "failed:EPERM"}
    found = bench.read()
    assert found.pop("new") == b"theirs"
    assert sorted(found.values(), key=str) == [b"", b"1"]
    assert [name for name in found if name.startswith("new.snapd-kept-")]


def test_what_a_dead_operation_left_and_somebody_wrote_to_gets_a_name(tmp_path: Path) -> None:
    bench, then = changed(tmp_path, {"a": b"one"}, {"a": b"two"})

    def die() -> None:
        raise KeyboardInterrupt

    at("apply.exchange", die)
    with pytest.raises(KeyboardInterrupt):
        bench.restore(then)
    bench.close()
    bench.write({".snapd-tmp-0123456789abcdef": b"theirs"})
    bench.open()
    assert bench.track() != then
    found = bench.read()
    assert found.pop("a") == b"one"
    assert [*found.values()] == [b"theirs"]
    assert next(iter(found)).startswith(".snapd-kept-")


def test_place_moves_nothing_where_the_first_name_cannot_go(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode != "links":
        # the others need one call alone
        return
    (tmp_path / "old").write_bytes(b"1")
    real = os.unlink

    def refuse(name: bytes, *, dir_fd: int | None = None) -> None:
        if name == b"old":
            raise PermissionError(1, "Operation not permitted")
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(PermissionError):
            system.rename_no_replace(directory, b"old", directory, b"new")
    finally:
        os.close(directory)
    assert os.listdir(tmp_path) == ["old"]


def test_what_a_system_has() -> None:
    def function() -> None:
        """Stands for one of the C library."""

    library = SimpleNamespace(renameat2=function, renameatx_np=function)
    for platform, flags in (("linux", (1, 2)), ("darwin", (4, 2))):
        found = system.load_rename(platform, library)  # type: ignore[arg-type]
        assert found is not None
        assert (found.no_replace, found.exchange) == flags
        # an older system, or another C library
        assert system.load_rename(platform, SimpleNamespace()) is None  # type: ignore[arg-type]
    assert system.load_rename("freebsd14", library) is None  # type: ignore[arg-type]
    assert system.load_rename("linux", ctypes.CDLL(None)) is not None
