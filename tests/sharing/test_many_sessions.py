"""Many fetched sessions cost what is asked of them: counted in what is read and opened, not in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.crowd import Member, Project, create_remote, populate
from snapd.model.call import Call
from snapd.model.errors import IoError, UnknownSession
from snapd.model.timeline import StepQuery
from snapd.remotes.program import Finished, GitProgram
from snapd.sharing import mirror
from snapd.sharing.remote_sessions import MOST_OPEN
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.chain import SESSIONS, chain_of_session
from snapd.store.timeline.database import Database
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work

MANY = 250
BEGAN = 1_780_000_000_000


@pytest.fixture
def remote(tmp_path: Path) -> str:
    path = str(tmp_path / "remote")
    project = Project()
    create_remote(path, project)
    populate(path, project, [member(number) for number in range(MANY)])
    assert run_git(Path(path), "fsck", "--strict", "--no-dangling") == b""
    return path


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    return at_work(tmp_path / "here", {"a.txt": TEXT})


def member(number: int) -> Member:
    # every tenth is still at work
    return Member(number, f"machine-{number % 7}.example.com", BEGAN + number * 1000, number % 10 != 0)


def fetch(agents: Agents, remote: str, *sessions: str) -> list[str]:
    views = agents.bench.workspace.fetched.fetch(remote, sessions or None, Call())
    return [view.session.session_id for view in views]


def listed(agents: Agents, limit: int | None) -> list[str]:
    """All fetched sessions, page by page."""
    names: list[str] = []
    after = None
    while True:
        page = agents.bench.workspace.readers.sessions(Call(), after, limit)
        assert limit is None or len(page.views) <= limit
        names += [view.session.session_id for view in page.views if view.origin is not None]
        after = page.after
        if after is None:
            return names


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what is read: commits, all references at once, and databases that are made."""
    counted: Counter[str] = Counter()
    read_commit, open_database, read_references = (
        ShadowRepository.read_commit,
        Database.__init__,
        mirror.read_references,
    )

    def commit(self: ShadowRepository, oid: bytes) -> bytes:
        counted["commits"] += 1
        return read_commit(self, oid)

    def database(self: Database, path: str | None) -> None:
        counted["databases"] += path is None
        open_database(self, path)

    def references(store: str) -> object:
        counted["references"] += 1
        return read_references(store)

    monkeypatch.setattr(ShadowRepository, "read_commit", commit)
    monkeypatch.setattr(Database, "__init__", database)
    monkeypatch.setattr(mirror, "read_references", references)
    return counted


def test_lists_and_lookups_read_no_other_session(here: Agents, remote: str, work: Counter[str]) -> None:
    assert sorted(fetch(here, remote)) == [member(number).session_id for number in range(MANY)]
    here.bench.reopen()
    work.clear()
    names = listed(here, 40)
    assert sorted(names) == [member(number).session_id for number in range(MANY)]
    assert listed(here, None) == names
    assert listed(here, 1)[:9] == names[:9]
    views = here.bench.workspace.readers.sessions(Call(), None, None).views
    first = next(view for view in views if view.origin is not None)
    number = int(first.session.session_id.removeprefix("session-"))
    assert (first.session.title, first.session.step_count) == (f"Task {number}", 1)
    assert first.session.ended == (None if number % 10 == 0 else BEGAN + number * 1000 + 9000)
    assert first.origin is not None
    assert (first.origin.remote, first.origin.host) == (remote, f"machine-{number % 7}.example.com")
    assert work == Counter()
    wanted = member(123)
    (view,) = here.bench.workspace.readers.find(StepQuery(wanted.step_id[:8]), None, Call())
    assert view.step.step_id == wanted.step_id
    assert here.bench.workspace.fetched.of_step(wanted.step_id) is not None
    assert here.bench.workspace.readers.find(StepQuery("nothing"), None, Call()) == ()
    assert here.bench.workspace.readers.find(StepQuery("", message_id="nothing"), None, Call()) == ()
    # what it read of one session, and no more
    assert work == Counter(commits=4, databases=1)
    work.clear()
    here.bench.workspace.readers.find(StepQuery(""), 3, Call())
    assert work["databases"] <= 3
    assert here.bench.workspace.readers.find(StepQuery("", is_open=True), None, Call()) == ()
    assert work["databases"] <= 3
    assert work["references"] == 0


