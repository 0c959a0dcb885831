"""An undo, a purge and maintenance that are cancelled, fail or are killed: nothing is lost, and what is purged goes."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.feed import RevertNotice, SessionMoved
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import (
    Cancelled,
    FileNotInSnapshot,
    InvalidParams,
    IoError,
    NothingToRedo,
    SnapdError,
    StorageFull,
)
from snapd.store import store as store_module
from snapd.store.maintenance import erase, scheduler
from snapd.store.maintenance.purge import PurgePlan
from snapd.store.maintenance.retention_run import PARTLY
from snapd.store.notes import SWEEP
from snapd.store.objects.loose import encode_loose
from snapd.store.repository import ShadowRepository
from snapd.store.timeline import chain
from snapd.store.usage import usage as catalog
from tests.support.failures import Killed, at_failpoint, killed_at
from tests.support.git import run_git
from tests.support.secrets import check_gone
from tests.support.sessions import TEXT, Agents, listen
from tests.support.workspace import Bench, Symlink, make, recorded

pytestmark = pytest.mark.slow

# -- an undo


class Interrupted(Exception):
    """Somebody pulled the plug."""


def test_a_request_that_is_cancelled_too_late(agents: Agents) -> None:
    bench = agents.bench
    sessions = bench.workspace.sessions
    call = Call()
    step = agents.begin("one")
    bench.write({"a.txt": b"1"})
    bench.workspace.event_log.listen(lambda _: call.cancel())
    assert sessions.finish(step, None, call).step.state == "applied"
    call = Call()
    turning = bench.workspace.undo_steps.undo(UndoRequest("one"), OperationOptions("merge", False, False), call)
    assert turning.outcome.applied
    assert [view.step.state for view in turning.steps] == ["undone"]


def test_a_request_that_is_cancelled_in_time(agents: Agents) -> None:
    call = Call()
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"1"})
    call.cancel()
    with pytest.raises(Cancelled):
        agents.bench.workspace.sessions.finish(step, None, call)
    assert agents.states("one") == ["open"]
    agents.end(step)
    with pytest.raises(Cancelled):
        agents.bench.workspace.undo_steps.undo(UndoRequest("one"), OperationOptions("merge", False, False), call)
    assert agents.states("one") == ["applied"]


@pytest.mark.parametrize("where", ["look", "tell", "sync"])
def test_an_operation_that_fails_after_its_files_were_moved(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    bench = agents.bench
    agents.start("two")
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    step = agents.begin("two")
    work_tree, store = bench.workspace.work_tree, bench.workspace.store
    apply = work_tree.apply

    def fail(*_: object, **__: object) -> object:
        raise Interrupted

    def apply_and_fail(*arguments: object) -> object:
        results = apply(*arguments)
        if where == "sync":
            raise Interrupted
        monkeypatch.setattr(*((work_tree, "capture") if where == "look" else (store, "conclude")), fail)
        return results

    monkeypatch.setattr(work_tree, "apply", apply_and_fail)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    # whatever comes next, it is ended first
    bench.write({"b.txt": b"two\n"})
    agents.end(step)
    assert agents.states("one") == ["undone"]
    assert agents.files(step) == {"b.txt": "modified"}
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"two\n"}
    agents.redo("one")
    assert bench.read() == {"a.txt": b"1", "b.txt": b"two\n", "new": b"n"}


def test_an_operation_that_fails_before_is_none(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new": b"n"})

    def fail(*_: object) -> object:
        raise Interrupted

    monkeypatch.setattr(bench.workspace.work_tree, "apply", fail)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    bench.track()
    bench.reopen()
    assert agents.states("one") == ["applied"]
    assert bench.read() == {"a.txt": b"1", "b.txt": b"b\n", "new": b"n"}


def killed(agents: Agents, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Undoes the last step of "one" in a process that is killed, and opens the workspace as the next one does.

    Args:
        at: before which call of the applier, or after all of them: "end".
    """
    from snapd.worktree.apply.applier import Applier
    from snapd.worktree.apply.directories import DirectoryChanges

    bench = agents.bench

    def die(*_: object, **__: object) -> object:
        shutil.copytree(bench.root, bench.folder / "as-it-was", symlinks=True)
        raise Interrupted

    kept: list[bytes] = []
    work_tree = bench.workspace.work_tree
    apply = work_tree.apply

    def watched(*arguments: object) -> object:
        kept.append(bench.workspace.store.repository.journal.intent)
        results = apply(*arguments)
        assert at == "end"
        return die(results)

    monkeypatch.setattr(work_tree, "apply", watched)
    if at != "end":
        monkeypatch.setattr(DirectoryChanges if at == "sync" else Applier, at, die)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    bench.close()
    # the process had no time to clear up
    shutil.rmtree(bench.root)
    os.rename(bench.folder / "as-it-was", bench.root)
    ShadowRepository(bench.store).journal.flush(intent=kept[0])
    bench.open()


