"""`session/push`, `fetch`, `export`, `import`, `handover`, `takeover` and `apply`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.model.errors import InvalidParams
from snapd.sharing.handover import HandoverOptions
from snapd.sharing.push import PruneOptions, PushOptions, Signing
from snapd.wire import methods
from snapd.wire import sharing as wire

from . import convert, history
from .binding import handles

if TYPE_CHECKING:
    from snapd.sharing.remote_sessions import Carrier

    from .binding import Context


@handles(methods.SESSION_PUSH)
def push(context: Context, params: wire.SessionPushParams) -> wire.SessionPushResult:
    """Pushes sessions, or deletes them from a remote."""
    if params.prune or params.older_than_days is not None:
        return _prune(context, params)
    if params.delete:
        return _delete(context, params)
    _check_sessions(params)
    options = PushOptions(**_staying(context, params), dry_run=params.dry_run, signing=_signing(params))
    pushed = context.workspace.pushing.push(params.remote, params.session_ids, options, context.call)
    return convert.to_wire(wire.SessionPushResult, pushed, context.workspace.root, bytes_=pushed.size, pruned=None)


def _staying(
    context: Context, params: wire.SessionPushParams | wire.SessionExportParams | wire.SessionHandoverParams
) -> dict[str, Any]:
    return {
        "exclude": tuple(params.exclude or ()),
        "redact": convert.paths(context, params.redact, "redact"),
        "without_prompts": params.without_prompts,
    }


def _signing(
    params: wire.SessionPushParams | wire.SessionExportParams | wire.SessionHandoverParams,
) -> Signing | None:
    if params.signing_key is not None and not params.sign:
        raise InvalidParams("signingKey: only valid with sign", hint="add `sign`", field="signingKey")
    return Signing(params.signing_key) if params.sign else None


def _check_sessions(params: wire.SessionPushParams | wire.SessionExportParams) -> None:
    if params.all_ == (params.session_ids is not None):
        raise InvalidParams(
            "sessionIds, all: give one of them", hint="name the sessions, or ask for `all`", field="sessionIds"
        )


def _push_options(params: wire.SessionPushParams) -> dict[str, bool]:
    return {
        "exclude": params.exclude is not None,
        "redact": params.redact is not None,
        "withoutPrompts": params.without_prompts,
        "sign": params.sign,
        "signingKey": params.signing_key is not None,
    }


def _delete(context: Context, params: wire.SessionPushParams) -> wire.SessionPushResult:
    given = {"all": params.all_, **_push_options(params), "dryRun": params.dry_run}
    for name in (name for name, is_given in given.items() if is_given):
        raise InvalidParams(f"{name}: cannot be used with delete", hint="leave it out", field=name)
    if not params.session_ids:
        raise InvalidParams("sessionIds: no session is named", hint="name those to delete", field="sessionIds")
    remote, deleted = context.workspace.pushing.delete(params.remote, params.session_ids, context.call)
    return wire.SessionPushResult(
        applied=True, remote=remote, sessions=list(deleted), bytes_=0, new_files=[], secret_texts=[]
    )


def _prune(context: Context, params: wire.SessionPushParams) -> wire.SessionPushResult:
    given = {
        "sessionIds": params.session_ids is not None,
        **_push_options(params),
        "delete": params.delete,
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise InvalidParams(f"{name}: cannot be used with prune", hint="leave it out", field=name)
    if not params.prune or params.older_than_days is None:
        raise InvalidParams(
            "prune, olderThanDays: give both, or neither",
            hint="olderThanDays is the age in days",
            field="olderThanDays",
        )
    options = PruneOptions(params.older_than_days, params.all_, params.dry_run)
    remote, pruned = context.workspace.pruning.prune(params.remote, options, context.call)
    return wire.SessionPushResult(
        applied=not params.dry_run,
        remote=remote,
        sessions=[session.session_id for session in pruned if session.session_id is not None],
        bytes_=0,
        new_files=[],
        secret_texts=[],
        pruned=[
            convert.to_wire(wire.PrunedSession, session, last_at=convert.moment(session.newest)) for session in pruned
        ],
    )


@handles(methods.SESSION_FETCH)
def fetch(context: Context, params: wire.SessionFetchParams) -> wire.SessionFetchResult:
    """Fetches sessions."""
    views = context.workspace.fetched.fetch(params.remote, params.session_ids, context.call, dry_run=params.dry_run)
    return wire.SessionFetchResult(sessions=[history.session(view) for view in views])


@handles(methods.SESSION_EXPORT)
def export(context: Context, params: wire.SessionExportParams) -> wire.SessionExportResult:
    """Writes sessions to a file."""
    _check_sessions(params)
    options = PushOptions(**_staying(context, params), dry_run=params.dry_run, signing=_signing(params))
    file = os.fsdecode(convert.absolute(params.file, "file"))
    written = context.workspace.pushing.export(file, params.session_ids, options, context.call)
    return convert.to_wire(wire.SessionExportResult, written, context.workspace.root, bytes_=written.size)


@handles(methods.SESSION_IMPORT)
def import_(context: Context, params: wire.SessionImportParams) -> wire.SessionFetchResult:
    """Imports the sessions of a file."""
    views = context.workspace.fetched.import_(os.fsdecode(convert.absolute(params.file, "file")), context.call)
    return wire.SessionFetchResult(sessions=[history.session(view) for view in views])


@handles(methods.SESSION_APPLY)
def apply(context: Context, params: wire.SessionApplyParams) -> wire.SessionApplyResult:
    """Applies the changes of fetched steps."""
    asked = convert.options(context, params)
    folder = None if params.from_ is None else convert.absolute(params.from_, "from")
    applied = context.workspace.applier.apply(
        params.session_id, params.step_ids or (), asked, context.call, folder=folder
    )
    return convert.outcome_of(
        wire.SessionApplyResult,
        context.workspace.root,
        applied.outcome,
        step_id=applied.step_id,
        signature=history.signature(applied.signature),
    )


@handles(methods.SESSION_HANDOVER)
def handover(context: Context, params: wire.SessionHandoverParams) -> wire.SessionHandoverResult:
    """Hands the folder over."""
    include = convert.paths(context, params.include, "include")
    options = HandoverOptions(
        **_staying(context, params),
        name=params.name,
        include=include,
        dry_run=params.dry_run,
        signing=_signing(params),
    )
    made = context.workspace.handover.hand_over(_carrier(context, params.remote, params.file), options, context.call)
    return convert.to_wire(wire.SessionHandoverResult, made, context.workspace.root, bytes_=made.size)


@handles(methods.SESSION_TAKEOVER)
def takeover(context: Context, params: wire.SessionTakeoverParams) -> wire.SessionTakeoverResult:
    """Takes over a folder that another machine handed over."""
    asked = convert.options(context, params)
    there = _carrier(context, params.remote, params.file)
    taken = context.workspace.takeover.take_over(there, params.name, asked, context.call)
    return convert.outcome_of(
        wire.SessionTakeoverResult,
        context.workspace.root,
        taken.outcome,
        name=taken.name,
        host=taken.host,
        sessions=[history.session(view) for view in taken.sessions],
        signature=history.signature(taken.signature),
        told=taken.is_marked,
    )


def _carrier(context: Context, remote: str | None, file: str | None) -> Carrier:
    if (remote is None) == (file is None):
        raise InvalidParams("remote, file: give one of them", hint="name a git repository, or a file", field="remote")
    remotes = context.workspace.remote_sessions
    return remotes.bundle(file) if file is not None else remotes.remote(remote or "")
