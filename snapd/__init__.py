"""snapd: snapshots of working directories that agents edit, what changed in them, and getting it back.

`Snapshot` is the library's face, its `session` gives steps and their undo; `snapd serve` is the daemon. What a name
needs is loaded when it is first used, so that the command line starts at once.
"""

from __future__ import annotations

from ._version import __version__

_HOMES = ("snapd.model.errors", "snapd.library", "snapd.library.message_loop")
"""Where the names are defined, the module that loads fastest first."""

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
        # a hook has no time to load this either
        from importlib import import_module

        for home in map(import_module, _HOMES):
            if hasattr(home, name):
                return getattr(home, name)
    raise AttributeError(f"module 'snapd' has no attribute {name!r}")
