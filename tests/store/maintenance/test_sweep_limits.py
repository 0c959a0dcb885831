"""Maintenance by number and by size, on a full disk, after a crash: git finds nothing wrong, what stays is exact."""

from __future__ import annotations

import logging
import os
import random
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.model.call import Call
from snapd.model.errors import UnknownSnapshot
from snapd.model.snapshot import ObjectId
from snapd.store.maintenance.sweep import unlinked_bytes
from tests.support.git import run_git
from tests.support.sessions import Agents
from tests.support.workspace import Bench, Items, close_all, make


def check(bench: Bench, states: dict[ObjectId, Items], gone: set[ObjectId]) -> None:
    """Git finds nothing wrong; what stays comes back byte for byte, and what went is unknown."""
    bench.reopen()
    said = run_git(bench.store, "--git-dir=.", "fsck", "--strict", "--full", "--no-dangling")
    assert said == b"", said
    for tree, items in states.items():
        if tree in gone:
            with pytest.raises(UnknownSnapshot):
                bench.restore(tree)
        else:
            bench.restore(tree)
            assert bench.read() == items


def known(bench: Bench, states: dict[ObjectId, Items]) -> list[ObjectId]:
    return [tree for tree in states if bench.workspace.store.knows(tree)]


def taken(bench: Bench, count: int, size: int = 2000, seed: int = 0) -> dict[ObjectId, Items]:
    """Snapshots of which each has something that no other has."""
    chance = random.Random(seed)
    states: dict[ObjectId, Items] = {}
    for number in range(count):
        bench.write({"own": chance.randbytes(size), "number": b"%d" % number})
        states[bench.track()] = bench.read()
    return states


@pytest.mark.parametrize("most", [1, 3, 9])
def test_so_many_stay(tmp_path: Path, most: int) -> None:
    bench = make(tmp_path, {"same": b"s" * 5000})
    states = taken(bench, 8)
    bench.keep(max_snapshots=most)
    removed, freed = bench.workspace.upkeep.cleanup(None, Call())
    assert removed == max(0, 8 - most)
    # what cannot be compressed is gone for sure; the database may have grown by a page
    assert freed >= removed * 2000 - 1024
    assert known(bench, states) == list(states)[-most:]
    check(bench, states, set(list(states)[:-most]))


@pytest.mark.parametrize("left", [1, 4, 7])
def test_the_oldest_go_until_the_rest_fits(tmp_path: Path, left: int) -> None:
    bench = make(tmp_path, {"same": b"s" * 5000})
    states = taken(bench, 8, 20_000)
    bench.workspace.upkeep.cleanup(None, Call())
    size = unlinked_bytes(bench.store)
    most = size - (8 - left) * 20_000 + 5_000
    bench.keep(max_bytes=most)
    before = bench.workspace.snapshots.status().store_bytes
    removed, freed = bench.workspace.upkeep.cleanup(None, Call())
    assert unlinked_bytes(bench.store) <= most
    assert removed == 8 - left
    assert freed == before - bench.workspace.snapshots.status().store_bytes
    assert known(bench, states) == list(states)[-left:]
    check(bench, states, set(list(states)[:-left]))


def test_what_open_sessions_name_stays_and_what_cannot_be_had_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = make(tmp_path, {"a": b"1"})
    agents = Agents(bench)
    agents.start("done")
    agents.step("done", {"a": os.urandom(20_000)})
    bench.workspace.sessions.end("done", Call())
    agents.start("goes on")
    step = agents.step("goes on", {"a": os.urandom(20_000)})
    tracked = taken(bench, 2, 20_000)
    bench.keep(max_bytes=1)
    with caplog.at_level(logging.WARNING):
        bench.workspace.upkeep.cleanup(None, Call())
    assert "nothing more can be dropped" in caplog.text
    assert [view.session.session_id for view in bench.workspace.sessions.all(Call()).views] == ["goes on"]
    assert known(bench, tracked) == list(tracked)[-1:]
    check(bench, tracked, set(list(tracked)[:1]))
    agents.undo("goes on", step=step, on_conflict="overwrite")


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1 << 32))
def test_any_size_is_kept_to_as_far_as_it_can_be(seed: int) -> None:
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="snapd-quota-"))
    try:
        bench = make(folder, {"same": b"s" * 3000})
        agents = Agents(bench)
        states: dict[ObjectId, Items] = {}
        for number in range(chance.randrange(2, 8)):
            session = f"s{number}"
            items: Items = {f"f{chance.randrange(3)}": chance.randbytes(chance.randrange(20_000)), "n": b"%d" % number}
            if chance.random() < 0.5:
                agents.start(session)
                agents.step(session, items)
                if chance.random() < 0.7:
                    bench.workspace.sessions.end(session, Call())
            else:
                bench.write(items)
            states[bench.track()] = bench.read()
        newest = list(states)[-1]
        size = unlinked_bytes(bench.store)
        most = chance.randrange(1, size)
        bench.keep(max_bytes=most)
        removed, _ = bench.workspace.upkeep.cleanup(None, Call())
        left = unlinked_bytes(bench.store)
        assert bench.workspace.store.knows(newest)
        bench.keep(0)
        more, _ = bench.workspace.upkeep.cleanup(None, Call())
        # either it fits, or there was nothing more that may go
        assert left <= most or more == 0
        check(bench, states, set(states) - set(known(bench, states)))
        assert removed + more >= len(states) - len(known(bench, states))
    finally:
        close_all()
        shutil.rmtree(folder)


def test_without_room_it_only_drops_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench = make(tmp_path, {"same": b"s" * 5000})
    states = taken(bench, 6)
    bench.keep(0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with caplog.at_level(logging.WARNING):
        removed, freed = bench.workspace.upkeep.cleanup(None, Call())
    assert "1000 bytes are free" in caplog.text
    assert (removed, freed > 10_000) == (5, True)
    assert not list(Path(bench.store, "objects", "pack").iterdir())
    monkeypatch.undo()
    check(bench, states, set(list(states)[:-1]))
    bench.workspace.upkeep.cleanup(None, Call())
    assert len(list(Path(bench.store, "objects", "pack").glob("*.pack"))) == 1
    check(bench, states, set(list(states)[:-1]))


def test_what_a_dead_process_had_aside_is_cleared_away(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    bench.track()
    store = Path(bench.store)
    token = "0123456789abcdef"
    aside = [
        store / "objects" / f"tmp_obj_{token}",
        store / "objects" / "pack" / f"tmp_pack_{token}",
        store / "objects" / "pack" / f"tmp_adopt_{token}.pack_",
        store / f"timeline.db.{token[:12]}.tmp",
        store / "refs" / "snapd" / "snapshots" / f"2026-01-01.{token[:12]}.tmp",
        store / f"worktree.{token[:12]}.tmp",
    ]
    for path in aside:
        path.write_bytes(b"half of something")
    (store / "packing").mkdir()
    (store / "packing" / "x").write_bytes(b"half a pack")
    kept = [store / "tmp", store / "refs" / "snapd" / "snapshots" / "name"]
    kept[0].write_bytes(b"somebody's")
    bench.reopen()
    # what this process may be writing beside all else is not cleared away
    live = store / f"worktree.{token[4:16]}.tmp"
    live.write_bytes(b"just being written")
    bench.workspace.upkeep.cleanup(None, Call())
    assert [path for path in (*aside, store / "packing" / "x") if path.exists()] == []
    assert kept[0].exists()
    assert live.exists()
    live.unlink()
