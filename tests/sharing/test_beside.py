"""What agents did in another work tree or clone on this machine, taken in without being pushed or fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from snapd.core.operations.runner import OperationOptions
from snapd.folders.root import store_of
from snapd.model.call import Call
from snapd.model.errors import (
    InvalidParams,
    NothingToRedo,
    StoreLocked,
    UnknownSession,
    UnknownStep,
)
from snapd.model.snapshot import ObjectId, OnConflict
from snapd.settings.in_force import Options
from snapd.sharing.apply import Applied
from snapd.store import adopt as adopting
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import Bench, outcomes, read

START = {"a.txt": TEXT, "dir/b.txt": TEXT, "gone.txt": b"gone\n"}


class Beside(Bench):
    """Another folder of the process of a bench.

    Args:
        first: the bench.
        root: the folder.
    """

    def __init__(self, first: Bench, root: Path) -> None:
        self.folder, self.home, self.root = first.folder, first.home, root
        self.workspaces = first.workspaces
        self.options = Options(first.options.base, self)
        self.open()

    def open(self) -> None:
        self.workspace = self.workspaces.acquire(os.fsencode(self.root), self.options)

    def close(self) -> None:
        self.workspaces.release(self.workspace, self.options)
        self.workspaces.close_unused()


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path / "here", START, git=True)
    run_git(agents.bench.root, "add", ".")
    run_git(agents.bench.root, "commit", "--quiet", "--message=one")
    return agents


@pytest.fixture(params=["work tree", "clone"])
def there(here: Agents, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Agents]:
    """Another work tree of the same project, or a clone of it, in which another agent works."""
    words = ("clone", "--quiet", ".") if request.param == "clone" else ("worktree", "add", "--quiet", "--detach")
    run_git(here.bench.root, *words, str(tmp_path / "there"))
    agents = Agents(Beside(here.bench, tmp_path / "there"))
    agents.start("one")
    yield agents
    agents.bench.close()


def apply(
    agents: Agents,
    folder: Path,
    session: str | None = None,
    steps: Sequence[str] = (),
    on_conflict: OnConflict = "merge",
    *,
    dry_run: bool = False,
) -> Applied:
    options = OperationOptions(on_conflict, False, dry_run)
    return agents.bench.workspace.applier.apply(session, steps, options, Call(), folder=os.fsencode(folder))


def events(agents: Agents) -> int:
    return agents.bench.workspace.store.timeline.next_seq


def test_a_step_is_taken_in_and_undone(here: Agents, there: Agents) -> None:
    def work() -> None:
        there.bench.write({"a.txt": text(l2=b"1"), "new/c.txt": b"new\n", "made/": None})
        there.bench.remove("gone.txt")

    step = there.step("one", work)
    here.bench.write({"a.txt": text(l15=b"mine"), "mine.txt": b"mine\n"})
    before = read(here.bench.root)
    was = read(there.bench.root), events(there)
    expected_outcomes = apply(here, there.bench.root, steps=[step], dry_run=True)
    assert (expected_outcomes.step_id, read(here.bench.root)) == (None, before)
    applied = apply(here, there.bench.root, steps=[step])
    assert outcomes(applied.outcome) == outcomes(expected_outcomes.outcome)
    after = read(here.bench.root)
    expected = {**before, "a.txt": text(l2=b"1", l15=b"mine"), "new/c.txt": b"new\n", "made/": None}
    del expected["gone.txt"]
    assert after == expected
    assert applied.step_id is not None
    view = here.view(applied.step_id)
    assert here.files(applied.step_id) == {"a.txt": "modified", "gone.txt": "deleted", "new/c.txt": "added"}
    assert view.step.session_id != "one"
    title = here.session(view.step.session_id).session.title
    assert title == f"Apply one from {there.bench.root}"
    # the other folder is as it was, and this one is whole without it
    assert (read(there.bench.root), events(there)) == was
    assert here.bench.workspace.upkeep.check(Call(), quick=False).problems == ()
    here.undo(view.step.session_id)
    assert read(here.bench.root) == before
    here.redo(view.step.session_id)
    assert read(here.bench.root) == after


def test_a_session_that_goes_on_there(here: Agents, there: Agents) -> None:
    there.step("one", {"a.txt": text(l2=b"1")})
    middle = there.step("one", {"a.txt": text(l2=b"1", l10=b"2")})
    there.undo("one", step=middle)
    # what the user and another session did there is none of it
    there.bench.write({"user.txt": b"user\n"})
    there.start("two")
    there.step("two", {"dir/b.txt": text(l3=b"two")})
    running = there.begin("one")
    there.bench.write({"a.txt": text(l2=b"1", l18=b"3")})
    apply(here, there.bench.root, "one")
    assert read(here.bench.root) == {**START, "a.txt": text(l2=b"1")}
    with pytest.raises(InvalidParams, match="has not ended") as caught:
        apply(here, there.bench.root, steps=[running])
    assert caught.value.data["field"] == "stepIds"
    there.end(running)
    apply(here, there.bench.root, "one")
    assert read(here.bench.root)["a.txt"] == text(l2=b"1", l18=b"3")
    apply(here, there.bench.root, steps=[middle])
    assert read(here.bench.root)["a.txt"] == text(l2=b"1", l10=b"2", l18=b"3")
    # the session of the same name here is another one
    assert here.steps("one") == ()
    assert here.bench.workspace.fetched.of_session("two") is None


def test_a_file_that_was_renamed_here(here: Agents, there: Agents) -> None:
    step = there.step("one", {"a.txt": text(l2=b"1")})
    here.bench.write({"renamed.txt": text(l19=b"mine")})
    here.bench.remove("a.txt")
    apply(here, there.bench.root, steps=[step])
    found = read(here.bench.root)
    assert (found["renamed.txt"], "a.txt" in found) == (text(l2=b"1", l19=b"mine"), False)


def test_what_conflicts(here: Agents, there: Agents) -> None:
    step = there.step("one", {"a.txt": text(l2=b"theirs"), "dir/b.txt": text(l5=b"five")})
    here.bench.write({"a.txt": text(l2=b"mine")})
    refused = apply(here, there.bench.root, steps=[step], on_conflict="fail")
    assert (refused.step_id, refused.outcome.applied) == (None, False)
    expected_outcomes = apply(here, there.bench.root, steps=[step], dry_run=True)
    applied = apply(here, there.bench.root, steps=[step])
    assert outcomes(applied.outcome) == {"a.txt": "conflict:changedSince", "dir/b.txt": "restored"}
    assert outcomes(expected_outcomes.outcome) == outcomes(applied.outcome)
    assert read(here.bench.root)["a.txt"] == text(l2=b"mine")


def test_there_and_back(here: Agents, there: Agents) -> None:
    """Each takes the best of the other."""
    mine = here.step("one", {"a.txt": text(l2=b"1")})
    theirs = there.step("one", {"a.txt": text(l10=b"2")})
    apply(there, here.bench.root, steps=[mine])
    apply(here, there.bench.root, steps=[theirs])
    assert read(here.bench.root) == read(there.bench.root) == {**START, "a.txt": text(l2=b"1", l10=b"2")}


def test_from_a_folder_that_is_not_open(here: Agents, there: Agents) -> None:
    step = there.step("one", {"a.txt": text(l2=b"1")})
    there.bench.close()
    try:
        # a folder in it stands for it
        apply(here, there.bench.root / "dir", steps=[step])
        assert read(here.bench.root)["a.txt"] == text(l2=b"1")
        assert read(there.bench.root)["a.txt"] == text(l2=b"1")
        # open for that request alone
        here.bench.workspaces.close_unused()
        assert here.bench.workspaces.all_open == [here.bench.workspace]
    finally:
        there.bench.open()


def test_the_other_store_is_packed_meanwhile(here: Agents, there: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loose objects go into a pack after the packs were looked through, and before the loose files are."""
    step = there.step("one", {"a.txt": text(l2=b"1")})
    store = Path(there.bench.workspace.store.path)
    look = adopting.adopt_loose
    packed = []

    def after_packing(*words: Any) -> set[ObjectId]:
        if not packed:
            packed.append(run_git(store, "--git-dir=.", "repack", "-a", "-d", "-k", "--quiet"))
        return look(*words)

    monkeypatch.setattr(adopting, "adopt_loose", after_packing)
    apply(here, there.bench.root, steps=[step])
    assert packed
    assert read(here.bench.root)["a.txt"] == text(l2=b"1")


