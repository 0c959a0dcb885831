"""Snapshots of working directories that agents edit: records changes, shows them, undoes and restores them.

`Snapshot` is the library's main class, and its `session` provides steps and their undo; `snapd serve` is the daemon.
Names are loaded on first use, so that the command line starts fast.
"""

from __future__ import annotations

from ._version import __version__

_HOMES = ("snapd.model.errors", "snapd.library", "snapd.library.message_loop")
"""The module of each name, the one that loads fastest first."""

# a hook has no time to load `typing`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from snapd.library import FileDiff, Outcome, Patch, RevertOutcome, Review, Session, Snapshot, Step
    from snapd.library.message_loop import compute_diff, init_snapshot, track_message, track_snapshot
    from snapd.model.errors import (
        FileChanged,
        FileNotInSnapshot,
        InvalidParams,
        IoError,
        NothingToRedo,
        NothingToUndo,
        PathOutsideWorkspace,
        PlanChanged,
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

__all__ = [
    "FileChanged",
    "FileDiff",
    "FileNotInSnapshot",
    "InvalidParams",
    "IoError",
    "NothingToRedo",
    "NothingToUndo",
    "Outcome",
    "Patch",
    "PathOutsideWorkspace",
    "PlanChanged",
    "RevertOutcome",
    "Review",
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
    "track_message",
    "track_snapshot",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        # imported late: too slow for a hook
        from importlib import import_module

        for home in map(import_module, _HOMES):
            if hasattr(home, name):
                return getattr(home, name)
    raise AttributeError(f"module 'snapd' has no attribute {name!r}")
