"""The errors of snapd: one class for each kind of the wire contract, raised by every room below the RPC edge.

SnapdError
├── InvalidParams
├── UnknownSnapshot
├── WorkspaceNotOpen
├── WorkspaceRefused
├── WorkspaceGone
├── PathOutsideWorkspace
├── StoreLocked
├── StoreCorrupt
├── StorageFull
├── IoError
│   └── Interrupted
├── UnknownSession
├── UnknownStep
├── NothingToUndo
├── NothingToRedo
├── FileNotInSnapshot
├── Unauthorized
└── Cancelled
"""

from __future__ import annotations

import errno as errno_names
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class SnapdError(Exception):
    """The base of all errors of snapd.

    Args:
        message: one sentence that says what is wrong, with its subject.
        hint: one sentence that says what to do next; default: what is true of every error of the kind.
        data: what a program needs to act on it, as JSON values.

    Attributes:
        kind: the stable name of the error, as in `error.data.kind` on the wire.
        default_hint: what to do next, as far as the kind alone says it.
    """

    kind: ClassVar[str]
    default_hint: ClassVar[str]

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})"


class InvalidParams(SnapdError):
    """A value that a request or a setting cannot have; `data["field"]` names it."""

    kind = "invalidParams"
    default_hint = "correct the value and try again"


class UnknownSnapshot(SnapdError):
    """The hash names no snapshot in this workspace's store, or one that has expired."""

    kind = "unknownSnapshot"
    default_hint = (
        "use the hash of a snapshot of this folder that has not expired, or take a new one with 'snapd track'"
    )


class WorkspaceNotOpen(SnapdError):
    """No folder is open, several are and none was named, or the named one is not open here."""

    kind = "workspaceNotOpen"
    default_hint = "open the folder first, with `initialize` or `workspace/didChangeWorkspaceFolders`"


class WorkspaceRefused(SnapdError):
    """A folder that snapd does not take as a workspace: root, home, the store, somebody else's."""

    kind = "workspaceRefused"
    default_hint = "open a project folder of your own instead"


class WorkspaceGone(SnapdError):
    """The folder was moved, replaced or deleted since it was opened."""

    kind = "workspaceGone"
    default_hint = "open the folder again, where it is now"


class PathOutsideWorkspace(SnapdError):
    """A path that leads out of the workspace, through a symlink, or into a `.git`."""

    kind = "pathOutsideWorkspace"
    default_hint = "name a file in the workspace by a path without '..', symlinks and .git"


class StoreLocked(SnapdError):
    """Another process owns the store; `data["socket"]` says where it listens, None where it does not."""

    kind = "storeLocked"
    default_hint = "use the process that owns the store, or end it; 'snapd stop' ends the daemon"


class StoreCorrupt(SnapdError):
    """An object of the store is missing or damaged, or the store itself is gone; `data["object"]` names it."""

    kind = "storeCorrupt"
    default_hint = "run 'snapd fsck --repair' in the folder"


class StorageFull(SnapdError):
    """No space or quota is left; the state before is intact."""

    kind = "storageFull"
    default_hint = "free some disk space and try again; 'snapd gc' drops old snapshots"


class IoError(SnapdError):
    """The system's own error, with `data["errno"]` and `data["path"]`."""

    kind = "ioError"
    default_hint = "remove the cause that the message names and try again"


class Interrupted(IoError):
    """The process is about to end; it finishes what it began when the workspace is next used."""

    default_hint = "send the request again: snapd finishes what it began when the folder is next used"


class UnknownSession(SnapdError):
    """There is no such session in this workspace, or it has ended; `data["sessionId"]` names it."""

    kind = "unknownSession"
    default_hint = "'snapd sessions' lists the sessions of this folder"


class UnknownStep(SnapdError):
    """There is no such step in this workspace; `data` names it."""

    kind = "unknownStep"
    default_hint = "'snapd log' shows the steps of this folder"


class NothingToUndo(SnapdError):
    """No step of the session is left that could be taken back."""

    kind = "nothingToUndo"
    default_hint = "'snapd log' shows which steps changed something and are not undone yet"


class NothingToRedo(SnapdError):
    """No step of the session is left that was taken back and could be done again."""

    kind = "nothingToRedo"
    default_hint = (
        "'snapd log' shows which steps are undone; after newer changes of their session, restore one of their snapshots"
    )


class FileNotInSnapshot(SnapdError):
    """The snapshot does not have the file; `data["skipped"]` tells whether it was skipped."""

    kind = "fileNotInSnapshot"
    default_hint = "'snapd files HASH' lists the files of a snapshot"


class Unauthorized(SnapdError):
    """A TCP connection without the right token."""

    kind = "unauthorized"
    default_hint = "send the token of the daemon as `initializationOptions.token`"


class Cancelled(SnapdError):
    """The client took the request back before its point of no return."""

    kind = "requestCancelled"
    default_hint = "send the request again if you still need its answer"


FULL = frozenset({errno_names.ENOSPC, errno_names.EDQUOT})


def from_os_error(error: OSError, path: bytes | str) -> SnapdError:
    """Turns the system's error into the typed one.

    Args:
        error: what the system said.
        path: the file or directory that it said it of.

    Returns:
        `StorageFull` where no space or quota is left, else `IoError`.
    """
    shown = os.fsdecode(path)
    shown = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    text = os.strerror(error.errno) if error.errno else str(error)
    name = errno_names.errorcode.get(error.errno or 0, "unknown")
    if error.errno in FULL:
        return StorageFull(f"no space left: {shown}", path=shown, errno=name)
    return IoError(f"{shown}: {text}", path=shown, errno=name)


@contextmanager
def os_errors(path: bytes | str) -> Iterator[None]:
    """Raises any `OSError` of the block as the typed error of `from_os_error`."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, path) from error
