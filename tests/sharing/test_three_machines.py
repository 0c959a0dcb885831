"""Random histories, split over three machines by push, fetch, apply and undo at any point, beside a model of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from snapd.model.errors import NothingToRedo
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.workspace import write

from .three_machines import KINDS, MOST, Change, Copy, Machine, ModelStep, names, start


class History:
    """Three machines, the remote between them, and what happens there.

    Args:
        folder: where they lie.
        seed: of all choices.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._chance = random.Random(seed)
        project = folder / "project"
        write(project, start())
        run_git(project, "init", "--quiet", ".")
        run_git(project, "add", ".")
        run_git(project, "commit", "--quiet", "--message=all")
        self.remote = folder / "remote"
        run_git(folder, "clone", "--quiet", "--bare", str(project), str(self.remote))
        self.machines = [Machine(folder / name, name, project) for name in ("a", "b", "c")]
        self.there: dict[str, Copy] = {}
        self._left = list(range(MOST))
        self._chance.shuffle(self._left)
        self._open: dict[str, ModelStep] = {}
        self._last_undone: dict[str, ModelStep] = {}

    def go_on(self) -> None:
        """Something happens somewhere."""
        kinds = [
            *(self._step, self._step, self._begin_or_end, self._undo, self._redo, self._push, self._push),
            *(self._fetch, self._fetch, self._apply_session, self._apply_steps, self._type, self._come_back),
        ]
        done = None
        while done is None:
            machine = self._chance.choice(self.machines)
            kind = self._chance.choice(kinds)
            print(f"{machine.name}: {kind.__name__}", end=" ", flush=True)
            done = kind(machine)
            print(done, flush=True)
            machine.check()

    def check(self) -> None:
        """What holds in the end: nothing is lost on any side."""
        for machine in self.machines:
            if machine.name in self._open:
                machine.end(self._open.pop(machine.name))
            machine.check()
            machine.check_authors()
        for machine in self.machines:
            self.there = machine.push(str(self.remote), None, self.there)
        assert run_git(self.remote, "fsck", "--strict", "--full", "--no-dangling") == b""
        for machine in self.machines:
            machine.fetch(str(self.remote), self.there)
            machine.check()
            machine.agents.bench.reopen()
            machine.check_fetched()
            machine.check()

    # -- what happens

    def _changes(self, kinds: tuple[str, ...] = KINDS) -> frozenset[Change]:
        numbers = [self._left.pop() for _ in range(min(self._chance.randrange(1, 4), len(self._left)))]
        return frozenset(Change(number, self._chance.choice(kinds)) for number in numbers)

    def _step(self, machine: Machine) -> object:
        if machine.name in self._open:
            return self._begin_or_end(machine)
        step = self._begin(machine)
        machine.end(step)
        return step

    def _begin(self, machine: Machine) -> ModelStep:
        session = self._chance.choice([machine.name, machine.name, f"{machine.name}-other"])
        self._last_undone.pop(session, None)
        return machine.begin(session, self._changes(), has_claims=self._chance.random() < 0.5)

    def _begin_or_end(self, machine: Machine) -> object:
        if machine.name in self._open:
            step = self._open.pop(machine.name)
            # with something in between, these are changes of the same files
            machine.go_on(step, frozenset(each for each in self._changes() if self._may_add(step, each)))
            machine.end(step)
            # what was undone before is not redone over newer changes
            self._last_undone.pop(step.session, None)
        else:
            step = self._open[machine.name] = self._begin(machine)
        return step

    def _may_add(self, step: ModelStep, change: Change) -> bool:
        # somebody may have typed into a file that the step did not have for its own
        return not step.has_claims or change.kind != "line" or change.names <= names(step.changes)

    def _undo(self, machine: Machine) -> object:
        steps = [step for step in machine.idle() if step.is_in_force and step.changes]
        if not steps:
            return None
        step = self._chance.choice(steps)
        machine.undo(step)
        self._last_undone[step.session] = step
        return step

    def _redo(self, machine: Machine) -> object:
        steps = [step for step in self._last_undone.values() if machine.steps.get(step.step_id) is step]
        steps = [step for step in steps if not step.changes & machine.in_force]
        if not steps:
            return None
        step = self._chance.choice(steps)
        machine.redo(step)
        del self._last_undone[step.session]
        return step

    def _type(self, machine: Machine) -> object:
        """The user types; not into what an open step takes for its own."""
        changes = self._changes(("line",))
        step = self._open.get(machine.name)
        if step is not None and (not step.has_claims or names(step.changes) & names(changes)):
            return None
        machine.write(changes)
        machine.users |= changes
        return changes

    def _push(self, machine: Machine) -> object:
        sessions = None
        if self._chance.random() < 0.4:
            sessions = self._chance.sample(sorted(machine.sessions), self._chance.randint(1, len(machine.sessions)))
        self.there = machine.push(str(self.remote), sessions, self.there)
        return sessions or "all"

    def _fetch(self, machine: Machine) -> object:
        machine.fetch(str(self.remote), self.there)
        return sorted(machine.fetched)

    def _apply_session(self, machine: Machine) -> object:
        if not machine.fetched:
            return None
        session = self._chance.choice(sorted(machine.fetched))
        steps = [step for step in machine.fetched[session].steps if step.is_in_force and not step.is_open]
        if not any(step.changes for step in steps):
            with pytest.raises(NothingToRedo):
                machine.apply(session, steps)
        else:
            machine.apply(session, steps)
        return session

    def _apply_steps(self, machine: Machine) -> object:
        of_sessions = [
            [step for step in copy.steps if not step.is_open and step.changes]
            for _, copy in sorted(machine.fetched.items())
        ]
        of_sessions = [steps for steps in of_sessions if steps]
        if not of_sessions:
            return None
        steps = self._chance.choice(of_sessions)
        undone = [step for step in steps if not step.is_in_force]
        chosen = undone[:1] or self._chance.sample(steps, self._chance.randint(1, len(steps)))
        machine.apply(None, chosen)
        return [step.step_id for step in chosen]

    def _come_back(self, machine: Machine) -> object:
        """The process ends, and another one goes on; now and then without what it remembers of the remote."""
        machine.agents.bench.reopen()
        if self._chance.random() < 0.5:
            machine.forget()
        return "again"


@pytest.mark.parametrize("seed", range(amount(3, 100)))
def test_what_each_machine_has_is_what_the_model_has(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for _ in range(40):
        history.go_on()
    history.check()
