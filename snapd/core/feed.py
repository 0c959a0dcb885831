"""The notifications of a workspace, numbered in one order for all clients."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

import attrs

from snapd.core.answers import SessionView, StepView
from snapd.core.compare.file_diff import FileDelta, describe
from snapd.core.compare.text import SmallBlobs, TextDiffer
from snapd.model.call import Call
from snapd.model.errors import Cancelled
from snapd.model.snapshot import TEN_MIB, CaptureSettings, Change, Drift, DriftQuery, Entry, ObjectId, Outcome, Skip
from snapd.model.timeline import OperationKind
from snapd.store.object_store import ObjectStore
from snapd.store.objects.codec import object_id
from snapd.store.store import Store
from snapd.watch.clock import Clock
from snapd.worktree.worktree import WorkTree


@attrs.frozen
class TrackNotice:
    """A client asked for a snapshot; `previous` is the tree before it, `skipped` what the capture skipped."""

    tree: ObjectId
    previous: ObjectId | None
    skipped: tuple[Skip, ...]


@attrs.frozen
class RevertNotice:
    """An operation changed the work tree."""

    kind: OperationKind
    outcome: Outcome


@attrs.frozen
class DriftNotice:
    """The work tree differs from the last snapshot, or no longer does."""

    base: ObjectId  # the tree of that snapshot
    files: tuple[FileDelta, ...]  # the files that differ, without contents, ordered by path
    truncated: bool  # whether more files differ


@attrs.frozen
class SessionMoved:
    """A session changed; `step` is the step that changed, or None for the session as a whole."""

    session: SessionView
    step: StepView | None


@attrs.frozen
class ReviewNotice:
    """The amount of pending changes changed, or a comment; `additions` and `deletions` are lines in all `files`."""

    files: int
    additions: int
    deletions: int
    comments: int  # how many are open
    last_remark: int  # the `seq` of the last comment or reply; 0 for none
    last_told: int  # when an agent was told of a comment last; 0 for never


Notice = TrackNotice | RevertNotice | DriftNotice | SessionMoved | ReviewNotice
"""Any notification of a workspace."""


KEPT = 1000
"""The number of notifications to keep."""
KEPT_FILES = 50_000
"""The number of file names in kept notifications."""
_BLOCK = 4000
_AHEAD = 1000


@attrs.frozen
class NumberedNotice:
    """A notification with its number `seq`, which grows by one within a workspace."""

    seq: int
    event: Notice


T = TypeVar("T")


class Listeners(Generic[T]):
    """Listeners for one kind of event, called in the thread in which it happens."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[T], None]] = []

    def add(self, listener: Callable[[T], None]) -> None:
        """Adds a listener."""
        self._listeners.append(listener)

    def notify(self, what: T) -> None:
        """Calls all listeners."""
        for listener in self._listeners:
            listener(what)


class EventLog:
    """Numbers notifications, keeps the latest, and sends them to listeners. Thread-safe.

    `reserve` reserves the requested count of numbers and returns the first. It never returns a number twice, even after
    a crash.
    """

    def __init__(self, reserve: Callable[[int], int]) -> None:
        self._reserve = reserve
        self._lock = threading.Lock()
        self._listeners: Listeners[NumberedNotice] = Listeners()
        self._kept: deque[NumberedNotice] = deque()
        self.file_count = 0
        # no number is reserved before one is needed
        self._next = self._end = 0

    def listen(self, listener: Callable[[NumberedNotice], None]) -> None:
        """Calls `listener` with each later notification, in order, in the thread that causes it."""
        with self._lock:
            self._listeners.add(listener)

    def prepare(self, count: int = _AHEAD) -> None:
        """Reserves numbers in advance, because a change must be announced even if the disk is full by then.

        Raises `StorageFull` or `IoError`.
        """
        with self._lock:
            self._renew(count)

    def publish(self, event: Notice) -> None:
        """Numbers and sends a notification. Raises `StorageFull` or `IoError` if no number is left or reserved."""
        with self._lock:
            self._renew(1)
            numbered = NumberedNotice(self._next, event)
            self._next += 1
            self._kept.append(numbered)
            self.file_count += _weight(event)
            while len(self._kept) > KEPT or (self.file_count > KEPT_FILES and len(self._kept) > 1):
                self.file_count -= _weight(self._kept.popleft().event)
            self._listeners.notify(numbered)

    def since(self, seq: int) -> tuple[tuple[NumberedNotice, ...] | None, int]:
        """Returns the notifications after a number, None if some were dropped or it was never used; and the latest one.

        Before the first notification, the latest number is one below its number.
        """
        with self._lock:
            self._renew(0)
            latest = self._next - 1
            first = self._kept[0].seq if self._kept else self._next
            if not first - 1 <= seq <= latest:
                return None, latest
            return tuple(numbered for numbered in self._kept if numbered.seq > seq), latest

    def _renew(self, count: int) -> None:
        if not self._end or self._end - self._next < count:
            size = max(_BLOCK, count)
            first = self._reserve(size)
            # a block that follows the one before leaves no gap
            if first != self._end or self._next == self._end:
                self._next = first
            self._end = first + size


