"""Files that a snapshot has and that are ignored by now: captured first, then restored; and no others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from snapd.model.call import Call
from snapd.model.snapshot import ObjectId, OnConflict, Outcome
from tests.support.amounts import amount
from tests.support.failures import killed_at
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Executable, Items, Symlink, make, outcomes, write


@attrs.frozen
class Case:
    """A snapshot is taken of `then`; `now` is put over it, with rules that ignore some of it.

    Attributes:
        said: what a restore says, but for the files that are not ignored.
        left: what stays besides what the snapshot has.
        missing: what cannot be brought back.
    """

    then: Items
    now: Items
    said: dict[str, str]
    left: Items = attrs.field(factory=dict)
    missing: tuple[str, ...] = ()


CASES = {
    "a file": Case({"x": b"1"}, {".gitignore": b"x\n", "x": b"2"}, {"x": "restored"}),
    "as it was": Case({"x": b"1"}, {".gitignore": b"x\n", "x": b"1"}, {"x": "unchanged"}),
    "gone": Case({"x": b"1"}, {".gitignore": b"x\n"}, {"x": "restored"}),
    "an executable": Case({"x": Executable(b"1")}, {".gitignore": b"x\n", "x": b"1"}, {"x": "restored"}),
    "a symlink": Case({"x": b"1"}, {".gitignore": b"x\n", "x": Symlink("/etc")}, {"x": "restored"}),
    "a directory": Case(
        {"d/x": b"1", "d/e/y": b"1", "d/e/same": b"0"},
        {".gitignore": b"/d/\n", "d/x": b"2", "d/e/y": b"2", "d/e/same": b"0", "d/e/others": b"3", "d/new/z": b"4"},
        {"d/x": "restored", "d/e/y": "restored", "d/e/same": "unchanged"},
        {"d/e/others": b"3", "d/new/z": b"4"},
    ),
    "a directory with rules of its own": Case(
        {"d/x": b"1", "d/y": b"1"},
        {"d/.gitignore": b"*\n", "d/x": b"2", "d/y": b"1"},
        {"d/x": "restored", "d/y": "unchanged"},
        {"d/.gitignore": b"*\n"},
    ),
    "what no snapshot has": Case(
        {"x.log": b"1"},
        {".gitignore": b"*.log\n", "x.log": b"2", "y.log": b"3"},
        {"x.log": "restored"},
        {"y.log": b"3"},
    ),
    "a file where a folder was": Case(
        {"d/x": b"1"}, {".gitignore": b"/d\n", "d": b"2"}, {"d/x": "skipped:ignored"}, {"d": b"2"}, ("d/x",)
    ),
    "a folder where a file was": Case(
        {"x": b"1"}, {".gitignore": b"/x\n", "x/y": b"2"}, {"x": "skipped:ignored"}, {"x/y": b"2"}, ("x",)
    ),
    "a link where a folder was": Case(
        {"d/x": b"1"}, {".gitignore": b"/d\n", "d": Symlink("e"), "e/x": b"2"},
        {"d/x": "skipped:ignored"}, {"d": Symlink("e")}, ("d/x",),
    ),
    "too large by now": Case(
        {"x": b"1"}, {".gitignore": b"x\n", "x": bytes(2000)}, {"x": "skipped:tooLarge"}, {"x": bytes(2000)}, ("x",)
    ),
}  # fmt: skip


def ways(tree: ObjectId, names: list[str]) -> dict[str, Callable[[Bench, bool], Outcome]]:
    return {
        "restore": lambda bench, dry_run: bench.restore(tree, dry_run=dry_run),
        "revert": lambda bench, dry_run: bench.revert((tree, names), dry_run=dry_run),
    }


@pytest.mark.parametrize("way", ["restore", "revert"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_captured_then_restored(tmp_path: Path, case: Case, way: str) -> None:
    bench = make(tmp_path, {"kept": b"", **case.then})
    bench.configure(max_file_size=1000)
    tree = bench.track()
    bench.become({"kept": b"", **case.now})
    now = bench.read()
    last = bench.track()
    act = ways(tree, [*case.then])[way]
    expected_outcomes = outcomes(act(bench, True))
    assert bench.read() == now
    outcome = act(bench, False)
    assert outcomes(outcome) == expected_outcomes
    # a restore tells only of files that differ
    told = {name: word for name, word in case.said.items() if way == "revert" or word != "unchanged"}
    assert {name: word for name, word in expected_outcomes.items() if name in case.then} == told
    rules = {".gitignore": now[".gitignore"]} if way == "revert" and ".gitignore" in now else {}
    others = {"e/x": b"2"} if way == "revert" and "e/x" in now else {}
    then = {name: item for name, item in case.then.items() if name not in case.missing}
    assert bench.read() == {"kept": b"", **then, **case.left, **rules, **others}
    # all that was written over is in `before`, which brings it back
    for name, word in case.said.items():
        if word == "restored" and name in now:
            assert name in bench.names(outcome.before)
    bench.restore(outcome.before)
    found = {name: item for name, item in bench.read().items() if not name.endswith("/")}
    # one that was not there then may have been, as far as its rules go: it is never deleted
    assert {name: item for name, item in found.items() if name in now or name not in case.then} == now
    # and it is ignored again
    assert bench.track() == last


@pytest.mark.parametrize("rules", ["info", "global", "own"])
def test_whatever_ignores_it(tmp_path: Path, rules: str) -> None:
    bench = make(tmp_path, {"x": b"1", "d/y": b"1"}, git=True)
    tree = bench.track()
    bench.write({"x": b"2", "d/y": b"2", "d/z": b"3"})
    if rules == "own":
        bench.configure("x", "d/")
    else:
        write(tmp_path, {{"info": "work/.git/info/exclude", "global": "home/.config/git/ignore"}[rules]: b"x\nd/\n"})
    outcome = bench.restore(tree)
    assert outcomes(outcome) == {"x": "restored", "d/y": "restored"}
    assert bench.read() == {"x": b"1", "d/y": b"1", "d/z": b"3"}
    assert outcome.after == tree


@pytest.mark.parametrize("on_conflict", ["merge", "fail"])
def test_it_conflicts_where_it_may_be_somebodys_change(tmp_path: Path, on_conflict: OnConflict) -> None:
    bench = make(tmp_path, {"x": b"1", "a": b"1"})
    tree = bench.track()
    bench.write({".gitignore": b"x\n", "x": b"2"})
    bench.track()
    bench.write({"a": b"1"})
    outcome = bench.restore(tree, on_conflict)
    assert outcomes(outcome)["x"].startswith("conflict")
    assert bench.read()["x"] == b"2"
    assert outcome.applied is (on_conflict == "merge")


def test_an_operation_that_is_cut_short_is_ended(tmp_path: Path) -> None:
    bench = make(tmp_path, {"x": b"1", "y": b"1"})
    tree = bench.track()
    bench.write({".gitignore": b"x\ny\n", "x": b"2", "y": b"2"})
    now = bench.track()
    with killed_at("apply.move", 2):
        bench.restore(tree)
    bench.reopen()
    assert bench.track() == tree
    assert bench.read() == {"x": b"1", "y": b"1"}
    assert now != tree


def test_what_the_agents_left_is_told_without_it(tmp_path: Path) -> None:
    """Nobody changed an ignored file as far as the timeline goes: it is in no span, and no step's."""
    bench = make(tmp_path, {"x": b"1"})
    tree = bench.track()
    agents = Agents(bench)
    session = agents.start()
    bench.write({".gitignore": b"x\n", "x": b"2"})
    bench.track()
    step = agents.begin(session)
    bench.write({"mine": b""})
    bench.revert((tree, ["x"]))
    agents.end(step)
    assert agents.files(step) == {"mine": "added"}
    assert bench.read()["x"] == b"1"


