"""An undo that is cancelled, that fails, or whose process is killed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from snapd.core.call import Call
from snapd.core.errors import Cancelled, NothingToRedo
from snapd.core.feed.events import Reverted, SessionMoved
from snapd.core.operations.writer import OperationOptions
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, listen
from tests.support.workspace import Symlink

# -- taken back requests, failures


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
    outcome, steps = bench.workspace.undo_steps.undo("one", 1, None, OperationOptions("merge", False, False), call)
    assert outcome.applied
    assert [view.step.state for view in steps] == ["undone"]


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
        agents.bench.workspace.undo_steps.undo("one", 1, None, OperationOptions("merge", False, False), call)
    assert agents.states("one") == ["applied"]


@pytest.mark.parametrize("where", ["look", "tell", "sync"])
def test_an_operation_that_fails_after_its_files_were_moved(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    bench = agents.bench
    agents.start("two")
    agents.step("one", {"a.txt": b"1", "new": b"n"})
    step = agents.begin("two")
    work_tree, store = bench.workspace._work_tree, bench.workspace._store
    apply = work_tree.apply

    def fail(*_: object, **__: object) -> object:
        raise Interrupted

    def apply_and_fail(*arguments: object) -> object:
        results = apply(*arguments)
        if where == "sync":
            raise Interrupted
        monkeypatch.setattr(*((work_tree, "capture") if where == "look" else (store, "append_event")), fail)
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

    monkeypatch.setattr(bench.workspace._work_tree, "apply", fail)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    bench.track()
    bench.reopen()
    assert agents.states("one") == ["applied"]
    assert bench.read() == {"a.txt": b"1", "b.txt": b"b\n", "new": b"n"}


# -- killed


def killed(agents: Agents, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Undoes the last step of "one" in a process that is killed, and opens the workspace as the next one does.

    Args:
        agents: at work.
        monkeypatch: to be killed by.
        at: before which call of the applier, or after all of them: "end".
    """
    from snapd.worktree.apply import applier as applying

    bench = agents.bench

    def die(*_: object, **__: object) -> object:
        shutil.copytree(bench.root, bench.folder / "as-it-was", symlinks=True)
        raise Interrupted

    intent = Path(bench.store) / "intent"
    kept: list[bytes] = []
    work_tree = bench.workspace._work_tree
    apply = work_tree.apply

    def watched(*arguments: object) -> object:
        kept.append(intent.read_bytes())
        results = apply(*arguments)
        assert at == "end"
        return die(results)

    monkeypatch.setattr(work_tree, "apply", watched)
    if at != "end":
        monkeypatch.setattr(applying.Applier, at, die)
    with pytest.raises(Interrupted):
        agents.undo("one")
    monkeypatch.undo()
    bench.close()
    # the process had no time to clear up
    shutil.rmtree(bench.root)
    os.rename(bench.folder / "as-it-was", bench.root)
    intent.write_bytes(kept[0])
    bench.open()


@pytest.mark.parametrize("at", ["_delete", "_move", "_sync", "end"])
def test_killed_while_undoing(agents: Agents, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "new/n": b"n", "link": Symlink("a.txt")})
    killed(agents, monkeypatch, at)
    if at == "_move":
        assert any(name.startswith(".snapd-tmp-") for name in os.listdir(bench.root))
    # the user is at work before anybody asks
    bench.write({"b.txt": b"typed\n", "mine": b"m"})
    told = listen(agents)
    step = agents.step("one", {})
    # what was ended is told as if nothing had happened: the files, and the step
    reverted, moved = told[:2]
    assert isinstance(reverted, Reverted)
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
    killed(agents, monkeypatch, "_delete")
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
    killed(agents, monkeypatch, "_move")
    bench.write({"a.txt": b"typed\n"})
    agents.step("one", {})
    assert bench.read() == {"a.txt": b"typed\n", "moved.txt": TEXT, "b.txt": b"b\n"}


def test_leftovers_that_are_not_ours_are_kept(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = agents.bench
    agents.step("one", {"a.txt": b"1", "d/new": b"n"})
    killed(agents, monkeypatch, "_move")
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
    killed(agents, monkeypatch, "_delete")
    oid = run_git(bench.root, "hash-object", "--stdin", input=TEXT).decode().strip()
    store = Path(bench.store)
    bench.close()
    os.unlink(store / "objects" / oid[:2] / oid[2:])
    bench.open()
    # nobody can have it, and everybody can go on
    agents.step("one", {"b.txt": b"2"})
    assert bench.read() == {"a.txt": b"1", "b.txt": b"2", "new": b"n"}