def _weight(event: Notice) -> int:
    if isinstance(event, RevertNotice):
        return len(event.outcome.files)
    if isinstance(event, SessionMoved):
        return len(event.step.files or ()) if event.step is not None else 0
    return len(event.files) if isinstance(event, DriftNotice) else 0


Writing = Callable[[Call], AbstractContextManager[None]]


QUIET_SECONDS = 0.08
"""How long the work tree must be quiet before the feed looks."""
PATIENCE_SECONDS = 0.4
"""The feed looks after this time even if changes do not stop."""
INTERVAL_SECONDS = 0.25
"""The minimum time between two looks: four looks a second."""


@attrs.define
class Pace:
    """Decides when to look at the work tree, soon after changes stop but not too late or often; monotonic seconds."""

    _first: float | None = None
    _latest: float = 0.0
    _looked: float = -math.inf

    def on_change(self, now: float) -> None:
        """Records that something may have changed."""
        if self._first is None:
            self._first = now
        self._latest = now

    @property
    def due(self) -> float | None:
        """When to look; None if nothing changed since the last look."""
        if self._first is None:
            return None
        settled = min(self._latest + QUIET_SECONDS, self._first + PATIENCE_SECONDS)
        return max(settled, self._looked + INTERVAL_SECONDS)

    def look(self, now: float) -> None:
        """Records that a look begins, which covers all changes up to now."""
        self._first = None
        self._looked = now


