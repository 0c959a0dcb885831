"""snapd: snapshots of working directories that agents edit, what changed in them, and getting it back.

`Snapshot` is the library's face, its `session` gives steps and their undo; `snapd serve` is the daemon. What a name
needs is loaded when it is first used, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

_HOMES = {
    "Snapshot": "snapd.library",
    "FileDiff": "snapd.library",
    "Outcome": "snapd.library",
    "Patch": "snapd.library",
    "RevertOutcome": "snapd.library",
    "Session": "snapd.library",
    "Step": "snapd.library",
    "init_snapshot": "snapd.library.message_loop",
    "track_snapshot": "snapd.library.message_loop",
    "compute_diff": "snapd.library.message_loop",
    "SnapdError": "snapd.core.errors",
    "InvalidParams": "snapd.core.errors",
    "UnknownSnapshot": "snapd.core.errors",
    "WorkspaceNotOpen": "snapd.core.errors",
    "WorkspaceRefused": "snapd.core.errors",
    "WorkspaceGone": "snapd.core.errors",
    "PathOutsideWorkspace": "snapd.core.errors",
    "StoreLocked": "snapd.core.errors",
    "StoreCorrupt": "snapd.core.errors",
    "StorageFull": "snapd.core.errors",
    "IoError": "snapd.core.errors",
    "FileNotInSnapshot": "snapd.core.errors",
    "UnknownSession": "snapd.core.errors",
    "UnknownStep": "snapd.core.errors",
    "NothingToUndo": "snapd.core.errors",
    "NothingToRedo": "snapd.core.errors",
}

if TYPE_CHECKING:
    from snapd.core.errors import (
        FileNotInSnapshot,
        InvalidParams,
        IoError,
        NothingToRedo,
        NothingToUndo,
        PathOutsideWorkspace,
        SnapdError,
        StorageFull,
        StoreCorrupt,
        StoreLocked,
        UnknownSession,
        UnknownSnapshot,
        UnknownStep,
        WorkspaceGone,
        WorkspaceNotOpen,
        WorkspaceRefused,
    )
    from snapd.library import FileDiff, Outcome, Patch, RevertOutcome, Session, Snapshot, Step
    from snapd.library.message_loop import compute_diff, init_snapshot, track_snapshot

__all__ = [
    "FileDiff",
    "FileNotInSnapshot",
    "InvalidParams",
    "IoError",
    "NothingToRedo",
    "NothingToUndo",
    "Outcome",
    "Patch",
    "PathOutsideWorkspace",
    "RevertOutcome",
    "Session",
    "SnapdError",
    "Snapshot",
    "Step",
    "StorageFull",
    "StoreCorrupt",
    "StoreLocked",
    "UnknownSession",
    "UnknownSnapshot",
    "UnknownStep",
    "WorkspaceGone",
    "WorkspaceNotOpen",
    "WorkspaceRefused",
    "__version__",
    "compute_diff",
    "init_snapshot",
    "track_snapshot",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'snapd' has no attribute {name!r}")
    return getattr(import_module(home), name)
