"""What steps changed on one machine, taken in on another: as a redo does, and as a step that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, NothingToRedo, UnknownSession, UnknownStep
from snapd.model.snapshot import OnConflict
from snapd.sharing.apply import Applied
from snapd.sharing.push import PushOptions
from tests.remotes.machines import bare
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import outcomes, read

START = {"a.txt": TEXT, "dir/b.txt": TEXT, "gone.txt": b"gone\n", "empty/": None}


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(bare(tmp_path / "remote"))


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    return at_work(tmp_path / "here", START)


@pytest.fixture
def there(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path / "there", START)
    agents.bench.workspace.snapshots.track((), Call())
    return agents


def sent(here: Agents, there: Agents, remote: str) -> None:
    here.bench.workspace.pushing.push(remote, None, PushOptions(), Call())
    there.bench.workspace.fetched.fetch(remote, None, Call())


def apply(
    agents: Agents,
    session: str | None = None,
    steps: Sequence[str] = (),
    on_conflict: OnConflict = "merge",
    *,
    dry_run: bool = False,
) -> Applied:
    options = OperationOptions(on_conflict, False, dry_run)
    return agents.bench.workspace.applier.apply(session, steps, options, Call())


def test_a_step_is_taken_in_and_undone(here: Agents, there: Agents, remote: str) -> None:
    def work() -> None:
        here.bench.write({"a.txt": text(l2=b"1"), "new/c.txt": b"new\n", "made/": None})
        here.bench.remove("gone.txt", "empty")

    step = here.step("one", work)
    sent(here, there, remote)
    there.bench.write({"a.txt": text(l15=b"mine")})
    before = read(there.bench.root)
    expected_outcomes = apply(there, steps=[step], dry_run=True)
    assert expected_outcomes.step_id is None
    assert read(there.bench.root) == before
    applied = apply(there, steps=[step])
    assert outcomes(applied.outcome) == outcomes(expected_outcomes.outcome)
    after = read(there.bench.root)
    assert after == {
        "a.txt": text(l2=b"1", l15=b"mine"), "dir/b.txt": TEXT, "new/c.txt": b"new\n", "made/": None
    }  # fmt: skip
    # a step of its own, in a session of its own
    assert applied.step_id is not None
    view = there.view(applied.step_id)
    assert there.files(applied.step_id) == {
        "a.txt": "modified", "gone.txt": "deleted", "new/c.txt": "added"
    }  # fmt: skip
    assert (view.step.state, view.agent, there.session(view.step.session_id).session.ended is None) == (
        "applied", "agent", False
    )  # fmt: skip
    there.bench.write({"a.txt": text(l2=b"1", l10=b"later", l15=b"mine")})
    there.undo(view.step.session_id)
    assert read(there.bench.root) == {**before, "a.txt": text(l10=b"later", l15=b"mine")}
    there.redo(view.step.session_id)
    assert read(there.bench.root) == {**after, "a.txt": text(l2=b"1", l10=b"later", l15=b"mine")}


def test_a_session_without_what_was_taken_back(here: Agents, there: Agents, remote: str) -> None:
    here.step("one", {"a.txt": text(l2=b"1")})
    middle = here.step("one", {"a.txt": text(l2=b"1", l10=b"2")})
    here.step("one", {"a.txt": text(l2=b"1", l10=b"2", l18=b"3")})
    here.undo("one", step=middle)
    sent(here, there, remote)
    apply(there, "one")
    assert read(there.bench.root)["a.txt"] == text(l2=b"1", l18=b"3")
    # by its name, also what was taken back there
    apply(there, steps=[middle])
    assert read(there.bench.root)["a.txt"] == text(l2=b"1", l10=b"2", l18=b"3")


def test_what_conflicts(here: Agents, there: Agents, remote: str) -> None:
    step = here.step("one", {"a.txt": text(l2=b"theirs"), "dir/b.txt": text(l5=b"five")})
    sent(here, there, remote)
    there.bench.write({"a.txt": text(l2=b"mine")})
    refused = apply(there, steps=[step], on_conflict="fail")
    assert (refused.step_id, refused.outcome.applied) == (None, False)
    assert read(there.bench.root)["dir/b.txt"] == TEXT
    applied = apply(there, steps=[step])
    assert outcomes(applied.outcome) == {"a.txt": "conflict:changedSince", "dir/b.txt": "restored"}
    assert read(there.bench.root)["a.txt"] == text(l2=b"mine")
    overwritten = apply(there, steps=[step], on_conflict="overwrite")
    assert read(there.bench.root)["a.txt"] == text(l2=b"theirs")
    assert overwritten.step_id is not None
    assert list(there.files(overwritten.step_id)) == ["a.txt"]


def test_across_renames(here: Agents, there: Agents, remote: str) -> None:
    step = here.step("one", {"a.txt": text(l2=b"1")})

    def move() -> None:
        here.bench.write({"dir/moved.txt": TEXT})
        here.bench.remove("dir/b.txt")

    moved = here.step("one", move)
    sent(here, there, remote)
    there.bench.write({"renamed.txt": text(l19=b"mine"), "dir/b.txt": text(l3=b"mine")})
    there.bench.remove("a.txt")
    apply(there, steps=[step, moved])
    found = read(there.bench.root)
    assert found["renamed.txt"] == text(l2=b"1", l19=b"mine")
    assert "a.txt" not in found
    assert found["dir/moved.txt"] == text(l3=b"mine")
    assert "dir/b.txt" not in found


def test_a_line_that_a_step_changed_twice(here: Agents, there: Agents, remote: str) -> None:
    """With an undo of another step in the same file in between, so that these are two changes."""
    here.start("two")
    other = here.step("two", {"a.txt": text(l9=b"other")})
    step = here.begin("one")
    here.bench.write({"a.txt": text(l2=b"first", l9=b"other")})
    here.undo("two", step=other)
    here.bench.write({"a.txt": text(l2=b"second")})
    here.end(step)
    sent(here, there, remote)
    there.bench.write({"a.txt": text(l15=b"mine")})
    assert outcomes(apply(there, steps=[step]).outcome) == {"a.txt": "merged"}
    assert read(there.bench.root)["a.txt"] == text(l2=b"second", l15=b"mine")


def test_what_cannot_be_taken_in(here: Agents, there: Agents, remote: str) -> None:
    nothing = here.step("one", {})
    step = here.step("one", {"a.txt": text(l2=b"1")})
    here.start("two")
    other = here.step("two", {"c.txt": b"c\n"})
    sent(here, there, remote)
    with pytest.raises(NothingToRedo):
        apply(there, steps=[nothing])
    with pytest.raises(UnknownStep):
        apply(there, steps=["nothing"])
    with pytest.raises(UnknownStep):
        apply(there, steps=[step, other])
    with pytest.raises(UnknownSession):
        apply(there, "nothing")
    for session, steps in ((None, []), ("one", [step])):
        with pytest.raises(InvalidParams):
            apply(there, session, steps)
    assert [view.session.session_id for view in there.bench.workspace.sessions.all(Call()).views] == ["one"]
    # what is there already needs no step
    there.bench.write({"a.txt": text(l2=b"1")})
    again = apply(there, steps=[step])
    assert (again.step_id, outcomes(again.outcome)) == (None, {"a.txt": "unchanged:already"})
