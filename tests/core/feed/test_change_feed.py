"""The work tree moved away from the last snapshot: when that is looked at, what is told of it, and what it costs."""

from __future__ import annotations

import os
import queue
import random
import threading
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from snapd.core import feed as feed_module
from snapd.core.feed import (
    INTERVAL_SECONDS,
    PATIENCE_SECONDS,
    QUIET_SECONDS,
    ChangeFeed,
    DriftNotice,
    Pace,
    TrackNotice,
)
from snapd.model.call import Call
from snapd.model.errors import Cancelled, IoError, StoreCorrupt, WorkspaceGone
from snapd.worktree.snapshot import scanner as scan
from snapd.worktree.snapshot.walker import Walker
from tests.support.amounts import amount
from tests.support.workspace import Bench, Executable, Symlink, git_changes, make, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 30.0


# -- when


def looks(heard: list[float]) -> list[float]:
    """When a feed looks that hears something at these times, to the microsecond."""
    pace = Pace()
    found: list[float] = []
    pending = list(heard)
    while True:
        due = pace.due
        if due is not None and (not pending or due <= pending[0]):
            pace.look(due)
            found.append(due)
        elif pending:
            pace.on_change(pending.pop(0))
        else:
            return found


def test_nothing_heard_is_never_due() -> None:
    pace = Pace()
    assert pace.due is None
    pace.on_change(1.0)
    assert pace.due == pytest.approx(1.0 + QUIET_SECONDS)
    pace.look(2.0)
    assert pace.due is None


def test_one_change_is_looked_at_when_it_is_quiet() -> None:
    assert looks([5.0]) == [pytest.approx(5.0 + QUIET_SECONDS)]
    assert looks([5.0, 5.05, 5.1]) == [pytest.approx(5.1 + QUIET_SECONDS)]


def test_a_long_burst_is_looked_at_some_times_a_second() -> None:
    found = looks([10.0 + at * 0.01 for at in range(1000)])
    assert found[0] == pytest.approx(10.0 + PATIENCE_SECONDS)
    assert 20 <= len(found) <= 41
    assert found[-1] >= 19.99


@pytest.mark.parametrize("seed", range(50))
def test_however_it_comes(seed: int) -> None:
    chance = random.Random(seed)
    now = 0.0
    heard = []
    for _ in range(200):
        now += chance.choice((0.001, 0.02, 0.05, 0.09, 0.3, 2.0)) * chance.random()
        heard.append(now)
    found = looks(heard)
    assert all(after - before >= INTERVAL_SECONDS - 1e-9 for before, after in pairwise(found))
    for at in heard:
        # nothing is left unlooked at, and none of it for long
        assert any(at <= look <= at + max(PATIENCE_SECONDS, INTERVAL_SECONDS) + 1e-9 for look in found)


# -- what


def listen(bench: Bench, told: Callable[[Any], None]) -> None:
    """Has all that a workspace tells told, and its troubles."""
    bench.workspace.event_log.listen(lambda news: told(news.event))
    bench.workspace.writer.trouble.add(told)


