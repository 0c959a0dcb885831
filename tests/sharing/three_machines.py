"""Three machines with a clone each of one project, and a model of them: which changes are in force where, by whom.

Each change of the model is independent of all others (a line far from other changed lines, a file of its own), so there
are no conflicts, and what a machine has is what it started with and the changes that are in force there, in any order.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs

from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.sharing.apply import Applied
from snapd.sharing.push import PushOptions
from snapd.store.timeline.chain import chain_of_session
from tests.sharing.test_projection import told
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import Item, make, outcomes, read, write

SHARED = ("a.txt", "b.txt", "dir/c.txt")
APART = 4
LINES = [b"line %d\n" % number for number in range(1, 301)]


@attrs.frozen
class Change:
    """A change that no other one has to do with.

    Attributes:
        number: no other one has it.
        kind: a line of a shared file, a new file, one that goes, or one that is moved.
    """

    number: int
    kind: str

    @property
    def line(self) -> tuple[str, int]:
        """The file and the line, from 1."""
        return SHARED[self.number % len(SHARED)], self.number // len(SHARED) * APART + 2

    @property
    def names(self) -> set[str]:
        """The files that it changes."""
        if self.kind == "line":
            return {self.line[0]}
        if self.kind == "moved":
            return {f"moves/{self.number}.txt", f"moved/{self.number}.txt"}
        return {f"new/{self.number}.txt" if self.kind == "new" else f"old/{self.number}.txt"}

    def make(self, files: dict[str, Item]) -> None:
        """Makes it in a model of a folder."""
        if self.kind == "line":
            name, line = self.line
            before = files[name]
            assert isinstance(before, bytes)
            lines = before.splitlines(keepends=True)
            lines[line - 1] = b"changed by %d\n" % self.number
            files[name] = b"".join(lines)
        elif self.kind == "new":
            files[f"new/{self.number}.txt"] = b"new %d\n" % self.number
        elif self.kind == "moved":
            files[f"moved/{self.number}.txt"] = files.pop(f"moves/{self.number}.txt")
        else:
            del files[f"old/{self.number}.txt"]


KINDS = ("line", "line", "line", "new", "gone", "moved")
MOST = 120
"""Changes of one history, at most."""


def start() -> dict[str, Item]:
    """What the project has."""
    files: dict[str, Item] = dict.fromkeys(SHARED, b"".join(LINES))
    # no folder is ever empty: whose an empty one is, is another matter
    files |= dict.fromkeys((f"{folder}/always.txt" for folder in ("new", "old", "moves", "moved")), b"always\n")
    for number in range(MOST):
        files[f"old/{number}.txt"] = b"old %d\n" % number * 3
        files[f"moves/{number}.txt"] = b"moves %d\n" % number * 10
    return files


def changed(changes: Iterable[Change]) -> dict[str, Item]:
    """The project with some changes."""
    files = start()
    for change in changes:
        change.make(files)
    return files


@attrs.define
class ModelStep:
    """A step as it should be.

    Attributes:
        step_id: its name.
        session: its session.
        changes: what it changed.
        is_in_force: whether it was not taken back.
        is_open: whether it goes on.
        has_claims: whether its agent says at its end which files it changed.
    """

    step_id: str
    session: str
    changes: frozenset[Change]
    is_in_force: bool = True
    is_open: bool = False
    has_claims: bool = False


@attrs.frozen
class Copy:
    """A session as its home machine said it was when it pushed it.

    Attributes:
        head: its newest commit.
        steps: the model's.
        said: what the machine said of it.
        diffs: what the machine said that each ended step changed.
    """

    head: str
    steps: tuple[ModelStep, ...]
    said: dict[str, object]
    diffs: dict[str, tuple[bytes, ...]]


class Machine:
    """A machine, and the model of it.

    Args:
        folder: where it lies.
        name: of the machine.
        project: the git repository that its folder is a clone of.
    """

    def __init__(self, folder: Path, name: str, project: Path) -> None:
        folder.mkdir(parents=True)
        run_git(folder, "clone", "--quiet", str(project), "work")
        self.agents = Agents(make(folder))
        self.agents.bench.workspace.snapshots.track((), Call())
        self.name = name
        self.sessions: set[str] = {self.agents.start(name)}
        self.steps: dict[str, ModelStep] = {}
        self.users: set[Change] = set()
        self.fetched: dict[str, Copy] = {}
        self.known: dict[str, str] = {}

    # -- the model

    @property
    def in_force(self) -> set[Change]:
        """The changes that its folder has."""
        steps = (step.changes for step in self.steps.values() if step.is_in_force)
        return self.users.union(*steps)

    def check(self) -> None:
        """Compares the folder, and what is said of each step, with the model."""
        found, wanted = read(self.agents.bench.root), changed(self.in_force)
        assert found == wanted, {
            name for name in found.keys() | wanted if found.get(name, ...) != wanted.get(name, ...)
        }
        for step in self.steps.values():
            if not step.is_open:
                view = self.agents.view(step.step_id)
                assert {os.fsdecode(file.path) for file in view.files or ()} == names(step.changes), step
                assert view.step.state == ("applied" if step.is_in_force else "undone"), step

    def check_authors(self) -> None:
        """Compares who wrote each line of the shared files with the model."""
        writers: dict[tuple[str, int], str] = {}
        for step in self.steps.values():
            if step.is_in_force:
                writers |= {change.line: step.step_id for change in step.changes if change.kind == "line"}
                writers |= {
                    (f"new/{change.number}.txt", 1): step.step_id for change in step.changes if change.kind == "new"
                }
        for name in {*SHARED, *(name for name, _ in writers)}:
            found = self.agents.bench.workspace.blame.lines(name.encode(), None, None, Call())
            # what is of no step is the user's, or was there before
            told = [each.writer.steps[:1] for each in found.lines for _ in range(each.count)]
            wanted = [writers.get((name, line)) for line in range(1, len(told) + 1)]
            assert told == [() if step is None else (step,) for step in wanted], name

    # -- what it does

    def write(self, changes: Iterable[Change]) -> None:
        """Makes changes in the folder, with a program that knows nothing of snapd."""
        files = read(self.agents.bench.root)
        had = dict(files)
        for change in changes:
            change.make(files)
        for name in had.keys() - files.keys():
            self.agents.bench.remove(name)
        write(self.agents.bench.root, {name: item for name, item in files.items() if had.get(name) != item})

    def begin(self, session: str, changes: frozenset[Change], *, has_claims: bool) -> ModelStep:
        """Begins a step, and makes its changes."""
        if session not in self.sessions:
            self.sessions.add(self.agents.start(session))
        step = ModelStep(self.agents.begin(session), session, changes, is_open=True, has_claims=has_claims)
        self.steps[step.step_id] = step
        self.write(changes)
        return step

    def go_on(self, step: ModelStep, changes: frozenset[Change]) -> None:
        """Makes more changes in an open step."""
        self.write(changes)
        step.changes |= changes

    def end(self, step: ModelStep) -> None:
        """Ends a step."""
        self.agents.end(step.step_id, sorted(names(step.changes)) if step.has_claims else None)
        step.is_open = False

    def undo(self, step: ModelStep) -> None:
        """Takes a step back."""
        assert_no_conflict(self.agents.undo(step.session, step=step.step_id))
        step.is_in_force = False

    def redo(self, step: ModelStep) -> None:
        """Takes back that it was taken back."""
        assert_no_conflict(self.agents.redo(step.session))
        step.is_in_force = True

    def push(self, remote: str, sessions: list[str] | None, there: dict[str, Copy]) -> dict[str, Copy]:
        """Pushes sessions; gives what is there then."""
        workspace = self.agents.bench.workspace
        names = sessions or sorted(self.sessions)
        said = {name: told(workspace.store.timeline, workspace.step_changes, name) for name in names}
        workspace.pushing.push(remote, sessions, PushOptions(), Call())
        heads = dict(
            line.split()
            for line in run_git(remote, "for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
        )
        found = dict(there)
        for name in names:
            steps = tuple(attrs.evolve(step) for step in self.steps.values() if step.session == name)
            ended = [step.step_id for step in steps if not step.is_open]
            diffs = {step: workspace.net_changes.step(step, (), Call()) for step in ended}
            found[name] = Copy(heads[chain_of_session(name)], steps, said[name], diffs)
        moved = [name for name in names if name in there and there[name].head != found[name].head]
        if any(self.known.get(name) != there[name].head for name in moved):
            # it looks at what is there before it takes the place of that
            self.fetched |= {name: there[name] for name in names if name in there}
        self.known |= {name: found[name].head for name in names}
        return found

    def fetch(self, remote: str, there: dict[str, Copy]) -> None:
        """Fetches all sessions, and compares them with what their home machines said."""
        views = self.agents.bench.workspace.fetched.fetch(remote, None, Call())
        had = {name: copy.head for name, copy in self.fetched.items()}
        fresh = {name for name, copy in there.items() if had.get(name) != copy.head}
        assert {view.session.session_id for view in views} == fresh, (views, fresh)
        self.fetched = dict(there)
        self.known = {name: copy.head for name, copy in there.items()}
        self.check_fetched()

    def check_fetched(self) -> None:
        """Compares the fetched sessions with what their home machines said."""
        found = set()
        for reader in self.agents.bench.workspace.fetched.readers():
            session = reader.view().session.session_id
            found.add(session)
            copy = self.fetched[session]
            assert told(reader.fetched.timeline, reader.changes, session) == copy.said
            for step_id, diff in copy.diffs.items():
                assert reader.net_changes.step(step_id, (), Call()) == diff
        assert found == self.fetched.keys()

    def apply(self, session: str | None, steps: list[ModelStep]) -> None:
        """Takes in a fetched session, or some steps of one: what is there already stays as it is."""
        named = [] if session is not None else [step.step_id for step in steps]
        options = OperationOptions("merge", False, False)
        applied: Applied = self.agents.bench.workspace.applier.apply(session, named, options, Call())
        assert_no_conflict(outcomes(applied.outcome))
        fresh = frozenset(change for step in steps for change in step.changes) - self.in_force
        assert (applied.step_id is not None) == bool(fresh)
        if applied.step_id is not None:
            own = self.agents.view(applied.step_id).step.session_id
            self.sessions.add(own)
            self.steps[applied.step_id] = ModelStep(applied.step_id, own, fresh)

    def forget(self) -> None:
        """Loses what it knows of the remote beyond what it fetched, as a store that was copied does."""
        index = Path(self.agents.bench.workspace.store.path, "mirrors.db")
        if index.exists():
            with contextlib.closing(sqlite3.connect(index)) as connection, connection:
                connection.execute("DELETE FROM there")
        self.known = {name: copy.head for name, copy in self.fetched.items()}

    def idle(self) -> Iterator[ModelStep]:
        """Its steps that ended."""
        return (step for step in self.steps.values() if not step.is_open)


def names(changes: Iterable[Change]) -> set[str]:
    """The files of changes."""
    return {name for change in changes for name in change.names}


def assert_no_conflict(said: dict[str, str]) -> None:
    """There was nothing that could not be done."""
    assert {word.partition(":")[0] for word in said.values()} <= {"restored", "deleted", "merged", "unchanged"}, said
    assert not any("onflict" in word for word in said.values()), said
