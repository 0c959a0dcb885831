"""`session/push`, `session/fetch` and `session/apply`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.actions.sharing.prune import PruneOptions
from snapd.core.actions.sharing.push import PushOptions
from snapd.core.errors import InvalidParams
from snapd.wire import methods
from snapd.wire import sharing as wire

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from .context import Context


@handles(methods.SESSION_PUSH)
def push(context: Context, params: wire.SessionPushParams) -> wire.SessionPushResult:
    """Pushes sessions, or deletes them from a remote."""
    if params.prune or params.older_than_days is not None:
        return _prune(context, params)
    if params.delete:
        return _delete(context, params)
    if params.all_ == (params.session_ids is not None):
        raise InvalidParams(
            "sessionIds, all: give one of them", hint="name the sessions, or ask for `all`", field="sessionIds"
        )
    options = PushOptions(tuple(params.exclude or ()), params.dry_run)
    pushed = context.workspace.pushing.push(params.remote, params.session_ids, options, context.call)
    return wire.SessionPushResult(
        applied=pushed.applied,
        remote=pushed.remote,
        sessions=list(pushed.sessions),
        bytes_=pushed.size,
        new_files=[
            wire.NewFile(**convert.name(context.workspace.root, file.path), size=file.size, reason=file.reason)
            for file in pushed.new_files
        ],
    )


def _delete(context: Context, params: wire.SessionPushParams) -> wire.SessionPushResult:
    given = {"all": params.all_, "exclude": params.exclude is not None, "dryRun": params.dry_run}
    for name in (name for name, is_given in given.items() if is_given):
        raise InvalidParams(f"{name}: not together with delete", hint="leave it out", field=name)
    if not params.session_ids:
        raise InvalidParams("sessionIds: no session is named", hint="name those to delete", field="sessionIds")
    remote, deleted = context.workspace.pushing.delete(params.remote, params.session_ids, context.call)
    return wire.SessionPushResult(applied=True, remote=remote, sessions=list(deleted), bytes_=0, new_files=[])


def _prune(context: Context, params: wire.SessionPushParams) -> wire.SessionPushResult:
    given = {
        "sessionIds": params.session_ids is not None,
        "exclude": params.exclude is not None,
        "delete": params.delete,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise InvalidParams(f"{name}: not together with prune", hint="leave it out", field=name)
    if not params.prune or params.older_than_days is None:
        raise InvalidParams(
            "prune, olderThanDays: give both, or neither", hint="say from how many days on", field="olderThanDays"
        )
    options = PruneOptions(params.older_than_days, params.all_, params.dry_run)
    remote, pruned = context.workspace.prune(params.remote, options, context.call)
    return wire.SessionPushResult(
        applied=not params.dry_run,
        remote=remote,
        sessions=[session.session_id for session in pruned if session.session_id is not None],
        bytes_=0,
        new_files=[],
        pruned=[
            wire.PrunedSession(
                reference=session.reference,
                session_id=session.session_id,
                host=session.host,
                last_at=convert.moment(session.newest),
            )
            for session in pruned
        ],
    )


@handles(methods.SESSION_FETCH)
def fetch(context: Context, params: wire.SessionFetchParams) -> wire.SessionFetchResult:
    """Fetches sessions."""
    views = context.workspace.fetched.fetch(params.remote, params.session_ids, context.call)
    return wire.SessionFetchResult(sessions=[history.session(view) for view in views])


@handles(methods.SESSION_APPLY)
def apply(context: Context, params: wire.SessionApplyParams) -> wire.SessionApplyResult:
    """Takes in what fetched steps changed."""
    asked = convert.request(params.on_conflict, "merge", params.dry_run, params.details)
    applied = context.workspace.apply(params.session_id, params.step_ids or (), asked, context.call)
    root, outcome = context.workspace.root, applied.outcome
    return wire.SessionApplyResult(
        applied=outcome.applied,
        before=outcome.before.hex(),
        after=outcome.after.hex(),
        files=convert.file_outcomes(root, outcome.files),
        details=convert.details(root, outcome.details),
        step_id=applied.step_id,
    )
