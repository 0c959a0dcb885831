"""The core's events as notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.core.answers import MovedAway, Tracked
from snapd.wire.converter import unstructure

from . import convert

if TYPE_CHECKING:
    from snapd.core.answers import Event


def encode_event(root: bytes, event: Event) -> tuple[str, dict[str, Any]]:
    """The method of the notification that tells of an event, and its params but for `workspaceUri` and `seq`.

    Args:
        root: of the workspace that it happened in.
        event: what happened.
    """
    if isinstance(event, Tracked):
        params: dict[str, Any] = {"hash": event.tree.hex()}
        if event.previous is not None:
            params["previous"] = event.previous.hex()
        return "snapshot/didTrack", params
    if isinstance(event, MovedAway):
        params = {
            "base": event.base.hex(),
            "files": [unstructure(convert.file_change(root, delta)) for delta in event.files],
        }
        if event.truncated:
            params["truncated"] = True
        return "snapshot/didChange", params
    outcome = event.outcome
    return "snapshot/didRevert", {
        "kind": event.kind,
        "before": outcome.before.hex(),
        "after": outcome.after.hex(),
        "files": [unstructure(file) for file in convert.file_outcomes(root, outcome.files)],
    }
