"""Random histories of two agents and a user in one repository, who undo and redo with and without git."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo
from snapd.model.snapshot import Outcome
from tests.support.amounts import amount

from .oracle import State, git, work
from .test_undo import bytes_of_git, with_git

SESSIONS = ("s", "t")


@attrs.frozen
class Change:
    """What a step did to git, as git says."""

    before: State
    after: State


class History:
    """A repository with what everybody did."""

    def __init__(self, tmp_path: Path, random: Random) -> None:
        self.random = random
        self.agents, self.folder = with_git(tmp_path)
        self.agents.start("t")
        git(self.folder, "worktree", "add", "-q", "../elsewhere", "-b", "elsewhere")
        self.changes: dict[str, Change] = {}
        # what each undo of a step that was not redone since did, and the parts that these took back
        self.undone: dict[str, list[Change]] = {}
        self.rests: dict[str, tuple[list[Change], set[str]]] = {}
        self.done: dict[str, set[str]] = {}
        self.diary: list[object] = []
        self.users: set[str] = set()

    def turn(self) -> None:
        """Somebody does something."""
        self.random.choice((self.step, self.step, self.step, self.user, self.undo, self.undo, self.undo, self.redo))()

    def some_work(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.diary.append(work(self.folder, self.random))

    def step(self) -> None:
        session = self.random.choice(SESSIONS)
        before = State.of(self.folder)
        self.diary.append(f"a step of {session}")
        step = self.agents.step(session, self.some_work)
        self.changes[step] = Change(before, State.of(self.folder))

    def user(self) -> None:
        self.diary.append("the user")
        before = self.reachable()
        self.some_work()
        self.users |= self.reachable() - before
        self.agents.bench.track()

    def reachable(self) -> set[str]:
        """All commits that git finds by a name or a reflog."""
        return set(git(self.folder, "rev-list", "--all", "--reflog", "HEAD").split())

    def undo(self) -> None:
        steps = self.agents.bench.workspace.undo_steps
        request = UndoRequest(self.random.choice(SESSIONS), 1)
        self.take_back("undo", lambda options: steps.undo(request, options, Call()))

    def redo(self) -> None:
        steps = self.agents.bench.workspace.undo_steps
        session = self.random.choice(SESSIONS)
        self.take_back("redo", lambda options: steps.redo(session, 1, options, Call()))

    def take_back(self, what: str, act: Callable[[OperationOptions], object]) -> None:
        """Undoes or redoes, and checks every part of git."""
        is_with_git = self.random.random() < 0.7
        before, commits, digest = State.of(self.folder), self.reachable(), bytes_of_git(self.folder)
        try:
            turning = act(OperationOptions("merge", False, False, git=is_with_git))
        except (NothingToUndo, NothingToRedo):
            return
        # before git is asked, which may write its index
        assert is_with_git or bytes_of_git(self.folder) == digest, self.diary
        outcome: Outcome = turning.outcome  # type: ignore[attr-defined]
        step = next((view.step.step_id for view in turning.steps), None)  # type: ignore[attr-defined]
        self.diary.append((what, step, "with git" if is_with_git else "without", outcome.git))
        if what == "undo" and step is not None:
            self.undone.setdefault(step, []).append(Change(before, State.of(self.folder)))
        if not is_with_git:
            return
        now = State.of(self.folder)
        if step is None:
            assert now == before, self.diary
            return
        # a redo does again what the undo did, which may be less than the step
        fresh = self.undone.pop(step, []) if what == "redo" else [self.changes[step]]
        # and what could not be redone before
        rest, tried = self.rests.pop(step, ([], set[str]())) if what == "redo" else ([], set[str]())
        pieces = [*rest, *fresh]
        if not pieces:
            return
        old, new = pieces[-1].after, pieces[0].before
        done = self.done.setdefault(step, set()) if what == "undo" else set[str]()
        assert not (commits - self.reachable()) & self.users, self.diary
        reasons = {each.part for each in (outcome.git and outcome.git.reasons) or ()}
        for name in before.refs.keys() | now.refs.keys() | old.refs.keys() | new.refs.keys():
            if name == "refs/stash":
                continue
            was, is_now, left, wanted = (each.refs.get(name) for each in (before, now, old, new))
            # as it has to be, or named; and never anything but what it was or is to be
            assert is_now in (was, wanted), (name, self.diary)
            if left == wanted or not (fresh or name in tried):
                assert is_now == was, (name, self.diary)
            elif name in done:
                # what became of it since an earlier undo took it back is somebody else's
                assert is_now == was, (name, self.diary)
            elif is_now == wanted:
                done |= {name} if is_now != was else set()
            else:
                # pieces may be redone one by one
                assert name in reasons or len(pieces) > 1, (name, self.diary)
        for part, was_, is_, left_, wanted_ in (
            ("head", before.head, now.head, old.head, new.head),
            ("refs/stash", before.stash, now.stash, old.stash, new.stash),
            ("operation", before.operation, now.operation, old.operation, new.operation),
        ):
            assert is_ in (was_, wanted_), (part, self.diary)
            if left_ == wanted_ or part in done or not (fresh or part in tried):
                assert is_ == was_, (part, self.diary)
            elif is_ == wanted_:
                done |= {part} if is_ != was_ else set()
            else:
                assert part in reasons or len(pieces) > 1, (part, self.diary)
        if what == "redo":
            # what could not be redone stays taken back
            self.done[step] = self.done.get(step, set()) & reasons
            if reasons:
                self.rests[step] = pieces, reasons

    def check(self) -> None:
        """Nothing of anybody's is gone, and git finds all that it names."""
        assert "missing" not in git(self.folder, "fsck", "--no-dangling"), self.diary
        assert not list((self.folder / ".git").rglob("*.lock")), self.diary
        assert git(self.folder.parent / "elsewhere", "branch", "--show-current") == "elsewhere\n"


@pytest.mark.parametrize("seed", range(amount(6, 300, "GIT_HISTORIES")))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, Random(seed))
    for _ in range(20):
        history.turn()
        history.check()
