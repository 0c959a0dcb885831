"""Converts the core's sessions, steps, history entries and events for the wire; handles `snapshot/events`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.feed import DriftNotice, ReviewNotice, SessionMoved, TrackNotice
from snapd.model.paths import shown, to_uri
from snapd.wire import message as message_wire
from snapd.wire import methods
from snapd.wire import session as wire
from snapd.wire import values as origins
from snapd.wire.converter import unstructure
from snapd.wire.message import Message
from snapd.wire.notifications import (
    DidChangeParams,
    DidRevertParams,
    DidTrackParams,
    EventsParams,
    EventsResult,
    ReviewDidChangeParams,
    SessionDidChangeParams,
    ToldNotification,
)
from snapd.wire.values import FileChange, Uncaptured

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.actions.history import HistoryEntry
    from snapd.core.answers import MessageView, SessionOrigin, SessionView, StepView
    from snapd.core.feed import NumberedNotice
    from snapd.model.handover import SignatureStatus
    from snapd.model.timeline import FileSummary, Operation

    from .binding import Context


def session(view: SessionView) -> wire.Session:
    """Converts a session."""
    found = view.session
    return wire.Session(
        session_id=found.session_id,
        agent=found.agent,
        title=found.title,
        name=found.name,
        started_at=convert.moment(found.started),
        ended_at=None if found.ended is None else convert.moment(found.ended),
        step_count=found.step_count,
        undoable=view.undoable,
        redoable=view.redoable,
        origin=_origin(view.origin),
        taken_over=_origin(view.taken_over),
        signature=signature(view.signature),
    )


def signature(found: SignatureStatus | None) -> origins.Signature | None:
    """Converts what is known of a signature."""
    if found is None:
        return None
    signed = None if found.signed is None else convert.moment(found.signed)
    return origins.Signature(
        state=found.state, signer=found.signer, key=found.key, signed_at=signed, reason=found.reason
    )


def _origin(origin: SessionOrigin | None) -> origins.Origin | None:
    return None if origin is None else origins.Origin(remote=origin.remote, host=origin.host)


def step(root: bytes, view: StepView) -> wire.Step:
    """Converts a step."""
    found = view.step
    return wire.Step(
        step_id=found.step_id,
        session_id=found.begun.session_id,
        index=found.begun.index,
        parent_step_id=found.begun.parent,
        message_id=found.begun.message_id,
        part_id=found.begun.part_id,
        agent=view.agent,
        tool=found.begun.tool,
        description=found.begun.description,
        command=found.begun.command,
        started_at=convert.moment(found.started),
        ended_at=None if found.ended is None else convert.moment(found.ended),
        late=found.begun.began is not None or None,
        from_=found.from_.tree.hex(),
        to=None if found.to is None else found.to.tree.hex(),
        state=found.state,
        files=None if view.files is None else files(root, view.files),
        uncaptured=[
            Uncaptured(**convert.name(root, each.path), change="deleted" if each.deleted else "changed")
            for each in view.uncaptured
        ]
        or None,
    )


def message(view: MessageView) -> Message:
    """Converts a message."""
    return Message(
        session_id=view.message.session_id,
        message_id=view.message.message_id,
        text=view.message.text,
        at=convert.moment(view.message.started),
        steps=view.steps,
        files=view.files,
        additions=view.additions,
        deletions=view.deletions,
        state=view.state,
    )


def operation(found: Operation) -> wire.Operation:
    """Converts an operation that can be undone."""
    return wire.Operation(
        operation_id=found.name,
        kind=found.operated.kind,
        session_id=found.session_id,
        at=convert.moment(found.milliseconds),
        before=found.from_.tree.hex(),
        after=found.after.tree.hex(),
        state=found.state,
    )


def files(root: bytes, summaries: Iterable[FileSummary]) -> list[FileChange]:
    """Converts changed files, without their contents."""
    return [
        FileChange(
            **convert.name(root, summary.path),
            status=summary.status,
            additions=summary.additions,
            deletions=summary.deletions,
            binary=summary.binary,
            renamed_from=None if summary.renamed_from is None else shown(summary.renamed_from),
            shared=True if summary.shared else None,
            shared_with=list(summary.shared_with) or None,
        )
        for summary in summaries
    ]


def entry(root: bytes, found: HistoryEntry) -> message_wire.Entry:
    """Converts an entry of the history."""
    is_operation = found.kind not in ("step", "user", "message")
    return message_wire.Entry(
        kind=found.kind,
        at=convert.moment(found.milliseconds),
        step=None if found.step is None else step(root, found.step),
        session_id=found.session_id,
        message_id=None if found.message is None else found.message.message_id,
        text=None if found.message is None else found.message.text,
        steps=list(found.turned) if is_operation else None,
        state=found.state,
        operations=[operation(each) for each in found.operations] or None,
        before=found.before.hex(),
        after=None if found.after is None else found.after.hex(),
        files=files(root, found.files),
        unknown=found.is_unknown or None,
    )


@handles(methods.EVENTS)
def events(context: Context, params: EventsParams) -> EventsResult:
    """Lists the notifications after one."""
    found, latest = context.workspace.event_log.since(params.since)
    if found is None:
        return EventsResult(reset=True, latest=latest)
    return EventsResult(events=[_notification(context.workspace.root, news) for news in found], latest=latest)


def encode_news(root: bytes, news: NumberedNotice) -> tuple[str, dict[str, Any]]:
    """Returns the method and the params (JSON values) of the notification for an event of a workspace."""
    made = _notification(root, news)
    return made.method, unstructure(made.params)


def _notification(root: bytes, news: NumberedNotice) -> ToldNotification:
    uri, seq, event = to_uri(root), news.seq, news.event
    if isinstance(event, TrackNotice):
        previous = None if event.previous is None else event.previous.hex()
        return ToldNotification(
            method="snapshot/didTrack",
            params=DidTrackParams(workspace_uri=uri, seq=seq, hash=event.tree.hex(), previous=previous),
        )
    if isinstance(event, DriftNotice):
        return ToldNotification(
            method="snapshot/didChange",
            params=DidChangeParams(
                workspace_uri=uri,
                seq=seq,
                base=event.base.hex(),
                files=[convert.file_change(root, delta) for delta in event.files],
                truncated=True if event.truncated else None,
            ),
        )
    if isinstance(event, SessionMoved):
        return ToldNotification(
            method="session/didChange",
            params=SessionDidChangeParams(
                workspace_uri=uri,
                seq=seq,
                session=session(event.session),
                step=None if event.step is None else step(root, event.step),
            ),
        )
    if isinstance(event, ReviewNotice):
        return ToldNotification(
            method="review/didChange",
            params=ReviewDidChangeParams(
                workspace_uri=uri,
                seq=seq,
                pending_files=event.files,
                additions=event.additions,
                deletions=event.deletions,
            ),
        )
    outcome = event.outcome
    return ToldNotification(
        method="snapshot/didRevert",
        params=DidRevertParams(
            workspace_uri=uri,
            seq=seq,
            kind=event.kind,
            before=outcome.before.hex(),
            after=outcome.after.hex(),
            files=convert.file_outcomes(root, outcome.files),
        ),
    )
