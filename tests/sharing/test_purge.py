"""A purge where sessions were pushed and fetched: nothing is left on this machine, and it is said where else it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.core.actions.cleanup import PurgeOutcome
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot
from snapd.sharing.handover import HandoverOptions
from snapd.sharing.push import PushOptions
from tests.remotes.machines import bare
from tests.support.secrets import check_gone
from tests.support.sessions import TEXT, Agents, at_work

SECRET = b"token = 7f3a-very-secret-and-long-enough-to-be-found\n"


@pytest.fixture
def here(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path / "here", {"a.txt": TEXT}, git=True)
    agents.bench.workspace.messages.send("one", "m", SECRET.decode(), Call())
    agents.step("one", {"token.txt": SECRET, "b.txt": b"b\n"})
    for name in ("two", "other", "clean"):
        agents.start(name)
    agents.step("other", lambda: os.unlink(agents.bench.path("token.txt")))
    agents.step("clean", {"c.txt": b"c\n"})
    return agents


@pytest.fixture
def remote(tmp_path: Path) -> str:
    return str(bare(tmp_path / "remote"))


def push(agents: Agents, remote: str, *sessions: str, **options: object) -> None:
    agents.bench.workspace.pushing.push(remote, sessions or None, PushOptions(**options), Call())  # type: ignore[arg-type]


def fetch(agents: Agents, remote: str) -> list[str]:
    return [view.session.session_id for view in agents.bench.workspace.fetched.fetch(remote, None, Call())]


def fetched(agents: Agents) -> list[str]:
    return sorted(view.session.session_id for view in agents.bench.workspace.fetched.page(0, None, Call()).views)


def purge(agents: Agents, *names: str, dry_run: bool = False, messages: tuple[str, ...] = ()) -> PurgeOutcome:
    return agents.bench.workspace.upkeep.purge(
        [os.fsencode(name) for name in names], dry_run, Call(), messages=messages
    )


def test_what_was_fetched_goes_and_remotes_are_named(here: Agents, remote: str, tmp_path: Path) -> None:
    second = str(bare(tmp_path / "second"))
    push(here, remote)
    push(here, second, redact=[b"token.txt"], without_prompts=True)
    file = str(tmp_path / "s.bundle")
    here.bench.workspace.pushing.export(file, ["one"], PushOptions(), Call())
    here.bench.workspace.handover.hand_over(
        here.bench.workspace.remote_sessions.remote(remote), HandoverOptions(), Call()
    )
    assert sorted(fetch(here, remote)) == ["clean", "one", "other", "two"]
    here.bench.workspace.remote_sessions.remote(remote).fetch_handover(None, Call())
    told = purge(here, "token.txt", dry_run=True)
    # the handover has the events of all sessions
    assert (told.fetched, told.remotes) == (3, [remote, file])
    assert fetched(here) == ["clean", "one", "other", "two"]
    done = purge(here, "token.txt", messages=("m",))
    assert (done.fetched, done.remotes) == (3, [remote, file])
    check_gone(here.bench.store, SECRET)
    assert fetched(here) == ["clean", "two"]
    assert here.bench.workspace.fetched.known_session("clean").view().session.step_count == 1


def test_the_words_of_a_message_go_from_what_was_fetched(here: Agents, remote: str) -> None:
    push(here, remote, "one", redact=[b"token.txt"])
    fetch(here, remote)
    done = purge(here, messages=("m",))
    assert (done.fetched, done.remotes, fetched(here)) == (1, [remote], [])


def test_a_file_that_was_only_fetched_is_purged(here: Agents, remote: str, tmp_path: Path) -> None:
    push(here, remote)
    there = at_work(tmp_path / "there", {"other.txt": b"other\n"})
    fetch(there, remote)
    done = purge(there, "token.txt")
    assert (done.fetched, done.remotes) == (2, [remote])
    check_gone(there.bench.store, SECRET.rstrip())
    with pytest.raises(FileNotInSnapshot):
        purge(there, "token.txt")


def test_what_went_where_is_said_when_everything_goes(here: Agents, remote: str) -> None:
    push(here, remote)
    assert here.bench.workspace.upkeep.purge_all(True, Call()).remotes == [remote]
    assert here.bench.workspace.upkeep.purge_all(False, Call()).remotes == [remote]
