"""The intent and the numbers of notifications, which lie in files of their own."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import attrs
import pytest

from snapd.model.errors import StorageFull
from snapd.model.snapshot import REGULAR, Entry
from snapd.model.timeline import Effect, Intent, Operated, SnapshotId
from snapd.store.store import Store
from tests.store.steps import Disk

from .telling import Telling
from .test_model import some_history

HERE = SnapshotId(b"t" * 20, b"c" * 20)
INTENT = Intent(
    Operated("operation", "undo", "one", HERE),
    (Effect(b"raw \xff", Entry(REGULAR, b"o" * 20), None),),
    (b"made",),
    (b"gone",),
    (b"forced",),
)


def test_an_intent_is_there_until_it_is_forgotten(telling: Telling) -> None:
    store = telling.store
    assert store.intent() is None
    store.forget_intent(is_recorded=False)
    store.intend(INTENT)
    assert store.intent() == INTENT
    other = attrs.evolve(INTENT, forced=())
    store.intend(other)
    telling.kill()
    assert telling.store.intent() == other
    telling.store.forget_intent(is_recorded=False)
    assert telling.store.intent() is None
    telling.reopen()
    assert telling.store.intent() is None


def test_an_intent_whose_operation_was_told_is_done_with(telling: Telling) -> None:
    """A kill between the event and the forgetting must not have it done twice."""
    some_history(telling)
    telling.store.intend(attrs.evolve(INTENT, operation=attrs.evolve(INTENT.operation, operation_id="new")))
    telling.reopen()
    assert telling.store.intent() is not None
    telling.operate("new", "one", {})
    telling.kill()
    assert telling.store.intent() is None
    assert not (telling.path / "intent").exists()


def test_an_intent_that_a_power_cut_brings_back_is_done_with(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_history(telling)
    telling.store.intend(attrs.evolve(INTENT, operation=attrs.evolve(INTENT.operation, operation_id="new")))
    disk = Disk(telling.path, monkeypatch)
    telling.operate("new", "one", {})
    telling.store.forget_intent(is_recorded=True)
    found = disk.after_a_cut(tmp_path / "found", names_stay=False)
    # its removal was not synced
    assert (found / "intent").exists()
    store = Store(str(found), None)
    assert store.intent() is None
    assert not (found / "intent").exists()
    store.close()
    disk.close()


def test_a_damaged_intent_keeps_nobody_out(telling: Telling, caplog: pytest.LogCaptureFixture) -> None:
    telling.store.intend(INTENT)
    path = telling.path / "intent"
    whole = path.read_bytes()
    damaged = (b"", whole[:-1], whole[:10], whole.replace(b"made", b"mode"), b"x" + whole)
    for data in damaged:
        path.write_bytes(data)
        caplog.clear()
        assert telling.store.intent() is None
        assert "damaged" in caplog.text
        assert not path.exists()
    kept = sorted(file.read_bytes() for file in telling.path.glob("quarantine/*/*-intent"))
    assert kept == sorted(damaged)
    path.mkdir()
    assert telling.store.intent() is None


def test_an_intent_and_its_blobs_outlast_a_power_cut(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(telling.path, monkeypatch)
    merged = telling.blob(b"merged by nobody")
    intent = attrs.evolve(INTENT, files=(Effect(b"x", None, Entry(REGULAR, merged)),))
    telling.store.intend(intent)
    store = Store(str(disk.after_a_cut(tmp_path / "found", names_stay=False)), None)
    assert store.intent() == intent
    assert store.read_blob(merged) == b"merged by nobody"
    store.close()
    telling.store.forget_intent(is_recorded=False)
    store = Store(str(disk.after_a_cut(tmp_path / "later", names_stay=False)), None)
    assert store.intent() is None
    store.close()
    disk.close()


def test_an_intent_is_private(telling: Telling) -> None:
    telling.store.intend(INTENT)
    assert (telling.path / "intent").stat().st_mode & 0o777 == 0o600


def test_no_number_is_given_out_twice(telling: Telling) -> None:
    given: list[int] = []
    for count, end in ((1, "go on"), (5, "kill"), (100, "reopen"), (3, "kill"), (1, "go on")):
        first = telling.store.timeline.reserve(count)
        given += range(first, first + count)
        if end == "kill":
            telling.kill()
        elif end == "reopen":
            telling.reopen()
    assert given == list(range(1, 111))


def test_numbers_outlast_a_power_cut_and_a_lost_database(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_history(telling)
    disk = Disk(telling.path, monkeypatch)
    telling.store.timeline.reserve(100)
    found = disk.after_a_cut(tmp_path / "found", names_stay=False)
    disk.close()
    (found / "timeline.db").unlink(missing_ok=True)
    store = Store(str(found), None)
    assert store.timeline.reserve(1) == 101
    store.close()


@pytest.mark.parametrize("data", [b"", b"101", b"101 00000000\n", b"\xff\n"])
def test_damaged_numbers_go_on_above_all_that_were_given(telling: Telling, data: bytes) -> None:
    telling.store.timeline.reserve(100)
    (telling.path / "notifications").write_bytes(data)
    telling.reopen()
    first = telling.store.timeline.reserve(10)
    assert first > 1_600_000_000_000
    telling.reopen()
    assert telling.store.timeline.reserve(1) == first + 10


def test_no_number_is_given_out_where_that_cannot_be_kept(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    telling.store.timeline.reserve(5)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFull):
        telling.store.timeline.reserve(5)
    with pytest.raises(StorageFull):
        telling.store.intend(INTENT)
    monkeypatch.undo()
    assert telling.store.timeline.reserve(5) == 6
    assert telling.store.intent() is None


def test_loading_and_naming_a_snapshot(telling: Telling) -> None:
    found = telling.edit()
    snapshot = telling.store.load(found)
    assert telling.store.identify(snapshot) == found
    assert not telling.store.knows(found.tree)
    telling.store.record(snapshot, "track")
    assert telling.store.find(found.tree) == snapshot
