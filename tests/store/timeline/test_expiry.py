"""What goes with age and what stays: sessions as a whole, whatever they are linked with, and all that events name."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import UnknownSnapshot
from snapd.model.retention import Limits
from snapd.model.snapshot import ObjectId, Snapshot
from tests.store.steps import Disk, expire_all

from .telling import DAY, Telling
from .test_pins import check_readable, without_snapshots


def older_than(telling: Telling, before: int) -> Limits:
    """What is older than a time in milliseconds is to go, two days after the last event: however long it took to come.

    A leap of the clock is believed when the time after it has lasted.
    """
    now = telling.now + 2 * DAY
    return Limits(now / 1000, (now - before) / 1000)


def expire(telling: Telling, before: int) -> tuple[int, int]:
    """Expires what is older than a time in milliseconds, and has the model forget what the store did."""
    result = telling.store.maintenance.clean(older_than(telling, before), None, Call())
    left = {event.seq for event in telling.store.timeline.events(None, 1000)}
    telling.model.events = [event for event in telling.model.events if event.seq in left]
    return result


def settled(telling: Telling) -> None:
    """All questions have the same answers, from the database as it is, one made anew, and git."""
    telling.check()
    telling.closed().unlink()
    telling.opened()
    telling.check()
    check_readable(telling)
    assert telling.git("fsck", "--strict", "--full", "--no-dangling") == b""


def whole_session(telling: Telling, name: str) -> None:
    telling.start(name)
    telling.begin(name, f"{name} step")
    telling.edit()
    telling.end(f"{name} step")
    telling.operate(f"{name} undo", name, {f"{name} step": True})
    telling.end_session(name)


def later(telling: Telling, days: float) -> int:
    """Lets time pass; gives the time before."""
    then = telling.now
    telling.now += int(days * DAY)
    return then


def sessions(telling: Telling) -> list[str]:
    return [session.session_id for session in telling.store.timeline.sessions()]


def blobs_of(telling: Telling, name: str) -> list[ObjectId]:
    operation = telling.store.timeline.operation(f"{name} undo")
    assert operation is not None
    return [entry.oid for effect in operation.turned[0].effects for entry in (effect.old, effect.new) if entry]


def test_an_ended_session_goes_as_a_whole(telling: Telling) -> None:
    whole_session(telling, "old")
    blobs = blobs_of(telling, "old")
    then = later(telling, 10)
    whole_session(telling, "new")
    expire(telling, then + 1)
    assert sessions(telling) == ["new"]
    assert telling.store.timeline.step("old step") is None
    assert telling.store.timeline.operation("old undo") is None
    settled(telling)
    known = telling.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").decode().split()
    assert not {blob.hex() for blob in blobs} & set(known)
    assert len(telling.git("for-each-ref", "refs/snapd/sessions").splitlines()) == 1


def test_what_is_as_young_stays(telling: Telling) -> None:
    whole_session(telling, "old")
    last = telling.model.events[-1].milliseconds
    later(telling, 1)
    whole_session(telling, "new")
    # what is kept is told in seconds
    expire(telling, last - 1)
    assert sessions(telling) == ["old", "new"]
    expire(telling, last + 1)
    assert sessions(telling) == ["new"]
    settled(telling)


def test_a_session_that_goes_on_stays(telling: Telling) -> None:
    telling.start("goes on")
    telling.begin("goes on", "open")
    then = later(telling, 100)
    whole_session(telling, "new")
    expire(telling, then + 50 * DAY)
    assert sessions(telling) == ["goes on", "new"]
    settled(telling)
    telling.edit()
    telling.end("open")
    telling.check()


def test_a_session_that_was_taken_up_again_stays(telling: Telling) -> None:
    whole_session(telling, "old")
    then = later(telling, 10)
    telling.start("old")
    later(telling, 10)
    whole_session(telling, "new")
    expire(telling, then + 15 * DAY)
    assert sessions(telling) == ["old", "new"]
    settled(telling)


def test_operations_of_no_session_go_by_their_day(telling: Telling) -> None:
    telling.operate("first", None, {})
    then = later(telling, 3)
    telling.operate("second", None, {})
    expire(telling, then + DAY)
    assert telling.store.timeline.operation("first") is None
    assert telling.store.timeline.operation("second") is not None
    settled(telling)


def test_the_newest_event_stays_however_old(telling: Telling) -> None:
    """The next one is counted from it, and what changed since then is found from its head."""
    whole_session(telling, "old")
    seq, head = telling.store.timeline.next_seq, telling.store.timeline.head
    then = later(telling, 1000)
    expire(telling, then + 500 * DAY)
    assert (telling.store.timeline.next_seq, telling.store.timeline.head) == (seq, head)
    settled(telling)


def overlapping(telling: Telling) -> None:
    """The change of a step of one session is seen with an event of the other."""
    telling.start("one")
    telling.start("two")
    telling.begin("one", "a")
    telling.edit()
    telling.begin("two", "b")
    telling.edit()
    telling.end("a", (b"a.txt",))
    telling.end_session("one")


@pytest.mark.parametrize("ended", [True, False])
def test_sessions_that_changed_together_go_together(telling: Telling, ended: bool) -> None:
    overlapping(telling)
    then = later(telling, 10)
    telling.end("b")
    if ended:
        telling.end_session("two")
    limit = later(telling, 10)
    whole_session(telling, "new")
    expire(telling, then + DAY)
    assert sessions(telling) == ["one", "two", "new"]
    settled(telling)
    expire(telling, limit + DAY)
    assert sessions(telling) == (["new"] if ended else ["one", "two", "new"])
    settled(telling)


def test_an_operation_within_a_step_stays_with_it(telling: Telling) -> None:
    """It says what of the change was not the step's."""
    telling.start("one")
    telling.begin("one", "a")
    telling.edit()
    telling.operate("restore", None, {})
    telling.edit()
    telling.begin("one", "b", "a")
    then = later(telling, 10)
    whole_session(telling, "new")
    expire(telling, then + DAY)
    assert sessions(telling) == ["one", "new"]
    settled(telling)


