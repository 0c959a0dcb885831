"""Random histories of agents and a person whose every line says who wrote it: review and blame have to find that out.

More of it: `SNAPD_REVIEW_SEEDS=2000 python -m pytest tests/core/actions/test_review_random.py -n auto`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.core.review import pending as remembered
from snapd.core.review.choice import Choice
from snapd.core.review.fold import PendingTexts
from snapd.model.call import Call
from snapd.model.errors import NothingToRedo, NothingToUndo
from snapd.store.timeline.database import NAME, remove
from tests.support.amounts import amount
from tests.support.sessions import Agents, at_work

from .reviewing import Reviewer

pytestmark = pytest.mark.slow

SESSIONS = ("one", "two")
NAMES = ("a", "b", "d/c")
ACTIONS = 25
MERGE = OperationOptions("merge", False, False)


class History:
    """A folder in which agents and a person write lines that name them."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.chance = chance
        self.agents: Agents = at_work(folder, {name: self._lines("before", 6) for name in NAMES})
        self.bench = self.agents.bench
        self.agents.start("two")

        self.reviewer = Reviewer(self.agents)
        self.trees = [self.bench.track()]
        # what happens before the first event is nobody's
        self.steps = [self.agents.step("one", lambda: None)]
        self.taken = set(NAMES)
        self.moved: set[str] = set()
        self.edited: set[str] = set()

    def _lines(self, who: str, count: int) -> bytes:
        return b"".join(b"%s %d\n" % (who.encode(), self.chance.randrange(1 << 40)) for _ in range(count))

    # -- what somebody does to files

    def edit(self, who: str) -> str:
        """Replaces some lines of a file, makes one, deletes or moves one; gives its name."""
        chance, name = self.chance, self.chance.choice(NAMES)
        path = Path(self.bench.path(name))
        if name in self.moved:
            # git does not see a move if something else is at the old place, or if too much is changed with it
            return name
        if not path.exists():
            self.edited.add(name)
            self.bench.write({name: self._lines(who, chance.randint(1, 5))})
        elif (kind := chance.randrange(12)) == 0:
            path.unlink()
        elif kind == 1 and name not in self.edited and (free := self._free()):
            goal = Path(self.bench.path(chance.choice(free)))
            goal.parent.mkdir(exist_ok=True)
            path.rename(goal)
            self.moved |= {name, str(goal.relative_to(self.bench.root))}
        else:
            self.edited.add(name)
            lines = path.read_bytes().splitlines(keepends=True)
            start = chance.randint(0, len(lines))
            lines[start : start + chance.randrange(4)] = self._lines(who, chance.randrange(4)).splitlines(keepends=True)
            path.write_bytes(b"".join(lines))
        return name

    def _free(self) -> list[str]:
        """Names of no file, also at the last event: a file that replaces another is not moved, as for git."""
        return [each for each in NAMES if not os.path.exists(self.bench.path(each)) and each not in self.taken]

    def user(self) -> None:
        self.edit("user")

    def step(self) -> None:
        session = self.chance.choice(SESSIONS)
        step = self.agents.begin(session)
        self.taken = set(self.bench.read())
        self.moved.clear()
        self.edited.clear()
        for _ in range(self.chance.randint(1, 3)):
            self.edit(session)
        self.agents.end(step)
        self.steps.append(step)

    def step_beside_the_user(self) -> None:
        """A step that names its files, while the user changes others."""
        session = self.chance.choice(SESSIONS)
        step = self.agents.begin(session)
        self.taken = set(self.bench.read())
        self.moved.clear()
        self.edited.clear()
        before = self.bench.read()
        self.edit("user")
        others = {name for name in NAMES if self.bench.read().get(name) != before.get(name)}
        # an event of another session, so that what happened is recorded before anybody knows whose it is
        self.agents.end(self.agents.begin("two" if session == "one" else "one"), [])
        mine = [name for name in NAMES if name not in others and name in self.bench.read()]
        if mine:
            self.bench.write({mine[0]: self._lines(session, 3)})
        self.agents.end(step, mine[:1])
        self.steps.append(step)

    # -- what a person takes back

    def undo(self) -> None:
        if self.steps:
            step = self.chance.choice(self.steps)
            with suppress(NothingToUndo):
                self.bench.workspace.undo_steps.undo(UndoRequest(None, 1, step), MERGE, Call())

    def undo_the_last(self) -> None:
        with suppress(NothingToUndo):
            self.bench.workspace.undo_steps.undo(UndoRequest(None, 1), MERGE, Call())

    def redo(self) -> None:
        with suppress(NothingToRedo):
            self.bench.workspace.undo_steps.redo(self.chance.choice((None, *SESSIONS)), 1, MERGE, Call())

    def restore(self) -> None:
        self.bench.restore(self.chance.choice(self.trees))

    def track(self) -> None:
        # what was only between two events is nobody's when it is restored
        self.agents.step("one", lambda: None)
        self.trees.append(self.bench.track())

    def reopen(self) -> None:
        self.bench.reopen()

    # -- review

    def some(self) -> Choice:
        files = self.reviewer.page().files
        if not files or self.chance.randrange(4) == 0:
            return Choice()
        file = self.chance.choice(files)
        if file.hunks and self.chance.randrange(2):
            count = self.chance.randint(1, file.hunks)
            return Choice((file.path,), tuple(sorted(self.chance.sample(range(file.hunks), count))))
        owner = self.chance.choice(file.owners)
        return self.chance.choice((Choice((file.path,)), Choice(is_owner=lambda step: step == owner)))

    def keep(self) -> None:
        choice, before = self.some(), self.bench.read()
        self.bench.workspace.review.keep(choice, Call())
        assert self.bench.read() == before
        if choice == Choice():
            assert self.reviewer.pending() == {}

    def revert(self) -> None:
        choice = self.some()
        expected_outcomes = self.reviewer.reverted(choice, dry_run=True)
        expected = {file.path: self.shown(file.path).before for file in self.reviewer.page().files}
        page = self.reviewer.page()
        outcome = self.reviewer.reverted(choice)
        assert outcome.files == expected_outcomes.files
        if outcome.before != outcome.after and self.chance.randrange(3) == 0:
            # taken back, it is as if nothing had happened
            self.undo_the_last()
            assert self.reviewer.page() == page
            return
        if choice == Choice() and all(file.outcome != "conflict" for file in outcome.files):
            assert self.reviewer.pending() == {}
        elif choice.files and choice.hunks is None and outcome.files[0].outcome in ("restored", "deleted"):
            found = self.bench.read().get(os.fsdecode(choice.files[0]), b"")
            assert expected[choice.files[0]] == found or len(outcome.files) > 1

    # -- what has to be true

    def check(self) -> None:
        page = self.reviewer.page()
        items = self.bench.read()
        self.taken |= items.keys()
        for name in NAMES:
            data = items.get(name)
            if isinstance(data, bytes):
                writers = [line.split()[0].decode() for line in data.splitlines()]
                assert self._blamed(name) == writers, name
        for file in page.files:
            assert file.owners
            shown = self.shown(file.path)
            assert shown.file == file
            assert shown.after == (items.get(os.fsdecode(file.path)) or b"")
            assert all(hunk.owners for hunk in shown.hunks)
        # a new process finds the same, also without what an earlier one kept
        if self.chance.randrange(8) == 0:
            self.bench.reopen()
            assert self.reviewer.page() == page
            self.bench.close()
            remove(os.path.join(self.bench.store, NAME))
            self.bench.open()
            assert self.reviewer.page() == page

    def shown(self, path: bytes) -> PendingTexts:
        return self.reviewer.file(os.fsdecode(path))

    def _blamed(self, name: str) -> list[str]:
        sessions = self.bench.workspace.sessions
        found = []
        for who, count in self.reviewer.blame(name):
            known = who in ("user", "before")
            found += [who if known else sessions.known_step(who).session_id] * count
        return found


@pytest.mark.parametrize("seed", range(amount(6, 300, "SNAPD_REVIEW_SEEDS")))
def test_review_and_blame_find_who_wrote_what(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # with one seed, the texts of all files are kept; with the next, those of one
    monkeypatch.setattr(remembered, "WITH_TEXTS", 1 if seed % 2 else 200)
    monkeypatch.setattr(remembered, "WITH_LINES", 0)
    history = History(tmp_path, Random(seed))
    changing = (history.user, history.user, history.step, history.step, history.step_beside_the_user)
    undoing = (history.undo, history.undo_the_last, history.redo, history.restore, history.track)
    reviewing = (history.keep, history.revert)
    for _ in range(ACTIONS):
        history.chance.choice((*changing, *undoing, *reviewing))()
        history.check()