class Told:
    """What a workspace tells, looked at by hand: no thread, no time."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.events: list[Any] = []
        listen(bench, self.events.append)

    def look(self) -> list[DriftNotice]:
        """What is told by one look."""
        self.events.clear()
        self.bench.workspace.writer.feed.notifier.look(Call())
        return list(self.events)

    def files(self) -> list[tuple[str, str, int, int, bool]]:
        """The files of the one event that a look tells."""
        (event,) = self.look()
        assert not event.truncated
        return [(os.fsdecode(one.path), one.status, one.additions, one.deletions, one.binary) for one in event.files]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    bench = make(tmp_path, {"a.txt": b"one\ntwo\n", "sub/b.txt": b"b\n", ".gitignore": b"*.log\n"})
    bench.track()
    return Told(bench)


def test_nothing_is_told_before_the_first_snapshot(tmp_path: Path) -> None:
    told = Told(make(tmp_path, {"a": b"1\n"}))
    assert told.look() == []
    told.bench.write({"a": b"2\n"})
    assert told.look() == []


def test_an_edit(told: Told) -> None:
    base = told.bench.workspace.snapshots.status().last
    assert told.look() == []
    told.bench.write({"a.txt": b"one\nTWO\nthree\n"})
    (event,) = told.look()
    assert (event.base, event.truncated) == (base, False)
    assert [(one.path, one.before, one.after) for one in event.files] == [(b"a.txt", "", "")]
    told.bench.write({"new": b"x"})
    # the whole of it, not only what is new
    assert told.files() == [("a.txt", "modified", 2, 1, False), ("new", "added", 1, 0, False)]


def test_the_same_is_not_told_again(told: Told) -> None:
    told.bench.write({"a.txt": b"other\n"})
    assert len(told.look()) == 1
    assert told.look() == []
    told.bench.write({"a.txt": b"other\n"})
    assert told.look() == []
    # as many lines, but others: whoever shows them has to know
    told.bench.write({"a.txt": b"OTHER\n"})
    assert len(told.look()) == 1


def test_an_edit_that_was_undone(told: Told) -> None:
    told.bench.write({"a.txt": b"other\n"})
    told.look()
    told.bench.write({"a.txt": b"one\ntwo\n"})
    assert told.files() == []
    assert told.look() == []


def test_the_same_bytes_again_are_no_change(told: Told) -> None:
    told.bench.remove("a.txt")
    told.bench.write({"a.txt": b"one\ntwo\n"})
    os.utime(told.bench.path("sub/b.txt"))
    assert told.look() == []


def test_what_is_ignored_is_nothing(told: Told) -> None:
    told.bench.write({"debug.log": b"x\n", "sub/trace.log": b"y\n", "empty/": None})
    assert told.look() == []


def test_what_the_snapshot_was_forced_to_hold(told: Told) -> None:
    bench = told.bench
    first = bench.workspace.snapshots.status().last
    assert first is not None
    bench.write({"forced.log": b"1\n"})
    base = bench.track("forced.log")
    assert told.look() == []
    # a look under other circumstances in between
    bench.workspace.comparison.changed(first, None, Call())
    assert told.look() == []
    bench.write({"forced.log": b"2\n"})
    assert told.files() == [("forced.log", "modified", 1, 1, False)]
    assert bench.workspace.snapshots.status().last == base


@pytest.mark.parametrize("then", ["track", "restore", "revert"])
def test_a_snapshot_starts_over(told: Told, then: str) -> None:
    bench = told.bench
    first = bench.workspace.snapshots.status().last
    assert first is not None
    bench.write({"a.txt": b"other\n"})
    told.look()
    if then == "track":
        bench.track()
    elif then == "restore":
        bench.restore(first)
    else:
        bench.revert((first, ["a.txt"]))
    assert told.look() == []
    # of what was told before there is no need to be told that it is over
    bench.write({"sub/b.txt": b"c\n"})
    (event,) = told.look()
    assert event.base == bench.workspace.snapshots.status().last
    assert [one.path for one in event.files] == [b"sub/b.txt"]


def test_a_snapshot_of_what_was_undone_starts_over_too(told: Told) -> None:
    bench = told.bench
    bench.write({"a.txt": b"other\n"})
    told.look()
    bench.write({"a.txt": b"one\ntwo\n"})
    bench.track()
    assert told.look() == []


def test_a_comparison_is_no_new_base(told: Told) -> None:
    bench = told.bench
    base = bench.workspace.snapshots.status().last
    assert base is not None
    bench.write({"a.txt": b"other\n", "new": b"1\n2\n"})
    bench.workspace.comparison.changed(base, None, Call())
    assert told.files() == [("a.txt", "modified", 1, 2, False), ("new", "added", 2, 0, False)]
    assert told.look() == []


CHANGES: dict[str, Callable[[Bench], None]] = {
    "added": lambda bench: bench.write({"new.txt": b"1\n2\n3"}),
    "deleted": lambda bench: bench.remove("a.txt"),
    "emptied": lambda bench: bench.write({"a.txt": b""}),
    "executable": lambda bench: bench.write({"a.txt": Executable(b"one\ntwo\n")}),
    "symlink": lambda bench: bench.write({"a.txt": Symlink(b"sub/b.txt")}),
    "binary": lambda bench: bench.write({"a.txt": b"\0\1", "picture": bytes(range(256))}),
    "not UTF-8": lambda bench: bench.write({os.fsdecode(b"caf\xe9"): b"\xe9\n"}),
    "nested": lambda bench: bench.write({"x/y/z/deep.txt": b"1\n", "x/y/top.txt": b"2\n"}),
    "renamed directory": lambda bench: os.rename(bench.path("sub"), bench.path("moved")),
    "directory for a file": lambda bench: (bench.remove("a.txt"), bench.write({"a.txt/inside": b"i\n"}))[0],
    "file for a directory": lambda bench: (bench.remove("sub"), bench.write({"sub": b"s\n"}))[0],
    "now ignored": lambda bench: bench.write({".gitignore": b"*.log\na.txt\n"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_as_git_counts(told: Told, tmp_path: Path, what: str) -> None:
    before = told.bench.read()
    CHANGES[what](told.bench)
    after = told.bench.read()
    expected = git_changes(tmp_path, before, after)
    assert expected
    assert told.files() == expected


@pytest.mark.parametrize("seed", range(amount(3, 40)))
def test_random_edits(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["a", "b", "d/a", "d/b", "d/e/a", "f/a", "g"]

    def text() -> bytes:
        return b"".join(b"%d\n" % chance.randrange(4) for _ in range(chance.randrange(6))) or b"\0bin"

    bench = make(tmp_path, {name: text() for name in names})
    told = Told(bench)
    bench.track()
    base = read(bench.root)
    shown: list[Any] = []
    for _ in range(40):
        for _ in range(chance.randrange(1, 4)):
            name = chance.choice(names)
            if chance.random() < 0.2 and os.path.exists(bench.path(name)):
                bench.remove(name)
            else:
                bench.write({name: text()})
        if chance.random() < 0.15:
            bench.track()
            base, shown = read(bench.root), []
            continue
        if chance.random() < 0.2:
            bench.workspace.comparison.changed(bench.workspace.snapshots.status().last or b"", None, Call())
        expected = git_changes(tmp_path, base, read(bench.root))
        for event in told.look():
            assert not event.truncated
            shown = [(os.fsdecode(f.path), f.status, f.additions, f.deletions, f.binary) for f in event.files]
        assert shown == expected


def test_more_files_than_are_told(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "MAX_FILES", 3)
    told.bench.write({f"n{at}": b"1\n" for at in range(3)})
    assert len(told.files()) == 3
    told.bench.write({"n3": b"1\n"})
    (event,) = told.look()
    assert (len(event.files), event.truncated) == (3, True)
    told.bench.remove("n0", "n1", "n2", "n3")
    assert told.files() == []


def test_more_bytes_than_are_read(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "MAX_READ_BYTES", 100)
    told.bench.write({"large": b"x" * 101})
    (event,) = told.look()
    assert (event.files, event.truncated) == ((), True)
    told.bench.write({"large": b"x" * 100})
    assert told.files() == [("large", "added", 1, 0, False)]


def test_more_bytes_than_are_read_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(make(tmp_path, {f"f{at}": b"x" * 40 for at in range(4)}))
    told.bench.track()
    monkeypatch.setattr(feed_module, "MAX_STORED_BYTES", 100)
    told.bench.remove("f0", "f1", "f2")
    (event,) = told.look()
    assert ([one.path for one in event.files], event.truncated) == ([b"f0", b"f1"], True)
    assert told.look() == []


def test_a_snapshot_while_lines_are_counted(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = told.bench
    bench.write({"a.txt": b"other\n"})
    describe = feed_module.describe

    def slow(*args: Any, **how: Any) -> Any:
        bench.track()
        return describe(*args, **how)

    with monkeypatch.context() as patched:
        patched.setattr(feed_module, "describe", slow)
        assert [type(event) for event in told.look()] == [TrackNotice]
    assert told.look() == []


def test_trouble_with_a_snapshot_that_is_past_is_none(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    told.bench.write({"a.txt": b"other\n"})
    is_past = True

    def failing(*_: Any, **__: Any) -> Any:
        if is_past:
            told.bench.track()
        raise StoreCorrupt("expired")

    monkeypatch.setattr(feed_module, "describe", failing)
    assert [type(event) for event in told.look()] == [TrackNotice]
    is_past = False
    told.bench.write({"a.txt": b"again\n"})
    with pytest.raises(StoreCorrupt):
        told.look()


def test_nothing_is_stored(told: Told) -> None:
    before = told.bench.git("count-objects", "-v"), told.bench.git("for-each-ref")
    told.bench.write({"a.txt": b"never seen before\n", "new": b"neither\n"})
    assert len(told.files()) == 2
    assert (told.bench.git("count-objects", "-v"), told.bench.git("for-each-ref")) == before


def test_what_a_look_found_out_is_in_the_next_snapshot(told: Told) -> None:
    bench = told.bench
    bench.configure(max_file_size=10)
    bench.track()
    bench.write({"large": b"x" * 11})
    assert told.look() == []
    tracked = bench.take()
    assert [(skip.path, skip.reason.value) for skip in tracked.skipped] == [(b"large", "tooLarge")]
    first = tracked.tree
    # no longer too large: it was there, so that it is not deleted
    bench.write({"large": b"x"})
    assert len(told.files()) == 1
    bench.restore(first)
    assert bench.read()["large"] == b"x"


def test_a_folder_that_is_gone(told: Told) -> None:
    os.rename(told.bench.root, told.bench.folder / "elsewhere")
    with pytest.raises(WorkspaceGone):
        told.look()
    os.rename(told.bench.folder / "elsewhere", told.bench.root)
    assert told.look() == []


# -- while somebody listens


def threads() -> list[str]:
    """The threads that watch."""
    return [one.name for one in threading.enumerate() if one.name.startswith(("snapd-watch", "snapd-feed"))]


class Clocked:
    """A work tree's clock, told by hand; the rest of a work tree is not asked for."""

    def __init__(self) -> None:
        self.told: Callable[[], None] | None = None
        self.calls: list[str] = []

    def listen(self, told: Callable[[], None]) -> None:
        self.calls.append("listen")
        self.told = told

    def stop_listening(self) -> None:
        self.calls.append("stop")
        self.told = None


