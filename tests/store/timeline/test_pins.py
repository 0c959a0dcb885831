"""What an event names stays readable whatever git does to the repository."""

from __future__ import annotations

import pytest

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import EMPTY_TREE, REGULAR, Coverage, Entry, ObjectId, Snapshot
from snapd.model.timeline import Effect, Event, Operated, Reversal, SnapshotId
from snapd.store.store import Store
from snapd.store.timeline.chain import pins
from tests.store.steps import read_files

from .telling import Telling
from .test_model import some_history


def named(event: Event) -> tuple[list[SnapshotId], list[ObjectId]]:
    """The snapshots and blobs that an event names, spelled out."""
    snapshots = [event.head] if event.head is not None else []
    blobs = []
    if event.seen is not None:
        snapshots += [event.seen.before, event.seen.after]
    if isinstance(event.what, Operated):
        snapshots.append(event.what.before)
        for turned in event.what.turned:
            for effect in turned.effects:
                blobs += [entry.oid for entry in (effect.old, effect.new) if entry is not None]
    return snapshots, blobs


def check_readable(telling: Telling) -> None:
    for event in telling.store.timeline.events(None, 1000):
        snapshots, blobs = named(event)
        for snapshot in snapshots:
            assert telling.store.load(snapshot).tree == snapshot.tree
            assert read_files(telling.store, snapshot.tree)
            telling.git("ls-tree", "-r", snapshot.tree.hex())
            telling.git("cat-file", "blob", snapshot.coverage.hex())
        for blob in blobs:
            assert telling.store.read_blob(blob).startswith(b"merged by")
            assert telling.git("cat-file", "blob", blob.hex()).startswith(b"merged by")


def without_snapshots(telling: Telling) -> None:
    """Leaves nothing but the events to hold the objects."""
    for name in telling.git("for-each-ref", "--format=%(refname)").decode().split():
        if not name.startswith(("refs/snapd/sessions/", "refs/snapd/operations/")):
            telling.git("update-ref", "-d", name)


def test_git_finds_nothing_wrong(telling: Telling) -> None:
    some_history(telling)
    telling.reopen()
    said = telling.git("fsck", "--strict", "--full")
    assert said == b""


def test_a_stray_gc_breaks_no_event(telling: Telling) -> None:
    some_history(telling)
    telling.operate("restore", None, {})
    telling.store.close()
    without_snapshots(telling)
    telling.git("gc", "-q", "--prune=now")
    telling.opened()
    telling.check()
    check_readable(telling)
    said = telling.git("fsck", "--strict", "--full")
    assert said == b""


def test_packed_references_are_read(telling: Telling) -> None:
    some_history(telling)
    telling.closed().unlink()
    telling.git("pack-refs", "--all")
    telling.opened()
    telling.check()
    telling.end("c")
    telling.kill()
    telling.check()


def test_people_can_look_at_it(telling: Telling) -> None:
    telling.start("one", "agent")
    event = telling.begin("one", "a")
    assert event.head is not None
    (name,) = telling.git("for-each-ref", "--format=%(refname)", "refs/snapd/sessions").decode().split()
    assert telling.git("show", f"{name}:head/a.txt") == b"first\n"
    assert telling.git("log", "-1", "--format=%s", name) == b"stepBegun\n"
    assert telling.git("rev-list", "--count", name) == b"2\n"


def test_an_empty_folder_can_be_named(telling: Telling) -> None:
    with telling.store.batch() as batch:
        batch.encoded_tree(b"")
        batch.commit()
    telling.snapshot = Snapshot(EMPTY_TREE, Coverage())
    telling.start("one")
    telling.begin("one", "a")
    telling.reopen()
    telling.check()
    assert telling.git("fsck", "--strict", "--full", "--no-dangling") == b""


def test_an_event_that_names_what_is_not_there_is_refused(telling: Telling) -> None:
    some_history(telling)
    head = telling.model.head
    assert head is not None
    effects = (Effect(b"x", None, Entry(REGULAR, b"\7" * 20)),)
    for what in (
        Operated("o", "undo", "one", head, (Reversal("a", "undone", effects),)),
        Operated("o", "undo", "one", SnapshotId(b"\7" * 20, head.coverage)),
        Operated("o", "undo", "one", SnapshotId(head.tree, b"\7" * 20)),
    ):
        with pytest.raises(StoreCorrupt) as raised:
            telling.store.append(telling.event(what))
        assert raised.value.data["object"] == "07" * 20
    telling.check()


def test_the_same_state_is_kept_by_the_same_tree(telling: Telling) -> None:
    some_history(telling)
    first, second = telling.begin("one", "x"), telling.begin("one", "y")
    assert pins(first).tree == pins(second).tree


def test_a_damaged_event_is_an_error_and_no_shorter_history(telling: Telling) -> None:
    some_history(telling)
    telling.closed().unlink()
    (name, _) = telling.git("for-each-ref", "--format=%(objectname)", "refs/snapd/sessions").decode().split()
    path = telling.path / "objects" / name[:2] / name[2:]
    data = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(data[:-3])
    telling.model.summaries.clear()
    with pytest.raises(StoreCorrupt):
        Store(str(telling.path), None)
    path.write_bytes(data)
    telling.store = Store(str(telling.path), None)
    telling.check()
