"""The handlers: wire to core to wire, one short file per family, and nothing else."""

from __future__ import annotations

from typing import Any

from . import session, step, undo
from .bring_back import restore, revert
from .check import check
from .compare import diff, diff_full, patch
from .context import Context
from .events import encode_news, events
from .keep import cleanup, purge, status
from .look import file_at, file_exists, list_files
from .track import track

HANDLERS: dict[str, Any] = {
    "snapshot/track": track,
    "snapshot/patch": patch,
    "snapshot/diff": diff,
    "snapshot/diffFull": diff_full,
    "snapshot/fileAt": file_at,
    "snapshot/listFiles": list_files,
    "snapshot/fileExists": file_exists,
    "snapshot/restore": restore,
    "snapshot/revert": revert,
    "snapshot/status": status,
    "snapshot/cleanup": cleanup,
    "snapshot/purge": purge,
    "snapshot/check": check,
    "snapshot/events": events,
    "session/start": session.start,
    "session/end": session.end,
    "session/list": session.list_sessions,
    "session/steps": session.steps,
    "session/diff": session.diff,
    "session/undo": undo.undo,
    "session/redo": undo.redo,
    "session/revert": undo.revert,
    "session/unrevert": undo.unrevert,
    "session/history": session.tell_history,
    "step/begin": step.begin,
    "step/end": step.end,
    "step/find": step.find,
    "step/hunks": step.hunks,
    "step/revertHunks": step.revert_hunks,
    "step/revertFiles": step.revert_files,
}
"""For each method of the wire's table, the function that takes a `Context` and its params and gives its result."""

__all__ = ["HANDLERS", "Context", "encode_news"]