class Looking:
    """Stands for `DriftNotifier`: says when it looks, and waits or fails as it is told."""

    def __init__(self) -> None:
        self.looked: queue.Queue[Call] = queue.Queue()
        self.raises: Exception | None = None

    def look(self, call: Call) -> bool:
        self.looked.put(call)
        if self.raises is not None:
            raise self.raises
        return True


@contextmanager
def running(looking: Any) -> Iterator[tuple[Clocked, ChangeFeed, queue.Queue[Exception]]]:
    clock = Clocked()
    troubles: queue.Queue[Exception] = queue.Queue()
    feed = ChangeFeed(clock, looking, troubles.put)  # type: ignore[arg-type]
    yield clock, feed, troubles
    feed.close()
    assert threads() == []


def test_nothing_happens_while_nobody_listens(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(told.bench.workspace.work_tree.clock), "listen", lambda *_: pytest.fail("listened"))
    told.bench.write({"a.txt": b"other\n"})
    told.bench.track()
    assert threads() == []
    with running(Looking()) as (clock, feed, _):
        feed.listen(False)
        assert clock.calls == []
        assert threads() == []


def test_it_looks_when_it_starts_and_when_it_hears() -> None:
    looking = Looking()
    with running(looking) as (clock, feed, _):
        feed.listen(True)
        feed.listen(True)
        looking.looked.get(timeout=PATIENCE)
        for _ in range(3):
            assert clock.told is not None
            clock.told()
            looking.looked.get(timeout=PATIENCE)
        assert clock.calls == ["listen"]
        feed.listen(False)
        feed.listen(False)
        assert clock.calls == ["listen", "stop"]
        assert threads() == []
        feed.listen(True)
        looking.looked.get(timeout=PATIENCE)
    assert clock.calls == ["listen", "stop", "listen", "stop"]


