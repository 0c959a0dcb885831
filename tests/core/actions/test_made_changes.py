"""The changes of steps one by one: whose, in which order, and where their bytes are."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import UnknownSession, UnknownStep
from tests.support.sessions import TEXT, Agents, text


def undo_the_last(agents: Agents) -> None:
    agents.bench.workspace.undo_steps.undo(UndoRequest(None), OperationOptions("merge", False, False), Call())


def made(
    agents: Agents, sessions: Collection[str] = (), steps: Collection[str] = ()
) -> dict[str, list[tuple[object, object]]]:
    """The bytes before and after each change, as the snapshots that it names have them."""
    workspace = agents.bench.workspace
    found: dict[str, list[tuple[object, object]]] = {}
    for path, chain in workspace.made_changes.of(sessions, steps, Call()).items():
        for each in chain:
            sides = []
            for entry, tree in ((each.delta.old, each.before), (each.delta.new, each.after)):
                sides.append(None if entry is None else workspace.snapshots.file_at(tree, path).data)
                assert entry == workspace.snapshots.entry(tree, path)
            found.setdefault(path.decode(), []).append((sides[0], sides[1]))
    return found


def test_what_others_did_between_is_not_there(agents: Agents) -> None:
    agents.start("two")
    agents.step("one", {"a.txt": text(l2=b"1")})
    agents.bench.write({"a.txt": text(l2=b"1", l9=b"user")})
    agents.step("two", {"a.txt": text(l2=b"1", l9=b"user", l12=b"2")})
    last = agents.step("one", {"a.txt": text(l2=b"3", l9=b"user", l12=b"2"), "new": b"n"})
    first = (TEXT, text(l2=b"1"))
    second = (text(l2=b"1", l9=b"user", l12=b"2"), text(l2=b"3", l9=b"user", l12=b"2"))
    assert made(agents, ["one"]) == {"a.txt": [first, second], "new": [(None, b"n")]}
    assert made(agents, [], [last]) == {"a.txt": [second], "new": [(None, b"n")]}
    agents.bench.reopen()
    assert made(agents, ["one"], [last]) == {"a.txt": [first, second], "new": [(None, b"n")]}
    assert made(agents) == {}


def test_the_changes_of_a_part_are_between_those_of_its_step(agents: Agents) -> None:
    agents.start("two")
    whole = agents.begin("one")
    agents.bench.write({"a.txt": b"1\n"})
    part = agents.begin("two", parent=whole)
    agents.bench.write({"a.txt": b"1\n2\n"})
    agents.end(part)
    agents.bench.write({"a.txt": b"1\n2\n3\n"})
    agents.end(whole)
    chain = [(TEXT, b"1\n"), (b"1\n", b"1\n2\n"), (b"1\n2\n", b"1\n2\n3\n")]
    assert made(agents, ["one"]) == {"a.txt": chain}
    assert made(agents, ["two"]) == {"a.txt": chain[1:2]}
    assert made(agents, ["one", "two"], [whole, part]) == {"a.txt": chain}


def test_what_was_undone_is_not_there(agents: Agents) -> None:
    first = agents.step("one", {"a.txt": text(l2=b"1"), "b.txt": b"1\n"})
    agents.step("one", {"b.txt": b"2\n"})
    agents.revert_files(first, "a.txt")
    # a step that stays applied: an operation has taken back what it did there
    assert made(agents, [], [first])["a.txt"] == [(TEXT, text(l2=b"1")), (text(l2=b"1"), TEXT)]
    agents.undo("one")
    assert made(agents, ["one"])["b.txt"] == [(b"b\n", b"1\n")]
    agents.redo("one")
    assert made(agents, ["one"])["b.txt"] == [(b"b\n", b"1\n"), (b"1\n", b"2\n")]
    agents.undo("one", count=9)
    assert made(agents, ["one"]) == {}


def test_what_was_undone_in_part(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"1"), "b.txt": b"1\n"})
    agents.bench.write({"b.txt": b"user\n"})
    agents.undo("one")
    assert agents.states("one") == ["partly"]
    assert made(agents, ["one"], [step]) == {"b.txt": [(b"b\n", b"1\n")]}


def test_hunks_that_were_taken_back(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"1", l15=b"2")})
    agents.revert_hunks(step, "a.txt", [0])
    whole, rest = text(l2=b"1", l15=b"2"), text(l15=b"2")
    chain = agents.bench.workspace.made_changes.of(["one"], [], Call())[b"a.txt"]
    assert [bool(each.by) for each in chain] == [True, False]
    assert made(agents, ["one"]) == {"a.txt": [(TEXT, whole), (whole, rest)]}
    undo_the_last(agents)
    assert made(agents, ["one"]) == {"a.txt": [(TEXT, whole)]}


def test_a_move_and_a_change_that_is_shared(agents: Agents) -> None:
    agents.start("two")
    one, two = agents.begin("one"), agents.begin("two")
    agents.bench.write({"moved.txt": text(l3=b"changed")})
    agents.bench.remove("a.txt")
    agents.end(one)
    agents.end(two)
    found = agents.bench.workspace.made_changes.of(["one"], [], Call())
    assert {path: [(each.moved_from, each.delta.others) for each in chain] for path, chain in found.items()} == {
        b"a.txt": [(None, (two,))],
        b"moved.txt": [(b"a.txt", (two,))],
    }
    both = agents.bench.workspace.made_changes.of(["one", "two"], [], Call())
    assert [(each.delta.others, {step.step_id for step in each.by}) for each in both[b"moved.txt"]] == [
        ((), {one, two})
    ]


def test_nobody_is_asked_for_who_is_not_there(agents: Agents) -> None:
    with pytest.raises(UnknownSession):
        made(agents, ["nobody"])
    with pytest.raises(UnknownStep):
        made(agents, [], ["0" * 16])


def test_a_step_that_is_open_has_to_end_first(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"b.txt": b"1\n"})
    assert made(agents, ["one"], [step]) == {}
    agents.end(step)
    assert made(agents, ["one"]) == {"b.txt": [(b"b\n", b"1\n")]}