def test_a_fetch_by_name_lists_no_other_session(here: Agents, remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[Sequence[str]] = []
    run = GitProgram.run

    def noted(self: GitProgram, git_dir: str, words: Sequence[str], call: Call, **more: Any) -> Finished:
        commands.append(words)
        return run(self, git_dir, words, call, **more)

    monkeypatch.setattr(GitProgram, "run", noted)
    wanted = member(123)
    assert fetch(here, remote, wanted.session_id) == [wanted.session_id]
    # git sends the patterns of a fetch to the remote, which lists no others; those of ls-remote it does not send
    (words,) = [words for words in commands if words[0] in ("fetch", "ls-remote")]
    name = chain_of_session(wanted.session_id)
    assert [ref for ref in words if SESSIONS in ref] == [f"+{name}*:{name}*"]
    with pytest.raises(UnknownSession, match="has no session 'nothing'"):
        fetch(here, remote, member(5).session_id, "nothing")
    assert fetch(here, remote, member(5).session_id) == [member(5).session_id]


def test_few_sessions_stay_in_memory(here: Agents, remote: str, work: Counter[str]) -> None:
    fetch(here, remote)
    work.clear()
    elsewhere = here.bench.workspace.remote_sessions
    steps = {view.step.step_id for view in here.bench.workspace.readers.find(StepQuery(""), None, Call())}
    assert steps == {member(number).step_id for number in range(MANY)}
    assert work["databases"] == MANY
    assert len(elsewhere.open_sessions) == MOST_OPEN
    # one that was let go is read again
    reader = here.bench.workspace.fetched.of_step(member(0).step_id)
    assert reader is not None
    assert reader.view().session.session_id == member(0).session_id


def test_a_fetch_of_one_reads_one(here: Agents, remote: str, work: Counter[str]) -> None:
    fetch(here, remote)
    project = Project()
    populate(remote, project, [member(MANY)])
    work.clear()
    assert fetch(here, remote, member(MANY).session_id) == [member(MANY).session_id]
    # the references are those of the quarantine; the commits are looked at, then their events are put into the index
    assert work["references"] == 1
    assert work["databases"] == 1
    assert work["commits"] < 15
    work.clear()
    # all of them: those that are known are not looked at
    assert fetch(here, remote) == []
    assert (work["commits"], work["databases"]) == (0, 0)
    assert listed(here, 100)[-1] == member(MANY).session_id


def test_a_list_goes_on_where_it_was(here: Agents, remote: str) -> None:
    fetch(here, remote, *(member(number).session_id for number in range(20)))
    first = here.bench.workspace.readers.sessions(Call(), None, 10)
    # meanwhile another remote is known, whose mirror may come first
    fetch(here, f"file://{remote}", member(30).session_id)
    second = here.bench.workspace.readers.sessions(Call(), first.after, None)
    names = [view.session.session_id for view in (*first.views, *second.views) if view.origin is not None]
    assert sorted(names) == sorted([*(member(number).session_id for number in range(20)), member(30).session_id])
    assert names[-1] == member(30).session_id


@pytest.mark.parametrize("damage", ["missing", "empty", "torn", "older"])
def test_the_index_is_made_again(here: Agents, remote: str, damage: str) -> None:
    fetch(here, remote)
    before = sorted(listed(here, None))
    here.bench.workspace.remote_sessions.close()
    index = Path(here.bench.workspace.store.path, "mirrors.db")
    data = index.read_bytes()
    if damage == "missing":
        index.unlink()
    elif damage == "empty":
        index.write_bytes(b"")
    elif damage == "torn":
        index.write_bytes(b"x" * 4096 + data[4096:])
    else:
        index.write_bytes(data[:60] + b"\0\0\0\1" + data[64:])
    if damage == "torn":
        # an error once, and no wrong answer
        with pytest.raises(IoError):
            listed(here, None)
    assert sorted(listed(here, None)) == before
    assert here.bench.workspace.fetched.of_step(member(7).step_id) is not None


def test_references_that_moved_without_it(here: Agents, remote: str, work: Counter[str]) -> None:
    """As after a crash between the references and the index, or a git run by hand."""
    fetch(here, remote)
    (folder,) = Path(here.bench.workspace.store.path, "mirrors").iterdir()
    names = run_git(folder, "for-each-ref", "--format=%(refname)").decode().split()
    here.bench.workspace.remote_sessions.close()
    run_git(folder, "update-ref", "-d", names[0])
    run_git(folder, "update-ref", names[1], f"{names[1]}~1")
    work.clear()
    assert len(listed(here, None)) == MANY - 1
    # only what moved is read
    assert work["databases"] == 1
    run_git(folder, "pack-refs", "--all")
    work.clear()
    assert len(listed(here, None)) == MANY - 1
    assert work == Counter(references=1)


def test_what_was_fetched_goes_like_anything_else(here: Agents, remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        fetch(here, remote, member(number).session_id)
    (folder,) = Path(here.bench.workspace.store.path, "mirrors").iterdir()
    packs = folder / "objects" / "pack"
    assert len(list(packs.glob("*.pack"))) == 30
    workspace = here.bench.workspace
    # many small packs become one
    workspace.upkeep.cleanup(None, Call())
    assert len(list(packs.glob("*.pack"))) == 1
    assert len(listed(here, None)) == 30
    whole = count(folder)
    # one goes that is gone from the remote as well, and the others stay whole
    mirrored = workspace.remote_sessions.known_mirrors()[folder.name]
    assert mirrored.drop([name(member(3))]) == 1
    workspace.upkeep.cleanup(None, Call())
    assert count(folder) < whole
    assert run_git(folder, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""
    assert workspace.fetched.of_session(member(3).session_id) is None
    assert workspace.fetched.of_step(member(3).step_id) is None
    assert workspace.fetched.of_step(member(4).step_id) is not None
    # they were fetched today, so they stay for as long as a snapshot of today
    workspace.upkeep.cleanup(1, Call())
    assert len(listed(here, None)) == 29
    workspace.upkeep.cleanup(0, Call())
    assert listed(here, None) == []
    assert count(folder) == 0
    # and can be fetched again
    assert fetch(here, remote, member(4).session_id) == [member(4).session_id]


def test_packs_are_put_together_in_the_background(here: Agents, remote: str) -> None:
    for number in range(12):
        fetch(here, remote, member(number).session_id)
    (folder,) = Path(here.bench.workspace.store.path, "mirrors").iterdir()
    elsewhere = here.bench.workspace.remote_sessions
    assert elsewhere.clean_while_idle(0, Call()) == 0
    (upkeep,) = elsewhere.upkeeps().values()
    thread = upkeep.scheduler.thread
    assert thread is not None
    thread.join()
    assert len(list((folder / "objects" / "pack").glob("*.pack"))) < 12
    assert run_git(folder, "--git-dir=.", "fsck", "--strict", "--no-dangling") == b""


def name(wanted: Member) -> str:
    return chain_of_session(wanted.session_id)


def count(folder: Path) -> int:
    """The objects of a repository."""
    counts = dict(line.split(b": ") for line in run_git(folder, "--git-dir=.", "count-objects", "-v").splitlines())
    return int(counts[b"count"]) + int(counts[b"in-pack"])