def test_a_snapshot_that_failed_is_looked_after(told: Told) -> None:
    workspace = told.bench.workspace
    looking = Looking()
    workspace.writer.feed.notifier = looking  # type: ignore[assignment]
    workspace.feed.listen(True)
    looking.looked.get(timeout=PATIENCE)
    # from now on the clock says nothing
    workspace.work_tree.clock.stop_listening()
    told.bench.write({"a.txt": b"other\n"})
    call = Call()
    call.cancel()
    with pytest.raises(Cancelled):
        workspace.writer.look((), call)
    looking.looked.get(timeout=PATIENCE)


def test_trouble_is_told_once_and_the_feed_goes_on() -> None:
    looking = Looking()
    with running(looking) as (clock, feed, troubles):
        looking.raises = IoError("the disk", errno=5)
        feed.listen(True)

        def again() -> None:
            assert clock.told is not None
            clock.told()
            looking.looked.get(timeout=PATIENCE)

        looking.looked.get(timeout=PATIENCE)
        again()
        again()
        assert troubles.get(timeout=PATIENCE) is looking.raises
        looking.raises = ValueError("a defect")
        again()
        assert troubles.get(timeout=PATIENCE) is looking.raises
        assert troubles.empty()
        looking.raises = None
        again()
        looking.raises = ValueError("a defect")
        again()
        assert troubles.get(timeout=PATIENCE) is looking.raises