def test_many_of_them_are_judged_one_by_one(tmp_path: Path) -> None:
    names = [f"d/{at}" for at in range(amount(1000, 5000))]
    bench = make(tmp_path, dict.fromkeys(names, b"1"))
    tree = bench.track()
    bench.write({".gitignore": b"/d\n", **dict.fromkeys(names[:10], b"2")})
    bench.track()
    said = outcomes(bench.restore(tree))
    assert {word for name, word in said.items() if name in names[:10]} == {"restored"}
    assert bench.track() == tree


# -- steps


def test_undo_of_a_step_that_had_a_file_ignored(tmp_path: Path) -> None:
    bench = make(tmp_path, {"x": b"1"})
    agents = Agents(bench)
    session = agents.start()
    step = agents.step(session, {".gitignore": b"x\n"})
    # the file itself was not changed
    assert agents.undo(session, dry_run=True) == {".gitignore": "deleted"}
    assert agents.undo(session) == {".gitignore": "deleted"}
    assert bench.read() == {"x": b"1"}
    agents.redo(session)
    assert bench.read() == {".gitignore": b"x\n", "x": b"1"}
    assert agents.view(step).step.state == "applied"


@pytest.mark.parametrize("on_conflict", ["merge", "overwrite"])
def test_undo_of_a_step_whose_file_is_ignored_by_now(tmp_path: Path, on_conflict: OnConflict) -> None:
    bench = make(tmp_path, {"x": b"1"})
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, {"x": b"2"})
    bench.write({".gitignore": b"x\n", "x": b"the user's"})
    expected_outcomes = agents.undo(session, on_conflict=on_conflict, dry_run=True)
    outcome, _ = agents.undone(session, on_conflict=on_conflict)
    assert outcomes(outcome) == expected_outcomes
    if on_conflict == "merge":
        assert expected_outcomes == {"x": "conflict:changedSince"}
        assert bench.read()["x"] == b"the user's"
    else:
        assert expected_outcomes == {"x": "restored"}
        assert bench.read()["x"] == b"1"
        assert bench.workspace.snapshots.file_at(outcome.before, b"x").data == b"the user's"


