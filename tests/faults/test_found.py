"""What the sweeps found: each once more by itself, by the failpoint or the leftover that showed it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd import failpoints
from snapd.model.call import Call
from snapd.model.errors import IoError, StorageFull, WorkspaceNotOpen
from snapd.store.files import space as room
from snapd.worktree.apply.directories import DirectoryChanges
from snapd.worktree.apply.files import NewFiles
from tests.support.sessions import Agents
from tests.support.workspace import Items, make, outcomes

OLD: Items = {"a": b"old\n", "b": b"same\n"}
NEW: Items = {"a": b"new\n", "b": b"same\n", "c": b"more\n"}


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Has the system refuse what a failpoint is named after, once."""

    def arm(point: str, nth: int = 1) -> None:
        left = [nth]

        def listen(name: str) -> None:
            if name == point:
                left[0] -= 1
                if left[0] == 0:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(failpoints, "listener", listen)

    return arm


def test_a_loose_object_that_a_kill_left_aside_keeps_nobody_from_tracking(tmp_path: Path) -> None:
    bench = make(tmp_path, OLD)
    leftover = Path(bench.store, "objects", "tmp_obj_0123456789abcdef")
    leftover.touch()
    tree = bench.track()
    bench.reopen()
    assert bench.names(tree) == ["a", "b"]


def test_a_store_that_could_not_be_taken_is_not_locked(tmp_path: Path, fail: Callable[..., None]) -> None:
    bench = make(tmp_path, OLD)
    bench.close()
    fail("durable.sync")
    with pytest.raises(IoError) as refused:
        bench.open()
    # the error is held, and with it all that was being made
    assert refused.value is not None
    bench.open()
    bench.track()


def test_an_operation_that_was_refused_is_not_done_by_the_next_process(
    tmp_path: Path, fail: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make(tmp_path, OLD)
    old = bench.track()
    bench.become(NEW)
    bench.track()
    came: list[str] = []
    monkeypatch.setattr(failpoints, "listener", came.append)
    bench.restore(old, dry_run=True)

    def listen(name: str) -> None:
        came.append(name)
        # the intent is written, and cannot be made durable
        if name == "journal.sync" and "writer.intend" in came and came.count("failed") == 0:
            came.append("failed")
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(failpoints, "listener", listen)
    with pytest.raises(IoError):
        bench.restore(old)
    assert "failed" in came
    monkeypatch.setattr(failpoints, "listener", None)
    bench.reopen()
    bench.track()
    assert bench.read() == NEW


def test_an_operation_whose_intent_cannot_be_read_now_is_ended_later(tmp_path: Path, fail: Callable[..., None]) -> None:
    bench = make(tmp_path, OLD)
    old = bench.track()
    bench.become(NEW)
    fail("apply.names")
    with pytest.raises(IoError):
        bench.restore(old)
    bench.close()
    fail("journal.replay")
    with pytest.raises(IoError):
        bench.open()
    bench.open()
    assert bench.track() == old
    assert bench.read() == OLD


@pytest.mark.parametrize("point", ["apply.exchanged", "apply.deleted"])
def test_a_file_that_could_not_go_is_as_it_was(tmp_path: Path, fail: Callable[..., None], point: str) -> None:
    bench = make(tmp_path, OLD)
    old = bench.track()
    bench.become(NEW)
    fail(point)
    outcome = outcomes(bench.restore(old))
    kept = {"apply.exchanged": "a", "apply.deleted": "c"}[point]
    assert outcome[kept] == "failed:EIO"
    assert bench.read() == {**OLD, kept: NEW[kept]}


def test_a_request_that_waited_while_the_workspace_was_closed(tmp_path: Path) -> None:
    bench = make(tmp_path, OLD)
    workspace = bench.workspace
    bench.close()
    with pytest.raises(WorkspaceNotOpen):
        workspace.snapshots.track((), Call())


def test_a_store_without_room_to_tell_of_an_operation_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make(tmp_path, OLD)
    old = bench.track()
    bench.become(NEW)
    monkeypatch.setattr(room, "BYTES", 1 << 62)
    with pytest.raises(StorageFull):
        bench.restore(old)
    assert bench.read() == NEW
    monkeypatch.undo()
    bench.restore(old)
    assert bench.read() == OLD


def test_one_of_two_steps_done_again_takes_the_directory_that_the_other_made(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"0\n", "empty/": None})
    agents = Agents(bench)
    session = agents.start("s")
    agents.step(session, lambda: bench.become({"a": b"1\n"}))
    agents.step(session, lambda: bench.become({"a": b"2\n", "empty/": None}))
    agents.undone(session, 2)
    assert bench.read() == {"a": b"0\n", "empty/": None}
    agents.redone(session, 1)
    assert bench.read() == {"a": b"1\n"}
    agents.redone(session, 1)
    assert bench.read() == {"a": b"2\n", "empty/": None}


def test_directories_that_several_threads_made_are_unmade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them may note a directory after another noted one in it."""
    bench = make(tmp_path, {"many/1/a": b"1", "many/2/b": b"2", "other": b"o"})
    tree = bench.track()
    shutil.rmtree(bench.root / "many")
    real = DirectoryChanges.make

    def noted_late(changes: DirectoryChanges, path: bytes) -> None:
        real(changes, path)
        changes.made.sort(reverse=True)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(DirectoryChanges, "make", noted_late)
    monkeypatch.setattr(NewFiles, "write", full)
    with pytest.raises(StorageFull):
        bench.restore(tree)
    assert os.listdir(bench.root) == ["other"]


def test_a_file_that_went_for_a_directory_is_told_as_gone_where_that_could_not_be_made_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was told as `failed`, and so the timeline took it for being there."""
    bench = make(tmp_path, {"gone/": None})
    agents = Agents(bench)
    session = agents.start("s")
    step = agents.step(session, lambda: bench.become({"gone": b"a file now\n"}))
    reached: list[str] = []

    def once(name: str) -> None:
        if name == "apply.make_directory":
            reached.append(name)
            if len(reached) == 1:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(failpoints, "listener", once)
    outcome = agents.undo(session, step=step)
    monkeypatch.undo()
    assert outcome == {"gone": "deleted"}
    assert len(reached) > 1
    assert bench.read() == {"gone/": None}
    assert agents.redo(session) == {"gone": "restored"}
    assert bench.read() == {"gone": b"a file now\n"}


@pytest.mark.parametrize("nth", range(1, 7))
def test_a_file_with_the_name_of_a_directory_that_went_is_told_as_written(
    tmp_path: Path, fail: Callable[[str, int], None], nth: int
) -> None:
    """Once files were moved, directories were removed again; a failure there was told of the file of that name."""
    before: Items = {"gone/x": b"x\n", "mover/here": b"1\n2\n3\n4\n5\n", "stays": b"s\n"}
    after: Items = {"gone": b"a file now\n", "moved": b"1\n2\n3\n4\n5\n", "stays": b"s\n"}
    bench = make(tmp_path, before)
    agents = Agents(bench)
    session = agents.start("s")
    agents.step(session, lambda: bench.become(after))
    agents.undo(session)
    assert bench.read() == before
    fail("apply.remove_directory", nth)
    outcome = agents.redo(session)
    found = bench.read()
    told = {name for name, what in outcome.items() if what in ("restored", "deleted")}
    assert ("gone" in told) == (found.get("gone") == b"a file now\n"), outcome
    timeline = bench.workspace.store.timeline
    head = timeline.head
    assert head is not None
    assert bench.track() == head.tree
