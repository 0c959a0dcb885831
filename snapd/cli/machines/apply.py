"""`snapd apply`: what fetched steps changed, or those of another folder, into this folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import backend, in_folder
from snapd.cli.requests.folder import known_around
from snapd.cli.requests.names import find_session_or_step
from snapd.cli.requests.operation import operate
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from snapd.backend import Backend


def apply(options: argparse.Namespace) -> int:
    """Takes in what fetched steps changed, or those of another folder."""
    if options.source is None:
        with backend(options) as found:
            return operate(options, found, "session/apply", _which(found, options.names), sure=options.yes)
    folder = known_around(os.path.join(options.directory, options.source))
    with backend(options) as found:
        with backend(options, folder) as other:
            which = _which(other, options.names)
        params = {**which, "from": in_folder(options, folder)}
        return operate(options, found, "session/apply", params, sure=options.yes)


def _which(found: Backend, names: Sequence[str]) -> dict[str, Any]:
    """What the words of the command line stand for, as params."""
    named = [find_session_or_step(found, word) for word in names]
    sessions = [each["sessionId"] for each in named if "stepId" not in each]
    steps = [each["stepId"] for each in named if "stepId" in each]
    if sessions and len(named) > 1:
        raise InvalidParams(
            "expected one session, or steps of one session",
            hint="apply one session after the other",
            field="SESSION|STEP",
        )
    return {"sessionId": sessions[0]} if sessions else {"stepIds": steps}