def test_undo_of_a_step_that_made_a_file_that_is_ignored_by_now_leaves_it(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b""})
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, {"x": b"1"})
    agents.step(session, {"x": b"2"})
    bench.write({".gitignore": b"x\n"})
    said = agents.undo(session, count=2, on_conflict="overwrite")
    assert said["x"] == "unchanged"
    assert bench.read()["x"] == b"2"


RULES = [".gitignore", "out/.gitignore", ".snapd.toml"]


@pytest.mark.parametrize("rules", RULES)
def test_undo_of_steps_that_made_a_file_and_had_it_ignored(tmp_path: Path, rules: str) -> None:
    text = b"exclude = ['out/x']\n" if rules == ".snapd.toml" else b"x\n"
    bench = make(tmp_path, {"a": b""})
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, {"out/x": b"1"}, message="m")
    agents.step(session, {"out/x": b"2"}, message="m")
    agents.step(session, {rules: text}, message="m")
    with_it = bench.read()
    assert agents.revert(session, "m", dry_run=True) == {"out/x": "deleted", rules: "deleted"}
    assert agents.revert(session, "m") == {"out/x": "deleted", rules: "deleted"}
    assert bench.read() == {"a": b""}
    assert not os.path.exists(bench.path("out"))
    agents.redo(session, count=9)
    assert bench.read() == with_it


@pytest.mark.parametrize("on_conflict", ["merge", "overwrite"])
def test_undo_of_steps_that_had_a_file_ignored_that_was_changed_since(tmp_path: Path, on_conflict: OnConflict) -> None:
    bench = make(tmp_path, {"a": b""})
    agents = Agents(bench)
    session = agents.start()
    agents.step(session, {"x": b"1"})
    agents.step(session, {".gitignore": b"x\n"})
    bench.write({"x": b"the user's"})
    outcome, _ = agents.undone(session, count=2, on_conflict=on_conflict)
    if on_conflict == "merge":
        assert outcomes(outcome)["x"] == "conflict:changedSince"
        assert bench.read()["x"] == b"the user's"
    else:
        assert outcomes(outcome)["x"] == "deleted"
        assert bench.workspace.snapshots.file_at(outcome.before, b"x").data == b"the user's"


def test_git_says_what_is_captured(tmp_path: Path) -> None:
    """The snapshot before has just what git has with the files added by force."""
    bench = make(tmp_path, {"x": b"1", "d/y": b"1"}, git=True)
    tree = bench.track()
    bench.write({".gitignore": b"x\n/d\n", "x": b"2", "d/y": b"2", "d/other": b"3"})
    before = bench.restore(tree, dry_run=True).before
    run_git(bench.root, "add", "-A")
    run_git(bench.root, "add", "-f", "x", "d/y")
    assert before.hex() == run_git(bench.root, "write-tree").decode().strip()
    assert os.path.exists(bench.path("d/other"))
    assert bench.workspace.comparison.changed(before, None, Call()) == ()
