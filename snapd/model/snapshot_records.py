"""The recorded snapshots: each is recorded by an event, with the reason."""

from __future__ import annotations

from typing import Literal

import attrs

from snapd.model.snapshot import ObjectId
from snapd.model.timeline import (
    Commented,
    Edited,
    Event,
    Kept,
    MessageSent,
    Operated,
    OperationId,
    Recorded,
    SessionId,
    SnapshotId,
    StepBegun,
    StepEnded,
    StepId,
    StepsLeft,
)

TakenKind = Literal["track", "look", "begin", "end", "message", "before", "after"]  # why a snapshot was taken


@attrs.frozen
class SnapshotRecord:
    """A snapshot as it was taken."""

    place: int
    seq: int
    kind: TakenKind
    snapshot: SnapshotId
    milliseconds: int  # since 1970
    is_base: bool  # see `Recorded`
    session_id: SessionId | None = None  # of the step, the message or the operation
    step_id: StepId | None = None  # the step that it begins or ends
    message_id: str | None = None
    operation_id: OperationId | None = None

    @property
    def tree(self) -> ObjectId:
        """The snapshot's tree."""
        return self.snapshot.tree


def taken_by(event: Event, session_id: SessionId | None) -> tuple[SnapshotRecord, ...]:
    """Returns the snapshots that an event recorded, in order; `session_id` is that of its step, if any."""
    what, head = event.what, event.head

    def took(kind: TakenKind, snapshot: SnapshotId, is_base: bool, **names: str | None) -> tuple[SnapshotRecord, ...]:
        names["session_id"] = session_id
        return (SnapshotRecord(event.seq * 2, event.seq, kind, snapshot, event.milliseconds, is_base, **names),)

    if isinstance(what, Recorded):
        return took(what.kind, what.snapshot, what.is_base, operation_id=what.operation_id)
    if head is None:
        return ()
    match what:
        case StepBegun(step_id):
            return took("begin", head, True, step_id=step_id)
        case StepEnded(step_id):
            return took("end", head, True, step_id=step_id)
        case MessageSent(_, message_id):
            return took("message", head, True, message_id=message_id)
        case Operated(operation_id):
            left = took("after", what.after or head, what.is_base, operation_id=operation_id)
            if what.after is None:
                return left
            # its changes without those of others: steps and the history name it
            return (*took("look", head, False), attrs.evolve(left[0], place=left[0].place + 1))
        case Kept():
            return took("look", head, True)
        case Commented():
            return took("look", head, False)
        case StepsLeft() | Edited() if event.seen is not None:
            return took("look", head, isinstance(what, StepsLeft))
        case _:
            return ()


@attrs.frozen
class SnapshotRecordQuery:
    """A query for snapshots, by one of the two at most."""

    prefix: str = ""  # hex digits of trees; only the newest snapshot of each
    until: int | None = None  # seconds since 1970, inclusive