class PacedThread:
    """A thread that looks once when it starts, and then after each reported change.

    `look` returns whether it is complete; its call is cancelled when the thread is to stop. `on_trouble` is called in
    the thread with what a look raises, once for each reason in a row.
    """

    def __init__(self, name: str, look: Callable[[Call], bool], on_trouble: Callable[[Exception], None]) -> None:
        self._look = look
        self._on_trouble = on_trouble
        self._trouble: str | None = None
        self._wake = threading.Condition()
        self._pace = Pace()
        self._pace.on_change(time.monotonic())
        self._stopping = False
        self._call = Call()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread, after a running look ends."""
        self._call.cancel()
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def on_change(self) -> None:
        """Makes the thread look when a look is due."""
        with self._wake:
            was_idle = self._pace.due is None
            self._pace.on_change(time.monotonic())
            if was_idle:
                self._wake.notify()

    def _run(self) -> None:
        while self._wait():
            try:
                if not self._look(self._call):
                    self.on_change()
            except Cancelled:
                return
            except Exception as error:
                self._log_failure(error)
            else:
                self._trouble = None

    def _wait(self) -> bool:
        """Waits until a look is due; returns False once the thread is to stop."""
        with self._wake:
            while not self._stopping:
                due, now = self._pace.due, time.monotonic()
                if due is not None and due <= now:
                    self._pace.look(now)
                    return True
                self._wake.wait(None if due is None else due - now)
        return False

    def _log_failure(self, error: Exception) -> None:
        trouble = f"{type(error).__name__}: {error}"
        if trouble != self._trouble:
            self._trouble = trouble
            self._on_trouble(error)


def changes_of(drift: Drift) -> tuple[tuple[Change, ...], dict[ObjectId, bytes]]:
    """Returns the real differences of a drift, by ids of contents, and the blobs that were read from the work tree."""
    changes: list[Change] = []
    held: dict[ObjectId, bytes] = {}
    for drifted in drift.files:
        new = drifted.new
        if new is not None and drifted.data is not None:
            new = Entry(new.mode, object_id("blob", drifted.data))
        if new != drifted.old:
            changes.append(Change(drifted.path, drifted.old, new))
            if new is not None and drifted.data is not None:
                held[new.oid] = drifted.data
    return tuple(changes), held


@attrs.frozen
class UnstoredBlobs:
    """The blobs of a store together with others that it may lack, whose bytes are `held`."""

    stored: SmallBlobs
    held: Mapping[ObjectId, bytes]

    def read_small_blob(self, oid: ObjectId, most: int) -> bytes | None:
        """See `SmallBlobs.read_small_blob`."""
        data = self.held.get(oid)
        if data is None:
            return self.stored.read_small_blob(oid, most)
        return data if len(data) <= most else None

    def blob_chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """See `SmallBlobs.blob_chunks`."""
        data = self.held.get(oid)
        return self.stored.blob_chunks(oid) if data is None else iter((data,))


MAX_FILES = 500
"""The maximum number of files in one notification."""
MAX_READ_BYTES = 8 << 20
"""The maximum bytes to read from the work tree for one notification."""
MAX_STORED_BYTES = 32 << 20
"""The maximum bytes to read from the store for one notification."""


@attrs.define(eq=False)
class DriftNotifier:
    """Compares the work tree with the last snapshot, and notifies when the difference changed.

    `writing` waits for the write lock of the workspace and holds it; `notify` is called with the lock held.
    """

    _work_tree: WorkTree
    _objects: ObjectStore
    _store: Store
    _texts: TextDiffer
    _settings: Callable[[], CaptureSettings]
    writing: Writing
    _notify: Callable[[DriftNotice], None]
    _notified: _Difference | None = attrs.field(default=None, init=False)
    _turn: int = attrs.field(default=0, init=False)

    def forget(self) -> None:
        """Clears what was sent, because there is a new snapshot to compare with. Requires the write lock."""
        self._notified = None
        self._turn += 1

    def look(self, call: Call) -> bool:
        """Compares the work tree with the last snapshot, and notifies of a difference that was not sent yet.

        Returns whether the look is complete; if not, another one is needed even if nothing changes.
        """
        with self.writing(call):
            base, turn, notified = self._store.last, self._turn, self._notified
            if base is None:
                return True
            if notified is None or notified.base != base:
                notified = _Difference(base, (), False)
            # not cancelled with the rest: if this look is interrupted, the next one must read everything
            forced = self._store.find(base).coverage.forced
            query = DriftQuery(base, self._objects.read_tree, self._settings(), forced, MAX_FILES, MAX_READ_BYTES)
            drift = self._work_tree.drift(query, Call())
        # count lines without the write lock
        changes, held = changes_of(drift)
        difference, blobs = _Difference(base, changes, drift.truncated), UnstoredBlobs(self._objects, held)
        if difference == notified:
            return not drift.unfinished
        try:
            event = self._describe(difference, blobs, call)
        except Cancelled:
            raise
        except Exception:
            with self.writing(call):
                if self._is_past(base, turn):
                    # the snapshot is no longer the last one, and may have expired
                    return False
            raise
        with self.writing(call):
            if not self._is_past(base, turn):
                self._notified = difference
                self._notify(event)
        return not drift.unfinished

    def _is_past(self, base: ObjectId, turn: int) -> bool:
        return turn != self._turn or base != self._store.last

    def _describe(self, difference: _Difference, blobs: UnstoredBlobs, call: Call) -> DriftNotice:
        files: list[FileDelta] = []
        left = MAX_STORED_BYTES
        for change in difference.changes:
            call.check()
            sides = (change.old, change.new)
            stored = [entry.oid for entry in sides if entry is not None and entry.oid not in blobs.held]
            # of larger files only the beginning is read
            left -= sum(size for size in map(self._objects.blob_size, stored) if size <= TEN_MIB)
            if left < 0:
                return DriftNotice(difference.base, tuple(files), True)
            files.append(describe(blobs, change.path, *sides, self._texts, call, contents=False))
        return DriftNotice(difference.base, tuple(files), difference.truncated)


@attrs.frozen
class _Difference:
    """What differs from a snapshot, by content ids; the same difference is sent only once."""

    base: ObjectId
    changes: tuple[Change, ...]
    truncated: bool


class ChangeFeed:
    """Notifies of changes in the work tree while a client listens; costs nothing otherwise.

    Its own thread sleeps until the work tree's clock reports a change. `on_trouble` is called in that thread with what
    keeps notifications from being sent, once for each reason in a row.
    """

    def __init__(self, clock: Clock, notifier: DriftNotifier, on_trouble: Callable[[Exception], None]) -> None:
        self._clock = clock
        self.notifier = notifier
        self._on_trouble = on_trouble
        self._switching = threading.Lock()
        self._running: PacedThread | None = None
        self._closed = False

    def listen(self, wanted: bool) -> None:
        """Starts or stops the feed; has no effect if it is in that state already, or after `close`.

        Once stopped, it sends nothing. The caller must not hold the write lock: a look may be waiting for it. Raises
        `OSError` or `RuntimeError` if no file descriptor or thread is left.
        """
        with self._switching:
            if wanted and self._running is None and not self._closed:
                running = PacedThread("snapd-feed", self.notifier.look, self._on_trouble)
                self._clock.listen(running.on_change)
                try:
                    # once when it starts; from then on the clock reports changes
                    running.start()
                except BaseException:
                    self._clock.stop_listening()
                    raise
                self._running = running
            elif not wanted and self._running is not None:
                running, self._running = self._running, None
                self._clock.stop_listening()
                running.stop()

    def on_change(self) -> None:
        """Makes a running feed look soon, for changes that the clock reported to a capture that failed."""
        running = self._running
        if running is not None:
            running.on_change()

    def close(self) -> None:
        """Stops the feed for good."""
        with self._switching:
            self._closed = True
        self.listen(False)
