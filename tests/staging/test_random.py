"""Random histories of two agents and a user in a git repository, against a model that knows whose each line is.

A file is a row of slots with a line of its own before each. A slot is filled by one of the three alone, so that what is
to be staged is plain: the slots of the session as they are now, and all others as the index has them.
"""

from __future__ import annotations

import copy
import random
from pathlib import Path

import attrs
import pytest

from tests.staging.project import Project, reasons
from tests.support.amounts import amount

OWNERS = "ABUABU"
Slots = list[list[bytes]]
Files = dict[str, Slots]


def content(name: str, slots: Slots) -> bytes:
    return b"".join(b"%s %d\n" % (name.encode(), at) + b"".join(slot) for at, slot in enumerate(slots))


@attrs.define
class Taken:
    """A step: what the slots of its files were before it, and whether the index may have it."""

    step: str
    before: Files
    settled: bool = False


class History:
    """The project, and what the model says of it."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.made = 0
        self.disk: Files = {name: [self.lines() for _ in OWNERS] for name in ("a", "b", "sub/c")}
        self.project = Project.made(folder, {name: content(name, slots) for name, slots in self.disk.items()})
        self.head = copy.deepcopy(self.disk)
        self.index = copy.deepcopy(self.disk)
        self.creator: dict[str, str] = {}
        self.steps: dict[str, list[Taken]] = {"A": [], "B": []}

    def lines(self) -> list[bytes]:
        """Some lines that are nowhere else."""
        self.made += 1
        return [b"%d.%d\n" % (self.made, at) for at in range(self.chance.randrange(4))]

    def edited(self, who: str, *, but: str | None = None) -> Files:
        """Files as somebody leaves them, who fills slots of theirs or makes a file."""
        found: Files = {}
        known = [name for name in self.disk if self.may_edit(who, name) and name != but]
        for name in self.chance.sample(known, min(len(known), self.chance.randint(1, 2))):
            found[name] = copy.deepcopy(self.disk[name])
            for at, owner in enumerate(OWNERS):
                if owner == who and self.chance.random() < 0.6:
                    found[name][at] = self.lines()
        if self.chance.random() < 0.15:
            self.made += 1
            name = f"new/{who}{self.made}"
            self.creator[name] = who
            found[name] = [self.lines() if owner == who else [] for owner in OWNERS]
        return found

    def may_edit(self, who: str, name: str) -> bool:
        """Agents edit files of others only where git knows them: what was done to others cannot be staged."""
        return who == "U" or name in self.head or self.creator[name] == who

    def write(self, files: Files) -> None:
        self.project.bench.write({name: content(name, slots) for name, slots in files.items()})
        self.disk |= files

    # -- what happens

    def user_edits(self) -> None:
        self.write(self.edited("U"))

    def agent_works(self, who: str) -> None:
        files = self.edited(who)
        before = {name: copy.deepcopy(self.disk[name]) for name in files if name in self.disk}
        step = self.project.step(who, lambda: self.write(files))
        self.steps[who].append(Taken(step, before, settled=before.keys() != files.keys()))

    def both_work(self) -> None:
        """Two agents and the user at once; the agents say which files they wrote."""
        steps = {who: self.project.begin(who) for who in "AB"}
        taken: set[str] = set()
        for who in self.chance.sample("ABU", 3):
            files = {name: slots for name, slots in self.edited(who).items() if name not in taken}
            taken |= files.keys()
            before = {name: copy.deepcopy(self.disk[name]) for name in files if name in self.disk}
            self.write(files)
            if who in steps:
                self.project.end(steps[who], sorted(files))
                self.steps[who].append(Taken(steps[who], before, settled=before.keys() != files.keys()))

    def undo(self, who: str) -> None:
        """The last step of an agent is taken back, unless the index may have it or it made a file."""
        if self.steps[who] and not self.steps[who][-1].settled:
            last = self.steps[who].pop()
            self.project.undo(who, step=last.step)
            for name, slots in last.before.items():
                for at, owner in enumerate(OWNERS):
                    if owner == who:
                        self.disk[name][at] = slots[at]
                assert self.project.bench.read()[name] == content(name, self.disk[name])

    def add(self) -> None:
        name = self.chance.choice(sorted(self.disk))
        self.project.git("add", name)
        self.index[name] = copy.deepcopy(self.disk[name])
        self.settle()

    def commit(self) -> None:
        self.project.commit()
        self.head = copy.deepcopy(self.index)
        self.settle()

    def commit_all(self) -> None:
        self.project.commit("--all-files")
        self.index, self.head = copy.deepcopy(self.disk), copy.deepcopy(self.disk)
        self.settle()

    def settle(self) -> None:
        for taken in (*self.steps["A"], *self.steps["B"]):
            taken.settled = True

    def stage(self, *who: str) -> None:
        plan = self.project.stage(who)
        if len(who) == 1:
            assert reasons(plan) == {}
        if not plan.conflicts:
            for name, slots in self.disk.items():
                if name not in self.index and self.creator[name] in who and any(self.wrote(name, each) for each in who):
                    self.index[name] = [[] for _ in OWNERS]
                for at, owner in enumerate(OWNERS):
                    if owner in who and name in self.index:
                        self.index[name][at] = copy.deepcopy(slots[at])
            self.settle()
        self.check()

    def wrote(self, name: str, who: str) -> bool:
        return self.creator[name] == who

    def unstage(self) -> None:
        self.project.unstage()
        self.index = copy.deepcopy(self.head)

    def check(self) -> None:
        assert self.project.texts() == {name: content(name, slots) for name, slots in self.index.items()}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(amount(4, 40)))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    history = History(tmp_path, chance)
    actions = [
        *[history.user_edits] * 3,
        *[lambda: history.agent_works("A"), lambda: history.agent_works("B")] * 3,
        history.both_work,
        lambda: history.undo(chance.choice("AB")),
        history.add,
        history.commit,
        history.commit_all,
        history.unstage,
        *[lambda: history.stage(chance.choice("AB"))] * 3,
        lambda: history.stage("A", "B"),
    ]
    for _ in range(40):
        chance.choice(actions)()
    history.unstage()
    history.stage("A")
    history.unstage()


# -- lines that everybody changes


class Crowd:
    """Two agents and a user who edit any lines of one file; each line says who wrote it."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance = chance
        self.made = 0
        self.lines = [b"base%d\n" % at for at in range(8)]
        self.project = Project.made(folder, {"f": b"".join(self.lines)})
        self.taken: dict[str, set[bytes]] = {"A": set(), "B": set()}
        self.steps: list[str] = []

    def edit(self, who: str) -> None:
        for _ in range(self.chance.randint(1, 2)):
            at = self.chance.randint(0, len(self.lines))
            count = self.chance.randint(0, 2)
            self.made += 1
            new = [b"%s%d\n" % (who.encode(), self.made)] if self.chance.random() < 0.8 else []
            if who in self.taken:
                self.taken[who].update(self.lines[at : at + count])
            self.lines[at : at + count] = new
        self.project.bench.write({"f": b"".join(self.lines)})

    def user(self) -> None:
        self.edit("U")

    def agent(self, who: str) -> None:
        self.steps.append(self.project.step(who, lambda: self.edit(who)))

    def undo_a_hunk(self) -> None:
        """A part of a step is taken back; what it had deleted may come back."""
        if self.steps:
            step = self.chance.choice(self.steps)
            hunks = self.project.hunks(step, "f") if self.project.files(step) else []
            if hunks:
                self.project.revert_hunks(step, "f", [self.chance.randrange(len(hunks))])
                self.lines = self.project.bench.read()["f"].splitlines(keepends=True)  # type: ignore[union-attr]

    def add(self) -> None:
        self.project.git("add", "f")

    def commit(self) -> None:
        self.project.commit()

    def stage(self, who: str) -> bool:
        before = self.project.texts()["f"].splitlines()
        plan = self.project.stage([who])
        after = self.project.texts()["f"].splitlines()
        if plan.conflicts:
            assert before == after
            return False
        own = who.encode()
        strange = [line for line in after if line not in before and not line.startswith((own, b"base"))]
        assert strange == [], "others' lines were staged"
        gone = {line for line in before if line not in after and not line.startswith(own)}
        assert gone <= {line.rstrip(b"\n") for line in self.taken[who]}, "others' deletions were staged"
        assert self.project.stage([who]).files == (), "there is more to stage"
        return True


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(amount(3, 30)))
def test_lines_that_everybody_changes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    crowd = Crowd(tmp_path, chance)
    staged = 0
    for _ in range(25):
        action = chance.choice([
            crowd.user, crowd.user, crowd.add, crowd.commit, crowd.undo_a_hunk,
            *(lambda who=who: crowd.agent(who) for who in "AABB"),
        ])  # fmt: skip
        action()
        staged += crowd.stage(chance.choice("AB"))
        if chance.random() < 0.3:
            crowd.project.unstage()
    assert staged
