from __future__ import annotations

import errno
import os
import select
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.watch import inotify_clock
from snapd.watch.clock import ITSELF, Marks
from snapd.watch.inotify_clock import InotifyClock
from snapd.watch.queues import OVERFLOW, Event, Inotify, SharedQueues
from tests.support.processes import descriptors
from tests.watch.places import Spot, names, opened, watch

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")
_SECONDS = 60.0
"""For what has to happen: a test that waits in vain fails."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def clock(root: Path) -> Iterator[InotifyClock]:
    clock = InotifyClock(os.fsencode(root))
    yield clock
    clock.close()


def begin(clock: InotifyClock, folder: Path, name: str = "root") -> Spot:
    """Watches a directory, and takes what there was to tell."""
    spot = watch(clock, folder, Spot(name))
    settle(clock)
    return spot


def settle(clock: InotifyClock) -> None:
    """Takes until there is nothing to tell, as a look does."""
    while clock.take():
        pass


def exhaust(monkeypatch: pytest.MonkeyPatch, code: int = errno.ENOSPC) -> None:
    def fail(self: Inotify, directory: int) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Inotify, "add", fail)


def overflow_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Inotify.read

    def overflowing(self: Inotify) -> Iterator[Event]:
        list(read(self))
        monkeypatch.setattr(Inotify, "read", read)
        yield Event(-1, OVERFLOW, b"")

    monkeypatch.setattr(Inotify, "read", overflowing)


def test_at_first_everything_may_have_changed(clock: InotifyClock) -> None:
    assert clock.take() == Marks(everything=True)
    assert clock.take() == Marks()
    assert (clock.kind, clock.exact, clock.reason) == ("inotify", True, None)


def test_a_change_that_returned_is_in_the_next_take(clock: InotifyClock, root: Path) -> None:
    begin(clock, root)
    for at in range(2000):
        name = f"{at % 5}"
        (root / name).write_bytes(b"%d" % at)
        assert names(clock.take()) == {"root": {name.encode()}}
    assert not clock.take()


def test_a_write_is_told_before_the_file_is_closed(clock: InotifyClock, root: Path) -> None:
    begin(clock, root)
    with open(root / "a", "wb", buffering=0) as file:
        clock.take()
        for _ in range(50):
            file.write(b"x")
            assert names(clock.take()) == {"root": {b"a"}}


def test_the_barrier_holds_while_somebody_listens(clock: InotifyClock, root: Path) -> None:
    begin(clock, root)
    clock.listen(lambda: None)
    for at in range(500):
        (root / f"{at}").write_bytes(b"")
        assert names(clock.take()) == {"root": {b"%d" % at}}


def test_marks_that_are_put_back_come_again(clock: InotifyClock, root: Path) -> None:
    spot = begin(clock, root)
    (root / "a").write_bytes(b"")
    taken = clock.take()
    (root / "b").write_bytes(b"")
    clock.put_back(taken)
    assert names(clock.take()) == {"root": {b"a", b"b"}}
    assert not clock.take()
    clock.put_back(Marks(everything=True, names={spot: {b"c"}}))
    assert clock.take() == Marks(everything=True, names={spot: {b"c"}})
    assert not clock.take()


def test_what_is_forgotten_is_told_no_more(clock: InotifyClock, root: Path) -> None:
    spot = begin(clock, root)
    clock.forget(spot)
    assert spot.watch == -1
    (root / "a").mkdir()
    assert not clock.take()
    clock.forget(spot)
    watch(clock, root, spot)
    (root / "b").mkdir()
    assert names(clock.take()) == {"root": {b"b"}}


def test_forgetting_gives_the_watch_back(clock: InotifyClock, root: Path) -> None:
    def watches() -> int:
        with open(f"/proc/self/fdinfo/{clock.queues.inotify.descriptor}", encoding="ascii") as file:  # type: ignore[union-attr]
            return sum(line.startswith("inotify wd:") for line in file)

    spot = begin(clock, root)
    assert watches() == 1
    clock.forget(spot)
    assert watches() == 0


def test_a_directory_that_was_taken_over_stays_watched(clock: InotifyClock, root: Path) -> None:
    (root / "old").mkdir()
    old = begin(clock, root / "old", "old")
    os.rename(root / "old", root / "new")
    new = watch(clock, root / "new", Spot("new"))
    clock.forget(old)
    clock.take()
    (root / "new/a").write_bytes(b"")
    assert names(clock.take()) == {"new": {b"a"}}
    clock.forget(new)
    (root / "new/b").mkdir()
    assert not clock.take()


def test_who_lost_a_directory_to_another_place_is_told(clock: InotifyClock, root: Path) -> None:
    """It may be moved back before its old place is looked at: that must not pass for watched."""
    (root / "old").mkdir()
    old = begin(clock, root / "old", "old")
    os.rename(root / "old", root / "new")
    new = watch(clock, root / "new", Spot("new"))
    os.rename(root / "new", root / "old")
    clock.forget(new)
    assert old.watch == -1
    assert ITSELF in names(clock.take())["old"]
    watch(clock, root / "old", old)
    (root / "old/a").write_bytes(b"")
    assert names(clock.take()) == {"old": {b"a"}}


def test_a_directory_that_goes_and_comes_again(clock: InotifyClock, root: Path) -> None:
    begin(clock, root)
    (root / "d").mkdir()
    spot = begin(clock, root / "d", "d")
    for _ in range(50):
        # the inode number may well be the same
        (root / "d").rmdir()
        (root / "d").mkdir()
        assert names(clock.take()) == {"root": {b"d"}, "d": {ITSELF}}
        assert spot.watch == -1
        watch(clock, root / "d", spot)
        (root / "d/a").write_bytes(b"")
        assert names(clock.take()) == {"d": {b"a"}}
        (root / "d/a").unlink()
        settle(clock)


def test_a_directory_that_is_moved_or_changed_itself(clock: InotifyClock, root: Path) -> None:
    (root / "d").mkdir()
    begin(clock, root / "d", "d")
    os.chmod(root / "d", 0o700)
    assert names(clock.take()) == {"d": {ITSELF}}
    os.rename(root / "d", root / "e")
    assert names(clock.take()) == {"d": {ITSELF}}


def test_an_overflow(clock: InotifyClock, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every directory is to be watched anew; watches that nobody asks for again end."""
    (root / "d").mkdir()
    spot, gone = begin(clock, root), begin(clock, root / "d", "d")
    overflow_once(monkeypatch)
    (root / "a").write_bytes(b"")
    assert clock.take().everything
    assert (spot.watch, gone.watch) == (-1, -1)
    watch(clock, root, spot)
    clock.forget(gone)
    assert not clock.take()
    (root / "d/b").write_bytes(b"")
    (root / "c").write_bytes(b"")
    assert names(clock.take()) == {"root": {b"c"}}
    assert (clock.kind, clock.exact) == ("inotify", True)


