"""The shortest beginnings of ids and hashes that no other has, as a look at all of them says."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from snapd.model.call import Call
from snapd.model.snapshot_records import SnapshotRecordQuery
from snapd.sharing import index
from snapd.sharing.push import PushOptions
from snapd.store.timeline import queries, schema
from snapd.store.timeline.database import Database
from tests.remotes.machines import bare
from tests.support.sessions import at_work


def shortest(names: list[str], name: str) -> str:
    """By brute force."""
    others = set(names) - {name}
    lengths = range(min(6, len(name)), len(name) + 1)
    return next((name[:at] for at in lengths if not any(other.startswith(name[:at]) for other in others)), name)


def test_ids_that_begin_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(7)
    here, there = at_work(tmp_path / "here"), at_work(tmp_path / "there")

    used: set[str] = set()

    def made(letters: str = "0a\u00fc") -> str:
        while True:
            length = chance.choice([6, 9, 12])
            name = "0000000"[: length - 2] + "".join(chance.choice(letters) for _ in range(length - 5))
            if name not in used:
                used.add(name)
                return name

    token_hex = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: made("0123a") if size == 16 else token_hex(size))
    known = ["one"]
    for agents in (here, there, here):
        for _ in range(15):
            session, message = made(), made()
            agents.start(session)
            agents.bench.workspace.messages.send(session, message, None, Call())
            step = agents.step(session, message=message, work={"a.txt": session.encode()})
            # of messages that were fetched, those that have steps
            known += [session, message, step]
            shown = agents.view(step).step
            assert shown.to is not None
            known += [shown.from_.tree.hex(), shown.to.tree.hex()]
    remote = str(bare(tmp_path / "remote"))
    there.bench.workspace.pushing.push(remote, None, PushOptions(), Call())
    here.bench.workspace.fetched.fetch(remote, None, Call())
    known += [
        view.taken.tree.hex()
        for view in here.bench.workspace.snapshots.taken(SnapshotRecordQuery(), None, 999, Call(), counts=False).views
    ]
    for name in [*known, made()]:
        assert here.bench.workspace.readers.shortest(name) == shortest(known, name)


@pytest.mark.parametrize("statements", [schema.TABLES, index.TABLES])
def test_they_cost_the_same_however_many_ids_there_are(statements: Sequence[str]) -> None:
    """Each is looked up in an index: with 100,000 steps, too, no statement reads a table from end to end."""
    timeline = Database.made(None, ())
    asked: list[str] = []
    timeline.connection.set_trace_callback(asked.append)
    timeline.message_page(None, "01a2031e", None, 6)
    asked.append(queries.NEIGHBOURS)
    database = sqlite3.connect(":memory:")
    for statement in statements:
        database.execute(statement)
    if statements is not schema.TABLES:
        asked = [index.NEIGHBOURS]
    plan = [
        row[3]
        for each in asked
        for row in database.execute(f"EXPLAIN QUERY PLAN {each}", {"1": "a"} if "?1" in each else ())
    ]
    assert [step for step in plan if "SEARCH" in step]
    assert not [step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step]


def test_messages_are_found_by_the_beginning_of_their_ids(tmp_path: Path) -> None:
    agents = at_work(tmp_path / "here")
    sent = ["01a2031e-1", "01a2031e-10", "01a2031e-2", "01a2"]
    for number, message in enumerate(sent):
        session = agents.start(f"s{number % 2}")
        agents.bench.workspace.messages.send(session, message, None, Call())

    def found(prefix: str, session: str | None = None, limit: int | None = None) -> list[str]:
        names: list[str] = []
        after = None
        while True:
            page = agents.bench.workspace.messages.page(session, prefix, Call(), after, limit)
            names += [view.message.message_id for view in page.views]
            after = page.after
            if after is None:
                return names

    # those of all sessions the newest first, those of one the oldest first, in pages as at once
    for limit in (None, 1, 2, 3):
        assert found("01a2031e", limit=limit) == ["01a2031e-2", "01a2031e-10", "01a2031e-1"]
        assert found("", limit=limit) == sent[::-1]
        assert found("01a2031e-", "s0", limit) == ["01a2031e-1", "01a2031e-2"]
    # a whole id means that message, though others begin with it
    assert found("01a2031e-1") == ["01a2031e-1"]
    assert found("01a2") == ["01a2"]
    assert found("01a3") == []
