"""Old sessions are deleted from a remote: which ones, what is kept, and what others do meanwhile. Git is the oracle."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks.crowd import DAY, Member, Project, create_remote, populate
from snapd.model.call import Call
from snapd.model.errors import RemoteFailed
from snapd.remotes.exchange import Exchange
from snapd.sharing import remote as pushing
from snapd.sharing.push import PruneOptions, PushOptions
from snapd.store.timeline.chain import chain_of_session
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work

HOST = "here.example.com"
OLD = 30


@pytest.fixture
def project() -> Project:
    return Project()


@pytest.fixture
def remote(tmp_path: Path, project: Project) -> str:
    path = str(tmp_path / "remote")
    create_remote(path, project)
    return path


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path / "here", {"a.txt": TEXT})
    agents.bench.workspace.remote_sessions.host = HOST  # type: ignore[misc]
    return agents


def member(number: int, days: float, host: str = "there.example.com") -> Member:
    return Member(number, host, int(time.time() * 1000 - days * DAY))


def prune(agents: Agents, remote: str, days: float = OLD, *, everybody: bool = False, dry: bool = False) -> list[str]:
    address, sessions = agents.bench.workspace.pruning.prune(remote, PruneOptions(days, everybody, dry), Call())
    assert address == remote
    return [session.reference for session in sessions]


def references(remote: str) -> set[str]:
    return set(run_git(Path(remote), "for-each-ref", "--format=%(refname)", "refs/snapd").decode().split())


def names(*members: Member) -> list[str]:
    return [chain_of_session(each.session_id) for each in members]


@pytest.mark.parametrize("filters", ["true", "false"])
def test_whose_sessions_go(here: Agents, remote: str, project: Project, filters: str) -> None:
    """A remote that can leave out what is not asked for, and one that cannot."""
    run_git(Path(remote), "config", "uploadpack.allowFilter", filters)
    mine = [member(1, 50, HOST), member(2, 31, HOST)]
    young = [member(3, 29, HOST), member(4, 0)]
    theirs = [member(5, 100), member(6, 30.5)]
    populate(remote, project, [*mine, *young, *theirs])
    everything = references(remote)
    assert prune(here, remote, dry=True) == names(*mine)
    assert prune(here, remote, everybody=True, dry=True) == names(theirs[0], *mine, theirs[1])
    assert references(remote) == everything
    assert prune(here, remote) == names(*mine)
    assert references(remote) == everything - set(names(*mine))
    assert prune(here, remote) == []
    assert prune(here, remote, everybody=True) == names(*theirs)
    assert references(remote) == set(names(*young))
    assert run_git(Path(remote), "fsck", "--strict", "--no-dangling") == b""


def test_a_session_of_this_folder_is_ours_whoever_added_to_it(here: Agents, remote: str, project: Project) -> None:
    here.start(member(7, 0).session_id)
    populate(remote, project, [member(7, 40), member(8, 40)])
    workspace = here.bench.workspace
    _, (pruned,) = workspace.pruning.prune(remote, PruneOptions(OLD), Call())
    assert (pruned.session_id, pruned.host) == (member(7, 0).session_id, "there.example.com")
    assert references(remote) == set(names(member(8, 40)))


def test_every_machine_keeps_its_own(here: Agents, remote: str, project: Project) -> None:
    populate(remote, project, [member(1, 40), member(2, 40)])
    step = here.step("one", {"a.txt": b"x\n"})
    workspace = here.bench.workspace
    workspace.pushing.push(remote, None, PushOptions(), Call())
    workspace.fetched.fetch(remote, [member(1, 40).session_id], Call())
    _, pruned = workspace.pruning.prune(remote, PruneOptions(0, everybody=True), Call())
    assert len(pruned) == 3
    # the names are told as far as this machine has the sessions
    assert {session.session_id for session in pruned} == {"one", member(1, 40).session_id, None}
    assert references(remote) == set()
    assert workspace.sessions.known_step(step) is not None
    reader = workspace.fetched.of_session(member(1, 40).session_id)
    assert reader is not None
    assert reader.changes.own(reader.views.known_step(member(1, 40).step_id)).files
    # and can push it again
    workspace.pushing.push(remote, ["one"], PushOptions(), Call())
    assert references(remote) == {chain_of_session("one")}


def test_one_that_somebody_adds_to_meanwhile_stays(
    here: Agents, remote: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "TOGETHER", 4)
    old = [member(number, 60 - number) for number in range(10)]
    populate(remote, project, old)
    delete = Exchange.delete
    moved = names(old[5])[0]
    lots = []

    def meanwhile(self: Exchange, git_dir: str, seen: dict[str, bytes], call: Call) -> None:
        lots.append(len(seen))
        run_git(Path(remote), "update-ref", moved, f"{names(old[9])[0]}" if len(lots) == 1 else moved)
        delete(self, git_dir, seen, call)

    monkeypatch.setattr(Exchange, "delete", meanwhile)
    assert prune(here, remote, everybody=True) == names(*old[:5], *old[6:])
    assert references(remote) == {moved}
    # the lot that had it was refused as a whole, then the others of it went
    assert lots == [4, 4, 3, 2]


def test_a_line_that_breaks(here: Agents, remote: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "TOGETHER", 4)
    old = [member(number, 60 - number, HOST) for number in range(10)]
    populate(remote, project, old)
    delete = Exchange.delete
    lots = []

    def breaks(self: Exchange, git_dir: str, seen: dict[str, bytes], call: Call) -> None:
        lots.append(len(seen))
        if len(lots) == 2:
            raise RemoteFailed("the line is broken", remote=remote, reason="interrupted")
        delete(self, git_dir, seen, call)

    monkeypatch.setattr(Exchange, "delete", breaks)
    with pytest.raises(RemoteFailed):
        prune(here, remote)
    assert references(remote) == set(names(*old[4:]))
    assert prune(here, remote) == names(*old[4:])


def test_what_is_no_session_stays(here: Agents, remote: str, project: Project) -> None:
    populate(remote, project, [member(1, 60)])
    strange = "refs/snapd/sessions/0123456789abcdef"
    run_git(Path(remote), "update-ref", strange, project.commit.hex())
    assert prune(here, remote, 0, everybody=True) == names(member(1, 60))
    assert references(remote) == {strange}


def test_an_empty_remote_and_none(here: Agents, remote: str, tmp_path: Path) -> None:
    assert prune(here, remote, 0, everybody=True) == []
    with pytest.raises(RemoteFailed):
        here.bench.workspace.pruning.prune(str(tmp_path / "no"), PruneOptions(1), Call())
