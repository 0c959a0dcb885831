"""Which objects `snapd du` counts for which session, with git as the oracle, and how often it reads an object."""

from __future__ import annotations

from collections import Counter

import pytest

from snapd.store.journal import journal
from snapd.store.objects import loose
from snapd.store.usage import usage as module
from snapd.store.usage.usage import usage
from tests.store.fsck.test_chains import add_session
from tests.store.steps import Steps


def _objects(steps: Steps, *revisions: str) -> set[str]:
    return {line.split()[0] for line in steps.git("rev-list", "--objects", *revisions).decode().splitlines()}


def size_of(steps: Steps) -> int:
    return sum(path.stat().st_size for path in steps.path.rglob("*") if path.is_file())


def test_what_is_in_the_journal_alone_counts(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    add_session(steps, "A", 2)
    monkeypatch.setattr(journal, "publish_later", lambda _: None)
    steps.take({"only/here": b"outside of sessions\n" * 40})
    early, size = usage(str(steps.path)), size_of(steps)
    steps.store.repository.journal.publish()
    late = usage(str(steps.path))
    assert (early.sessions, early.names, early.no_session, early.unused) == (
        late.sessions,
        late.names,
        late.no_session,
        late.unused,
    )
    assert early.sessions["A"] > 0
    parts = sum(early.sessions.values()) + early.no_session + early.shared + early.unused + early.linked + early.other
    assert parts == early.total == size


def test_sessions_own_what_only_they_reach_and_each_object_is_read_once(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, str] = {}
    # the same numbers give the same files, so some trees are shared by two sessions and some by three
    for session, count in (("A", 1), ("B", 2), ("C", 3)):
        add_session(steps, session, count)
        every = steps.git("for-each-ref", "--format=%(refname)", "refs/snapd/sessions").decode().split()
        names |= dict.fromkeys(set(every) - names.keys(), session)
    steps.take({"only/here": b"outside of sessions\n" * 40})
    unused = steps.store_files({"nobody": b"unreachable\n" * 40})
    steps.store.close()
    sizes = {
        path.parent.name + path.name: path.stat().st_size for path in steps.path.glob("objects/??/*") if path.is_file()
    }
    of_sessions = {session: _objects(steps, name) for name, session in names.items()}
    outside = _objects(steps, "--glob=refs/snapd/snapshots", "--not", *names)
    reads: Counter[bytes] = Counter()

    def read_whole(path: str, oid: bytes) -> object:
        reads[oid] += 1
        return loose.read_whole(path, oid)

    monkeypatch.setattr(module, "read_whole", read_whole)
    result = usage(str(steps.path))
    counted = Counter(oid for objects in of_sessions.values() for oid in objects)
    assert {*counted.values()} == {1, 2, 3}
    for session, objects in of_sessions.items():
        own = sum(sizes[oid] for oid in objects if counted[oid] == 1)
        # and the commits that record its snapshots, which git finds below no session
        assert own <= result.sessions[session] <= own + sum(sizes[oid] for oid in outside)
    assert result.unused == sum(sizes[oid] for oid in _objects(steps, unused.hex()))
    assert sum(result.sessions.values()) + result.shared + result.no_session + result.unused == sum(sizes.values())
    assert {*reads.values()} == {1}