def test_closed_while_it_waits_for_its_turn(told: Told) -> None:
    workspace = told.bench.workspace
    told.bench.write({"a.txt": b"other\n"})
    reached = threading.Event()
    writing = workspace.writer.feed.notifier.writing

    @contextmanager
    def reaching(call: Call) -> Iterator[None]:
        reached.set()
        with writing(call):
            yield

    workspace.writer.feed.notifier.writing = reaching
    with workspace.writer.turn(Call()):
        workspace.feed.listen(True)
        assert reached.wait(PATIENCE)
        workspace.feed.listen(False)
        assert threads() == []
    assert told.events == []
    # and the whole workspace, from beside the one who writes
    reached.clear()
    with workspace.writer.write_lock.held(Call()):
        workspace.feed.listen(True)
        assert reached.wait(PATIENCE)
        closing = threading.Thread(target=told.bench.close)
        closing.start()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert threads() == []
    workspace.feed.listen(True)
    assert threads() == []


def test_a_cancelled_look_ends_the_thread() -> None:
    looking = Looking()
    looking.raises = Cancelled("as asked")
    with running(looking) as (_, feed, troubles):
        feed.listen(True)
        looking.looked.get(timeout=PATIENCE)
        feed.listen(False)
        assert threads() == []
        assert troubles.empty()


def test_with_the_real_clock(told: Told) -> None:
    events: queue.Queue[Any] = queue.Queue()
    listen(told.bench, events.put)
    told.bench.workspace.feed.listen(True)
    for at in range(3):
        told.bench.write({f"dir{at}/new": b"1\n"})
        names: list[bytes] = []
        while f"dir{at}/new".encode() not in names:
            names = [one.path for one in events.get(timeout=PATIENCE).files]
    assert "snapd-feed" in threads()
    told.bench.workspace.feed.listen(False)
    assert threads() == []
    told.bench.write({"unheard": b"1\n"})
    told.bench.close()
    assert events.empty()


def test_changes_that_go_on_while_it_is_looked(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "ROUNDS", 1)
    at = Walker.walk_marked
    late = iter([b"late\n"])

    def busy(look: Walker, *arguments: Any) -> None:
        at(look, *arguments)
        for data in late:
            told.bench.write({"late": data})

    events: queue.Queue[Any] = queue.Queue()
    listen(told.bench, events.put)
    told.bench.workspace.feed.listen(True)
    # from now on the clock says nothing
    told.bench.workspace.work_tree.clock.stop_listening()
    monkeypatch.setattr(Walker, "walk_marked", busy)
    told.bench.write({"a.txt": b"other\n"})
    told.bench.workspace.writer.feed.on_change()
    while b"late" not in [one.path for one in events.get(timeout=PATIENCE).files]:
        pass
