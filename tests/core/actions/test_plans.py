"""What a person confirmed is what happens: the plan of a dry run names exactly what would be done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.answers import UndoResult
from snapd.core.operations.runner import OperationOptions
from snapd.core.review.choice import Choice
from snapd.model.call import Call
from snapd.model.snapshot import OnConflict, Outcome
from snapd.model.snapshot_records import SnapshotRecordQuery
from tests.support.sessions import Agents, at_work, text

DRY = OperationOptions("merge", False, dry_run=True)


def undo(agents: Agents, options: OperationOptions = DRY, step: str | None = None) -> UndoResult:
    return agents.bench.workspace.undo_steps.undo(UndoRequest(step_id=step), options, Call())


def plan(outcome: Outcome | UndoResult) -> str:
    found = (outcome.outcome if isinstance(outcome, UndoResult) else outcome).plan
    assert found is not None
    return found


def expecting(found: str) -> OperationOptions:
    return attrs.evolve(DRY, dry_run=False, expect=found)


def rows(agents: Agents) -> object:
    workspace = agents.bench.workspace
    return workspace.snapshots.taken(SnapshotRecordQuery(), None, 1000, Call(), counts=False), agents.bench.read()


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return at_work(tmp_path, {"a": text(), "b": text(), ".gitignore": b"*.log\n"})


def chmod(name: str, mode: int) -> Callable[[Agents], object]:
    return lambda agents: os.chmod(agents.bench.path(name), mode)


def writes(name: str, data: bytes) -> Callable[[Agents], object]:
    return lambda agents: agents.bench.write({name: data})


@pytest.mark.parametrize(
    ("change", "concerns"),
    [
        (lambda agents: agents.step("one", {"b": b"later\n"}), True),
        (lambda agents: agents.undo("one"), True),
        (writes("a", text(l1=b"agent", l20=b"mine")), True),
        (chmod("a", 0o755), True),
        (chmod("a", 0o600), True),
        (writes("new/other", b"mine"), True),
        (writes("new/debug.log", b"ignored"), True),
        (lambda agents: os.mkdir(agents.bench.path("new/empty")), True),
        (writes("b", b"mine\n"), False),
        (chmod("b", 0o755), False),
        (writes("debug.log", b"ignored"), False),
        (lambda agents: agents.bench.reopen(), False),
        (lambda agents: agents.bench.track(), False),
    ],
)
def test_the_plan_changes_if_and_only_if_something_else_would_be_done(
    agents: Agents, change: Callable[[Agents], object], concerns: bool
) -> None:
    agents.step("one", {"c": b"older\n"})
    agents.step("one", {"a": text(l1=b"agent"), "new/file": b"agent\n"})
    shown = plan(undo(agents))
    assert plan(undo(agents, attrs.evolve(DRY, details="diff"))) == shown
    change(agents)
    now = undo(agents)
    assert (plan(now) != shown) == concerns
    before = rows(agents)
    done = undo(agents, expecting(shown))
    if concerns:
        assert done == now
        assert rows(agents) == before
        done = undo(agents, expecting(plan(now)))
    assert done.outcome.applied
    assert done.outcome.plan is None
    assert done.outcome.files == now.outcome.files


def test_a_directory_that_stays_anyway_may_get_more_files(agents: Agents) -> None:
    agents.step("one", {"new/file": b"agent\n"})
    agents.bench.write({"new/mine": b"mine\n"})
    shown = plan(undo(agents))
    agents.bench.write({"new/more": b"mine\n"})
    assert plan(undo(agents)) == shown


def test_what_travels_along_with_a_directory_is_in_the_plan(agents: Agents) -> None:
    agents.bench.write({"old/file": text()})
    agents.step("one", lambda: os.rename(agents.bench.path("old"), agents.bench.path("new")))
    shown = plan(undo(agents))
    agents.bench.write({"new/debug.log": b"ignored"})
    assert plan(undo(agents)) != shown


@pytest.mark.parametrize("on_conflict", ["merge", "overwrite", "fail", "keep"])
def test_a_conflict_that_is_left_alone_may_change(agents: Agents, on_conflict: OnConflict) -> None:
    agents.step("one", {"a": text(l1=b"agent"), "c": b"agent\n"})
    agents.bench.write({"a": text(l1=b"mine")})
    asked = attrs.evolve(DRY, on_conflict=on_conflict, by_name=True)
    shown = plan(undo(agents, asked))
    agents.bench.write({"a": text(l1=b"mine too")})
    assert (plan(undo(agents, asked)) == shown) == (on_conflict != "overwrite")


def test_an_open_step_goes_on_if_the_plan_is_another(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"a": text(l1=b"agent")})
    shown = plan(undo(agents, step=step))
    agents.bench.write({"a": text(l1=b"agent", l2=b"again")})
    assert plan(undo(agents, step=step)) != shown
    before = rows(agents)
    assert not undo(agents, expecting(shown), step).outcome.applied
    assert agents.states("one") == ["open"]
    assert rows(agents) == before
    assert undo(agents, expecting(plan(undo(agents, step=step))), step).outcome.applied
    assert agents.states("one") == ["undone"]


def test_other_operations(agents: Agents) -> None:
    workspace, tree = agents.bench.workspace, agents.bench.track()
    agents.step("one", {"a": text(l1=b"agent")}, message="m")
    agents.step("one", {"b": text(l1=b"agent")}, message="m")
    (first, _) = agents.steps("one")
    name = first.step.step_id
    asks: dict[str, Callable[[OperationOptions], Outcome]] = {
        "restore": lambda options: workspace.snapshots.restore(tree, options, Call()),
        "bring back": lambda options: workspace.snapshots.revert([(tree, [b"a"])], options, Call()),
        "files": lambda options: workspace.undo_steps.revert_files(name, [b"a"], options, Call()),
        "hunks": lambda options: workspace.undo_steps.revert_hunks(name, b"a", [0], options, Call()),
        "review": lambda options: workspace.review.revert(Choice((b"a",)), options, Call()),
        "revert": lambda options: workspace.undo_steps.revert("one", "m", None, options, Call()),
    }
    for ask in asks.values():
        shown = plan(ask(DRY))
        agents.bench.write({"a": text(l1=b"agent", l9=b"mine")})
        before = rows(agents)
        now = ask(expecting(shown))
        assert not now.applied
        assert now.plan not in (None, shown)
        assert rows(agents) == before
        agents.bench.write({"a": text(l1=b"agent")})
    assert ask(expecting(shown)).applied
    shown = plan(workspace.undo_steps.unrevert("one", DRY, Call()))
    agents.bench.write({"a": text(l9=b"mine")})
    assert not workspace.undo_steps.unrevert("one", expecting(shown), Call()).applied
    assert agents.states("one") == ["undone", "undone"]


def test_with_a_dry_run_the_plan_is_only_compared(agents: Agents) -> None:
    agents.step("one", {"a": text(l1=b"agent")})
    shown = plan(undo(agents))
    before = rows(agents)
    for expected in (shown, "another"):
        assert undo(agents, attrs.evolve(DRY, expect=expected)).outcome.plan == shown
    assert rows(agents) == before
