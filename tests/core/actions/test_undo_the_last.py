"""Undo of whatever was done last in the workspace: steps of all sessions, restores and reverts; and of a message."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from snapd.core.actions.history import HistoryQuery
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, NothingToRedo, NothingToUndo, UnknownStep
from snapd.model.snapshot import OnConflict
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import Items, outcomes

from .test_restore import SWAPS, plain

pytestmark = pytest.mark.slow

OPTIONS = OperationOptions("merge", False, False)
LAST = UndoRequest()


def undo(agents: Agents, wanted: UndoRequest = LAST, on_conflict: OnConflict = "merge") -> tuple[list[str], list[str]]:
    """The steps that this undid, and the kinds of operations."""
    options = OperationOptions(on_conflict, False, False)
    turning = agents.bench.workspace.undo_steps.undo(wanted, options, Call())
    return [view.step.step_id for view in turning.steps], [found.operated.kind for found in turning.operations]


def redo(agents: Agents, count: int = 1) -> tuple[list[str], list[str]]:
    turning = agents.bench.workspace.undo_steps.redo(None, count, OPTIONS, Call())
    return [view.step.step_id for view in turning.steps], [found.operated.kind for found in turning.operations]


def test_each_time_one_further_back(agents: Agents) -> None:
    bench = agents.bench
    agents.start("two")
    states = [bench.read()]
    first = agents.step("one", {"a.txt": text(l2=b"one")})
    states.append(bench.read())
    tree = bench.track()
    second = agents.step("two", {"a.txt": text(l2=b"one", l10=b"two"), "new/b": b"b"})
    states.append(bench.read())
    bench.restore(tree)
    states.append(bench.read())
    third = agents.step("one", {"b.txt": b"third"})
    states.append(bench.read())
    bench.revert((tree, ["b.txt"]))
    done: list[tuple[list[str], list[str]]] = [
        ([], ["revert"]),
        ([third], []),
        ([], ["restore"]),
        ([second], []),
        ([first], []),
    ]
    after = bench.read()
    for each in done:
        assert undo(agents) == each
        assert bench.read() == states.pop()
    with pytest.raises(NothingToUndo):
        undo(agents)
    for each in reversed(done):
        assert redo(agents) == each
    assert bench.read() == after
    with pytest.raises(NothingToRedo):
        redo(agents)
    # as one, with a count
    assert undo(agents, UndoRequest(count=5)) == ([third, second, first], ["revert", "restore"])
    assert bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}
    bench.reopen()
    assert redo(agents, 9) == ([first, second, third], ["restore", "revert"])
    assert bench.read() == after


@pytest.mark.parametrize(("then", "now"), SWAPS.values(), ids=SWAPS.keys())
@pytest.mark.parametrize("ask", ["restore", "revert"])
def test_a_restore_is_undone_and_done_again(tmp_path: Path, then: Items, now: Items, ask: str) -> None:
    agents = at_work(tmp_path, plain(then))
    bench = agents.bench
    before = bench.track()
    bench.become(plain(now))
    found = bench.read()
    if ask == "restore":
        bench.restore(before)
    else:
        bench.revert(
            (before, [os.fsdecode(change.path) for change in bench.workspace.comparison.changed(before, None, Call())])
        )
    left = bench.read()
    assert undo(agents) == ([], [ask])
    assert bench.read() == found
    bench.reopen()
    assert redo(agents) == ([], [ask])
    assert bench.read() == left


def test_what_others_changed_since_a_restore_stays(agents: Agents) -> None:
    bench = agents.bench
    tree = bench.track()
    bench.write({"a.txt": text(l2=b"A"), "b.txt": b"mine\n", "c": b"c"})
    bench.restore(tree)
    bench.write({"a.txt": text(l15=b"later"), "b.txt": b"other\n"})
    assert undo(agents) == ([], ["restore"])
    assert bench.read() == {"a.txt": text(l2=b"A", l15=b"later"), "b.txt": b"other\n", "c": b"c"}
    # the rest is tried again, as that of a step
    assert undo(agents, on_conflict="overwrite") == ([], ["restore"])
    assert bench.read()["b.txt"] == b"mine\n"
    assert redo(agents, 9) == ([], ["restore"])
    assert bench.read() == {"a.txt": text(l15=b"later"), "b.txt": b"other\n"}


def test_an_ignored_file_that_a_restore_wrote_over_comes_back(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"out": b"old"})
    bench = agents.bench
    tree = bench.track()
    bench.write({".gitignore": b"out\n", "out": b"built"})
    bench.track()
    bench.revert((tree, ["out"]))
    assert bench.read()["out"] == b"old"
    undo(agents)
    assert bench.read() == {".gitignore": b"out\n", "out": b"built"}
    redo(agents)
    assert bench.read()["out"] == b"old"


def test_parts_of_steps_that_were_taken_back(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"A", l15=b"B"), "b.txt": b"B\n"})
    agents.revert_hunks(step, "a.txt", [0])
    agents.revert_files(step, "b.txt")
    assert undo(agents) == ([], ["revert"])
    assert agents.bench.read()["b.txt"] == b"B\n"
    assert undo(agents) == ([], ["hunks"])
    assert agents.bench.read()["a.txt"] == text(l2=b"A", l15=b"B")
    assert undo(agents) == ([step], [])
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_the_step_that_changed_something_last_comes_first(agents: Agents) -> None:
    agents.start("two")
    long = agents.begin("one")
    agents.bench.write({"a.txt": b"1"})
    short = agents.step("two", {"b.txt": b"2"})
    agents.bench.write({"c": b"3"})
    agents.end(long, ["a.txt", "c"])
    agents.step("two", {})
    assert undo(agents) == ([long], [])
    assert undo(agents) == ([short], [])


def test_a_step_that_goes_on_stays_and_one_that_was_left_is_ended(agents: Agents) -> None:
    done = agents.step("one", {"a.txt": b"1"})
    agents.begin("one", client="editor")
    agents.bench.write({"b.txt": b"2"})
    assert undo(agents) == ([done], [])
    agents.leave("editor")
    undo(agents)
    assert agents.states("one") == ["undone", "undone"]
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"b\n"}


def test_a_session_knows_nothing_of_operations(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": b"1"})
    tree = agents.bench.track()
    agents.bench.write({"b.txt": b"2"})
    agents.bench.restore(tree)
    assert agents.undone("one")[1] == [step]
    undo(agents)
    assert agents.redo("one") == {"a.txt": "restored"}
    assert redo(agents) == ([], ["restore"])


def test_what_can_no_longer_be_done_again(agents: Agents) -> None:
    bench = agents.bench
    tree = bench.track()
    for later in (lambda: agents.step("one", {"b.txt": b"3"}), lambda: bench.revert((tree, ["b.txt"]))):
        bench.write({"a.txt": b"2", "b.txt": b"2"})
        bench.revert((tree, ["a.txt"]))
        undo(agents)
        later()
        with pytest.raises(NothingToRedo):
            redo(agents)


# -- a message, and back to a step


def test_all_steps_of_a_message(agents: Agents) -> None:
    first = agents.step("one", {"a.txt": text(l2=b"1")}, message="m1")
    agents.step("one", {"a.txt": text(l2=b"1", l6=b"2")}, message="m2")
    whole = agents.begin("one", message="m1")
    part = agents.step("one", {"c": b"c"}, parent=whole)
    agents.end(whole)
    agents.step("one", {"a.txt": text(l2=b"1", l6=b"2", l12=b"4")}, message="m3")
    before = agents.bench.read()
    assert undo(agents, UndoRequest(message_id="m1"))[0] == [part, first]
    assert agents.bench.read() == {"a.txt": text(l6=b"2", l12=b"4"), "b.txt": b"b\n"}
    with pytest.raises(NothingToUndo, match="already undone"):
        undo(agents, UndoRequest("one", message_id="m1"))
    redo(agents, 2)
    assert agents.bench.read() == before
    with pytest.raises(UnknownStep):
        undo(agents, UndoRequest(message_id="m9"))
    agents.start("two")
    agents.step("two", {"b.txt": b"other"}, message="m1")
    with pytest.raises(InvalidParams, match="several sessions"):
        undo(agents, UndoRequest(message_id="m1"))
    undo(agents, UndoRequest("two", message_id="m1"))
    assert agents.bench.read() == before


def test_back_to_right_after_a_step(agents: Agents) -> None:
    agents.start("two")
    agents.step("one", {"a.txt": text(l2=b"1")})
    whole = agents.begin("one")
    agents.step("one", {"b.txt": b"part"}, parent=whole)
    agents.end(whole)
    state = agents.bench.read()
    third = agents.step("one", {"a.txt": text(l2=b"1", l6=b"3")})
    agents.step("two", {"other": b"o"})
    fourth = agents.step("one", {"d": b"4"})
    assert undo(agents, UndoRequest(after=whole))[0] == [fourth, third]
    assert agents.bench.read() == {**state, "other": b"o"}
    with pytest.raises(NothingToUndo):
        undo(agents, UndoRequest("one", after=whole))


def test_a_step_that_is_undone_already_says_so(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": b"1"})
    undo(agents, UndoRequest(step_id=step))
    with pytest.raises(NothingToUndo, match="already undone") as raised:
        undo(agents, UndoRequest(step_id=step))
    assert "snapd redo" in raised.value.hint


# -- at random, with a model


@pytest.mark.parametrize("seed", range(6))
def test_all_that_was_done_is_undone_in_its_order(seed: int, tmp_path: Path) -> None:
    """The model is the list of states: without edits of others in between, each undo goes back by exactly one."""
    dice = random.Random(seed)
    names = ["a", "b", "d/c", "d/e"]
    agents = at_work(tmp_path, dict.fromkeys(names, b"0\n"))
    agents.start("two")
    bench = agents.bench
    states, trees = [bench.read()], [bench.track()]
    done: list[str] = []
    for number in range(1, 13):
        act = dice.choice(("step", "step", "restore", "revert"))
        if act == "step":
            agents.step(dice.choice(("one", "two")), {dice.choice(names): b"%d\n" % number, f"new{number}": b"n"})
        elif act == "restore":
            bench.restore(dice.choice(trees))
        else:
            bench.revert((dice.choice(trees), dice.sample(names, 2)))
        if bench.read() != states[-1]:
            states.append(bench.read())
            trees.append(bench.track())
            done.append(act)
    at = len(done)
    for _ in range(30):
        if at and (at == len(done) or dice.random() < 0.6):
            count = dice.randint(1, min(3, at))
            undone = undo(agents, UndoRequest(count=count))
            assert (len(undone[0]), undone[1]) == (
                done[at - count : at].count("step"),
                [kind for kind in reversed(done[at - count : at]) if kind != "step"],
            )
            at -= count
        else:
            count = dice.randint(1, min(3, len(done) - at))
            redo(agents, count)
            at += count
        if dice.random() < 0.2:
            bench.reopen()
        assert bench.read() == states[at]


def test_what_became_of_files_is_said(agents: Agents) -> None:
    tree = agents.bench.track()
    agents.bench.write({"a.txt": b"1", "c": b"2"})
    agents.bench.restore(tree)
    turning = agents.bench.workspace.undo_steps.undo(UndoRequest(), OPTIONS, Call())
    assert outcomes(turning.outcome) == {"a.txt": "restored", "c": "restored"}
    assert [found.state for found in turning.operations] == ["undone"]
    entries = agents.bench.workspace.history.page(HistoryQuery(), None, 10, Call()).entries
    assert [(entry.kind, entry.state, len(entry.operations)) for entry in entries] == [
        ("undo", None, 1),
        ("restore", "undone", 0),
        ("user", None, 0),
    ]
