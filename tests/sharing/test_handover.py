"""A folder that is handed over to another machine and goes on there, and back: a real bare repository in between."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import pytest

from snapd.core.operations.runner import OperationOptions
from snapd.core.review.choice import Choice
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, RemoteChanged
from snapd.model.snapshot import OnConflict
from snapd.sharing.handover import HandoverOptions, MadeHandover
from snapd.sharing.takeover import TakeoverOutcome
from tests.remotes.machines import bare
from tests.sharing.test_projection import told
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text
from tests.support.workspace import make, outcomes, read

START = {"a.txt": TEXT, "dir/b.txt": TEXT, "gone.txt": b"gone\n", ".gitignore": b"*.key\n"}


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(bare(tmp_path / "remote"))


@pytest.fixture
def here(tmp_path: Path, remote: str) -> Agents:
    """A project that is committed, and pushed."""
    agents = at_work(tmp_path / "here", START, git=True)
    git(agents, "add", ".")
    git(agents, "commit", "--quiet", "--message=one")
    git(agents, "push", "--quiet", remote, "HEAD:refs/heads/main")
    return agents


@pytest.fixture
def there(tmp_path: Path, remote: str, here: Agents) -> Agents:
    """A clone of it, in which no agent worked yet."""
    del here
    agents = Agents(make(tmp_path / "there", {}, git=True))
    git(agents, "pull", "--quiet", remote, "main")
    return agents


def git(agents: Agents, *words: str) -> bytes:
    return run_git(agents.bench.root, *words)


def hand_over(agents: Agents, remote: str, name: str | None = None, include: Sequence[bytes] = ()) -> MadeHandover:
    workspace = agents.bench.workspace
    return workspace.handover.hand_over(
        workspace.remote_sessions.remote(remote), HandoverOptions(name=name, include=include), Call()
    )


def take_over(
    agents: Agents, remote: str, name: str | None = None, on_conflict: OnConflict = "merge", *, dry_run: bool = False
) -> TakeoverOutcome:
    workspace = agents.bench.workspace
    return workspace.takeover.take_over(
        workspace.remote_sessions.remote(remote), name, OperationOptions(on_conflict, True, dry_run), Call()
    )


def blamed(agents: Agents, file: str) -> dict[int, str]:
    """The step of each line that one wrote."""
    found = agents.bench.workspace.blame.lines(file.encode(), None, None, Call())
    return {
        line: lines.writer.steps[0]
        for lines in found.lines
        if lines.writer.steps
        for line in range(lines.start, lines.start + lines.count)
    }


def pending(agents: Agents) -> list[str]:
    return [file.path.decode() for file in agents.bench.workspace.review.page(Choice(), Call()).files]


def taken_over(agents: Agents) -> dict[str, str]:
    """The sessions that another machine took over, and which."""
    views = agents.bench.workspace.readers.sessions(Call()).views
    return {view.session.session_id: view.taken_over.host for view in views if view.taken_over is not None}


def says(agents: Agents, session: str) -> object:
    workspace = agents.bench.workspace
    return told(workspace.store.timeline, workspace.step_changes, session)


def test_a_clean_clone_goes_on(here: Agents, there: Agents, remote: str) -> None:
    first = here.step("one", {"a.txt": text(l2=b"1")}, message="m")
    middle = here.step("one", {"dir/b.txt": text(l3=b"2"), "new.txt": b"new\n"})
    last = here.step("one", {"a.txt": text(l2=b"1", l9=b"3")})
    here.bench.write({"user.txt": b"of the user\n", "x.key": b"secret\n", "y.key": b"other\n"})
    here.bench.remove("gone.txt")
    made = hand_over(here, remote, include=[b"x.key"])
    assert made.applied
    assert made.sessions == ("one",)
    assert run_git(Path(remote), "fsck", "--strict", "--no-dangling") == b""
    expected_outcomes = take_over(there, remote, dry_run=True)
    assert not expected_outcomes.outcome.applied
    taken = take_over(there, remote)
    assert taken.is_marked
    assert {file.path: file.outcome for file in taken.outcome.files} == {
        file.path: file.outcome for file in expected_outcomes.outcome.files
    }
    expected = read(here.bench.root)
    del expected["y.key"]
    assert read(there.bench.root) == expected
    assert says(there, "one") == says(here, "one")
    assert [view.session.session_id for view in taken.sessions] == ["one"]
    # the middle step is undone, the rest stays
    there.undo("one", step=middle)
    assert read(there.bench.root)["dir/b.txt"] == TEXT
    assert "new.txt" not in read(there.bench.root)
    assert read(there.bench.root)["a.txt"] == text(l2=b"1", l9=b"3")
    # who wrote what is known here as it is there
    assert blamed(there, "a.txt") == {2: first, 9: last}
    # and the agent goes on
    there.step("one", {"a.txt": text(l2=b"1", l9=b"3", l12=b"4")})
    assert [view.step.begun.index for view in there.steps("one")] == [0, 1, 2, 3]
    assert there.bench.workspace.upkeep.check(Call(), quick=False).problems == ()


def test_work_of_both_is_merged(here: Agents, there: Agents, remote: str) -> None:
    def work() -> None:
        here.bench.write({"a.txt": text(l2=b"1"), "dir/b.txt": text(l2=b"theirs")})
        here.bench.remove("gone.txt")

    here.step("one", work)
    there.bench.write({"a.txt": text(l15=b"mine"), "mine.txt": b"mine\n", "dir/b.txt": text(l2=b"mine")})
    hand_over(here, remote)
    before = read(there.bench.root)
    refused = take_over(there, remote, on_conflict="fail")
    assert not refused.outcome.applied
    assert refused.sessions == ()
    assert read(there.bench.root) == before
    assert there.bench.workspace.sessions.all(Call()).views == ()
    taken = take_over(there, remote)
    assert outcomes(taken.outcome)["dir/b.txt"].startswith("conflict")
    after = read(there.bench.root)
    assert after["a.txt"] == text(l2=b"1", l15=b"mine")
    assert after["dir/b.txt"] == text(l2=b"mine")
    assert (after["mine.txt"], "gone.txt" in after) == (b"mine\n", False)
    # what was there before can be had again
    there.bench.restore(taken.outcome.before)
    assert read(there.bench.root) == before


def test_there_and_back(here: Agents, there: Agents, remote: str) -> None:
    step = here.step("one", {"a.txt": text(l2=b"1")})
    here.bench.write({"a.txt": text(l2=b"1", l5=b"typed")})
    hand_over(here, remote)
    take_over(there, remote)
    here.bench.workspace.fetched.fetch(remote, None, Call())
    assert taken_over(here) == {"one": platform.node()}
    later = there.step("one", {"a.txt": text(l2=b"1", l5=b"typed again"), "b.txt": b"b\n"})
    there.undo("one", step=step)
    back = hand_over(there, remote)
    assert back.name != ""
    here.bench.write({"c.txt": b"meanwhile\n"})
    take_over(here, remote, back.name)
    assert read(here.bench.root) == {**read(there.bench.root), "c.txt": b"meanwhile\n"}
    assert says(here, "one") == says(there, "one")
    assert here.states("one") == ["undone", "applied"]
    assert taken_over(here) == {}
    here.undo("one", step=later)
    assert read(here.bench.root)["a.txt"] == text(l5=b"typed")
    assert take_over(here, remote, back.name).sessions == ()


def test_without_git(tmp_path: Path, remote: str) -> None:
    here, there = at_work(tmp_path / "a", START), Agents(make(tmp_path / "b", {"a.txt": TEXT}))
    here.step("one", {"a.txt": text(l2=b"1"), "made/": None})
    hand_over(here, remote, "work")
    take_over(there, remote)
    assert read(there.bench.root) == read(here.bench.root)
    there.step("one", {"a.txt": text(l2=b"2")})
    hand_over(there, remote, "back")
    take_over(here, remote, "back")
    assert read(there.bench.root) == read(here.bench.root)


def test_a_clone_that_is_behind_or_ahead(here: Agents, there: Agents, remote: str) -> None:
    here.bench.write({"later.txt": b"later\n", "a.txt": text(l8=b"later")})
    here.bench.remove("gone.txt")
    git(here, "add", "--all")
    git(here, "commit", "--quiet", "--message=not pushed")
    here.step("one", {"a.txt": text(l2=b"1", l8=b"later")})
    there.bench.write({"other.txt": b"other\n"})
    git(there, "add", "--all")
    git(there, "commit", "--quiet", "--message=of its own")
    hand_over(here, remote)
    take_over(there, remote)
    assert read(there.bench.root) == {**read(here.bench.root), "other.txt": b"other\n"}


def test_names(here: Agents, there: Agents, remote: str) -> None:
    with pytest.raises(InvalidParams, match="has no handover"):
        take_over(there, remote)
    with pytest.raises(InvalidParams, match="cannot be the name"):
        hand_over(here, remote, "a/b")
    hand_over(here, remote, "first")
    hand_over(here, remote, "first")
    with pytest.raises(RemoteChanged, match="has a handover 'first' of"):
        hand_over(there, remote, "first")
    hand_over(here, remote, "second")
    with pytest.raises(InvalidParams, match="several handovers"):
        take_over(there, remote)
    assert take_over(there, remote, "first").name == "first"
    assert take_over(there, remote).name == "second"


def test_a_session_that_went_on_twice(here: Agents, there: Agents, remote: str) -> None:
    here.step("one", {"a.txt": text(l2=b"1")})
    hand_over(here, remote, "work")
    take_over(there, remote)
    there.step("one", {"a.txt": text(l2=b"2")})
    here.step("one", {"a.txt": text(l2=b"3")})
    before = read(there.bench.root)
    hand_over(here, remote, "again")
    with pytest.raises(RemoteChanged, match="continued here since"):
        take_over(there, remote, "again")
    assert read(there.bench.root) == before


def test_an_open_step_and_what_is_pending(here: Agents, there: Agents, remote: str) -> None:
    here.step("one", {"dir/b.txt": text(l2=b"1")})
    step = here.begin("one", client="editor")
    here.bench.write({"a.txt": text(l2=b"1")})
    hand_over(here, remote)
    take_over(there, remote)
    assert pending(there) == pending(here) == ["a.txt", "dir/b.txt"]
    there.bench.write({"a.txt": text(l2=b"1", l9=b"mine")})
    there.end(step, ["a.txt"])
    assert there.states("one") == ["applied", "applied"]
    there.undo("one", step=step)
    assert read(there.bench.root)["a.txt"] in (TEXT, text(l9=b"mine"))
