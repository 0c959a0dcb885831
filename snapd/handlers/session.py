"""`session/start`, `end`, `list`, `steps`, `diff` and `history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.model import EMPTY_TREE
from snapd.wire.session import (
    HistoryParams,
    HistoryResult,
    SessionDiffParams,
    SessionDiffResult,
    SessionEndParams,
    SessionEndResult,
    SessionListParams,
    SessionListResult,
    SessionStartParams,
    SessionStartResult,
    SessionStepsParams,
    SessionStepsResult,
)

from . import convert, history

if TYPE_CHECKING:
    from .context import Context

_ENTRIES = 100


def start(context: Context, params: SessionStartParams) -> SessionStartResult:
    """Begins a session."""
    session_id = context.workspace.sessions.start(params.session_id, params.agent, params.title, context.call)
    return SessionStartResult(session_id=session_id)


def end(context: Context, params: SessionEndParams) -> SessionEndResult:
    """Ends a session."""
    context.workspace.sessions.end(params.session_id, context.call)
    return SessionEndResult()


def list_sessions(context: Context, _: SessionListParams) -> SessionListResult:
    """Lists the sessions."""
    return SessionListResult(sessions=[history.session(view) for view in context.workspace.sessions.all(context.call)])


def steps(context: Context, params: SessionStepsParams) -> SessionStepsResult:
    """Lists the steps of a session."""
    views = context.workspace.sessions.steps(params.session_id, context.call)
    return SessionStepsResult(steps=[history.step(context.workspace.root, view) for view in views])


def diff(context: Context, params: SessionDiffParams) -> SessionDiffResult:
    """Gives the net of what a session's steps changed."""
    question = ["sessionDiff", params.session_id, params.message_id or "", params.step_id or ""]
    after = None if params.cursor is None else convert.read_cursor(params.cursor, question)[1]
    deltas, last = context.workspace.net_of(
        params.session_id,
        params.message_id,
        params.step_id,
        context.call,
        contents=params.contents,
        after=after,
        limit=params.limit,
    )
    return SessionDiffResult(
        diffs=[convert.file_diff(context.workspace.root, delta) for delta in deltas],
        # it is not about one tree
        next_cursor=None if last is None else convert.write_cursor(question, EMPTY_TREE, last),
    )


def tell_history(context: Context, params: HistoryParams) -> HistoryResult:
    """Tells what happened."""
    question = ["history"]
    before = None if params.cursor is None else int(convert.read_cursor(params.cursor, question)[1])
    page = context.workspace.chronicle.page(before, params.limit or _ENTRIES, context.call)
    return HistoryResult(
        entries=[history.entry(context.workspace.root, found) for found in page.entries],
        next_cursor=None
        if page.before is None
        else convert.write_cursor(question, EMPTY_TREE, str(page.before).encode()),
    )