@pytest.mark.parametrize("at", ["delete", "move", "sync", "end"])
def test_killed_while_undoing(agents: Agents, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new/n": b"n", "link": Symlink("a.txt")})
    killed(agents, monkeypatch, at)
    if at == "move":
        assert any(name.startswith(".snapd-tmp-") for name in os.listdir(bench.root))
    # the user is at work before anybody asks
    bench.write({"b.txt": b"typed\n", "mine": b"m"})
    told = listen(agents)
    step = agents.step("one", {})
    # recovery announces the operation as if nothing had happened: the files, and the step
    reverted, moved = told[:2]
    assert isinstance(reverted, RevertNotice)
    assert isinstance(moved, SessionMoved)
    assert moved.step is not None
    assert (moved.session.session.session_id, moved.step.step.state) == ("one", "undone")
    assert agents.states("one") == ["undone", "applied"]
    assert agents.files(step) == {}
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"typed\n", "mine": b"m"}
    agents.redo("one")
    assert bench.read() == {
        "a.txt": b"1", "b.txt": b"typed\n", "mine": b"m", "new/n": b"n", "link": Symlink("a.txt"),
    }  # fmt: skip


def test_killed_while_undoing_and_the_user_was_faster(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    killed(agents, monkeypatch, "delete")
    bench.write({"new": b"typed\n", "a.txt": b"typed too\n"})
    step = agents.begin("one")
    assert bench.read() == {"a.txt": b"typed too\n", "new": b"typed\n", "b.txt": b"b\n"}
    agents.end(step)
    # nothing was done, so nothing is undone
    assert agents.states("one") == ["applied", "applied"]
    with pytest.raises(NothingToRedo):
        agents.redo("one")


def test_killed_while_a_file_moves_back_and_its_old_name_is_taken(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = agents.bench
    agents.step("one", lambda: os.rename(bench.path("a.txt"), bench.path("moved.txt")))
    killed(agents, monkeypatch, "move")
    bench.write({"a.txt": b"typed\n"})
    agents.step("one", {})
    assert bench.read() == {"a.txt": b"typed\n", "moved.txt": TEXT, "b.txt": b"b\n"}


def test_leftovers_that_are_not_ours_are_kept(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "d/new": b"n"})
    killed(agents, monkeypatch, "move")
    bench.write({
        ".snapd-tmp-0123456789abcdef": b"typed in the very moment\n",
        "d/.snapd-tmp-0123456789abcdef": TEXT[:20],
        "elsewhere/.snapd-tmp-0123456789abcdef": b"not ours to look at\n",
    })  # fmt: skip
    agents.step("one", {})
    found = bench.read()
    kept = [name for name in found if name.startswith(".snapd-kept-")]
    assert [found.pop(name) for name in kept] == [b"typed in the very moment\n"]
    assert found == {"a.txt": TEXT, "b.txt": b"b\n", "elsewhere/.snapd-tmp-0123456789abcdef": b"not ours to look at\n"}
    assert kept[0] in bench.names(bench.track())


def test_what_was_to_be_written_is_lost(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    killed(agents, monkeypatch, "delete")
    oid = run_git(bench.root, "hash-object", "--stdin", input=TEXT).decode().strip()
    store = Path(bench.store)
    bench.close()
    os.unlink(store / "objects" / oid[:2] / oid[2:])
    bench.open()
    # nobody can have it, and everybody can go on
    agents.step("one", {"b.txt": b"2"})
    assert bench.read() == {"a.txt": b"1", "b.txt": b"2", "new": b"n"}


# -- a purge, and maintenance: what is tracked afterwards lasts


SECRET = b"token = 7f3a-very-secret-and-long-enough-to-be-found\n"


def purge(bench: Bench, *names: str) -> None:
    bench.workspace.upkeep.purge([os.fsencode(name) for name in names], False, Call())


def fail() -> None:
    raise OSError(5, "EIO")


def check_whole(bench: Bench) -> None:
    """All recorded snapshots can be restored, also by a new process, and git finds nothing wrong."""
    bench.reopen()
    records = recorded(bench.workspace.store)
    assert records
    for record in records:
        bench.restore(record.tree)
        assert bench.track() == record.tree
    assert run_git(bench.store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling") == b""


@pytest.mark.parametrize("at", ["journal.settle", "journal.remove", "sweep.summaries"])
def test_an_error_after_the_references_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    bench = make(tmp_path, {"a": b"1", "key": SECRET})
    agents = Agents(bench)
    agents.start("s")
    agents.step("s", {"a": b"2"})
    bench.remove("key")
    bench.track()
    taken_out = PurgePlan.take_out
    with contextlib.ExitStack() as going_wrong:

        def take_out(self: PurgePlan) -> None:
            taken_out(self)
            going_wrong.enter_context(at_failpoint(at, fail))

        monkeypatch.setattr(PurgePlan, "take_out", take_out)
        with pytest.raises(IoError):
            purge(bench, "key")
    monkeypatch.undo()
    bench.write({"a": b"3"})
    agents.step("s", {"b": b"4"})
    bench.workspace.upkeep.keep_house(time.time())
    check_gone(bench.store, SECRET)
    check_whole(bench)
    (session,) = bench.workspace.sessions.all(Call()).views
    assert session.session.step_count == 2


def test_a_log_that_cannot_be_read_for_a_moment_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"a": b"1", "key": SECRET})
    bench.track()
    bench.remove("key")
    trees = [bench.track()]
    bench.write({"a": b"2"})
    trees.append(bench.track())

    def unreadable(path: str) -> None:
        raise IoError("too many open files", path=path, errno="EMFILE")

    with monkeypatch.context() as patch:
        patch.setattr(chain, "read_references", unreadable)
        with pytest.raises(IoError):
            purge(bench, "key")
        with pytest.raises(IoError):
            bench.track()
    bench.workspace.upkeep.keep_house(time.time())
    check_whole(bench)
    for tree in trees:
        bench.restore(tree)


def test_what_is_tracked_after_an_erasing_that_failed_is_not_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make(tmp_path, {"a": b"1"})
    bench.track()
    with monkeypatch.context() as patch:
        patch.setattr(erase, "remove_any", lambda _: (_ for _ in ()).throw(OSError(5, "EIO")))
        with pytest.raises(IoError):
            bench.workspace.upkeep.purge_all(False, Call())
        with pytest.raises(IoError):
            bench.track()
    mine = bench.track()
    bench.write({"a": b"2"})
    bench.track()
    bench.reopen()
    bench.restore(mine)
    assert bench.read() == {"a": b"1"}


def test_an_erasing_that_could_not_be_noted_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    real = erase.write_file

    def noted_but(path: str, data: bytes) -> None:
        real(path, data)
        raise IoError("the directory could not be synced", path=path, errno="EIO")

    with monkeypatch.context() as patch:
        patch.setattr(erase, "write_file", noted_but)
        with pytest.raises(IoError):
            bench.workspace.upkeep.purge_all(False, Call())
    bench.reopen()
    assert bench.names(tree) == ["a"]


def test_who_reads_while_all_is_erased_brings_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"a": b"1"})
    agents = Agents(bench)
    agents.start("s")
    agents.step("s", {"a": b"2"})
    real = erase.finish_erasing_if_noted

    def beside(path: str) -> bool:
        assert bench.workspace.sessions.all(Call()).views
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(store_module, "finish_erasing_if_noted", beside)
        bench.workspace.upkeep.purge_all(False, Call())
    assert bench.workspace.sessions.all(Call()).views == ()
    with pytest.raises(SnapdError):
        agents.step("s", {"a": b"3"})
    bench.reopen()
    assert bench.workspace.sessions.all(Call()).views == ()


