"""`snapshot/track`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.wire import methods
from snapd.wire.snapshot import TrackParams, TrackResult

from . import convert
from .binding import handles

if TYPE_CHECKING:
    from .context import Context


@handles(methods.TRACK)
def track(context: Context, params: TrackParams) -> TrackResult:
    """Takes a snapshot."""
    forced = convert.paths(context, params.force, "force")
    if not context.enabled:
        return TrackResult(hash=None, reason="disabled", skipped=[])
    tracked = context.workspace.track(forced, context.call)
    return TrackResult(hash=tracked.tree.hex(), skipped=convert.skipped(context.workspace.root, tracked.skipped))
