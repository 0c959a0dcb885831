"""What is found among the snapshots of a store, against a list that is looked through from end to end."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from snapd.model.snapshot import Coverage, ObjectId, Snapshot
from snapd.model.snapshot_records import SnapshotRecord, SnapshotRecordQuery
from snapd.model.timeline import Event, Recorded, RecordKind, SnapshotId
from snapd.store.store import Store
from tests.support.amounts import amount

CASES = amount(20, 300)
KINDS: tuple[RecordKind, ...] = ("track", "look", "before", "after")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"), None)


def trees(store: Store) -> list[ObjectId]:
    """Trees some of which begin alike."""
    found: dict[str, list[ObjectId]] = {}
    with store.batch() as batch:
        for number in range(600):
            blob = batch.blob(b"%d" % number)
            tree = batch.encoded_tree(b"100644 a\0" + blob)
            found.setdefault(tree.hex()[:2], []).append(tree)
        batch.commit()
    return [tree for alike in found.values() if len(alike) > 4 for tree in alike][:9]


def filled(store: Store, source: random.Random) -> list[SnapshotRecord]:
    """Records snapshots, now and then by a clock that went back; gives all of them, oldest first."""
    coverage = store.store_blob(b'{"prefix":"","emptyDirs":[],"skipped":[],"rules":[],"forced":[]}')
    some, milliseconds, model = trees(store), 1_000_000, []
    for _ in range(source.randrange(12)):
        milliseconds += source.choice((0, 1000, 5000, 5200, -7000))
        snapshot, kind = SnapshotId(source.choice(some), coverage), source.choice(KINDS)
        is_base, seq = source.random() < 0.5, store.timeline.next_seq
        store.append(Event(seq, milliseconds, None, None, Recorded(kind, snapshot, is_base)))
        model.append(SnapshotRecord(2 * seq, seq, kind, snapshot, milliseconds, is_base))
    return model


@pytest.mark.parametrize("seed", range(CASES))
def test_it_finds_what_is_there(store: Store, seed: int) -> None:
    model = filled(store, random.Random(seed))
    timeline, newest = store.timeline, model[::-1]
    for below in (None, *range(2 * len(model) + 3)):
        for until in (None, *range(980, 1070, 3)):
            wanted = [
                taken
                for taken in newest
                if (below is None or taken.place < below) and (until is None or taken.milliseconds // 1000 <= until)
            ]
            assert list(timeline.taken(SnapshotRecordQuery(until=until), below, 100)) == wanted
            assert list(timeline.taken(SnapshotRecordQuery(until=until), below, 2)) == wanted[:2]
    known = {taken.tree for taken in model}
    for tree in trees(store):
        of_it = [taken for taken in newest if taken.tree == tree]
        # a look says less than what somebody asked for
        better = [taken for taken in of_it if taken.kind != "look" or taken.is_base]
        assert timeline.taken_last(tree) == next(iter(better or of_it), None)
        assert timeline.knows(tree) == bool(of_it)
        for digits in (6, 2, 40):
            prefix = tree.hex()[:digits]
            last = {taken.tree: taken for taken in model}.values()
            same = [taken for taken in newest if taken in last and taken.tree.hex().startswith(prefix)]
            assert list(timeline.taken(SnapshotRecordQuery(prefix), None, 100)) == same
        for name in (tree.hex(), tree.hex()[:3], f"{tree.hex()[:3]}-x", "no hash"):
            others = [other.hex() for other in known if other.hex() != name]
            assert longest(name, timeline.neighbours(name)) == longest(name, others)
    assert timeline.base == next((taken for taken in newest if taken.is_base), None)
    for at, taken in enumerate(model):
        assert timeline.taken_before(taken.place) == (model[at - 1] if at else None)
    store.close()


def longest(name: str, others: Iterable[str]) -> int:
    """How much of a name another one begins with, at most."""
    assert isinstance(others, list | tuple)
    return max(
        (at for other in others for at in range(41) if other.startswith(name[:at]) and at <= len(name)), default=0
    )


def test_rows_are_made_again_from_the_events(store: Store) -> None:
    model = filled(store, random.Random(3))
    assert model
    store.timeline.forget()
    assert store.timeline.taken(SnapshotRecordQuery(), None, 100) == tuple(model[::-1])
    assert store.timeline.agrees()
    going = {taken.seq for taken in model[:2]}
    store.settle()
    store.timeline.drop([], going)
    staying = tuple([taken for taken in model[::-1] if taken.seq not in going])
    assert store.timeline.taken(SnapshotRecordQuery(), None, 100) == staying
    assert store.timeline.agrees()
    store.close()
    again = Store(store.path, None)
    assert again.timeline.taken(SnapshotRecordQuery(), None, 100) == staying
    again.close()


def test_the_first_that_was_asked_for_is_the_head(store: Store) -> None:
    """From then on, what changes has an author."""
    taken = []
    for number in range(3):
        with store.batch() as batch:
            taken.append(Snapshot(batch.encoded_tree(b"100644 a\0" + batch.blob(b"%d" % number)), Coverage()))
            batch.commit()
    first, second, third = taken
    store.record(first, "look")
    assert store.timeline.head is None
    store.record(second, "track")
    store.record(third, "track")
    assert store.timeline.head == store.identify(second)
    assert store.last == third.tree
    store.close()


def test_snapshots_are_found_while_somebody_supposes_events(store: Store) -> None:
    """That takes as long as a plan for a large folder."""
    with store.batch() as batch:
        snapshot = Snapshot(batch.encoded_tree(b"100644 a\0" + batch.blob(b"a")), Coverage())
        batch.commit()
    store.record(snapshot, "track")
    found: list[object] = []
    with store.timeline.simulation():
        other = threading.Thread(
            target=lambda: found.extend((store.last, store.knows(snapshot.tree), store.find(snapshot.tree))),
            daemon=True,
        )
        other.start()
        other.join(60)
        assert found == [snapshot.tree, True, snapshot]
    store.close()