@pytest.mark.parametrize(
    "what", ["objects/tmp_obj_" + "0" * 16, "objects/pack/tmp_pack_Ab3dE6", "packing/x/pack", "quarantine/x"]
)
@pytest.mark.parametrize("room", [True, False])
def test_what_a_killed_process_left_aside_goes_with_a_purge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, room: bool
) -> None:
    bench = make(tmp_path, {"a": b"1", "key": SECRET})
    bench.track()
    bench.remove("key")
    left = Path(bench.store, what)
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(encode_loose("blob", SECRET))

    def full(_: object) -> None:
        raise StorageFull("no room", path=what, errno="ENOSPC")

    if not room:
        monkeypatch.setattr(scheduler, "ensure_space_to_pack", full)
    purge(bench, "key")
    check_gone(bench.store, SECRET)


def test_a_kill_between_the_index_and_the_pack_that_goes(tmp_path: Path) -> None:
    bench = make(tmp_path, {**{f"f{at}": b"%d\n" % at * 20 for at in range(60)}, "key": SECRET})
    bench.track()
    bench.remove("key")
    with killed_at("sweep.pack", 2):
        purge(bench, "key")
    bench.reopen()
    bench.workspace.upkeep.keep_house(time.time())
    for path in Path(bench.store).rglob("*.pack"):
        # for as long as a git that packs might still be about to name it, it is left alone, and not forgotten
        os.utime(path, (1, 1))
    bench.workspace.upkeep.keep_house(time.time())
    check_gone(bench.store, SECRET)


