"""What a person decides about single files: each is overwritten, kept or left in conflict, as the plan said."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.editors import DocumentChanged, FileOnDisk
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.snapshot import Decision, Outcome
from tests.support.sessions import Agents, at_work
from tests.support.workspace import outcomes

OLD = {"a": b"a\n", "b": b"b\n", "c": b"c\n", "d": b"d\n"}
AGENT = dict.fromkeys(OLD, b"agent\n")
USER = {"a": b"user\n", "b": b"user\n", "c": b"user\n"}
CONFLICT = "conflict:changedSince"


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path, OLD)
    agents.step("one", AGENT)
    agents.bench.write(USER)
    return agents


def undo(
    agents: Agents,
    decisions: Mapping[str, Decision],
    *,
    dry_run: bool = False,
    expect: str | None = None,
    count: int = 1,
) -> Outcome:
    named = {name.encode(): decision for name, decision in decisions.items()}
    options = OperationOptions("merge", False, dry_run, expect=expect, decisions=named)
    return agents.bench.workspace.undo_steps.undo(UndoRequest("one", count), options, Call()).outcome


def test_each_file_becomes_what_was_decided_about_it(agents: Agents) -> None:
    decisions: dict[str, Decision] = {"a": "overwrite", "b": "keep", "c": "merge"}
    plan = undo(agents, decisions, dry_run=True)
    assert agents.bench.read() == {**AGENT, **USER}
    assert outcomes(plan) == {"a": "restored", "b": "kept:changedSince", "c": CONFLICT, "d": "restored"}
    done = undo(agents, decisions, expect=plan.plan)
    assert outcomes(done) == outcomes(plan)
    assert agents.bench.read() == {**OLD, "b": b"user\n", "c": b"user\n"}
    assert agents.states("one") == ["partly"]
    # the next undo is about what was left, and no longer about what was kept
    assert outcomes(undo(agents, {"c": "overwrite"})) == {"c": "restored"}
    assert agents.bench.read() == {**OLD, "b": b"user\n"}
    assert agents.states("one") == ["undone"]


def test_a_step_of_which_every_file_is_kept_counts_as_undone(agents: Agents) -> None:
    files = undo(agents, dict.fromkeys(AGENT, "keep"))
    assert set(outcomes(files)) == set(AGENT)
    assert {file.outcome for file in files.files} == {"kept"}
    assert agents.bench.read() == {**AGENT, **USER}
    assert agents.states("one") == ["undone"]


def test_a_plan_names_what_was_decided(agents: Agents) -> None:
    kept = undo(agents, {"a": "keep"}, dry_run=True)
    assert kept.plan != undo(agents, {}, dry_run=True).plan
    assert kept.plan != undo(agents, {"a": "overwrite"}, dry_run=True).plan
    assert kept.plan == undo(agents, {"a": "keep", "b": "merge"}, dry_run=True).plan
    outcome = undo(agents, {"a": "overwrite"}, expect=kept.plan)
    assert not outcome.applied
    assert agents.bench.read() == {**AGENT, **USER}


def test_what_is_kept_is_not_written_even_where_a_part_could_be_taken_back(tmp_path: Path) -> None:
    text = b"".join(b"line %d\n" % number for number in range(30))
    agents = at_work(tmp_path, {"a": text})
    first = text.replace(b"line 2\n", b"first\n")
    agents.step("one", {"a": first})
    agents.step("one", {"a": first.replace(b"line 20\n", b"second\n")})
    agents.bench.write({"a": first.replace(b"line 20\n", b"user\n")})
    now = agents.bench.read()
    assert outcomes(undo(agents, {"a": "keep"}, count=2)) == {"a": "kept"}
    assert agents.bench.read() == now
    assert agents.states("one") == ["undone", "undone"]


def test_a_decision_about_one_name_of_a_moved_file_holds_for_both(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"old": b"moved\n" * 20})
    agents.step("one", lambda: os.rename(agents.bench.path("old"), agents.bench.path("new")))
    agents.bench.write({"old": b"user\n"})
    now = agents.bench.read()
    assert {outcome.split(":")[0] for outcome in outcomes(undo(agents, {}, dry_run=True)).values()} == {"conflict"}
    for name in ("old", "new"):
        kept = outcomes(undo(agents, {name: "keep"}, dry_run=True))
        assert {outcome.split(":")[0] for outcome in kept.values()} == {"kept"}
        assert outcomes(undo(agents, {name: "overwrite"}, dry_run=True)) == {"old": "restored", "new": "deleted"}
    assert agents.bench.read() == now


def test_unsaved_text_is_overwritten_only_where_that_was_decided(agents: Agents) -> None:
    for name in ("c", "d"):
        path = os.fsencode(agents.bench.path(name))
        agents.bench.workspaces.editors.take("editor", path, [DocumentChanged(b"typed")], FileOnDisk(b"saved", 0, 0.0))
    assert outcomes(undo(agents, {"c": "overwrite"})) == {
        "a": CONFLICT,
        "b": CONFLICT,
        "c": "restored",
        "d": "conflict:unsavedInEditor",
    }


@pytest.mark.parametrize("seed", range(60))
def test_random_decisions_are_what_each_alone_would_be(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    names = [f"file{number}" for number in range(6)]

    def one_of(name: str, *texts: str | None) -> bytes | None:
        # texts of their own: nothing counts as moved
        text = dice.choice(texts)
        return None if text is None else f"{name}\n{text}{name}\n".encode()

    def put(items: Mapping[str, bytes | None]) -> None:
        there.bench.write({name: text for name, text in items.items() if text is not None})
        for name, text in items.items():
            if text is None and os.path.exists(there.bench.path(name)):
                os.unlink(there.bench.path(name))

    old = {name: text for name in names if (text := one_of(name, None, "one\ntwo\nthree\n", "one\ntwo\nthree\n"))}
    there = at_work(tmp_path, old)
    there.step("one", lambda: put({name: one_of(name, None, "agent\ntwo\nthree\n", "agent\n") for name in names}))
    left = there.bench.read()
    put({name: one_of(name, None, "one\ntwo\nuser\n", "user\n") for name in names if dice.random() < 0.6})
    now = there.bench.read()
    merged = outcomes(undo(there, {}, dry_run=True))
    decisions: dict[str, Decision] = {
        name: dice.choice(["keep", "overwrite", "merge"]) for name in merged if dice.random() < 0.7
    }
    plan = undo(there, decisions, dry_run=True)
    assert there.bench.read() == now
    done = undo(there, decisions, expect=plan.plan)
    assert outcomes(done) == outcomes(plan)
    after = there.bench.read()
    for name in names:
        decision, was = decisions.get(name), old.get(name)
        if decision == "keep" or (left.get(name) == was and name not in merged):
            assert after.get(name) == now.get(name)
        elif decision == "overwrite":
            assert after.get(name) == was
        elif merged[name].startswith("conflict"):
            assert after.get(name) == now.get(name)
