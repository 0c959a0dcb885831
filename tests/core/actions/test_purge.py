"""A file is purged: none of its contents is anywhere in the store, and everything else is as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from snapd.core.actions.cleanup import PurgeOutcome
from snapd.core.actions.sessions import NewStep
from snapd.model.call import Call
from snapd.model.errors import Cancelled, FileNotInSnapshot, InvalidParams, IoError, UnknownSnapshot
from snapd.model.snapshot import ObjectId, Skip, SkipReason
from snapd.store.maintenance.retention_run import Maintenance
from tests.support.git import run_git
from tests.support.secrets import blob, check_gone
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, git_tree_hash, make, outcomes

pytestmark = pytest.mark.slow

SECRET = b"token = 7f3a-very-secret-and-long-enough-to-be-found\n"
LATER = SECRET + b"and a second line of it\n"


def purge(bench: Bench, *names: str, dry_run: bool = False, call: Call | None = None) -> PurgeOutcome:
    return bench.workspace.upkeep.purge([os.fsencode(name) for name in names], dry_run, call or Call())


def snapshots(bench: Bench) -> list[ObjectId]:
    """The trees of all recorded snapshots, in their order, by git itself."""
    told = []
    for line in filter(bytes.strip, bench.git("log", "--all", "--format=%H %B", "-z").split(b"\0")):
        commit, event = line[:40].decode(), json.loads(line.strip().rsplit(b"\n", 1)[1])
        if event["type"] in ("recorded", "stepBegun", "stepEnded"):
            role = "snapshot" if event["type"] == "recorded" else "head"
            tree = bench.git("rev-parse", f"{commit}:{role}").decode().strip()
            told.append((event["seq"], bytes.fromhex(tree)))
    return [tree for _, tree in sorted(told)]


def test_the_words_of_a_message_are_gone_and_its_steps_stay(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1\n"})
    agents = Agents(bench)
    agents.start("one")
    bench.workspace.messages.send("one", "m1", os.fsdecode(SECRET), Call())
    sessions = bench.workspace.sessions
    new = NewStep(client=None, message_id="m1", description=os.fsdecode(SECRET), command=os.fsdecode(SECRET))
    step = sessions.begin("one", new, Call()).step_id
    bench.write({"a": b"2\n"})
    assert sessions.finish(step, None, Call(), description=f"{os.fsdecode(SECRET)} again").step.begun.description
    bench.workspace.messages.send("one", "m2", "and this stays", Call())
    with pytest.raises(InvalidParams, match="no message 'm3'"):
        bench.workspace.upkeep.purge([], False, Call(), messages=["m1", "m3"])
    told = bench.workspace.upkeep.purge([], True, Call(), messages=["m1"])
    assert (told.applied, told.messages, told.files) == (False, 1, ())
    assert bench.workspace.messages.page("one", "", Call(), None, None).views[0].message.text is not None
    done = bench.workspace.upkeep.purge([], False, Call(), messages=["m1"])
    assert (done.applied, done.messages, done.snapshots) == (True, 1, 0)
    check_gone(bench.store, SECRET)
    texts = [view.message.text for view in bench.workspace.messages.page("one", "", Call(), None, None).views]
    assert texts == [None, "and this stays"]
    begun = agents.view(step).step.begun
    assert (begun.description, begun.command) == (None, None)
    assert agents.undo("one", step=step) == {"a": "restored"}
    assert bench.read() == {"a": b"1\n"}


def test_purging_words_leaves_what_was_undone(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1\n"})
    agents = Agents(bench)
    agents.start("one")
    bench.workspace.messages.send("one", "m1", "words", Call())
    agents.step("one", lambda: bench.write({"a": b"2\n", "b": b"new\n"}))
    agents.undo("one")
    done = bench.workspace.upkeep.purge([], False, Call(), messages=["m1"])
    assert (done.applied, done.files, done.snapshots) == (True, (), 0)
    assert agents.redo("one") == {"a": "restored", "b": "restored"}
    assert bench.read() == {"a": b"2\n", "b": b"new\n"}


def test_a_file_is_gone_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    base: Items = {"a": b"1\n", "d/b": b"2\n", "d/.env": SECRET, "only/here.key": LATER}
    bench = make(tmp_path, base)
    first = bench.track()
    bench.write({"a": b"11\n", "d/.env": LATER, "copy": SECRET})
    second = bench.track()
    bench.remove("d/.env", "copy", "only")
    third = bench.track()
    told = purge(bench, "d/.env", dry_run=True)
    assert (told.applied, told.snapshots, told.freed) == (False, 2, 0)
    assert {os.fsdecode(file.path): (file.versions, file.size, file.in_folder) for file in told.files} == {
        "copy": (1, len(SECRET), False),
        "d/.env": (2, len(SECRET) + len(LATER), False),
        "only/here.key": (1, len(LATER), False),
    }
    assert bench.restore(second, dry_run=True).applied is False
    done = purge(bench, "d/.env")
    assert (done.applied, done.files, done.snapshots, done.linked) == (True, told.files, 2, False)
    check_gone(bench.store, SECRET, LATER)
    expected: list[Items] = [{"a": b"1\n", "d/b": b"2\n"}, {"a": b"11\n", "d/b": b"2\n"}]
    trees = [git_tree_hash(tmp_path, items) for items in expected]
    assert [tree for tree in snapshots(bench) if tree != third] == trees[:1]
    assert trees[1] == third
    for reopened in (False, True):
        if reopened:
            bench.reopen()
        for tree in (first, second):
            with pytest.raises(UnknownSnapshot):
                bench.names(tree)
        for tree, items in zip(trees, expected, strict=True):
            bench.restore(tree)
            assert bench.read() == items
        assert bench.track() == trees[1]


def test_what_is_purged_is_not_taken_for_deleted(tmp_path: Path) -> None:
    """The file was there: a restore must not delete the one that is there now."""
    bench = make(tmp_path, {"a": b"1\n", "key": SECRET})
    bench.track()
    bench.remove("key")
    bench.write({"a": b"2\n"})
    bench.track()
    purge(bench, "key")
    old = snapshots(bench)[0]
    assert bench.workspace.store.find(old).coverage.skipped == (Skip(b"key", SkipReason.PURGED),)
    with pytest.raises(FileNotInSnapshot) as caught:
        bench.workspace.snapshots.file_at(old, b"key")
    assert caught.value.data["skipped"] is True
    bench.write({"key": b"a new one\n"})
    assert outcomes(bench.restore(old)) == {"a": "restored", "key": "kept:purged"}
    assert bench.read() == {"a": b"1\n", "key": b"a new one\n"}


def test_sessions_go_on_without_it(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1\n2\n3\n4\n5\n", "b": b"x\n"})
    agents = Agents(bench)
    agents.start("s")
    both = agents.step("s", {"a": b"one\n2\n3\n4\n5\n", "key": SECRET})
    alone = agents.step("s", {"key": LATER})
    undone = agents.step("s", {"b": b"y\n", "key": SECRET + LATER})
    agents.undo("s", step=undone)
    open_step = agents.begin("s")
    bench.remove("key")
    purge(bench, "key")
    check_gone(bench.store, SECRET, LATER, SECRET + LATER)
    for reopened in (False, True):
        if reopened:
            bench.reopen()
        assert agents.states("s") == ["applied", "applied", "undone", "open"]
        assert agents.files(both) == {"a": "modified"}
        assert agents.files(alone) == {}
        assert agents.files(undone) == {"b": "modified"}
    bench.write({"c": b"new\n"})
    assert {os.fsdecode(file.path) for file in agents.end(open_step).files or ()} == {"c"}
    assert agents.undo("s", step=both) == {"a": "restored"}
    assert bench.read() == {"a": b"1\n2\n3\n4\n5\n", "b": b"x\n", "c": b"new\n"}
    assert agents.undo("s", step=alone) == {}
    assert run_git(bench.store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling") == b""


def test_what_is_undone_can_be_done_again_but_for_it(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1\n"})
    agents = Agents(bench)
    agents.start("s")
    agents.step("s", {"a": b"2\n", "key": SECRET})
    assert agents.undo("s") == {"a": "restored", "key": "deleted"}
    purge(bench, "key")
    check_gone(bench.store, SECRET)
    assert agents.redo("s") == {"a": "restored"}
    assert bench.read() == {"a": b"2\n"}


def test_a_folder_and_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1\n", "secrets/x": SECRET, "secrets/y/z": LATER})
    raw = os.fsencode(bench.root) + b"/\xff"
    Path(os.fsdecode(raw)).write_bytes(SECRET * 2)
    bench.track()
    bench.become({"a": b"1\n"})
    told = purge(bench, "secrets", os.fsdecode(b"\xff"))
    assert [file.path for file in told.files] == [b"secrets/x", b"secrets/y/z", b"\xff"]
    check_gone(bench.store, SECRET, LATER, SECRET * 2)


def test_an_empty_file_is_no_secret(tmp_path: Path) -> None:
    bench = make(tmp_path, {"key": b"", "other": b""})
    bench.track()
    bench.write({"key": SECRET})
    bench.track()
    bench.remove("key")
    assert [file.path for file in purge(bench, "key").files] == [b"key"]
    assert {tuple(bench.names(tree)) for tree in snapshots(bench)} == {("key", "other"), ("other",)}


@pytest.mark.parametrize("name", ["key", "elsewhere"])
def test_not_while_the_next_snapshot_would_have_it_again(tmp_path: Path, name: str) -> None:
    bench = make(tmp_path, {"key": SECRET, "a": b"1"})
    tree = bench.track()
    bench.remove("key")
    bench.write({name: SECRET})
    assert next(iter(purge(bench, "key", dry_run=True).files)).in_folder is (name == "key")
    before = bench.git("for-each-ref")
    with pytest.raises(InvalidParams, match=f"^{name}: still in the folder") as caught:
        purge(bench, "key")
    assert caught.value.data["files"] == [name]
    assert bench.git("for-each-ref") == before
    bench.restore(tree)
    assert bench.read() == {"key": SECRET, "a": b"1"}
    bench.write({".gitignore": b"key\n"})
    if name == "elsewhere":
        bench.remove(*(set(bench.read()) & {name}))
    assert purge(bench, "key").applied
    check_gone(bench.store, SECRET)
    # the file itself is the user's
    assert bench.read()["key"] == SECRET


def test_what_was_never_stored(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    with pytest.raises(FileNotInSnapshot, match="nothing is in no snapshot"):
        purge(bench, "a", "nothing")
    assert bench.names(tree) == ["a"]


def test_a_cancelled_purge_changes_nothing(tmp_path: Path) -> None:
    bench = make(tmp_path, {"key": SECRET})
    tree = bench.track()
    bench.remove("key")
    call = Call()
    call.cancel()
    with pytest.raises(Cancelled):
        purge(bench, "key", call=call)
    assert bench.names(tree) == ["key"]


def test_it_is_gone_from_packs_and_from_those_of_the_users_git_too(tmp_path: Path) -> None:
    bench = make(tmp_path, git=True)
    items: Items = {**{f"f{number}": b"%d\n" % number * 50 for number in range(40)}, "key": SECRET}
    bench.write(items)
    run_git(bench.root, "add", "-A")
    run_git(bench.root, "commit", "-qm", "all")
    run_git(bench.root, "gc", "-q")
    os.utime(os.path.join(bench.root, ".git", "index"), (1, 1))
    run_git(bench.root, "status")
    bench.reopen()
    bench.track()
    linked = [path for path in Path(bench.store, "objects", "pack").glob("*.pack") if path.stat().st_nlink > 1]
    bench.write({"key": LATER, **{f"g{number}": b"x%d\n" % number * 50 for number in range(40)}})
    bench.track()
    bench.workspace.upkeep.cleanup(None, Call())
    run_git(bench.root, "rm", "-q", "--cached", "key")
    bench.remove("key")
    assert linked
    assert purge(bench, "key").linked
    check_gone(bench.store, SECRET, LATER)
    assert run_git(bench.root, "cat-file", "blob", blob(SECRET)) == SECRET
    bench.reopen()
    bench.restore(snapshots(bench)[0])
    assert bench.read() == {name: item for name, item in items.items() if name != "key"}


def cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A workspace whose `key` is in no snapshot any more, but in its store still."""
    bench = make(tmp_path, {"a": b"1", "key": SECRET})
    bench.track()
    bench.remove("key")

    def broken(*_: object) -> None:
        raise IoError("broken", path="x", errno="EIO")

    monkeypatch.setattr(Maintenance, "sweep_wholly", broken)
    with pytest.raises(IoError):
        purge(bench, "key")
    monkeypatch.undo()
    return bench


