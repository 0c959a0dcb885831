"""Random sessions, edits, undos, redos, restores, restarts and kills: no byte is lost, and the model agrees.

More of it: `SNAPD_MODEL_SEEDS=5000 python -m pytest tests/core/actions/test_sessions_model.py -n auto`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
import pytest

from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo, UnknownStep
from snapd.model.snapshot import OnConflict
from snapd.model.timeline import Step as TimelineStep
from snapd.store.journal.journal import Journal
from snapd.store.refs.database import ReferenceDatabase
from snapd.store.store import Store
from snapd.store.timeline.timeline import Timeline
from snapd.worktree.apply.applier import Applier
from snapd.worktree.apply.directories import DirectoryChanges
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.sessions import Agents, reachable
from tests.support.workspace import Executable, Item, Symlink, close_all, make, outcomes

SESSIONS = ("one", "two", "three")
NAMES = ("a", "b", "c")
MESSAGES = ("m1", "m2")
MAX_OPEN = 3
ACTIONS = 30
LINES = [b"%d\n" % number for number in range(12)]

State = dict[str, Item]


# -- the model


@attrs.define
class Step:
    """A step as the model knows it.

    Attributes:
        changes: for each file, what it made of it, each time another than what it had left itself.
        directories: for each directory that it made or removed, empty: which of the two, in the order of time.
        by_revert: whether it was last taken back by a revert.
    """

    name: str
    session: str
    message: str
    state: str = "open"
    redoable: bool = False
    changes: dict[str, list[tuple[Item, Item]]] = attrs.field(factory=dict)
    directories: dict[str, list[bool]] = attrs.field(factory=dict)
    by_revert: bool = False

    def see(self, before: State, after: State) -> None:
        """Takes what changed between two looks for its own."""
        for name in sorted({name for name in before | after if before.get(name) != after.get(name)}):
            if name.endswith("/"):
                continue
            chain = self.changes.setdefault(name, [])
            old, new = before.get(name), after.get(name)
            if chain and chain[-1][1] == old:
                old = chain.pop()[0]
            if old != new:
                chain.append((old, new))
        for name in {name for name in before.keys() ^ after.keys() if name.endswith("/")}:
            self.directories.setdefault(name, []).append(name in after)

    @property
    def directories_changed(self) -> bool:
        return any(came[0] == came[-1] for came in self.directories.values())

    @property
    def changed(self) -> bool:
        """Whether it did anything at all."""
        return self.directories_changed or any(self.changes.values())

    @property
    def is_something(self) -> bool:
        """Whether there is anything left of that."""
        chains = [chain for chain in self.changes.values() if chain]
        return self.directories_changed or any(not (chain[0][0] is None and chain[-1][1] is None) for chain in chains)


def blob(item: Item) -> str:
    """The id that git gives a file."""
    data = item.target if isinstance(item, Symlink) else item.data if isinstance(item, Executable) else item
    assert data is not None
    return hashlib.sha1(b"blob %d\0%s" % (len(data), data)).hexdigest()


class Killed(BaseException):
    """The process is gone."""


class Machine:
    """A folder, the agents in it, and the model."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.folder = Path(tempfile.mkdtemp(prefix="snapd-sessions-"))
        self.bench = make(self.folder, {"a": b"".join(LINES), "b": b"b\n"})
        self.agents = Agents(self.bench)
        for name in SESSIONS:
            # of agents of their own: where another session of an agent starts, its open steps may be left
            self.agents.start(name, name)
        self.steps: list[Step] = []
        self.turned: list[str] = []
        self.seen: State | None = None
        self.taken: list[bytes] = []
        self.lost: set[str] = set()
        self.conflicted = False
        self.changed = False

    def finish(self) -> None:
        store = Path(self.bench.store)
        close_all()
        assert self.lost <= reachable(store)
        run_git(store, "--git-dir=.", "gc", "-q", "--prune=now")
        assert self.lost <= reachable(store)
        assert run_git(store, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""
        shutil.rmtree(self.folder)

    # -- what somebody does to the files

    def edit(self, times: int = 2) -> None:
        for _ in range(times):
            self.edit_once()

    def edit_once(self) -> None:
        dice = self.dice
        path = "/".join(dice.choice(NAMES) for _ in range(dice.choice((1, 1, 2, 3))))
        kind = dice.choice(("line", "line", "line", "write", "delete", "move", "folder", "link", "mode"))
        if kind in ("line", "mode", "move"):
            # what is there
            path = dice.choice([*sorted(name for name in self.bench.read() if not name.endswith("/")), path])
        full = self.bench.path(path)
        is_folder = os.path.isdir(full) and not os.path.islink(full)
        if kind == "delete" and os.path.lexists(full):
            self.bench.remove(path)
        elif kind == "move" and os.path.lexists(full):
            target = "/".join(dice.choice(NAMES) for _ in range(dice.choice((1, 2))))
            if (
                self.is_free(target)
                and not target.startswith(path + "/")
                and not os.path.lexists(self.bench.path(target))
            ):
                os.makedirs(os.path.dirname(self.bench.path(target)), exist_ok=True)
                os.rename(full, self.bench.path(target))
        elif is_folder or not self.is_free(path):
            return
        elif kind == "folder" and not os.path.lexists(full):
            os.makedirs(full)
        elif kind == "link":
            self.bench.write({path: Symlink(dice.choice(NAMES))})
        elif kind == "mode" and os.path.isfile(full) and not os.path.islink(full):
            os.chmod(full, dice.choice((0o644, 0o755)))
        elif kind == "write" or (kind == "line" and not os.path.isfile(full)):
            self.bench.write({path: dice.choice((b"", b"x\n", b"\0%d" % dice.randrange(3), b"".join(LINES)))})
        elif kind == "line" and not os.path.islink(full):
            item = self.bench.read()[path]
            data = item.data if isinstance(item, Executable) else item
            assert isinstance(data, bytes)
            lines = data.splitlines(keepends=True) or [b"\n"]
            lines[dice.randrange(len(lines))] = b"%d\n" % dice.randrange(1000)
            text = b"".join(lines)
            self.bench.write({path: Executable(text) if isinstance(item, Executable) else text})

    def is_free(self, path: str) -> bool:
        """Whether nothing but folders is above it."""
        above = path
        while above := os.path.dirname(above):
            full = self.bench.path(above)
            if os.path.lexists(full) and (os.path.islink(full) or not os.path.isdir(full)):
                return False
        full = self.bench.path(path)
        return not (os.path.isdir(full) and not os.path.islink(full))

    # -- sessions

    def look(self) -> State:
        """What the daemon sees now is a change of who is at work, or of the user."""
        now = self.bench.read()
        if self.seen is not None:
            for step in self.steps:
                if step.state == "open":
                    step.see(self.seen, now)
        self.seen = now
        return now

    def begin(self, session: str, message: str) -> None:
        if sum(step.state == "open" for step in self.steps) == MAX_OPEN:
            return
        self.look()
        name = self.agents.begin(session, message=message)
        self.steps.append(Step(name, session, message))
        self.taken.append(self.agents.view(name).step.from_.tree)

    def end(self, number: int) -> None:
        steps = [step for step in self.steps if step.state == "open"]
        if number < len(steps):
            self.look()
            self.agents.end(steps[number].name)
            self.ended(steps[number])

    def ended(self, step: Step) -> None:
        step.state = "applied"
        if step.changed:
            for other in self.steps:
                if other.session == step.session:
                    other.redoable = False

    def whole_step(self, session: str, message: str) -> None:
        self.begin(session, message)
        if self.steps and self.steps[-1].state == "open":
            self.edit()
            self.look()
            self.agents.end(self.steps[-1].name)
            self.ended(self.steps[-1])

    def end_and_start(self, session: str) -> None:
        steps = [step for step in self.steps if step.session == session and step.state == "open"]
        if steps:
            self.look()
        self.bench.workspace.sessions.end(session, Call())
        for step in reversed(steps):
            self.ended(step)
        self.agents.start(session, session)

    # -- what there is to do

    def undoable(self, session: str) -> list[Step]:
        own = [step for step in self.steps if step.session == session]
        return [step for step in reversed(own) if step.state in ("applied", "partly") and step.is_something]

    def redoable(self, session: str) -> list[Step]:
        by_name = {step.name: step for step in self.steps}
        found = [by_name[name] for name in reversed(self.turned)]
        return [step for step in found if step.session == session and step.redoable]

    def turn(self, steps: list[Step], state: str, *, by_revert: bool = False) -> None:
        told = self.told()
        if any(told[step.name].state != state for step in steps):
            # a file that conflicts in one of several may be told as what another made of it; and a step of which
            # nothing was left to turn stays as it is
            assert len(steps) > 1 or self.conflicted or not self.changed
            self.conflicted = True
        if self.conflicted:
            self.adopt(steps, state)
            return
        for step in steps:
            step.state = state
            step.redoable = state == "undone"
            step.by_revert = by_revert
            if step.name in self.turned:
                self.turned.remove(step.name)
            if state == "undone":
                self.turned.append(step.name)

    def adopt(self, steps: list[Step], state: str) -> None:
        """Takes over what is told of steps of which some could not be turned as a whole: which, the files say."""
        before = {step.name: step.state for step in self.steps}
        told = self.told()
        for step in self.steps:
            now = told[step.name].state
            assert now == before[step.name] or (step in steps and now in ("partly", state)), step
        self.take_over()

    def take_over(self) -> None:
        told = self.told()
        order = [one for name in SESSIONS for one in reversed(self.timeline.redoable(name))]
        self.turned = list(dict.fromkeys(one.name for one in order))
        reverted = {
            one.name for one in order if self.agents.bench.workspace.step_changes.operation(one).kind == "revert"
        }
        for step in self.steps:
            step.state = told[step.name].state
            step.redoable = step.name in self.turned
            step.by_revert = step.name in reverted

    @property
    def timeline(self) -> Timeline:
        return self.bench.workspace.store.timeline

    def told(self) -> dict[str, TimelineStep]:
        return {view.step.step_id: view.step for name in SESSIONS for view in self.agents.steps(name)}

    # -- operations

    def operate(self, ask: Callable[[], object]) -> None:
        """Has an operation carried out, and sees to what holds for each."""
        before, inodes = self.look(), self.stats()
        outcome = ask()
        outcome = outcome[0] if isinstance(outcome, tuple) else outcome
        said = outcomes(outcome)  # type: ignore[arg-type]
        # from then on it takes more than a list of steps to say what is in force
        self.conflicted |= any(word.startswith("conflict") for word in said.values())
        after = self.seen = self.bench.read()
        changed = {name for name in before | after if before.get(name) != after.get(name) and not name.endswith("/")}
        touched = {name for name, word in said.items() if word in ("restored", "deleted", "merged")}
        self.changed = before != after
        assert changed <= touched
        assert not any(word.startswith("failed") for word in said.values())
        for name, status in self.stats().items():
            if name not in touched:
                assert status == inodes[name]
        for name in changed & before.keys():
            # it is in the snapshot that was taken first; git says in the end whether that is held
            entry = self.bench.workspace.snapshots.entry(outcome.before, os.fsencode(name))  # type: ignore[attr-defined]
            assert entry is not None
            assert entry.oid.hex() == blob(before[name])
            self.lost.add(blob(before[name]))
        self.taken.append(outcome.before)  # type: ignore[attr-defined]

    def stats(self) -> dict[str, tuple[int, int]]:
        found = {}
        for name in self.bench.read():
            if not name.endswith("/"):
                status = os.lstat(self.bench.path(name))
                found[name] = (status.st_ino, status.st_mtime_ns)
        return found

    def undo(self, session: str, count: int, overwrite: bool) -> None:
        self.look()
        steps = self.undoable(session)[:count]
        self.do_undo(session, count, None, steps, "overwrite" if overwrite else "merge")

    def undo_one(self, number: int, overwrite: bool) -> None:
        steps = [step for step in self.steps if step.state == "applied"]
        if number < len(steps):
            self.look()
            step = steps[number]
            turning = [step] if step.changed else []
            self.do_undo(step.session, 1, step.name, turning, "overwrite" if overwrite else "merge")

    def do_undo(self, session: str, count: int, name: str | None, steps: list[Step], how: OnConflict) -> None:
        if not steps and name is None:
            with pytest.raises(NothingToUndo):
                self.agents.undo(session, count)
            return

        def ask() -> object:
            outcome, told = self.agents.undone(session, count, name, how)
            assert told == [step.name for step in steps]
            return outcome

        self.operate(ask)
        self.turn(steps, "undone")

    def redo(self, session: str, count: int) -> None:
        self.look()
        steps = self.redoable(session)[:count]
        # what was named is done again together with nothing else here: there are no parts
        if not steps:
            with pytest.raises(NothingToRedo):
                self.agents.redo(session, count)
            return
        self.operate(lambda: self.agents.redone(session, count))
        self.turn(self.steps if self.conflicted else steps, "applied")

    def undo_and_redo(self, session: str, count: int, overwrite: bool) -> None:
        before = self.look()
        steps = self.undoable(session)[:count]
        self.undo(session, count, overwrite)
        if steps and not self.conflicted:
            self.redo(session, len(steps))
            assert self.conflicted or self.bench.read() == before

    def revert(self, session: str, message: str, unrevert: bool) -> None:
        own = [step for step in self.steps if step.session == session]
        if not any(step.message == message for step in own):
            with pytest.raises(UnknownStep):
                self.agents.revert(session, message)
            return
        since = own[next(at for at, step in enumerate(own) if step.message == message) :]
        before = self.look()
        opened = [step for step in since if step.state == "open"]
        for step in reversed(opened):
            self.ended(step)
        steps = [step for step in self.undoable(session) if step in since]
        self.operate(lambda: self.agents.reverted(session, message))
        self.turn(steps, "undone", by_revert=True)
        if unrevert:
            again = [step for step in self.redoable(session) if step.by_revert]
            if not again:
                with pytest.raises(NothingToRedo):
                    self.agents.unrevert(session)
                return
            self.operate(lambda: self.agents.unreverted(session))
            self.turn(self.steps if self.conflicted else again, "applied")
            if len(again) == len(steps) and not self.conflicted:
                assert self.bench.read() == before

    def restore(self, number: int) -> None:
        if number < len(self.taken):
            self.look()
            self.operate(lambda: self.bench.restore(self.taken[number]))

    # -- processes

    def reopen(self) -> None:
        self.bench.reopen()

    def kill(self, session: str, count: int, redo: bool, at: int, again: int) -> None:
        self.look()
        steps = (self.redoable(session) if redo else self.undoable(session))[:count]
        if not steps:
            return

        def ask() -> object:
            return self.agents.redone(session, count) if redo else self.agents.undone(session, count)[0]

        # what it comes to where nobody is killed
        before = self.bench.read()
        self.bench.close()
        copy = self.keep_copy()
        self.bench.open()
        states = self.states()
        outcome = ask()
        after, turned = self.bench.read(), self.states()
        self.bring_back(copy)
        if turned == states:
            # there were conflicts alone
            assert after == before
            return
        killed = self.killed(ask, at)
        if killed:
            self.killed(self.bench.track, again)
        tree = self.bench.track()
        now = self.bench.read()
        assert not [name for name in now if "snapd" in name]
        was_done = self.states() == turned
        assert was_done or self.states() == states
        assert now == (after if was_done else before)
        assert was_done or killed
        if was_done:
            self.conflicted |= "conflict" in " ".join(
                outcomes(outcome[0] if isinstance(outcome, tuple) else outcome).values()
            )  # type: ignore[arg-type]
            self.turn(self.steps if self.conflicted else steps, "applied" if redo else "undone")
            self.lost |= {blob(item) for name, item in before.items() if item is not None and now.get(name) != item}
            self.taken.append(outcome.before)  # type: ignore[attr-defined]
            self.seen = now
        self.taken.append(tree)

    def states(self) -> object:
        """What of each step is in force."""
        undone = {name: [one.rest for one in self.timeline.undone(name)] for name in self.told()}
        return {name: (step.state, undone[name]) for name, step in self.told().items()}

    def keep_copy(self) -> Path:
        """All that is on the disk."""
        copy = Path(tempfile.mkdtemp(prefix="copy-", dir=self.folder))
        for name in ("work", "data"):
            if (self.folder / name).exists():
                shutil.copytree(self.folder / name, copy / name, symlinks=True)
        return copy

    def bring_back(self, copy: Path) -> None:
        """Makes the disk what it was, and opens the workspace in a new process."""
        self.bench.close()
        for name in ("work", "data"):
            shutil.rmtree(self.folder / name)
            os.rename(copy / name, self.folder / name)
        shutil.rmtree(copy)
        self.bench.open()

    def killed(self, ask: Callable[[], object], at: int) -> bool:
        """Does something in a process that is killed at its so-manieth step; False where it did not come so far."""
        left = at
        copies: list[Path] = []
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in POINTS:
                original = getattr(owner, name)

                def step(*arguments: object, _original: Callable[..., object] = original, **how: object) -> object:
                    nonlocal left
                    if copies:
                        # it is dead
                        raise Killed
                    if left == 0:
                        copies.append(self.keep_copy())
                        raise Killed
                    left -= 1
                    return _original(*arguments, **how)

                patch.setattr(owner, name, step)
            with contextlib.suppress(Killed):
                ask()
        if not copies:
            return False
        self.bring_back(copies[0])
        return True

    # -- what always holds

    def the_model_agrees(self) -> None:
        for name in SESSIONS:
            own = [step for step in self.steps if step.session == name]
            told = self.agents.steps(name)
            assert [(view.step.step_id, view.step.state) for view in told] == [(step.name, step.state) for step in own]
            if self.conflicted:
                continue
            expected = (len(self.undoable(name)), sum(step.redoable for step in own))
            assert self.agents.counts(name) == expected, name
            for view, step in zip(told, own, strict=True):
                if view.files is not None:
                    assert bool(view.files) <= step.is_something


POINTS = [
    *((Applier, name) for name in ("stage", "delete", "move")),
    *((DirectoryChanges, name) for name in ("_remove", "make", "sync")),
    *((Store, name) for name in ("intend", "append", "conclude")),
    *((Journal, name) for name in ("flush", "_append")),
    (ReferenceDatabase, "move"),
]
"""Where a process can be killed."""


def act(machine: Machine, dice: Random) -> str:
    """Has something happen; says what."""
    session, message, count = dice.choice(SESSIONS), dice.choice(MESSAGES), dice.choice((1, 1, 2, 4))
    actions: list[tuple[int, Callable[..., None], tuple[object, ...]]] = [
        (5, machine.edit, (dice.randrange(1, 4),)),
        (3, machine.begin, (session, message)),
        (6, machine.end, (dice.randrange(MAX_OPEN),)),
        (15, machine.whole_step, (session, message)),
        (1, machine.end_and_start, (session,)),
        (5, machine.undo, (session, count, dice.random() < 0.3)),
        (4, machine.undo_one, (dice.randrange(12), dice.random() < 0.3)),
        (4, machine.redo, (session, count)),
        (4, machine.undo_and_redo, (session, count, dice.random() < 0.3)),
        (3, machine.revert, (session, message, dice.random() < 0.6)),
        (2, machine.restore, (dice.randrange(20),)),
        (2, machine.reopen, ()),
        (6, machine.kill, (session, count, dice.random() < 0.4, dice.randrange(22), dice.randrange(22))),
    ]
    _, action, arguments = dice.choices(actions, [weight for weight, _, _ in actions])[0]
    said = f"{action.__name__}{arguments}"
    action(*arguments)
    return said


@pytest.mark.parametrize("seed", range(amount(8, 600, "SNAPD_MODEL_SEEDS")))
def test_random_work(seed: int) -> None:
    dice = Random(seed)
    machine = Machine(dice)
    for _ in range(ACTIONS):
        print(act(machine, dice))  # shown where it fails
        machine.the_model_agrees()
    machine.finish()
