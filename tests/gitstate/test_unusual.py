"""Undo with git in repositories that are not usual, and beside what others do; judged by git."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from tests.support.sessions import Agents, at_work

from .oracle import State, git
from .test_undo import WITH_GIT, all_of, redo, undo, with_git


def reasons(agents: Agents, step: str) -> list[str]:
    """Undoes a step; returns what of git was left, and why."""
    outcome = undo(agents, step)
    assert outcome.git is not None
    return [f"{each.part} {each.reason}" for each in outcome.git.reasons or ()]


def cloned(tmp_path: Path, *options: str) -> tuple[Agents, Path]:
    """A clone with a session."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-qb", "main")
    for number in range(4):
        (origin / f"f{number}").write_text(str(number))
        git(origin, "add", "-A")
        git(origin, "commit", "-qm", str(number))
    git(origin, "config", "uploadpack.allowFilter", "true")
    agents = at_work(tmp_path)
    folder = Path(agents.bench.root)
    folder.rmdir()
    git(
        tmp_path, "clone", "-q", *options, f"file://{origin}" if "--shared" not in options else str(origin), str(folder)
    )
    agents.bench.reopen()
    agents.start("s")
    return agents, folder


@pytest.mark.parametrize("options", [("--shared",), ("--depth=2",), ("--filter=blob:none",), ()])
@pytest.mark.parametrize("what", ["commit", "delete"])
def test_clones(tmp_path: Path, options: tuple[str, ...], what: str) -> None:
    agents, folder = cloned(tmp_path, *options)
    agents.step("s", {"new": b"1\n"})
    was = all_of(folder)

    def change() -> None:
        if what == "delete":
            shutil.rmtree(folder / ".git")
        else:
            git(folder, "add", "-A")
            git(folder, "commit", "-qm", "new")
            git(folder, "reset", "-q", "--hard", "HEAD~2")

    step = agents.step("s", change)
    became = all_of(folder)
    assert became != was
    assert reasons(agents, step) == []
    assert all_of(folder) == was
    assert "missing" not in git(folder, "fsck")
    borrows = agents.bench.workspace.snapshots.status().git_reason == "objects"
    assert borrows == ("--shared" in options)
    assert git(folder, "log", "--format=%s").split()[0] == "3"
    redo(agents)
    assert all_of(folder) == became


def test_a_repository_whose_lender_is_gone_does_not_come_back_broken(tmp_path: Path) -> None:
    agents, folder = cloned(tmp_path, "--shared")
    agents.step("s", {"new": b"1\n"})
    step = agents.step("s", lambda: shutil.rmtree(folder / ".git"))
    (tmp_path / "origin").rename(tmp_path / "moved")
    assert reasons(agents, step) == ["repository missing"]
    assert not (folder / ".git").exists()
    (tmp_path / "moved").rename(tmp_path / "origin")
    assert reasons(agents, step) == []
    assert git(folder, "fsck") == ""


