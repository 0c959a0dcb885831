"""Numbers the notifications of a workspace, and keeps the latest; what they say."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import attrs

from snapd.core.answers import SessionView, StepView
from snapd.core.compare.file_diff import FileDelta
from snapd.model.snapshot import ObjectId, Outcome, Skip
from snapd.model.timeline import OperationKind


@attrs.frozen
class Tracked:
    """A snapshot was taken because a client asked for it.

    Attributes:
        tree: its tree.
        previous: the tree of the snapshot before it; None for the first one.
        skipped: files and directories that the capture skipped.
    """

    tree: ObjectId
    previous: ObjectId | None
    skipped: tuple[Skip, ...]


@attrs.frozen
class Reverted:
    """An operation changed the work tree.

    Attributes:
        kind: of the operation.
        outcome: what it did.
    """

    kind: OperationKind
    outcome: Outcome


@attrs.frozen
class MovedAway:
    """The work tree differs from the last snapshot, or no longer does.

    Attributes:
        base: the tree of that snapshot.
        files: all files that differ from it, without contents, ordered by path; empty if none differs any more.
        truncated: whether more files differ.
    """

    base: ObjectId
    files: tuple[FileDelta, ...]
    truncated: bool


@attrs.frozen
class SessionMoved:
    """A session changed; `step` is the step that changed, None for the session as a whole."""

    session: SessionView
    step: StepView | None


@attrs.frozen
class Reviewed:
    """More or less is pending than before.

    Attributes:
        files: how many files have pending changes.
        additions: lines added, in all of them.
        deletions: lines deleted, in all of them.
    """

    files: int
    additions: int
    deletions: int


Notice = Tracked | Reverted | MovedAway | SessionMoved | Reviewed
"""What a workspace announces."""


KEPT = 1000
"""Notifications to keep, at most."""
KEPT_FILES = 50_000
"""Files that the kept notifications name, at most."""
_BLOCK = 4000
_AHEAD = 1000


@attrs.frozen
class NumberedNotice:
    """A notification with its number.

    Attributes:
        seq: grows by one with each notification of a workspace.
        event: what happened.
    """

    seq: int
    event: Notice


class EventLog:
    """Numbers notifications, keeps the latest, and sends them to listeners. Safe to use from several threads.

    Args:
        reserve: reserves as many numbers as asked for, and gives the first; gives none twice, not even after a crash.
    """

    def __init__(self, reserve: Callable[[int], int]) -> None:
        self._reserve = reserve
        self._lock = threading.Lock()
        self._listeners: list[Callable[[NumberedNotice], None]] = []
        self._kept: deque[NumberedNotice] = deque()
        self._files = 0
        # no number is reserved before one is needed
        self._next = self._end = 0

    def listen(self, listener: Callable[[NumberedNotice], None]) -> None:
        """Calls `listener` with each notification from now on, in order, in the thread that causes it."""
        with self._lock:
            self._listeners.append(listener)

    def prepare(self, count: int = _AHEAD) -> None:
        """Reserves numbers before they are needed: what was done has to be announced even if the disk is full by then.

        Args:
            count: how many numbers may be needed.

        Raises:
            StorageFull, IoError: the numbers could not be reserved.
        """
        with self._lock:
            self._renew(count)

    def publish(self, event: Notice) -> None:
        """Numbers a notification and sends it; raises `StorageFull` or `IoError` if no number is left or reserved."""
        with self._lock:
            self._renew(1)
            numbered = NumberedNotice(self._next, event)
            self._next += 1
            self._kept.append(numbered)
            self._files += _weight(event)
            while len(self._kept) > KEPT or (self._files > KEPT_FILES and len(self._kept) > 1):
                self._files -= _weight(self._kept.popleft().event)
            for listener in self._listeners:
                listener(numbered)

    def since(self, seq: int) -> tuple[tuple[NumberedNotice, ...] | None, int]:
        """Lists the notifications after a number.

        Returns:
            All of them, None if some are not kept any more or the number was never given out; and the latest number
            (before the first notification, one below its number).
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
    if isinstance(event, Reverted):
        return len(event.outcome.files)
    if isinstance(event, SessionMoved):
        return len(event.step.files or ()) if event.step is not None else 0
    return len(event.files) if isinstance(event, MovedAway) else 0
