"""Random histories of several agents and a user: what a dry run says is what the same request then does.

More of it: `SNAPD_MODEL_SEEDS=2000 python -m pytest tests/core/actions/test_dry_runs.py -n auto`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import attrs
import pytest

from snapd.core.actions.history import HistoryQuery
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.answers import StepView, UndoResult
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import SnapdError
from snapd.model.snapshot import FileOutcome, OnConflict, Outcome
from snapd.model.snapshot_records import SnapshotRecordQuery
from tests.support.amounts import amount
from tests.support.sessions import Agents, at_work, ids
from tests.support.workspace import Bench, make

pytestmark = pytest.mark.slow

SESSIONS = ("one", "two")
CLIENTS = ("editor", "terminal")
MESSAGES = ("m1", "m2")
NAMES = ("a", "b", "c", "d/a", "d/b")
ACTIONS = 30
LINES = [b"%d\n" % number for number in range(9)]

Ask = Callable[[OperationOptions], "Said"]


@attrs.frozen
class Said:
    """What a request was answered with: what became of each file and which steps it was about, or the error."""

    files: tuple[FileOutcome, ...] = ()
    steps: tuple[str, ...] = ()
    error: str | None = None
    plan: str | None = attrs.field(default=None, eq=False)


class History:
    """A folder, a user and agents at work in it, and people who take things back."""

    def __init__(self, folder: Path, dice: Random) -> None:
        self.dice = dice
        self.bench: Bench = make(folder, {"a": b"".join(LINES), "b": b"b\n", "d/a": b"".join(reversed(LINES))})
        self.agents = Agents(self.bench)
        for name in SESSIONS:
            self.agents.start(name)
        self.trees = [self.bench.track()]

    # -- what somebody does

    def edit(self) -> None:
        """Writes, deletes or moves a file; whoever is at work did it, else the user."""
        dice = self.dice
        there = sorted(name for name in self.bench.read() if not name.endswith("/"))
        name = dice.choice(there or NAMES)
        kind = dice.choice(("line", "line", "move", "move", "write", "delete", "directory"))
        if kind == "line" and there:
            lines = Path(self.bench.path(name)).read_bytes().splitlines(keepends=True) or [b"\n"]
            lines[dice.randrange(len(lines))] = b"%d\n" % dice.randrange(100)
            self.bench.write({name: b"".join(lines)})
        elif kind == "move" and there:
            free = [other for other in NAMES if not os.path.lexists(self.bench.path(other))]
            if free:
                target = self.bench.path(dice.choice(free))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(self.bench.path(name), target)
        elif kind == "write":
            self.bench.write({dice.choice(NAMES): dice.choice((b"", b"x\n", b"\0%d" % dice.randrange(3)))})
        elif kind == "delete" and there:
            self.bench.remove(name)
        elif kind == "directory":
            os.makedirs(self.bench.path(dice.choice(("e", "f"))), exist_ok=True)

    def begin(self) -> None:
        session, client = self.dice.choice(SESSIONS), self.dice.choice((*CLIENTS, None))
        parent = self.dice.choice((None, *self.named("open")))
        self.agents.begin(session, parent, self.dice.choice(MESSAGES), client=client)

    def end(self) -> None:
        steps = self.named("open")
        if steps:
            self.agents.end(self.dice.choice(steps), self.dice.choice((None, None, [], ["a", "d"])))

    def whole_step(self) -> None:
        step = self.agents.begin(self.dice.choice(SESSIONS), None, self.dice.choice(MESSAGES))
        for _ in range(self.dice.randrange(1, 4)):
            self.edit()
        self.agents.end(step)

    def leave(self) -> None:
        """A client is gone."""
        self.agents.leave(self.dice.choice(CLIENTS))

    def restart(self) -> None:
        """The daemon is gone, and with it all its clients; nothing is recorded of that."""
        self.bench.reopen()

    def end_session(self) -> None:
        session = self.dice.choice(SESSIONS)
        self.bench.workspace.sessions.end(session, Call())
        self.agents.start(session)

    # -- what somebody takes back

    def operate(self) -> None:
        """Asks for something with a dry run; then in earnest, with another plan than that, and at last with that."""
        dice = self.dice
        how: OnConflict = dice.choice(("merge", "merge", "overwrite", "fail", "keep"))
        ask = dice.choice((self.undo, self.undo, self.undo_one, self.undo_one, self.redo, self.revert, self.revert,
                           self.unrevert, self.some_files, self.hunks, self.restore, self.bring_back))()  # fmt: skip
        before = self.everything()
        asked = OperationOptions(how, dice.random() < 0.5, dry_run=True)
        expected_outcomes = said(ask, asked)
        assert self.everything() == before
        before = (before, self.rows())
        if dice.random() < 0.5:
            self.edit()
            self.bench.take()
            before, earlier = (self.everything(), self.rows()), expected_outcomes
            expected_outcomes = said(ask, asked)
            assert said(ask, asked).plan == expected_outcomes.plan
            if expected_outcomes.error is None and earlier.plan != expected_outcomes.plan:
                assert said(ask, attrs.evolve(asked, dry_run=False, expect=earlier.plan or "")) == expected_outcomes
        assert said(ask, attrs.evolve(asked, dry_run=False, expect="another")) == expected_outcomes
        assert (self.everything(), self.rows()) == before
        done = said(ask, attrs.evolve(asked, dry_run=False, expect=expected_outcomes.plan))
        assert done == expected_outcomes
        assert done.plan in (None, expected_outcomes.plan)

    def undo(self) -> Ask:
        session, count = self.dice.choice((*SESSIONS, None)), self.dice.choice((1, 1, 2, 9))
        return lambda request: turned(
            self.bench.workspace.undo_steps.undo(UndoRequest(session, count), request, Call())
        )

    def undo_one(self) -> Ask:
        step = self.dice.choice(self.named("open", "applied", "partly", "undone") or ["none"])
        session = next((view.step.begun.session_id for view in self.views() if view.step.step_id == step), "one")
        return lambda request: turned(
            self.bench.workspace.undo_steps.undo(UndoRequest(session, 1, step), request, Call())
        )

    def redo(self) -> Ask:
        session, count = self.dice.choice((*SESSIONS, None)), self.dice.choice((1, 1, 2, 9))
        return lambda request: turned(self.bench.workspace.undo_steps.redo(session, count, request, Call()))

    def revert(self) -> Ask:
        session, message = self.dice.choice(SESSIONS), self.dice.choice(MESSAGES)
        return lambda request: told(self.bench.workspace.undo_steps.revert(session, message, None, request, Call()))

    def unrevert(self) -> Ask:
        session = self.dice.choice(SESSIONS)
        return lambda request: told(self.bench.workspace.undo_steps.unrevert(session, request, Call()))

    def some_files(self) -> Ask:
        step = self.dice.choice(self.named("open", "applied", "partly", "undone") or ["none"])
        view = next((view for view in self.views() if view.step.step_id == step), None)
        names = [file.path for file in (view.files if view is not None else None) or ()]
        chosen = [name for name in names if self.dice.random() < 0.6] or [os.fsencode(self.dice.choice(NAMES))]
        return lambda request: told(self.bench.workspace.undo_steps.revert_files(step, chosen, request, Call()))

    def hunks(self) -> Ask:
        step = self.dice.choice(self.named("open", "applied", "partly", "undone") or ["none"])
        name = os.fsencode(self.dice.choice(NAMES))
        indexes = [0, 1] if self.dice.random() < 0.3 else [0]
        return lambda request: told(self.bench.workspace.undo_steps.revert_hunks(step, name, indexes, request, Call()))

    def restore(self) -> Ask:
        tree = self.dice.choice(self.trees)
        return lambda request: told(self.bench.workspace.snapshots.restore(tree, request, Call()))

    def bring_back(self) -> Ask:
        tree, names = self.dice.choice(self.trees), [os.fsencode(self.dice.choice((*NAMES, "d", "e")))]
        return lambda request: told(self.bench.workspace.snapshots.revert([(tree, names)], request, Call()))

    # -- what there is

    def views(self) -> list[StepView]:
        return [view for session in SESSIONS for view in self.agents.steps(session)]

    def named(self, *states: str) -> list[str]:
        return [view.step.step_id for view in self.views() if view.step.state in states]

    def rows(self) -> object:
        """The snapshots that were recorded."""
        return self.bench.workspace.snapshots.taken(SnapshotRecordQuery(), None, 100_000, Call(), counts=False)

    def everything(self) -> object:
        """The folder, and all that the timeline says."""
        page = self.bench.workspace.history.page(HistoryQuery(), None, 100_000, Call())
        return self.bench.read(), page.entries, self.views(), [self.agents.counts(session) for session in SESSIONS]


def told(outcome: Outcome) -> Said:
    return Said(outcome.files, plan=outcome.plan)


def turned(turning: UndoResult) -> Said:
    operations = tuple(operation.name for operation in turning.operations)
    return Said(turning.outcome.files, (*ids(turning.steps), *operations), plan=turning.outcome.plan)


def said(ask: Ask, request: OperationOptions) -> Said:
    try:
        return ask(request)
    except SnapdError as error:
        return Said(error=f"{error.kind}: {error.message}")


@pytest.mark.parametrize("seed", range(amount(6, 200, "SNAPD_MODEL_SEEDS")))
def test_random_histories(seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    history = History(tmp_path, dice)
    actions: list[tuple[int, Callable[[], None]]] = [
        (8, history.edit),
        (5, history.begin),
        (3, history.end),
        (4, history.whole_step),
        (2, history.leave),
        (2, history.restart),
        (1, history.end_session),
        (8, history.operate),
    ]
    for _ in range(ACTIONS):
        action = dice.choices([action for _, action in actions], [weight for weight, _ in actions])[0]
        print(action.__name__)  # shown where it fails
        action()
        if dice.random() < 0.2:
            history.trees.append(history.bench.track())


# -- what was seen to differ

TEXT = b"".join(b"line %d\n" % number for number in range(20))


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_a_file_that_the_user_moved_after_the_client_of_its_step_had_left(
    tmp_path: Path, restarted: bool, named: bool, there: bool
) -> None:
    agents = at_work(tmp_path, {"new": b"old\n" + TEXT} if there else {"other": b"other\n"})
    bench = agents.bench
    step = agents.begin("one", client="editor")
    bench.write({"new": TEXT})
    agents.leave("editor")
    os.rename(bench.path("new"), bench.path("moved"))
    if restarted:
        bench.reopen()
    asked = None if not named else step
    expected_outcomes = agents.undo("one", step=asked, dry_run=True)
    assert bench.read()["moved"] == TEXT
    assert agents.undo("one", step=asked) == expected_outcomes
    assert expected_outcomes == {"moved": "restored" if there else "deleted", "new": "unchanged:renamedSince"}
    assert ("moved" in bench.read()) == there


def test_a_revert_of_a_message_takes_open_and_ended_steps_back_in_the_order_of_the_dry_run(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"other": b"other\n"})
    bench = agents.bench
    first = agents.begin("one", message="m", client="editor")
    bench.write({"a": b"one\n"})
    agents.leave("editor")
    agents.step("one", {"a": b"two\n"}, message="m")
    expected_outcomes = agents.revert("one", "m", dry_run=True)
    assert agents.states("one") == ["open", "applied"]
    assert agents.revert("one", "m") == expected_outcomes == {"a": "deleted"}
    assert agents.states("one") == ["undone", "undone"]
    assert agents.view(first).step.ended is not None


def test_files_of_an_open_step_are_found_where_the_user_moved_them_after_its_client_had_left(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"other": b"other\n"})
    bench = agents.bench
    step = agents.begin("one", client="editor")
    bench.write({"new": TEXT})
    agents.leave("editor")
    os.rename(bench.path("new"), bench.path("moved"))
    expected_outcomes = agents.revert_files(step, "new", dry_run=True)
    assert (
        agents.revert_files(step, "new") == expected_outcomes == {"moved": "deleted", "new": "unchanged:renamedSince"}
    )
    assert agents.states("one") == ["open"]
