"""What is said of files in conflict: who changed them since, and which lines are in question; and what all changes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.snapshot import ChangedBy, Contested, Details, Dispute, OnConflict
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, text
from tests.support.workspace import Items, outcomes, write


def details(
    agents: Agents, wanted: UndoRequest, on_conflict: OnConflict = "merge", *, dry_run: bool = True, diff: bool = False
) -> Details:
    options = OperationOptions(on_conflict, False, dry_run, "diff" if diff else "counts")
    found = agents.bench.workspace.undo_steps.undo(wanted, options, Call()).outcome.details
    assert found is not None
    return found


def contested(agents: Agents, step: str, on_conflict: OnConflict = "merge") -> list[Contested]:
    return list(details(agents, UndoRequest(step_id=step), on_conflict).contested)


def by(found: Contested) -> list[tuple[str | None, str | None]]:
    """The steps and operations that changed it; (None, None) is the user."""
    return [(each.step_id, each.kind) for each in found.by]


@pytest.mark.parametrize("on_conflict", ["merge", "fail", "overwrite"])
def test_what_the_user_changed_since(agents: Agents, on_conflict: OnConflict) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"A"), "b.txt": b"B\n"})
    agents.bench.write({"a.txt": text(l2=b"mine", l9=b"X")})
    os.utime(agents.bench.path("a.txt"), (1000, 1000))
    (found,) = contested(agents, step, on_conflict)
    assert found == Contested(
        b"a.txt", step, "changedSince", (ChangedBy(1_000_000),), Dispute(2, ("mine",), ("A",), ("2",))
    )
    # a look in between makes no difference
    agents.step("one", {"c": b"c"})
    assert contested(agents, step, on_conflict) == [found]


def test_what_other_steps_and_operations_changed_since(agents: Agents) -> None:
    agents.start("two")
    tree = agents.bench.track()
    first = agents.step("one", {"a.txt": text(l2=b"A")})
    second = agents.step("two", {"a.txt": text(l2=b"B")})
    third = agents.step("two", {"a.txt": text(l2=b"C"), "c": b"c"})
    (found,) = contested(agents, first)
    assert by(found) == [(third, None), (second, None)]
    assert [(each.session_id, each.agent) for each in found.by] == [("two", "agent")] * 2
    assert by(contested(agents, second)[0]) == [(third, None)]
    agents.bench.write({"a.txt": text(l2=b"D")})
    assert by(contested(agents, third)[0]) == [(None, None)]
    agents.bench.revert((tree, ["a.txt"]))
    agents.bench.write({"a.txt": text(l2=b"E")})
    assert by(contested(agents, third)[0]) == [(None, None), (None, "revert")]
    agents.bench.remove("a.txt")
    (gone,) = contested(agents, third)
    assert (gone.reason, gone.dispute, by(gone)[0]) == ("deletedSince", None, (None, None))


def test_who_is_the_cause_and_whose_work_is_elsewhere(agents: Agents) -> None:
    agents.start("two")
    first = agents.step("one", {"a.txt": text(l2=b"A")})
    other = agents.step("two", {"a.txt": text(l2=b"A", l12=b"two")})
    # what was undone and done again is nobody's change
    agents.undo("two")
    agents.redo("two")
    agents.bench.write({"a.txt": text(l2=b"mine", l12=b"two")})
    third = agents.step("two", {"a.txt": text(l2=b"mine", l12=b"two", l18=b"three")})
    (found,) = contested(agents, first)
    assert [(each.step_id, each.cause) for each in found.by] == [(third, False), (None, True), (other, False)]
    # of what is not about lines, everybody is
    agents.bench.write({"a.txt": b"\0"})
    (found,) = contested(agents, first)
    assert {each.cause for each in found.by} == {True}


def test_what_is_shared_names_the_others(agents: Agents) -> None:
    agents.start("two")
    first, second = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": b"both"})
    agents.end(first)
    agents.end(second)
    (found,) = contested(agents, first)
    assert (found.reason, by(found)) == ("shared", [(second, None)])


def test_whose_work_it_is_where_a_step_goes_on(agents: Agents) -> None:
    agents.start("two")
    step = agents.step("one", {"a.txt": text(l2=b"A")})
    going_on = agents.begin("two")
    agents.bench.write({"a.txt": text(l2=b"B")})
    assert by(contested(agents, step)[0]) == [(going_on, None)]


def test_an_operation_that_is_undone(agents: Agents) -> None:
    agents.bench.write({"b.txt": b"1\n"})
    tree = agents.bench.track()
    agents.bench.write({"b.txt": b"2\n"})
    agents.bench.restore(tree)
    agents.bench.write({"b.txt": b"3\n"})
    (found,) = details(agents, UndoRequest()).contested
    assert (by(found), found.dispute) == ([(None, None)], Dispute(1, ("3",), ("1",), ("2",)))


def test_what_all_changes_as_git_says(agents: Agents, tmp_path: Path) -> None:
    work: Items = {"a.txt": text(l2=b"A", l15=b"B"), "new/c": b"c\n", "b.txt": b"\0", "d": b"d"}
    step = agents.step("one", work)
    found = details(agents, UndoRequest(step_id=step), diff=True)
    agents.bench.write({"a.txt": text(l2=b"A", l15=b"B", l8=b"U")})
    patched = tmp_path / "patched"
    patched.mkdir()
    run_git(patched, "init", "-q")
    write(patched, {**work, "b.txt": b"\0"})
    # a patch has no binary contents
    parts = [part for part in (found.diff or "").split("diff --git ")[1:] if "Binary" not in part]
    patch = tmp_path / "patch"
    patch.write_text("".join(f"diff --git {part}" for part in parts))
    counts = run_git(patched, "apply", "--numstat", str(patch)).decode().splitlines()
    added, deleted = zip(*(map(int, line.split("\t")[:2]) for line in counts), strict=True)
    run_git(patched, "apply", str(patch))
    assert (patched / "a.txt").read_bytes() == TEXT
    assert sorted(path.name for path in patched.iterdir()) == [".git", "a.txt", "b.txt"]
    done = details(agents, UndoRequest(step_id=step), dry_run=False)
    assert (found.additions, found.deletions) == (sum(added), sum(deleted))
    assert (done.additions, done.deletions, done.diff) == (found.additions, found.deletions, None)


def test_what_is_to_stay_as_it_is_settles_a_conflict(agents: Agents) -> None:
    first = agents.step("one", {"b.txt": b"first\n"})
    step = agents.step("one", {"a.txt": text(l2=b"A"), "c": b"c"})
    agents.bench.write({"a.txt": text(l2=b"mine")})
    before = agents.bench.read()
    assert agents.undo("one", on_conflict="keep", dry_run=True) == {"a.txt": "kept:changedSince", "c": "deleted"}
    assert agents.undo("one", on_conflict="keep") == {"a.txt": "kept:changedSince", "c": "deleted"}
    assert agents.states("one") == ["applied", "undone"]
    # one further back
    assert agents.undo("one") == {"b.txt": "restored"}
    assert agents.redo("one", 2) == {"b.txt": "restored", "c": "restored"}
    assert agents.bench.read() == before
    assert agents.states("one") == ["applied", "applied"]
    # of a step that conflicts as a whole, too
    agents.bench.write({"b.txt": b"mine\n"})
    assert agents.undo("one", step=first, on_conflict="keep") == {"b.txt": "kept:changedSince"}
    assert agents.states("one") == ["undone", "applied"]
    agents.bench.write({"a.txt": text(l2=b"A")})
    assert agents.undo("one", step=step) == {"a.txt": "restored", "c": "deleted"}
    agents.bench.write({"c": b"mine"})
    assert agents.redo("one", on_conflict="keep") == {"a.txt": "restored", "c": "kept:occupied"}
    assert agents.states("one") == ["undone", "applied"]


def test_a_restore_that_keeps_what_changed_since(agents: Agents) -> None:
    tree = agents.bench.track()
    agents.bench.write({"a.txt": b"A", "b.txt": b"B"})
    agents.bench.track()
    agents.bench.write({"a.txt": b"mine"})
    assert outcomes(agents.bench.restore(tree, "keep")) == {"a.txt": "kept:changedSince", "b.txt": "restored"}
    assert agents.bench.read() == {"a.txt": b"mine", "b.txt": b"b\n"}