def test_a_second_overflow_before_all_is_watched_again(
    clock: InotifyClock, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spot = begin(clock, root)
    for name in "ab":
        overflow_once(monkeypatch)
        (root / name).write_bytes(b"")
        assert clock.take().everything
    watch(clock, root, spot)
    assert not clock.take()
    (root / "c").write_bytes(b"")
    assert names(clock.take()) == {"root": {b"c"}}


def test_the_kernels_own_overflow(clock: InotifyClock, root: Path) -> None:
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        length = int(file.read())
    if length > 100_000:
        pytest.skip(f"the queue takes {length} events here")
    spot = begin(clock, root)
    for _ in range(length // 2 + 10):
        os.mkdir(root / "d")
        os.rmdir(root / "d")
    assert clock.take().everything
    assert spot.watch == -1
    watch(clock, root, spot)
    (root / "a").write_bytes(b"")
    marks = clock.take()
    assert (marks.everything, marks.names) == (False, {spot: {b"a"}})


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOMEM])
def test_where_no_watches_are_left(clock: InotifyClock, root: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    spot = begin(clock, root)
    (root / "d").mkdir()
    exhaust(monkeypatch, code)
    late = watch(clock, root / "d", Spot("d"))
    assert (clock.kind, clock.exact) == ("none", False)
    assert "max_user_watches" in (clock.reason or "")
    assert (spot.watch, late.watch) == (-1, -1)
    for _ in range(3):
        assert clock.take() == Marks(everything=True)
    watch(clock, root, spot)
    clock.forget(spot)
    clock.put_back(Marks())
    assert clock.take() == Marks(everything=True)


def test_other_trouble_with_a_watch_is_told(clock: InotifyClock, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exhaust(monkeypatch, errno.EACCES)
    with pytest.raises(PermissionError):
        watch(clock, root, Spot("root"))
    assert clock.exact


def test_a_listener_is_told(clock: InotifyClock, root: Path) -> None:
    told = threading.Event()
    begin(clock, root)
    clock.listen(told.set)
    for name in "abc":
        (root / name).write_bytes(b"")
        assert told.wait(_SECONDS)
        # what it was told of is still there to be taken
        assert b"%c" % ord(name) in names(clock.take())["root"]
        told.clear()
    clock.stop_listening()
    (root / "d").write_bytes(b"")
    assert not told.is_set() or clock.take()


def test_the_queue_is_emptied_while_somebody_listens(clock: InotifyClock, root: Path) -> None:
    spot = begin(clock, root)
    gathered = threading.Semaphore(0)
    clock.listen(gathered.release)
    (root / "a").mkdir()
    assert gathered.acquire(timeout=_SECONDS)
    assert clock.queues is not None
    assert list(clock.queues.inotify.read()) == []
    assert clock.take() == Marks(names={spot: {b"a"}})


def test_a_listener_when_the_watches_run_out(clock: InotifyClock, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told now and then, not all the time: one wake-up for each waiting."""
    waits: list[float | None] = []
    enough = threading.Event()
    poll = select.poll

    class Poll:
        def __init__(self) -> None:
            self._poll = poll()
            self.register: Callable[..., None] = self._poll.register

        def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
            waits.append(timeout)
            ready: list[tuple[int, int]] = self._poll.poll(None if timeout is None else min(timeout, 20))
            return ready

    begin(clock, root)
    told: list[int] = []

    def tell() -> None:
        told.append(len(waits))
        if len(told) == 3:
            enough.set()

    monkeypatch.setattr(select, "poll", Poll)
    clock.listen(tell)
    exhaust(monkeypatch)
    watch(clock, root, Spot("other"))
    assert enough.wait(_SECONDS)
    clock.stop_listening()
    within = waits[told[0] - 1 :]
    assert set(within) == {inotify_clock.POLL_SECONDS * 1000}
    assert [told[1] - told[0], told[2] - told[1]] == [1, 1]


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("exhausted", [False, True])
def test_closing_leaves_nothing_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch, listening: bool, exhausted: bool
) -> None:
    before, threads = descriptors(), threading.active_count()
    clock = InotifyClock(os.fsencode(root))
    begin(clock, root)
    if listening:
        clock.listen(lambda: None)
    if exhausted:
        exhaust(monkeypatch)
        watch(clock, root, Spot("other"))
    clock.close()
    clock.close()
    assert descriptors() == before
    assert threading.active_count() == threads


def test_listening_again_and_again(clock: InotifyClock, root: Path) -> None:
    begin(clock, root)
    before, threads = descriptors(), threading.active_count()
    told = threading.Event()
    for at in range(20):
        clock.listen(told.set)
        (root / f"{at}").write_bytes(b"")
        assert told.wait(_SECONDS)
        clock.stop_listening()
        clock.stop_listening()
        told.clear()
        clock.take()
    assert (descriptors(), threading.active_count()) == (before, threads)


class Limits:
    """How many watches and queues the user has left, and what time it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.watches: int | None = None
        self.queues = True
        self.now = 1000.0
        add, start = Inotify.add, Inotify.__init__

        def added(queue: Inotify, directory: int) -> int:
            if self.watches is not None:
                self.watches -= 1
                if self.watches < 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return add(queue, directory)

        def started(queue: Inotify, descriptor: int | None = None) -> None:
            if not self.queues:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            start(queue, descriptor)

        monkeypatch.setattr(Inotify, "add", added)
        monkeypatch.setattr(Inotify, "__init__", started)
        monkeypatch.setattr(inotify_clock, "monotonic", lambda: self.now)


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Limits:
    return Limits(monkeypatch)


def look(clock: InotifyClock, spot: Spot, root: Path) -> str:
    """Looks as whoever asks does: at everything, where the clock says so; gives how it is watched then."""
    if clock.take().everything and spot.watch < 0:
        watch(clock, root, spot)
    return clock.kind


def test_watching_is_tried_again_after_a_pause_that_grows(limits: Limits, root: Path) -> None:
    before = descriptors()
    clock, spot = InotifyClock(os.fsencode(root)), Spot("root")
    pause, tried = inotify_clock.SHORTEST_PAUSE, []
    limits.watches = 0
    assert look(clock, spot, root) == "none"
    for _ in range(8):
        for _ in range(3):
            # not before its time
            limits.now += pause / 4
            limits.watches = 1
            assert look(clock, spot, root) == "none"
            assert limits.watches == 1
        limits.watches = 0
        limits.now += pause / 4
        assert look(clock, spot, root) == "none"
        assert limits.watches == -1
        tried.append(pause)
        pause = min(2 * pause, inotify_clock.LONGEST_PAUSE)
    assert tried[-1] == inotify_clock.LONGEST_PAUSE
    assert "max_user_watches" in (clock.reason or "")
    limits.watches = None
    limits.now += pause
    assert look(clock, spot, root) == "inotify"
    assert (clock.exact, clock.reason) == (True, None)
    settle(clock)
    (root / "a").write_bytes(b"")
    assert names(clock.take()) == {"root": {b"a"}}
    settle(clock)
    # it went well: the next pause is a short one again
    limits.watches = 0
    watch(clock, root, Spot("other"))
    limits.watches = None
    limits.now += inotify_clock.SHORTEST_PAUSE
    assert look(clock, spot, root) == "inotify"
    clock.close()
    assert descriptors() == before


def test_a_queue_is_tried_again_too(limits: Limits, root: Path) -> None:
    """Where there was none to have from the beginning: as many as the user may have are in use by others."""
    limits.queues = False
    before = descriptors()
    clock, spot = InotifyClock(os.fsencode(root)), Spot("root")
    assert descriptors() == before
    assert look(clock, spot, root) == "none"
    assert "Too many open files" in (clock.reason or "")
    limits.queues = True
    assert look(clock, spot, root) == "none"
    limits.now += inotify_clock.SHORTEST_PAUSE
    assert look(clock, spot, root) == "inotify"
    assert clock.reason is None
    clock.close()
    assert descriptors() == before


def test_a_listener_is_told_of_changes_once_watching_is_possible_again(limits: Limits, root: Path) -> None:
    clock, spot = InotifyClock(os.fsencode(root)), Spot("root")
    limits.watches = 0
    told = threading.Event()
    clock.listen(told.set)
    assert look(clock, spot, root) == "none"
    limits.watches = None
    limits.now += inotify_clock.SHORTEST_PAUSE
    assert look(clock, spot, root) == "inotify"
    settle(clock)
    told.clear()
    (root / "a").write_bytes(b"")
    assert told.wait(_SECONDS)
    assert names(clock.take()) == {"root": {b"a"}}
    clock.close()


def test_a_closed_clock_watches_nothing_any_more(limits: Limits, root: Path) -> None:
    before = descriptors()
    clock = InotifyClock(os.fsencode(root))
    clock.close()
    limits.now += 2 * inotify_clock.LONGEST_PAUSE
    assert clock.take().everything
    assert descriptors() == before


def test_no_descriptors_are_left_behind_where_nothing_can_be_watched(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, *_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    before = descriptors()
    for target in (inotify_clock.Inotify, inotify_clock.Mounts, inotify_clock.Fanotify):
        with monkeypatch.context() as patch:
            patch.setattr(target, "__init__", fail)
            InotifyClock(os.fsencode(root)).close()
        assert descriptors() == before


def test_a_tree_that_is_removed(clock: InotifyClock, root: Path) -> None:
    begin(clock, root)
    spots = []
    for name in ("d", "d/e", "d/e/f"):
        (root / name).mkdir()
        spots.append(begin(clock, root / name, name))
    shutil.rmtree(root / "d")
    assert names(clock.take()) == {"root": {b"d"}, "d": {b"e", ITSELF}, "d/e": {b"f", ITSELF}, "d/e/f": {ITSELF}}
    assert [spot.watch for spot in spots] == [-1, -1, -1]
    for spot in spots:
        clock.forget(spot)
    assert not clock.take()


# -- watches that another process adds


def added_elsewhere(queues: tuple[int, ...], folder: Path) -> int:
    """Adds a watch as another process would, to the queues that it was lent."""
    with opened(folder) as descriptor:
        return SharedQueues(queues).add(descriptor)


def lent(clock: InotifyClock) -> tuple[int, ...]:
    """The queues, with nothing in them that is to be told."""
    settle(clock)
    return clock.share_queues()


def test_what_happens_before_a_watch_is_claimed_is_told_of_the_place(clock: InotifyClock, root: Path) -> None:
    watch_number = added_elsewhere(lent(clock), root)
    (root / "early").mkdir()
    # a listener's thread takes it in
    assert clock.take() == Marks()
    (root / "queued").mkdir()
    spot = Spot("root")
    clock.adopt_watch(watch_number, spot)
    (root / "later").mkdir()
    assert names(clock.take()) == {"root": {b"early", b"queued", b"later"}}
    clock.end_sharing()
    (root / "settled").write_bytes(b"")
    assert names(clock.take()) == {"root": {b"settled"}}


def test_a_directory_that_went_before_it_was_claimed_is_doubted(clock: InotifyClock, root: Path) -> None:
    (root / "below").mkdir()
    watch_number = added_elsewhere(lent(clock), root / "below")
    (root / "below").rmdir()
    assert clock.take() == Marks()
    spot = Spot("below")
    clock.adopt_watch(watch_number, spot)
    assert ITSELF in names(clock.take())["below"]
    assert spot.watch == -1


def test_what_nobody_claims_is_watched_no_more(clock: InotifyClock, root: Path) -> None:
    (root / "ignored").mkdir()
    watch_number = added_elsewhere(lent(clock), root / "ignored")
    clock.drop_watch(watch_number)
    clock.end_sharing()
    assert clock.take() == Marks()
    (root / "ignored/file").mkdir()
    assert clock.share_queues()
    spot = Spot("other")
    clock.adopt_watch(watch_number, spot)
    assert clock.take() == Marks()


@pytest.mark.parametrize("given_up", [False, True], ids=["forgotten", "disclaimed"])
def test_a_directory_that_moved_is_watched_where_it_was_found(clock: InotifyClock, root: Path, given_up: bool) -> None:
    """It has the same watch there: to let go of the one place must not end that of the other."""
    (root / "one").mkdir()
    one = Spot("one")
    first = added_elsewhere(lent(clock), root / "one")
    (root / "one").rename(root / "two")
    second = added_elsewhere(clock.share_queues(), root / "two")
    assert first == second
    if given_up:
        clock.drop_watch(first)
    else:
        clock.adopt_watch(first, one)
        clock.forget(one)
    two = Spot("two")
    clock.adopt_watch(second, two)
    clock.end_sharing()
    clock.take()
    (root / "two/file").write_bytes(b"")
    assert names(clock.take()) == {"two": {b"file"}}


def test_a_directory_that_was_another_place_is_looked_at_again(clock: InotifyClock, root: Path) -> None:
    """What happened since it was listed was told of the place that it was."""
    (root / "one").mkdir()
    one = begin(clock, root / "one", "one")
    watch_number = added_elsewhere(lent(clock), root / "one")
    (root / "one/file").write_bytes(b"")
    clock.forget(one)
    two = Spot("two")
    clock.adopt_watch(watch_number, two)
    assert ITSELF in names(clock.take())["two"]


def test_without_a_queue_nothing_is_lent(clock: InotifyClock, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(clock, root)
    exhaust(monkeypatch)
    watch(clock, root, Spot("root"))
    assert clock.share_queues() == ()
    spot = Spot("root")
    clock.adopt_watch(1, spot)
    clock.drop_watch(1)
    clock.end_sharing()
    assert spot.watch == -1
