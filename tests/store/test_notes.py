"""What must last beside events: the intent of an operation, the numbers of notifications, and other notes."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from snapd.model.call import Call
from snapd.model.errors import IoError, StorageFull
from snapd.model.snapshot import REGULAR, Entry
from snapd.model.timeline import Effect, Event, Intent, Operated, SnapshotId, StepsLeft
from snapd.store.fsck.checkers import check_closed
from snapd.store.journal import journal
from snapd.store.notes import LINEAGE, NUMBERS
from snapd.store.repository import FORMAT_VERSION
from snapd.store.store import Store
from snapd.store.timeline.codec import encode_intent
from tests.store.journal.test_journal import settle_behind
from tests.store.steps import Disk, Steps
from tests.store.timeline.telling import Telling
from tests.store.timeline.test_model import some_history

HERE = SnapshotId(b"t" * 20, b"c" * 20)
INTENT = Intent(
    Operated("operation", "undo", "one", HERE),
    (Effect(b"raw \xff", Entry(REGULAR, b"o" * 20), None),),
    (b"made",),
    (b"gone",),
    (b"forced",),
)
NEW = attrs.evolve(INTENT, operation=attrs.evolve(INTENT.operation, operation_id="new"))


@pytest.fixture
def telling(tmp_path: Path) -> Iterator[Telling]:
    teller = Telling(tmp_path / "told")
    yield teller
    teller.store.close()


def operation(telling: Telling) -> Operated:
    """The operation of `NEW`, as it would be recorded."""
    assert telling.model.head is not None
    return attrs.evolve(NEW.operation, before=telling.model.head)


def before(telling: Telling) -> Event:
    """The event that records the state before an operation."""
    return telling.store.recorded(telling.store.load(telling.edit()), "before")


# -- intents


def test_an_intent_is_there_until_it_is_dropped(telling: Telling) -> None:
    assert telling.store.intent() is None
    telling.store.intend(before(telling), INTENT)
    assert telling.store.intent() == INTENT
    other = attrs.evolve(INTENT, forced=())
    telling.store.intend(before(telling), other)
    telling.kill()
    assert telling.store.intent() == other
    telling.store.forget_intent()
    assert telling.store.intent() is None
    telling.reopen()
    assert telling.store.intent() is None


def test_an_intent_and_its_event_and_blobs_are_one_sync(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # so that the directories are there
    telling.store.append(before(telling))
    event, merged = before(telling), telling.blob(b"merged by nobody")
    intent = attrs.evolve(INTENT, files=(Effect(b"x", None, Entry(REGULAR, merged)),))
    disk = Disk(telling.path, monkeypatch)
    telling.store.intend(event, intent)
    assert disk.syncs == 1
    store = Store(str(disk.after_a_cut(tmp_path / "found", names_stay=False)), None)
    assert store.intent() == intent
    assert store.read_blob(merged) == b"merged by nobody"
    assert store.timeline.last == event.seq
    store.close()
    telling.store.forget_intent()
    store = Store(str(disk.after_a_cut(tmp_path / "later", names_stay=False)), None)
    assert store.intent() is None
    store.close()
    disk.close()


@pytest.mark.parametrize("names_stay", [False, True])
def test_an_operation_and_its_intent_end_together(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names_stay: bool
) -> None:
    some_history(telling)
    telling.store.intend(before(telling), NEW)
    # so that the directories are there
    telling.store.append(Event(telling.store.timeline.next_seq, telling.now, telling.model.head, None, StepsLeft(())))
    disk = Disk(telling.path, monkeypatch)
    seq = telling.store.timeline.next_seq
    telling.store.conclude(Event(seq, telling.now, telling.model.head, None, operation(telling)))
    assert disk.syncs == 1
    store = Store(str(disk.after_a_cut(tmp_path / "found", names_stay)), None)
    assert store.intent() is None
    assert store.timeline.operation("new") is not None
    store.close()
    disk.close()


def test_an_intent_whose_operation_is_recorded_is_done_with(telling: Telling) -> None:
    """The frame with the operation may be damaged, and its reference may have moved all the same."""
    some_history(telling)
    telling.store.intend(before(telling), NEW)
    telling.reopen()
    assert telling.store.intent() == NEW
    seq = telling.store.timeline.next_seq
    telling.store.append(Event(seq, telling.now, telling.model.head, None, operation(telling)))
    telling.kill()
    assert telling.store.intent() is None
    assert not telling.store.repository.journal.intent


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"operation": 1}', b"\xff", b"[" * 100_000])
def test_an_intent_that_cannot_be_read_keeps_nobody_out(
    telling: Telling, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    telling.store.repository.journal.flush(intent=data)
    telling.reopen()
    assert telling.store.intent() is None
    assert "cannot be read" in caplog.text
    (kept,) = telling.path.glob("quarantine/*/*-journal/*")
    assert data in kept.read_bytes()
    telling.reopen()
    assert not telling.store.repository.journal.intent


# -- numbers


def test_no_number_is_given_out_twice(telling: Telling) -> None:
    given: list[int] = []
    for count, end in ((1, "go on"), (5, "kill"), (100, "reopen"), (3, "kill"), (1, "go on")):
        first = telling.store.notes.reserve(count)
        given += range(first, first + count)
        if end == "kill":
            telling.kill()
        elif end == "reopen":
            telling.reopen()
    assert given == list(range(1, 111))


def test_numbers_outlast_a_power_cut_and_a_lost_database(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert telling.store.notes.reserve(1) == 1
    some_history(telling)
    disk = Disk(telling.path, monkeypatch)
    telling.store.notes.reserve(99)
    found = disk.after_a_cut(tmp_path / "found", names_stay=False)
    disk.close()
    (found / "timeline.db").unlink(missing_ok=True)
    store = Store(str(found), None)
    assert store.notes.reserve(1) == 101
    store.close()


def _lose(store: Path) -> None:
    (store / "notes").unlink()


def _damage(store: Path) -> None:
    (store / "notes").write_bytes((store / "notes").read_bytes().replace(b"101", b"100"))


def _empty(store: Path) -> None:
    (store / "notes").write_bytes(b"")


@pytest.mark.parametrize("damage", [_lose, _damage, _empty])
def test_lost_numbers_go_on_above_all_that_were_given(telling: Telling, damage: Callable[[Path], None]) -> None:
    telling.store.notes.reserve(100)
    some_history(telling)
    telling.store.close()
    damage(telling.path)
    assert kinds(telling.path) == ([] if damage is _lose else ["damagedNumbers"])
    telling.store = Store(str(telling.path), None)
    first = telling.store.notes.reserve(10)
    assert first > 1_600_000_000_000
    telling.reopen()
    assert telling.store.notes.reserve(1) == first + 10
    telling.store.close()
    assert kinds(telling.path) == []
    telling.store = Store(str(telling.path), None)


def kinds(store: Path) -> list[str]:
    """What the check of a closed store finds."""
    return [problem.kind for problem in check_closed(str(store), Call(), quick=True, mend=False).problems]


def test_no_number_is_given_out_where_that_cannot_be_kept(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    telling.store.notes.reserve(5)
    event = before(telling)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(os, "fdatasync", full)
    with pytest.raises(StorageFull):
        telling.store.notes.reserve(5)
    with pytest.raises(StorageFull):
        telling.store.intend(event, INTENT)
    monkeypatch.undo()
    assert telling.store.notes.reserve(5) == 6
    assert telling.store.intent() is None
    telling.kill()
    assert telling.store.intent() is None


# -- an intent in the journal, against a model


ACTIONS = st.one_of(
    st.tuples(st.just("flush"), st.none() | st.just(b"") | st.binary(min_size=1, max_size=60)),
    st.tuples(st.sampled_from(["take", "give up", "checkpoint", "reopen", "kill", "tear", "fail", "full"]), st.none()),
)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(actions=st.lists(ACTIONS, max_size=15), frames=st.integers(1, 6))
def test_the_intent_is_the_one_that_was_kept_last(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, bytes | None]], frames: int
) -> None:
    """With kills, torn ends, failed syncs, full disks, and journals that are replaced at every turn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "FILE_FRAMES", frames)
        steps = Steps(tmp_path_factory.mktemp("intents") / "store")
        model = b""
        for number, (action, data) in enumerate(actions):
            written = steps.store.repository.journal
            if action == "flush":
                written.flush(intent=data)
                model = model if data is None else data
            elif action == "take":
                steps.take({"a": b"%d" % number})
            elif action in ("give up", "full"):
                with pytest.MonkeyPatch.context() as failing:
                    if action == "full" and model:
                        failing.setattr(journal, "write_all", _fail)
                    written.give_intent_up()
                model = b""
            elif action == "checkpoint":
                written.checkpoint()
                assert len(list((steps.path / "journal").glob("[0-9]*"))) == bool(model)
            elif action == "reopen":
                steps.reopen()
            elif action == "kill":
                steps.kill()
            elif action == "tear":
                # the process was killed while it wrote one more frame
                steps.leave()
                for path in sorted((steps.path / "journal").glob("[0-9]*"), key=lambda path: int(path.name))[-1:]:
                    path.write_bytes(path.read_bytes() + path.read_bytes()[8:16] + b"\0\0")
                steps.open()
            else:
                with pytest.MonkeyPatch.context() as failing:
                    failing.setattr(os, "fdatasync", _fail)
                    with pytest.raises(StorageFull):
                        written.flush(intent=b"refused")
            settle_behind()
            assert steps.store.repository.journal.intent == model
        steps.reopen()
        assert steps.store.repository.journal.intent == model
        steps.check()
        steps.store.close()