def test_a_forced_file_is_not_stored_again_by_a_look(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "key": SECRET, ".gitignore": b"key\n"})
    bench.track("key")
    bench.write({"a": b"2"})
    bench.track()
    purge(bench, "key")
    for record in recorded(bench.workspace.store):
        bench.workspace.comparison.diff(record.tree, None, (), Call())
        bench.restore(record.tree)
    check_gone(bench.store, SECRET)
    assert bench.read()["key"] == SECRET


def test_a_misspelt_name_is_not_told_as_purged(tmp_path: Path) -> None:
    bench = make(tmp_path, {".env": SECRET})
    bench.track()
    bench.workspace.store.notes.keep(SWEEP, PARTLY)
    with pytest.raises(FileNotInSnapshot):
        purge(bench, ".evn")


def test_an_empty_file_may_be_named_beside_others(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "empty": b"", "key": SECRET})
    bench.track()
    with pytest.raises(InvalidParams):
        purge(bench, "key", "empty")
    bench.remove("key")
    purge(bench, "key", "empty")
    check_gone(bench.store, SECRET)


def test_a_folder_of_a_thousand_levels(tmp_path: Path) -> None:
    bench = make(tmp_path, {"key": SECRET})
    depth = 1100
    at = os.open(bench.root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        at = moved(at, "d")
    os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    try:
        bench.track()
        bench.remove("key")
        purge(bench, "key")
        check_gone(bench.store, SECRET)
    finally:
        # `shutil.rmtree`, with which pytest clears up, does not get as deep
        os.unlink("x", dir_fd=at)
        for _ in range(depth):
            at = moved(at, "..")
            os.rmdir("d", dir_fd=at)
        os.close(at)


def moved(directory: int, name: str) -> int:
    """Opens a directory beside or below one, which is closed."""
    try:
        return os.open(name, os.O_RDONLY, dir_fd=directory)
    finally:
        os.close(directory)


def test_a_folder_among_the_packs_is_in_nobodys_way(tmp_path: Path) -> None:
    """Newer versions of git make one by that name."""
    bench = make(tmp_path, {"a": b"1", "key": SECRET})
    bench.track()
    bench.remove("key")
    for do in (
        lambda: purge(bench, "key"),
        lambda: bench.workspace.upkeep.cleanup(None, Call()),
        lambda: bench.workspace.upkeep.purge_all(False, Call()),
    ):
        Path(bench.store, "objects/pack/multi-pack-index.d").mkdir()
        do()
        check_gone(bench.store, SECRET)
    bench.reopen()


def test_a_store_whose_removal_was_cut_short_is_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"a": b"1"})
    bench.track()
    store = bench.store
    bench.close()

    def killed(_: str) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(catalog.shutil, "rmtree", killed)
        with pytest.raises(Killed):
            catalog.remove(store)
    assert [found.path for found in catalog.stores(os.path.dirname(store))] == [store]
    bench.open()
    tree = bench.track()
    check_whole(bench)
    assert recorded(bench.workspace.store)[0].tree == tree


@pytest.mark.parametrize("left", ["HEAD", "objects", "refs"])
def test_what_is_left_of_a_store_can_be_removed(tmp_path: Path, left: str) -> None:
    bench = make(tmp_path, {"a": b"1"})
    bench.track()
    store = Path(bench.store)
    bench.close()
    for path in store.iterdir():
        if path.name != left and path.name != "HEAD":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    catalog.remove(str(store))
    assert not store.exists()