def test_nothing_of_the_project_runs(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    ran = tmp_path / "ran"
    hooks = folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc", "post-rewrite"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        (hooks / name).chmod(0o755)
    (folder / ".gitattributes").write_text("* filter=evil\n")
    for name, program in (("clean", "cat"), ("smudge", "cat")):
        git(folder, "config", f"filter.evil.{name}", f"echo {name} >> {ran}; {program}")
    git(folder, "config", "core.fsmonitor", f"echo fsmonitor >> {ran}; false")
    git(folder, "config", "core.pager", f"echo pager >> {ran}")
    (folder / "a").write_text("other")
    (folder / "new").write_text("new")

    def change() -> None:
        git(folder, "add", "-A")
        git(folder, "add", "-N", "new")
        git(folder, "commit", "-qm", "new")
        git(folder, "checkout", "-qb", "branch")
        (folder / "b").write_text("stashed")
        git(folder, "stash")

    step = agents.step("s", change)
    agents.step("s", lambda: None)
    ran.unlink()
    assert reasons(agents, step) == []
    redo(agents)
    assert not ran.exists(), ran.read_text()


def test_the_users_commit_since_stays(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)

    def change() -> None:
        git(folder, "commit", "-q", "--allow-empty", "-m", "agent")
        git(folder, "tag", "v1")

    step = agents.step("s", change)
    git(folder, "commit", "-q", "--allow-empty", "-m", "user")
    now = git(folder, "rev-parse", "HEAD")
    (folder / "b").write_text("staged by the user")
    git(folder, "add", "b")
    assert reasons(agents, step) == ["refs/heads/main moved"]
    assert git(folder, "rev-parse", "HEAD") == now
    assert git(folder, "tag") == ""
    assert git(folder, "diff", "--cached", "--name-only") == "b\n"


def test_what_the_user_staged_since_stays(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)

    def change() -> None:
        (folder / "a").write_text("agent")
        git(folder, "commit", "-qam", "agent")

    step = agents.step("s", change)
    (folder / "b").write_text("user")
    git(folder, "add", "b")
    assert reasons(agents, step) == []
    assert git(folder, "status", "--porcelain") == "M  b\n"
    assert git(folder, "log", "-1", "--format=%s") == "third\n"


def test_beside_a_lock_nothing_is_done(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    step = agents.step("s", lambda: git(folder, "branch", "-D", "topic"))
    was = State.of(folder)
    (folder / ".git/index.lock").touch()
    assert reasons(agents, step) == ["refs/heads/topic locked"]
    assert State.of(folder) == was
    (folder / ".git/index.lock").unlink()
    assert reasons(agents, step) == []
    assert "topic" in git(folder, "branch")


def test_a_branch_that_another_work_tree_has_checked_out_stays(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    step = agents.step("s", lambda: (git(folder, "branch", "new"), git(folder, "branch", "-f", "topic", "main")))
    git(folder, "worktree", "add", "-q", str(tmp_path / "other"), "topic")
    was = git(tmp_path / "other", "status", "--porcelain=v2", "--branch")
    assert reasons(agents, step) == ["refs/heads/topic checkedOutElsewhere"]
    assert git(tmp_path / "other", "status", "--porcelain=v2", "--branch") == was
    assert "new" not in git(folder, "branch")


def test_a_linked_work_tree(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-qb", "main")
    (main / "a").write_text("1")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "x")
    agents = at_work(tmp_path)
    folder = Path(agents.bench.root)
    folder.rmdir()
    git(main, "worktree", "add", "-q", "-b", "topic", str(folder))
    agents.bench.reopen()
    agents.start("s")
    agents.step("s", {"b": b"2\n"})
    was, mains = all_of(folder), all_of(main)

    def change() -> None:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "y")
        git(folder, "checkout", "-q", "--detach")
        git(folder, "branch", "-D", "topic")

    step = agents.step("s", change)
    became = all_of(folder)
    assert reasons(agents, step) == []
    assert all_of(folder) == was
    assert all_of(main) == mains
    redo(agents)
    assert all_of(folder) == became


def test_a_sparse_checkout_keeps_its_flags(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    for name in ("in/a", "out/a"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(name)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "directories")
    git(folder, "sparse-checkout", "set", "in")
    agents.step("s", {"in/b": b"1\n"})
    was = all_of(folder)
    flags = git(folder, "ls-files", "-t")

    def change() -> None:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "new")
        git(folder, "rm", "-q", "--cached", "in/a")

    step = agents.step("s", change)
    assert reasons(agents, step) == []
    assert all_of(folder) == was
    assert git(folder, "ls-files", "-t") == flags


def test_a_purged_blob_is_not_brought_back(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    (folder / "secret").write_text("a secret of some length")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "secret")
    agents.step("s", {"g": b"x"})

    def drop() -> None:
        git(folder, "reset", "-q", "--hard", "HEAD~1")
        git(folder, "reflog", "expire", "--expire=now", "--all")
        git(folder, "gc", "-q", "--prune=now")

    step = agents.step("s", drop)
    agents.bench.workspace.upkeep.purge([b"secret"], False, Call())
    was = State.of(folder)
    assert "refs/heads/main missing" in reasons(agents, step)
    assert State.of(folder) == was
    assert git(folder, "fsck") == ""
    assert os.path.isdir(folder)


def test_what_sessions_share_is_left_and_said(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    other = agents.begin("one")
    step = agents.step("s", lambda: git(folder, "branch", "-D", "topic"))
    agents.end(other)
    assert reasons(agents, step) == ["refs/heads/topic shared"]
    assert "topic" not in git(folder, "branch")


def test_a_new_repository_goes_unless_somebody_used_it(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a": b"x\n"})
    folder = Path(agents.bench.root)
    agents.start("s")
    step = agents.step("s", lambda: git(folder, "init", "-qb", "main"))
    git(folder, "add", "-A")
    assert reasons(agents, step) == ["repository moved"]
    git(folder, "rm", "-rq", "--cached", ".")
    assert reasons(agents, step) == []
    assert not (folder / ".git").exists()
    assert (folder / "a").read_bytes() == b"x\n"


def test_a_conflict_of_git_keeps_everything_if_asked(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)

    def change() -> None:
        (folder / "a").write_text("agent")
        git(folder, "commit", "-qam", "agent")
        git(folder, "tag", "v1")

    step = agents.step("s", change)
    git(folder, "commit", "-q", "--allow-empty", "-m", "user")
    was = all_of(folder)
    outcome = undo(agents, step, OperationOptions("fail", True, False, git=True))
    assert not outcome.applied
    assert all_of(folder) == was


def test_parallel_steps_of_one_session_take_it_back_once(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    was = State.of(folder)
    first = agents.begin("s")
    git(folder, "branch", "one")
    second = agents.begin("s")
    git(folder, "branch", "-D", "topic")
    git(folder, "branch", "-f", "one", "HEAD~2")
    agents.end(first)
    git(folder, "branch", "three")
    agents.end(second)
    outcome = agents.bench.workspace.undo_steps.undo(UndoRequest("s", 2), WITH_GIT, Call()).outcome
    assert outcome.git is not None
    assert outcome.git.reasons is None
    assert State.of(folder) == was


@pytest.mark.parametrize("command", [("rebase", "-x", "false", "topic"), ("bisect", "start", "HEAD", "HEAD~2")])
def test_a_branch_under_an_operation_that_the_user_began_since_stays(tmp_path: Path, command: tuple[str, ...]) -> None:
    agents, folder = with_git(tmp_path)
    git(folder, "branch", "new", "topic")
    step = agents.step("s", lambda: (git(folder, "branch", "-f", "new", "main"), git(folder, "tag", "v1")))
    git(folder, "checkout", "-q", "new")
    git(folder, *command)
    assert git(folder, "symbolic-ref", "-q", "HEAD") == ""
    was = git(folder, "rev-parse", "new")
    assert reasons(agents, step) == ["refs/heads/new checkedOut"]
    assert git(folder, "rev-parse", "new") == was
    assert git(folder, "tag") == ""
