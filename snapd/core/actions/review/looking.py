"""Looks at the work tree as it is, and at what changed in it since the last event."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from snapd.core.operations.writer import Writer
from snapd.core.review.changes import Attributor, FileChange, touched
from snapd.model.call import Call
from snapd.model.snapshot import RecordKind, Snapshot
from snapd.store.store import Store


@attrs.frozen
class Look:
    """The work tree at one time.

    Attributes:
        snapshot: of it.
        last: the number of the last event before it.
        unrecorded: what changed since that event.
    """

    snapshot: Snapshot
    last: int
    unrecorded: Sequence[FileChange]


@attrs.frozen(eq=False)
class Looking:
    """Looks at the work tree of one workspace.

    Args:
        writer: captures it.
        store: holds the snapshots and events.
        attributor: says whose changes were.
    """

    _writer: Writer
    _store: Store
    _attributor: Attributor

    def look(self, call: Call, *, records: bool = True) -> Look:
        """Captures the work tree. The caller has the right to write.

        Args:
            call: the request.
            records: whether the capture gets a record, if its tree has none.

        Raises:
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it was not captured.
        """
        snapshot = self._writer.seen(call)
        if records:
            self._writer.record(snapshot, RecordKind.LOOK)
        last = self._store.timeline.next_seq - 1
        span = self._writer.span(self._store.log.identify(snapshot))
        if span is None:
            return Look(snapshot, last, ())
        files = touched(self._store, last + 1, "seen", span.before.tree, span.after.tree)
        return Look(snapshot, last, self._attributor.unrecorded(files, span))
