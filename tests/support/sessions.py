"""Agents at work in a workspace, through the core's own objects."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from snapd.core.actions.sessions import NewStep
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.answers import SessionView, StepView
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.snapshot import OnConflict, Outcome

from .git import run_git
from .workspace import Bench, Items, make, outcomes

LINES = [b"%d\n" % number for number in range(1, 21)]
TEXT = b"".join(LINES)


def text(**changed: bytes) -> bytes:
    """`TEXT` with some lines replaced: `l3=b"..."` is the third."""
    lines = list(LINES)
    for name, line in changed.items():
        lines[int(name[1:]) - 1] = line + b"\n"
    return b"".join(lines)


class Agents:
    """The sessions of a workspace, and what is asked of them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    # -- sessions and steps

    def start(self, name: str | None = None, agent: str = "agent") -> str:
        return self.bench.workspace.sessions.start(name, agent, None, Call())

    def begin(
        self,
        session: str,
        parent: str | None = None,
        message: str | None = None,
        part: str | None = None,
        client: str | None = None,
        *,
        ends: str | None = None,
    ) -> str:
        sessions = self.bench.workspace.sessions
        new = NewStep(parent=parent, message_id=message, part_id=part, tool="edit", client=client, ends=ends)
        return sessions.begin(session, new, Call()).step_id

    def end(self, step: str, files: Sequence[str] | None = None, *, lingers: bool = False) -> StepView:
        claims = None if files is None else [os.fsencode(name) for name in files]
        return self.bench.workspace.sessions.finish(step, claims, Call(), lingers=lingers)

    def step(
        self,
        session: str,
        work: Items | Callable[[], object],
        *,
        message: str | None = None,
        part: str | None = None,
        parent: str | None = None,
    ) -> str:
        """A step in which files are written, or something else is done."""
        step = self.begin(session, parent, message, part)
        if callable(work):
            work()
        else:
            self.bench.write(work)
        self.end(step)
        return step

    def session(self, name: str) -> SessionView:
        return next(view for view in self.bench.workspace.sessions.all(Call()).views if view.session.session_id == name)

    def counts(self, name: str) -> tuple[int, int]:
        """How many steps can be undone, and how many redone."""
        view = self.session(name)
        return view.undoable, view.redoable

    def steps(self, session: str) -> tuple[StepView, ...]:
        return self.bench.workspace.sessions.steps(session, Call()).views

    def states(self, session: str) -> list[str]:
        return [view.step.state for view in self.steps(session)]

    def view(self, step: str) -> StepView:
        sessions = self.bench.workspace.sessions
        return sessions.shown(sessions.known_step(step), Call())

    def files(self, step: str) -> dict[str, str]:
        """What a step itself changed: the status of each file, and whether it is shared."""
        return {
            os.fsdecode(file.path): file.status + (":shared" if file.shared else "")
            for file in self.view(step).files or ()
            if not file.by_git
        }

    # -- taking back

    def undone(
        self,
        session: str,
        count: int = 1,
        step: str | None = None,
        on_conflict: OnConflict = "merge",
        *,
        by_name: bool = False,
        dry_run: bool = False,
    ) -> tuple[Outcome, list[str]]:
        turning = self.bench.workspace.undo_steps.undo(
            UndoRequest(session, count, step), OperationOptions(on_conflict, by_name, dry_run), Call()
        )
        return turning.outcome, ids(turning.steps)

    def undo(
        self,
        session: str,
        count: int = 1,
        step: str | None = None,
        on_conflict: OnConflict = "merge",
        *,
        by_name: bool = False,
        dry_run: bool = False,
    ) -> dict[str, str]:
        """What became of each file."""
        outcome, _ = self.undone(session, count, step, on_conflict, by_name=by_name, dry_run=dry_run)
        return outcomes(outcome)

    def redone(self, session: str | None, count: int | None = 1, on_conflict: OnConflict = "merge") -> Outcome:
        return self.bench.workspace.undo_steps.redo(
            session, count, OperationOptions(on_conflict, False, False), Call()
        ).outcome

    def redo(self, session: str | None, count: int | None = 1, on_conflict: OnConflict = "merge") -> dict[str, str]:
        return outcomes(self.redone(session, count, on_conflict))

    def reverted(self, session: str, message: str, part: str | None = None, *, dry_run: bool = False) -> Outcome:
        request = OperationOptions("merge", False, dry_run)
        return self.bench.workspace.undo_steps.revert(session, message, part, request, Call())

    def revert(self, session: str, message: str, part: str | None = None, *, dry_run: bool = False) -> dict[str, str]:
        return outcomes(self.reverted(session, message, part, dry_run=dry_run))

    def unreverted(self, session: str) -> Outcome:
        return self.bench.workspace.undo_steps.unrevert(session, OperationOptions("merge", False, False), Call())

    def unrevert(self, session: str) -> dict[str, str]:
        return outcomes(self.unreverted(session))

    def hunks(self, step: str, file: str) -> list[str]:
        found, _ = self.bench.workspace.undo_steps.hunks(step, os.fsencode(file), Call())
        return [hunk.header for hunk in found]

    def revert_hunks(
        self, step: str, file: str, hunks: Sequence[int], on_conflict: OnConflict = "merge"
    ) -> dict[str, str]:
        request = OperationOptions(on_conflict, False, False)
        return outcomes(self.bench.workspace.undo_steps.revert_hunks(step, os.fsencode(file), hunks, request, Call()))

    def revert_files(
        self, step: str, *files: str, on_conflict: OnConflict = "merge", dry_run: bool = False
    ) -> dict[str, str]:
        request = OperationOptions(on_conflict, False, dry_run)
        names = [os.fsencode(file) for file in files]
        return outcomes(self.bench.workspace.undo_steps.revert_files(step, names, request, Call()))

    def leave(self, client: str) -> None:
        """A client is gone."""
        self.bench.workspace.sessions.leave(client, Call())


def at_work(folder: Path, items: Items | None = None, *, git: bool = False) -> Agents:
    """Makes a workspace, with a session "one" in it."""
    agents = Agents(make(folder, items, git=git))
    agents.start("one")
    return agents


def ids(views: Iterable[StepView]) -> list[str]:
    """The names of steps."""
    return [view.step.step_id for view in views]


def reachable(store: Path) -> set[str]:
    """The objects of a store that some reference leads to, by git itself."""
    lines = run_git(store, "--git-dir=.", "rev-list", "--objects", "--all").splitlines()
    return {line[:40].decode() for line in lines}


def refused(said: dict[str, str]) -> dict[str, str]:
    """What is told where conflicts keep all from being done."""
    touched = ("restored", "deleted", "merged")
    return {name: "unchanged:conflictsElsewhere" if word in touched else word for name, word in said.items()}


def stats(root: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each file."""
    found = {}
    for above, _, names in os.walk(root):
        for name in names:
            path = os.path.join(above, name)
            status = os.lstat(path)
            found[os.path.relpath(path, root)] = (status.st_ino, status.st_mtime_ns)
    return found


def listen(agents: Agents) -> list[object]:
    """All that is told from now on."""
    told: list[object] = []
    agents.bench.workspace.event_log.listen(lambda news: told.append(news.event))
    return told