def test_what_cannot_be_taken_in(here: Agents, there: Agents, tmp_path: Path) -> None:
    nothing = there.step("one", {})
    step = there.step("one", {"a.txt": text(l2=b"1")})
    there.start("two")
    other = there.step("two", {"c.txt": b"c\n"})
    (tmp_path / "unknown").mkdir()
    for folder, why in (
        (tmp_path / "unknown", "no snapshots"),
        (tmp_path / "nowhere", "no snapshots"),
        (here.bench.root, "is the folder that the request is about"),
        (here.bench.root / "dir", "is the folder that the request is about"),
    ):
        with pytest.raises(InvalidParams, match=why) as wrong:
            apply(here, folder, steps=[step])
        assert wrong.value.data["field"] == "from"
    for folder in (tmp_path / "unknown", tmp_path / "nowhere"):
        assert not os.path.exists(store_of(str(folder), here.bench.workspaces.locations, None))
    with pytest.raises(NothingToRedo):
        apply(here, there.bench.root, steps=[nothing])
    with pytest.raises(UnknownStep, match=str(there.bench.root)):
        apply(here, there.bench.root, steps=["nothing"])
    with pytest.raises(UnknownStep):
        apply(here, there.bench.root, steps=[step, other])
    with pytest.raises(UnknownStep):
        apply(here, there.bench.root, steps=[step, "nothing"])
    with pytest.raises(UnknownSession, match=str(there.bench.root)):
        apply(here, there.bench.root, "nothing")
    # without `from`, nobody looks there
    with pytest.raises(UnknownStep, match="was fetched"):
        here.bench.workspace.applier.apply(None, [step], OperationOptions("merge", False, False), Call())


def test_a_folder_that_another_process_has_open(here: Agents, there: Agents) -> None:
    step = there.step("one", {"a.txt": text(l2=b"1")})
    there.bench.close()
    other = Bench(here.bench.folder, "")
    other.root = there.bench.root
    other.open()
    try:
        with pytest.raises(StoreLocked) as caught:
            apply(here, there.bench.root, steps=[step])
        assert str(there.bench.root) in caught.value.message
        assert "bundle" in (caught.value.hint or "")
    finally:
        other.close()
        there.bench.open()
    apply(here, there.bench.root, steps=[step])
