"""`snapshot/status` and `snapshot/cleanup`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.paths import to_uri
from snapd.wire.snapshot import CleanupParams, CleanupResult, StatusParams, StatusResult
from snapd.wire.values import StoreInfo

if TYPE_CHECKING:
    from .context import Context


def status(context: Context, _: StatusParams) -> StatusResult:
    """Tells what is known of a workspace."""
    workspace = context.workspace
    found = workspace.status()
    return StatusResult(
        enabled=context.enabled,
        workspace_uri=to_uri(workspace.root),
        project_id=workspace.project_id,
        files=found.files,
        watcher=found.watcher,
        watcher_reason=found.watcher_reason,
        last_hash=None if found.last is None else found.last.hex(),
        store=StoreInfo(path=found.store_path, bytes=found.store_bytes),
    )


def cleanup(context: Context, params: CleanupParams) -> CleanupResult:
    """Drops old snapshots."""
    removed, freed = context.workspace.cleanup(params.older_than_days, context.call)
    return CleanupResult(removed=removed, freed_bytes=freed)
