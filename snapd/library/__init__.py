"""The library: snapshots and sessions of a project, through the user's daemon or in this process."""

from __future__ import annotations

from snapd.wire.message import Entry
from snapd.wire.session import Hunk, RevertOutcome, StepsOutcome
from snapd.wire.session import Session as SessionInfo
from snapd.wire.session import Step as StepInfo
from snapd.wire.snapshot import CleanupResult, StatusResult, TakenSnapshot
from snapd.wire.values import FileChange, FileDiff, FileOutcome, Outcome, Patch

from .review import Review
from .session import Session, Step
from .snapshot import Snapshot

__all__ = [
    "CleanupResult",
    "Entry",
    "FileChange",
    "FileDiff",
    "FileOutcome",
    "Hunk",
    "Outcome",
    "Patch",
    "RevertOutcome",
    "Review",
    "Session",
    "SessionInfo",
    "Snapshot",
    "StatusResult",
    "Step",
    "StepInfo",
    "StepsOutcome",
    "TakenSnapshot",
]
