"""Converts sessions, steps, history entries and events for the wire; handles `snapshot/events`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.feed import DriftNotice, ReviewNotice, SessionMoved, TrackNotice
from snapd.model.paths import to_uri
from snapd.wire import git, methods
from snapd.wire import message as message_wire
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
    from snapd.core.answers import MessageView, OverlapView, SessionOrigin, SessionView, StepView
    from snapd.core.feed import NumberedNotice
    from snapd.model.git import GitChange
    from snapd.model.handover import SignatureStatus
    from snapd.model.timeline import FileSummary, Operation

    from .binding import Context


def session(view: SessionView) -> wire.Session:
    """Converts a session."""
    result = view.session
    return convert.to_wire(
        wire.Session,
        result,
        started_at=convert.moment(result.started),
        ended_at=None if result.ended is None else convert.moment(result.ended),
        undoable=view.undoable,
        redoable=view.redoable,
        origin=_origin(view.origin),
        taken_over=_origin(view.taken_over),
        signature=signature(view.signature),
    )


def signature(signature_status: SignatureStatus | None) -> origins.Signature | None:
    """Converts the state of a signature."""
    if signature_status is None:
        return None
    signed = None if signature_status.signed is None else convert.moment(signature_status.signed)
    return convert.to_wire(origins.Signature, signature_status, signed_at=signed)


def _origin(origin: SessionOrigin | None) -> origins.Origin | None:
    return None if origin is None else convert.to_wire(origins.Origin, origin)


def step(root: bytes, view: StepView) -> wire.Step:
    """Converts a step."""
    result = view.step
    return convert.to_wire(
        wire.Step,
        result.begun,
        parent_step_id=result.begun.parent,
        agent=view.agent,
        started_at=convert.moment(result.started),
        ended_at=None if result.ended is None else convert.moment(result.ended),
        late=result.begun.began is not None or None,
        from_=result.from_.tree.hex(),
        to=None if result.to is None else result.to.tree.hex(),
        state=result.state,
        files=None if view.files is None else files(root, view.files),
        git=git_change(view.git),
        overlaps=[overlap(root, each) for each in view.overlaps] or None,
        uncaptured=[
            Uncaptured(**convert.name(root, each.path), change="deleted" if each.deleted else "changed")
            for each in view.uncaptured
        ]
        or None,
    )


def overlap(root: bytes, view: OverlapView) -> wire.Overlap:
    """Converts an overlap."""
    start, count = view.lines or (None, None)
    return wire.Overlap(
        **convert.name(root, view.path),
        session_id=view.session.session_id,
        agent=view.session.agent,
        title=view.session.title,
        step_id=view.step.step_id,
        at=convert.moment(view.milliseconds),
        start=start,
        count=count,
    )


def message(view: MessageView) -> Message:
    """Converts a message."""
    sent = view.message
    at = convert.moment(sent.started)
    return convert.to_wire(Message, view, session_id=sent.session_id, message_id=sent.message_id, text=sent.text, at=at)


def operation(result: Operation) -> wire.Operation:
    """Converts an operation that can be undone."""
    return convert.to_wire(
        wire.Operation,
        result,
        operation_id=result.name,
        kind=result.operated.kind,
        at=convert.moment(result.milliseconds),
        before=result.from_.tree.hex(),
        after=result.after.tree.hex(),
    )


def git_change(change: GitChange | None) -> git.GitChange | None:
    """Converts a change of the git state."""
    return None if change is None else convert.to_wire(git.GitChange, change)


def files(root: bytes, summaries: Iterable[FileSummary]) -> list[FileChange]:
    """Converts changed files, without their contents."""
    return [
        convert.to_wire(FileChange, summary, root, shared_with=list(summary.shared_with) or None)
        for summary in summaries
    ]


def entry(root: bytes, history_entry: HistoryEntry) -> message_wire.Entry:
    """Converts an entry of the history."""
    is_operation = history_entry.kind not in ("step", "user", "message")
    return convert.to_wire(
        message_wire.Entry,
        history_entry,
        root,
        at=convert.moment(history_entry.milliseconds),
        step=None if history_entry.step is None else step(root, history_entry.step),
        message_id=None if history_entry.message is None else history_entry.message.message_id,
        text=None if history_entry.message is None else history_entry.message.text,
        steps=list(history_entry.turned) if is_operation else None,
        operations=[operation(each) for each in history_entry.operations] or None,
        files=files(root, history_entry.files),
        unknown=history_entry.is_unknown or None,
        git=git_change(history_entry.git),
    )


@handles(methods.EVENTS)
def events(context: Context, params: EventsParams) -> EventsResult:
    """Lists the notifications after a given one."""
    result, latest = context.workspace.event_log.since(params.since)
    if result is None:
        return EventsResult(reset=True, latest=latest)
    return EventsResult(events=[_notification(context.workspace.root, news) for news in result], latest=latest)


def encode_news(root: bytes, news: NumberedNotice) -> tuple[str, dict[str, Any]]:
    """The method and params (JSON values) of the notification for an event of a workspace."""
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
                comments=event.comments,
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
