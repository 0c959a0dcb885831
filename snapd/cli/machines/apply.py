"""`snapd apply`: what fetched steps changed, into this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.requests.connection import backend
from snapd.cli.requests.names import find_session_or_step
from snapd.cli.requests.operation import operate
from snapd.core.errors import InvalidParams

if TYPE_CHECKING:
    import argparse


def apply(options: argparse.Namespace) -> int:
    """Takes in what fetched steps changed."""
    with backend(options) as found:
        named = [find_session_or_step(found, word) for word in options.names]
        sessions = [each["sessionId"] for each in named if "stepId" not in each]
        steps = [each["stepId"] for each in named if "stepId" in each]
        if sessions and len(named) > 1:
            raise InvalidParams(
                "expected one session, or steps of one session",
                hint="apply one session after the other",
                field="SESSION|STEP",
            )
        params = {"sessionId": sessions[0]} if sessions else {"stepIds": steps}
        return operate(options, found, "session/apply", params, sure=options.yes)
