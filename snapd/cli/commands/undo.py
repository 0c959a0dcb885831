"""`snapd undo` and `snapd redo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.requests.connection import backend, in_folder
from snapd.cli.requests.names import find_session, find_step, latest_session
from snapd.cli.requests.operation import operate
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend


def undo(options: argparse.Namespace) -> int:
    """Takes the last steps of a session back, or one of its steps wherever it is, or what it changed in some files."""
    if options.step is not None and options.count is not None:
        raise InvalidParams("--count: not together with a step", field="--count")
    with backend(options) as found:
        if options.step is None:
            params = {"sessionId": _session(options, found), "count": options.count}
        else:
            session_id = None if options.session is None else _session(options, found)
            step = find_step(found, options.step, session_id)
            if options.files:
                files = [in_folder(options, path) for path in options.files]
                params = {"stepId": step["stepId"], "files": files}
                return operate(options, found, "step/revertFiles", params, sure=options.yes)
            params = {"sessionId": step["sessionId"], "stepId": step["stepId"]}
        return operate(options, found, "session/undo", params, sure=options.yes)


def redo(options: argparse.Namespace) -> int:
    """Redoes the steps of a session that were undone last."""
    with backend(options) as found:
        params = {"sessionId": _session(options, found), "count": options.count}
        return operate(options, found, "session/redo", params, sure=options.yes)


def _session(options: argparse.Namespace, found: Backend) -> str:
    if options.session is None:
        return latest_session(found)
    return str(find_session(found, options.session)["sessionId"])
