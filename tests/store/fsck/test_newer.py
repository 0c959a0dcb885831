"""What a newer snapd wrote is named, walked past, and never dropped; who opens the store is told of it."""

from __future__ import annotations

import pytest

from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import Coverage, Snapshot
from snapd.model.timeline import Event, Intent, Operated, SessionEnded, SnapshotId
from snapd.store.timeline import codec
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, everything, loose
from tests.store.fsck.test_chains import add_session, closed, kinds
from tests.store.fsck.test_objects import step
from tests.store.steps import Steps

NEWER = codec.VERSION + 1


@pytest.fixture
def steps(steps: Steps) -> Steps:
    for number in range(4):
        steps.take(step(number))
    return steps


def end_as_newer(steps: Steps, session_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends a session as a newer snapd would, and closes the store."""
    with monkeypatch.context() as patch:
        patch.setattr(codec, "VERSION", NEWER)
        steps.reopen()
        ended = SessionEnded(session_id)
        steps.store.append(Event(steps.store.timeline.next_seq, 1_700_000_000_000, None, None, ended))
        steps.store.close()


def ended(steps: Steps, session_id: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a session has ended, as the newer snapd knows it."""
    with monkeypatch.context() as patch:
        patch.setattr(codec, "VERSION", NEWER)
        steps.open()
        found = steps.store.timeline.session(session_id).ended is not None
        steps.store.close()
    return found


def references(steps: Steps) -> dict[str, bytes]:
    return {name: data for name, data in everything(steps.path).items() if name.startswith("refs/")}


def test_a_newer_event_is_named_and_left(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = add_session(steps, "S", 2)
    end_as_newer(steps, "S", monkeypatch)
    before = references(steps)
    for quick in (True, False):
        found = closed(steps, quick=quick)
        assert kinds(found) == ["newerFormat"]
        # what is behind it is known
        assert found.events == len(commits) + len(steps.answered)
    found = closed(steps, mend=True)
    assert kinds(found) == ["newerFormat"]
    assert found.repaired == ()
    assert references(steps) == before
    with pytest.raises(StoreCorrupt, match="newer"):
        steps.open()
    assert ended(steps, "S", monkeypatch)


@pytest.mark.parametrize("lost", ["behind it", "the reference", "of another session"])
def test_chains_with_a_newer_event_are_not_put_together(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    other = add_session(steps, "A", 1)
    (of_other,) = (steps.path / "refs/snapd/sessions").iterdir()
    commits = [oid for oid in add_session(steps, "S", 2) if oid not in other]
    if not commits:
        # git lists the first by its name
        (name,) = {path.name for path in (steps.path / "refs/snapd/sessions").iterdir()} - {of_other.name}
        listed = steps.git("rev-list", "--reverse", f"refs/snapd/sessions/{name}").decode().split()
        commits = [bytes.fromhex(line) for line in listed]
    end_as_newer(steps, "S", monkeypatch)
    (path,) = [path for path in (steps.path / "refs/snapd/sessions").iterdir() if path.name != of_other.name]
    target = path.read_bytes()
    if lost == "the reference":
        damage.replace(path, b"")
    else:
        gone = commits[2] if lost == "behind it" else other[1]
        data = loose(steps.path, gone).read_bytes()
        damage.drop(loose(steps.path, gone))
    before = references(steps)
    assert set(kinds(closed(steps))) - {"newerFormat"}
    closed(steps, mend=True)
    assert references(steps) == before
    # once what was lost is back, so is all else
    if lost == "the reference":
        damage.replace(path, target)
    else:
        damage.replace(loose(steps.path, gone), data)
    assert ended(steps, "S", monkeypatch)


def test_a_newer_event_that_records_a_snapshot(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(codec, "VERSION", NEWER)
        steps.reopen()
        steps.take(step(9))
        steps.store.close()
    before = references(steps)
    found = closed(steps)
    assert kinds(found) == ["newerFormat"]
    assert found.snapshots == 4
    # what it alone has is kept, and seen to
    damage.flip(loose(steps.path, blob_id(step(9)["d/e/c"])))
    assert sorted(kinds(closed(steps))) == ["damagedObject", "newerFormat"]
    assert sorted(kinds(closed(steps, mend=True))) == ["missingObject", "newerFormat"]
    assert references(steps) == before
    with pytest.raises(StoreCorrupt, match="newer"):
        steps.open()


def test_the_intent_of_a_newer_snapd_stays(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = steps.take(step(3))
    here = steps.store.identify(Snapshot(tree, Coverage()))
    intent = Intent(Operated("operation", "undo", None, SnapshotId(here.tree, here.coverage)), (), (), (), ())
    with monkeypatch.context() as patch:
        patch.setattr(codec, "VERSION", NEWER)
        steps.store.intend(steps.store.recorded(Snapshot(tree, Coverage()), "before"), intent)
    before = steps.store.repository.journal.intent
    steps.reopen()
    with pytest.raises(StoreCorrupt, match="newer"):
        steps.store.intent()
    steps.store.close()
    (name,) = (steps.path / "journal").iterdir()
    told = ("newerFormat", f"journal/{name.name}")
    assert [(problem.kind, problem.subject) for problem in closed(steps).problems] == [told]
    closed(steps, mend=True)
    steps.open()
    assert steps.store.repository.journal.intent == before


@pytest.mark.parametrize("number", [3, 10])
def test_the_journal_of_a_newer_snapd_stays(steps: Steps, number: int) -> None:
    steps.reopen()
    steps.take(step(7))
    steps.store.ownership.release()
    (ours,) = (steps.path / "journal").iterdir()
    (steps.path / "journal" / "2").write_bytes(b"snapdJ%d\n" % number + b"what only that one can read" * 9)
    for path in (steps.path / "journal").iterdir():
        path.chmod(0o600)
    # what was acknowledged is in the journal alone, as after a power cut
    damage.drop(loose(steps.path, blob_id(step(7)["d/e/c"])))
    before = everything(steps.path)
    with pytest.raises(StoreCorrupt, match="newer snapd") as caught:
        steps.open()
    assert caught.value.data["object"] == "journal/2"
    assert everything(steps.path) == before
    for quick in (True, False):
        found = closed(steps, quick=quick)
        assert [(problem.kind, problem.subject) for problem in found.problems] == [("newerFormat", "journal/2")]
    found = closed(steps, mend=True)
    assert kinds(found) == ["newerFormat"]
    assert found.repaired == ()
    assert everything(steps.path) == before
    # once the newer one has dealt with its own, the rest is replayed
    (steps.path / "journal" / "2").unlink()
    assert ours.exists()
    steps.open()
    steps.check()