def _fail(*_: object) -> None:
    raise OSError(errno.ENOSPC, "full")


def test_a_closed_store_leaves_its_files_to_others(telling: Telling) -> None:
    some_history(telling)
    telling.store.repository.journal.flush(intent=b"x")
    store = telling.store
    store.close()
    before = sorted(path.read_bytes() for path in (telling.path / "journal").iterdir())
    with pytest.raises(IoError):
        store.settle()
    with pytest.raises(IoError):
        store.notes.reserve(1)
    with pytest.raises(IoError):
        store.repository.journal.flush(intent=b"")
    assert sorted(path.read_bytes() for path in (telling.path / "journal").iterdir()) == before
    telling.store = Store(str(telling.path), None)
    assert telling.store.repository.journal.intent == b"x"


def test_an_erased_store_keeps_its_numbers_and_nothing_else(telling: Telling) -> None:
    telling.store.notes.reserve(100)
    some_history(telling)
    telling.store.notes.keep(LINEAGE, "secret names")
    telling.store.erase(Call())
    assert (telling.store.notes.get(LINEAGE), telling.store.notes.get(NUMBERS)) == (None, "101")
    assert telling.store.notes.reserve(1) == 101
    telling.store.close()
    assert not [path for path in telling.path.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
    store = Store(str(telling.path), None)
    assert store.notes.reserve(1) == 102
    store.close()


def test_loading_and_naming_a_snapshot(telling: Telling) -> None:
    found = telling.edit()
    snapshot = telling.store.load(found)
    assert telling.store.identify(snapshot) == found
    assert not telling.store.knows(found.tree)
    telling.store.record(snapshot, "track")
    assert telling.store.find(found.tree) == snapshot


# -- stores of format 2, in which each note was a file, and an intent


def _summed(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")


def _of_format_2(store: Path, files: dict[str, bytes]) -> None:
    """Makes a closed store what it was before it had one file for all notes."""
    (store / "notes").unlink(missing_ok=True)
    config = store / "config"
    config.write_text(config.read_text().replace(f"version = {FORMAT_VERSION}", "version = 2"))
    for name, data in files.items():
        (store / name).write_bytes(data)


def test_the_files_of_an_older_store_become_notes(telling: Telling) -> None:
    some_history(telling)
    telling.store.close()
    payload = encode_intent(NEW)
    number = b"4711"
    handovers = b'[{"id": "x"}]'
    files = {
        "intent": b"snapdI1\n" + _summed(payload) + payload,
        "notifications": b"%s %08x\n" % (number, zlib.crc32(number)),
        "unswept": b"wholly\n",
        "handovers.json": handovers,
    }
    _of_format_2(telling.path, files)
    telling.store = Store(str(telling.path), None)
    assert telling.store.intent() == NEW
    assert telling.store.notes.reserve(1) == 4711
    assert telling.store.maintenance.is_unpurged
    assert telling.store.notes.get(LINEAGE) == handovers.decode()
    assert not [name for name in files if (telling.path / name).exists()]
    telling.reopen()
    assert telling.store.intent() == NEW


def test_a_damaged_file_of_an_older_store_is_kept_aside(telling: Telling) -> None:
    some_history(telling)
    telling.store.close()
    payload = encode_intent(NEW)
    _of_format_2(
        telling.path, {"intent": b"snapdI1\n" + _summed(b"other") + payload, "notifications": b"12 00000000\n"}
    )
    telling.store = Store(str(telling.path), None)
    assert telling.store.intent() is None
    assert telling.store.notes.reserve(1) > 1_600_000_000_000
    assert {path.name.partition("-")[2] for path in telling.path.glob("quarantine/*/0*")} == {"intent", "notifications"}
    assert not (telling.path / "intent").exists()
