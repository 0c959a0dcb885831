"""The repository from which sessions are pushed: git finds it whole, and a session that went on is a continuation."""

from __future__ import annotations

import os
from pathlib import Path

from snapd.model.call import Call
from snapd.sharing.outgoing import OutgoingRepository
from snapd.sharing.projection import Projection
from snapd.store.store import Store
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, text


def head(agents: Agents, session: str, *commands: str) -> tuple[bytes, list[bytes]]:
    """The commit of a session, and what git says to these commands."""
    workspace = agents.bench.workspace
    store: Store = workspace.store
    store.repository.journal.checkpoint()  # type: ignore[attr-defined]
    with OutgoingRepository([os.path.join(store.path, "objects")], "here") as outgoing:
        projection = Projection([session], store.timeline, store, workspace.step_changes.authors, outgoing)
        outgoing.add_session(session, projection.events(Call()))
        outgoing.finish()
        (found,) = outgoing.heads.values()
        path = Path(outgoing.path)
        said = [run_git(path, "--git-dir=.", *command.split()) for command in commands]
    assert not path.exists()
    return found, said


def test_git_finds_it_whole(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT, "empty/": None})
    agents.start("two")
    one, two = agents.begin("one"), agents.begin("two")
    agents.bench.write({"a.txt": text(l2=b"1"), "b.txt": b"2\n"})
    agents.end(one, ["a.txt"])
    agents.end(two, ["b.txt"])
    agents.undo("one")
    found, (checked, log) = head(
        agents, "one", "fsck --no-dangling --strict --full", "log --all --format=%H%x09%ce%x09%s"
    )
    assert checked == b""
    lines = [line.split("\t") for line in log.decode().splitlines()]
    assert lines[0][0] == found.hex()
    assert [line[2] for line in reversed(lines)] == ["sessionStarted", "stepBegun", "stepEnded", "operated"]
    assert {line[1] for line in lines} == {"snapd@here"}


def test_a_session_that_went_on_is_a_continuation(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.step("one", {"a.txt": text(l2=b"1")})
    first, _ = head(agents, "one")
    assert head(agents, "one")[0] == first
    agents.start("two")
    agents.step("two", {"a.txt": text(l2=b"1", l9=b"2")})
    assert head(agents, "one")[0] == first
    agents.step("one", {"a.txt": text(l2=b"3", l9=b"2")})
    _, (commits,) = head(agents, "one", "rev-list --all")
    assert first.hex() in commits.decode().split()
