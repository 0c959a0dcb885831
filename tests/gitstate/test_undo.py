"""Undo and redo of what steps did to git, judged by git itself."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random

import attrs
import pytest

from snapd import failpoints
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import NothingToRedo
from snapd.model.snapshot import Outcome
from tests.support.amounts import amount
from tests.support.sessions import Agents, at_work

from .oracle import State, git, work

WITH_GIT = OperationOptions("merge", False, False, git=True)


def undo(agents: Agents, step: str, options: OperationOptions = WITH_GIT) -> Outcome:
    """Undoes a step."""
    return agents.bench.workspace.undo_steps.undo(UndoRequest("s", 1, step), options, Call()).outcome


def redo(agents: Agents, options: OperationOptions = WITH_GIT) -> Outcome:
    """Redoes what was undone last."""
    return agents.bench.workspace.undo_steps.redo("s", 1, options, Call()).outcome


def with_git(tmp_path: Path) -> tuple[Agents, Path]:
    """A repository with three commits and a second branch, and a session."""
    agents = at_work(tmp_path, {"a": b"x\n", "b": b"y\n"})
    folder = Path(agents.bench.root)
    git(folder, "init", "-qb", "main")
    for message in ("first", "second", "third"):
        (folder / "a").write_text(message)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", message)
    git(folder, "branch", "topic", "HEAD~1")
    agents.start("s")
    return agents, folder


def all_of(folder: Path) -> tuple[object, ...]:
    """What git says of a repository, and the files."""
    every = (path for path in folder.rglob("*") if ".git" not in path.parts and path.is_file())
    files = {path: path.read_bytes() for path in every}
    return State.of(folder), git(folder, "status", "--porcelain=v2"), files


def bytes_of_git(folder: Path) -> str:
    """A digest of `.git`, whatever is in it."""
    digest = hashlib.sha1()
    for path in sorted((folder / ".git").rglob("*")):
        digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


def test_a_commit_goes_back_with_its_files(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    was = all_of(folder)

    def commit() -> None:
        (folder / "a").write_text("fourth")
        git(folder, "commit", "-qam", "fourth")

    step = agents.step("s", commit)
    became = all_of(folder)
    outcome = undo(agents, step)
    assert outcome.git is not None
    assert [change.ref for change in outcome.git.changes.refs] == ["refs/heads/main"]
    assert all_of(folder) == was
    assert redo(agents).git is not None
    assert all_of(folder) == became


def test_without_git_nothing_of_it_changes(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    step = agents.step("s", lambda: git(folder, "branch", "-D", "topic"))
    before = bytes_of_git(folder)
    outcome = undo(agents, step, OperationOptions("merge", False, False))
    assert outcome.git is not None
    assert outcome.git.left
    assert bytes_of_git(folder) == before
    # the rest is taken back when git is asked for
    undo(agents, step)
    assert "topic" in git(folder, "branch")
    # a redo says what the step did, as the undo did
    redone = redo(agents, OperationOptions("merge", by_name=False, dry_run=True))
    assert redone.git == outcome.git


@pytest.mark.parametrize("seed", range(amount(12, 300)))
def test_random_steps(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    agents, folder = with_git(tmp_path)
    for _ in range(5):
        was = all_of(folder)
        commands: list[tuple[str, ...]] = []

        def change(commands: list[tuple[str, ...]] = commands) -> None:
            if random.random() < 0.1 and (folder / ".git").exists():
                shutil.rmtree(folder / ".git")
                commands.append(("rm", "-rf", ".git"))
                return
            commands += [work(folder, random) for _ in range(random.randint(1, 4))]
            if random.random() < 0.3:
                git(folder, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
                git(folder, "gc", "-q", "--prune=now")

        step = agents.step("s", change)
        became = all_of(folder)
        if became == was:
            continue
        undone = undo(agents, step)
        assert undone.git is None or undone.git.reasons is None, commands
        assert all_of(folder) == was, commands
        redo(agents)
        assert all_of(folder) == became, commands


def test_a_repository_that_was_deleted_comes_back_as_what_was_done_last(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    (folder / "b").write_text("staged")
    git(folder, "add", "b")
    (folder / "a").write_text("stashed")
    git(folder, "stash")
    git(folder, "remote", "add", "origin", "https://example.org/project.git")
    agents.step("s", lambda: (folder / "b").write_text("more"))
    was = all_of(folder)
    agents.step("s", lambda: shutil.rmtree(folder / ".git"))
    outcome = agents.bench.workspace.undo_steps.undo(UndoRequest(), WITH_GIT, Call()).outcome
    assert outcome.git is not None
    assert outcome.git.changes.repository == "created"
    assert all_of(folder) == was
    assert git(folder, "remote") == "origin\n"
    assert git(folder, "fsck", "--strict") == ""


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("point", [name for name in failpoints.POINTS if name.startswith(("writer.", "gitstate."))])
@pytest.mark.parametrize("seed", range(amount(2, 40)))
def test_what_a_kill_interrupted_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, seed: int
) -> None:
    random = Random(seed)
    agents, folder = with_git(tmp_path)
    for _ in range(4):
        work(folder, random)
    was = all_of(folder)

    def change() -> None:
        if point in ("gitstate.rebuild", "gitstate.remove"):
            shutil.rmtree(folder / ".git")
        for _ in range(4):
            work(folder, random)

    step = agents.step("s", change)
    became = all_of(folder)

    def kill(name: str) -> None:
        if name == point:
            raise Killed

    undo_first = point == "gitstate.remove"
    if undo_first:
        undo(agents, step)
    wanted, before = (became, was) if undo_first else (was, became)
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "listener", kill)
        with suppress(Killed):
            redo(agents) if undo_first else undo(agents, step)
    agents.bench.reopen()
    agents.bench.track()
    # before the intent is written nothing was done, and from then on all of it
    assert all_of(folder) in (wanted, before)
    if point.startswith("gitstate.") or point in ("writer.git", "writer.conclude", "writer.tell"):
        assert all_of(folder) == wanted


OVERWRITE = OperationOptions("overwrite", False, False, git=True)


def test_overwrite_moves_a_branch_that_the_user_committed_to(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    before = git(folder, "rev-parse", "main")

    def commit(name: str) -> None:
        (folder / name).write_text(name)
        git(folder, "add", name)
        git(folder, "commit", "-qm", name)

    step = agents.step("s", lambda: commit("agents"))
    commit("users")
    users = git(folder, "rev-parse", "main")
    left = undo(agents, step).git
    assert left is not None
    assert "refs/heads/main" in {each.part for each in left.reasons or ()}
    assert git(folder, "rev-parse", "main") == users
    outcome = undo(agents, step, OVERWRITE)
    assert outcome.git is not None
    assert outcome.git.reasons is None
    assert git(folder, "rev-parse", "main") == before
    assert (folder / "users").read_text() == "users"
    git(folder, "gc", "-q", "--prune=now")
    assert git(folder, "rev-parse", "main@{1}") == users
    assert redo(agents).git is not None
    assert git(folder, "rev-parse", "main") == users


def test_overwrite_deletes_no_branch_that_the_user_committed_to(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    step = agents.step("s", lambda: git(folder, "branch", "new"))
    git(folder, "branch", "-f", "new", "HEAD~1")
    outcome = undo(agents, step, OVERWRITE)
    assert outcome.git is not None
    assert [(each.part, each.reason) for each in outcome.git.reasons or ()] == [("refs/heads/new", "moved")]
    assert git(folder, "rev-parse", "new") == git(folder, "rev-parse", "HEAD~1")


def test_an_answer_names_the_upstream_that_keeps_what_goes_back(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    git(folder, "init", "-q", "--bare", str(tmp_path / "remote"))
    git(folder, "remote", "add", "origin", str(tmp_path / "remote"))
    git(folder, "push", "-qu", "origin", "main")

    def commit(text: str, *, is_pushed: bool) -> None:
        (folder / "a").write_text(text)
        git(folder, "commit", "-qam", text)
        if is_pushed:
            git(folder, "push", "-q", "origin", "main")

    pushed = agents.step("s", lambda: commit("pushed", is_pushed=True))
    private = agents.step("s", lambda: commit("private", is_pushed=False))
    for step, expected in ((private, False), (pushed, True)):
        outcome = undo(agents, step)
        assert outcome.git is not None
        upstreams = [change.behind for change in outcome.git.changes.refs]
        assert upstreams == ["refs/remotes/origin/main" if expected else None]
        # git says so of the branch as it is now
        track = git(folder, "for-each-ref", "--format=%(upstream:track)", "refs/heads/main")
        assert ("behind" in track) == expected


def test_a_redo_without_git_leaves_git_to_another_redo(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)
    steps = agents.bench.workspace.undo_steps
    was = all_of(folder)

    def commit() -> None:
        (folder / "a").write_text("fourth")
        git(folder, "commit", "-qam", "fourth")
        git(folder, "branch", "-D", "topic")

    step = agents.step("s", commit)
    became = all_of(folder)
    undo(agents, step)
    steps.redo("s", 1, attrs.evolve(WITH_GIT, git=False), Call())
    assert State.of(folder).refs == was[0].refs
    with pytest.raises(NothingToRedo, match="nothing to redo"):
        steps.redo("s", 1, attrs.evolve(WITH_GIT, git=False), Call())
    assert agents.counts("s") == (1, 0)
    outcome = redo(agents)
    assert outcome.git is not None
    assert outcome.git.reasons is None
    assert all_of(folder) == became
    undo(agents, step)
    assert all_of(folder) == was


def test_what_was_left_of_git_goes_back_with_the_next_undo(tmp_path: Path) -> None:
    agents, folder = with_git(tmp_path)

    def change() -> None:
        git(folder, "tag", "v1")
        git(folder, "branch", "-f", "topic", "HEAD")

    topic = git(folder, "rev-parse", "topic")
    step = agents.step("s", change)
    git(folder, "worktree", "add", "-q", "../elsewhere", "topic")
    left = undo(agents, step).git
    assert left is not None
    assert [(each.part, each.reason) for each in left.reasons or ()] == [("refs/heads/topic", "checkedOutElsewhere")]
    assert "v1" not in git(folder, "tag")
    git(folder, "worktree", "remove", "../elsewhere")
    # what is somebody else's by now
    git(folder, "tag", "v1")
    rest = undo(agents, step).git
    assert rest is not None
    assert rest.reasons is None
    assert git(folder, "rev-parse", "topic") == topic
    assert "v1" in git(folder, "tag")
    redo(agents)
    assert git(folder, "rev-parse", "topic") == git(folder, "rev-parse", "main")
