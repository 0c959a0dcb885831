"""`session/handover` and `session/takeover`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.actions.sharing.handover import HandoverOptions
from snapd.core.errors import InvalidParams
from snapd.wire import methods
from snapd.wire import sharing as wire

from . import convert, history
from .binding import handles
from .sharing import new_files

if TYPE_CHECKING:
    from snapd.core.ports.sharing import Carrier

    from .context import Context


@handles(methods.SESSION_HANDOVER)
def handover(context: Context, params: wire.SessionHandoverParams) -> wire.SessionHandoverResult:
    """Hands the folder over."""
    include = convert.paths(context, params.include, "include")
    options = HandoverOptions(params.name, include, tuple(params.exclude or ()), params.dry_run)
    made = context.workspace.hand_over(_carrier(context, params.remote, params.file), options, context.call)
    return wire.SessionHandoverResult(
        applied=made.applied,
        name=made.name,
        remote=made.remote,
        sessions=list(made.sessions),
        bytes_=made.size,
        new_files=new_files(context, made.new_files),
    )


@handles(methods.SESSION_TAKEOVER)
def takeover(context: Context, params: wire.SessionTakeoverParams) -> wire.SessionTakeoverResult:
    """Takes over what another machine handed over."""
    asked = convert.request(params.on_conflict, "merge", params.dry_run, params.details)
    there = _carrier(context, params.remote, params.file)
    taken = context.workspace.take_over(there, params.name, asked, context.call)
    root, outcome = context.workspace.root, taken.outcome
    return wire.SessionTakeoverResult(
        applied=outcome.applied,
        before=outcome.before.hex(),
        after=outcome.after.hex(),
        files=convert.file_outcomes(root, outcome.files),
        details=convert.details(root, outcome.details),
        name=taken.name,
        host=taken.host,
        sessions=[history.session(view) for view in taken.sessions],
        told=taken.is_marked,
    )


def _carrier(context: Context, remote: str | None, file: str | None) -> Carrier:
    if (remote is None) == (file is None):
        raise InvalidParams("remote, file: give one of them", hint="name a git repository, or a file", field="remote")
    elsewhere = context.workspace.elsewhere
    return elsewhere.bundle(file) if file is not None else elsewhere.remote(remote or "")