def test_one_that_was_cut_short_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = cut_short(tmp_path, monkeypatch)
    assert [bench.names(tree) for tree in snapshots(bench)] == [["a"]]
    bench.git("cat-file", "-e", blob(SECRET))
    bench.reopen()
    bench.workspace.upkeep.cleanup(None, Call())
    check_gone(bench.store, SECRET)
    bench.restore(snapshots(bench)[0])
    assert bench.read() == {"a": b"1"}


def test_asked_again_it_goes_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = cut_short(tmp_path, monkeypatch)
    assert purge(bench, "key").applied
    check_gone(bench.store, SECRET)
    with pytest.raises(FileNotInSnapshot):
        purge(bench, "key")


def test_a_workspace_is_gone_as_a_whole(tmp_path: Path) -> None:
    items: Items = {"a": b"1", "key": SECRET}
    bench = make(tmp_path, items)
    agents = Agents(bench)
    agents.start("s")
    step = agents.step("s", {"a": LATER})
    old = bench.track()
    told = bench.workspace.upkeep.purge_all(True, Call())
    assert (told.applied, told.snapshots, told.sessions, told.freed) == (False, len(snapshots(bench)), 1, 0)
    done = bench.workspace.upkeep.purge_all(False, Call())
    assert (done.applied, done.snapshots, done.sessions) == (True, told.snapshots, 1)
    assert done.freed > 0
    for reopened in (False, True):
        if reopened:
            bench.reopen()
        check_gone(bench.store, SECRET, LATER)
        assert bench.git("for-each-ref") == b""
        assert bench.workspace.sessions.all(Call()).views == ()
        with pytest.raises(UnknownSnapshot):
            bench.names(old)
    assert bench.read() == {"a": LATER, "key": SECRET}
    agents.start("s")
    step = agents.step("s", {"a": b"2"})
    assert agents.undo("s", step=step) == {"a": "restored"}
    assert bench.read() == {"a": LATER, "key": SECRET}
    bench.reopen()
    assert bench.track() == old


def test_a_kill_while_all_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"key": SECRET})
    agents = Agents(bench)
    agents.start("s")
    agents.step("s", {"a": LATER})
    store = bench.store
    real = os.unlink
    left = 3

    class Killed(BaseException):
        pass

    def unlink(path: str, **how: int) -> None:
        nonlocal left
        if os.fspath(path).startswith(store):
            if not left:
                raise Killed
            left -= 1
        real(path, **how)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(Killed):
        bench.workspace.upkeep.purge_all(False, Call())
    monkeypatch.undo()
    bench.reopen()
    check_gone(bench.store, SECRET, LATER)
    assert bench.workspace.sessions.all(Call()).views == ()