def test_parts_and_what_took_them_back_stay_with_the_whole(telling: Telling) -> None:
    for name in ("agent", "part", "other"):
        telling.start(name)
    telling.begin("agent", "whole")
    telling.begin("part", "piece", "whole")
    telling.end("piece", changed=False)
    telling.end_session("part")
    telling.end("whole", changed=False)
    telling.operate("by another", "other", {"piece": True})
    telling.operate("back", None, {"piece": False}, "by another")
    telling.end_session("other")
    then = later(telling, 10)
    whole_session(telling, "new")
    expire(telling, then + DAY)
    assert sessions(telling) == ["agent", "part", "other", "new"]
    settled(telling)
    telling.end_session("agent")
    then = later(telling, 10)
    whole_session(telling, "newer")
    expire(telling, then + DAY)
    assert sessions(telling) == ["newer"]
    settled(telling)


def test_snapshots_that_events_name_stay(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [telling.now / 1000]
    monkeypatch.setattr("snapd.store.store.time.time_ns", lambda: int(now[0] * 1_000_000_000))
    telling.start("goes on")
    begun = telling.begin("goes on", "a")
    telling.edit()
    ended = telling.end("a")
    telling.edit()
    only_tracked = telling.snapshot
    telling.store.record(only_tracked, "track")
    now[0] += 20 * 86400
    telling.now = int(now[0] * 1000)
    telling.edit()
    telling.store.record(telling.snapshot, "track")
    telling.end_session("goes on")
    telling.start("goes on")
    removed, _ = expire(telling, int(now[0] * 1000) - 1000)
    assert removed == 1
    for event in (begun, ended):
        assert event.head is not None
        assert telling.store.find(event.head.tree) == telling.store.load(event.head)
    with pytest.raises(UnknownSnapshot):
        telling.store.find(only_tracked.tree)
    settled(telling)


def test_a_coverage_that_only_an_event_names_stays(telling: Telling) -> None:
    telling.start("goes on")
    event = telling.begin("goes on", "a")
    assert event.head is not None
    first = telling.store.load(event.head)
    telling.snapshot = Snapshot(first.tree, telling.store.load(telling.edit()).coverage)
    telling.end("a")
    assert telling.store.identify(telling.snapshot).coverage != event.head.coverage
    expire_all(telling.store)
    telling.reopen()
    assert telling.store.load(event.head) == first
    without_snapshots(telling)
    settled(telling)


def test_nothing_is_left_of_a_session_that_went(telling: Telling) -> None:
    whole_session(telling, "same name")
    then = later(telling, 10)
    telling.operate("restore", None, {})
    expire(telling, then + DAY)
    assert sessions(telling) == []
    whole_session(telling, "same name")
    settled(telling)
    telling.kill()
    settled(telling)


def test_a_cut_while_it_expires(telling: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    """The references went, and the rows did not."""
    whole_session(telling, "old")
    then = later(telling, 10)
    whole_session(telling, "new")

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("snapd.store.timeline.database.Database.drop", killed)
    with pytest.raises(Killed):
        expire(telling, then + 1)
    monkeypatch.undo()
    telling.model.events = [event for event in telling.model.events if event.milliseconds > then]
    telling.kill()
    settled(telling)


def test_a_power_cut_after_it_brings_nothing_back(
    telling: Telling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reference without what it held would keep all events from being read."""
    whole_session(telling, "old")
    then = later(telling, 10)
    whole_session(telling, "new")
    telling.reopen()
    disk = Disk(telling.path, monkeypatch)
    expire(telling, then + 1)
    found = disk.after_a_cut(tmp_path / "found", names_stay=False)
    disk.close()
    telling.store.close()
    telling.path = found
    telling.opened()
    settled(telling)
