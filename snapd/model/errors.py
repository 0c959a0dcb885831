"""The errors of snapd: one class for each kind of error in the wire contract."""

from __future__ import annotations

import errno as errno_names
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class SnapdError(Exception):
    """The base of all errors; `message`: the problem and its subject; `hint`: what to do next; `data`: for programs."""

    kind: ClassVar[str]  # `error.data.kind` on the wire
    default_hint: ClassVar[str]  # fits every error of the kind

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})"


class InvalidParams(SnapdError):
    """A request or a setting has an invalid value; `data["field"]` names it."""

    kind = "invalidParams"
    default_hint = "docs/protocol.md describes each field, and 'snapd help' each option"

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        subject, _, expected = message.partition(": expected ")
        if expected:
            hint = hint or f"{subject} takes {expected.partition(', got ')[0]}"
        super().__init__(message, hint=hint, **data)


class UnknownSnapshot(SnapdError):
    """The store of this workspace has no snapshot with this hash, or it has expired."""

    kind = "unknownSnapshot"
    default_hint = (
        "use the hash of a snapshot of this folder that has not expired, or take a new one with 'snapd track'"
    )


class WorkspaceNotOpen(SnapdError):
    """No folder is open, several are open and the request names none, or the named one is not open."""

    kind = "workspaceNotOpen"
    default_hint = "open the folder first, with `initialize` or `workspace/didChangeWorkspaceFolders`"


class WorkspaceRefused(SnapdError):
    """The folder cannot be a workspace: the root, the home directory, the store, or a folder of another user."""

    kind = "workspaceRefused"
    default_hint = "open a project folder of your own instead"


class WorkspaceGone(SnapdError):
    """The folder was moved, replaced or deleted after it was opened."""

    kind = "workspaceGone"
    default_hint = "open the folder again, where it is now"


class PathOutsideWorkspace(SnapdError):
    """A path leads out of the workspace, through a symlink, or into a `.git`."""

    kind = "pathOutsideWorkspace"
    default_hint = "name a file in the workspace by a path without '..', symlinks and .git"


class StoreLocked(SnapdError):
    """Another process owns the store; `data["socket"]` is its socket, None if it has none."""

    kind = "storeLocked"
    default_hint = "use the process that owns the store, or end it; 'snapd stop' ends the daemon"


class StoreCorrupt(SnapdError):
    """An object of the store is missing or damaged, or the store itself is gone; `data["object"]` names it."""

    kind = "storeCorrupt"
    default_hint = "run 'snapd fsck --repair' in the folder"


class RemoteFailed(SnapdError):
    """Another machine could not be reached, or refused; `data["reason"]` gives the cause."""

    kind = "remoteFailed"
    default_hint = "check the address and the connection, then try again"


class RemoteChanged(SnapdError):
    """The session on the remote has steps from another machine that this one does not have."""

    kind = "remoteChanged"
    default_hint = "fetch the session from there first, then push again"


class Untrusted(SnapdError):
    """Data from another machine is not what it claims to be, or is over a limit; nothing of it was stored."""

    kind = "untrusted"
    default_hint = "ask the person who pushed it to push it again with a current snapd"


class SigningFailed(SnapdError):
    """Data to send could not be signed, so nothing was sent; `data["reason"]` gives the cause."""

    kind = "signingFailed"
    default_hint = "check that 'ssh-keygen -Y sign' can use the key, or leave out --sign"


class StorageFull(SnapdError):
    """No space or quota is left; the previous state is intact."""

    kind = "storageFull"
    default_hint = "free some disk space and try again; 'snapd gc' drops old snapshots"


_HINTS_BY_ERRNO = {
    "EACCES": "check who owns it, and its permissions and those of the folders above",
    "EPERM": "check who owns it, and whether it is immutable or protected by the system",
    "EROFS": "mount the file system writable, or choose a directory on another one",
    "EMFILE": "close some folders or clients of the daemon, or raise the limit of open files ('ulimit -n')",
    "ENFILE": "close other programs, or raise the system's limit of open files",
    "ENOMEM": "close other programs and try again",
    "ENOENT": "check that the path and all folders above it exist, then try again",
    "ENOTDIR": "check the path: something above it is not a folder",
    "ELOOP": "check the path: its symlinks may form a loop",
    "EEXIST": "move away what has this name already, or choose another directory",
    "EILSEQ": "choose a directory on a file system that can hold this name",
    "ENAMETOOLONG": "use a shorter path",
    "EFBIG": "raise the file size limit ('ulimit -f'), or choose a file system that allows larger files",
    "EIO": "check the disk and the system's log: the disk may be failing",
    "ESTALE": "mount the network file system again, then try again",
    "ETXTBSY": "end the program that runs from this file, then try again",
}


class IoError(SnapdError):
    """The operating system reported an error; `data["errno"]` and `data["path"]` identify it."""

    kind = "ioError"
    default_hint = "'snapd doctor' checks this machine; remove the cause that the message names, then try again"

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        super().__init__(message, hint=hint or _HINTS_BY_ERRNO.get(data.get("errno", "")), **data)


class Interrupted(IoError):
    """The process is about to exit; the operation is completed when the workspace is next used."""

    default_hint = "send the request again: snapd finishes what it began when the folder is next used"


class UnknownSession(SnapdError):
    """The workspace has no such session, or it has ended; `data["sessionId"]` names it."""

    kind = "unknownSession"
    default_hint = "'snapd sessions' lists the sessions of this folder"


class UnknownStep(SnapdError):
    """The workspace has no such step; `data` names it."""

    kind = "unknownStep"
    default_hint = "'snapd log' shows the steps of this folder"


class UnknownComment(SnapdError):
    """The workspace has no such comment; `data` names it."""

    kind = "unknownComment"
    default_hint = "'snapd comments' lists the open ones"


class NothingToUndo(SnapdError):
    """Nothing is left to undo in the session, step, message or workspace."""

    kind = "nothingToUndo"
    default_hint = (
        "'snapd log' shows which steps changed something and are not undone yet; those that changed only git need --git"
    )


class NothingToRedo(SnapdError):
    """The session or workspace has nothing undone that can be redone."""

    kind = "nothingToRedo"
    default_hint = (
        "'snapd log' shows which steps are undone; after newer changes of their session, restore one of their snapshots"
    )


class FileNotInSnapshot(SnapdError):
    """The snapshot does not have the file; `data["skipped"]` is whether it skipped the file."""

    kind = "fileNotInSnapshot"
    default_hint = "'snapd files HASH' lists the files of a snapshot"


class FileChanged(SnapdError):
    """A file differs from what was shown, or has unsaved text; `data` has its `file` and the `reason`."""

    kind = "fileChanged"
    default_hint = "look at the file again, then decide"


class PlanChanged(SnapdError):
    """The request would do something else than the client confirmed; `data["outcome"]` is what."""

    kind = "planChanged"
    default_hint = "look at what would be done now, and confirm that plan"


class Unauthorized(SnapdError):
    """A TCP connection did not send the right token."""

    kind = "unauthorized"
    default_hint = "send the token of the daemon as `initializationOptions.token`"


class Cancelled(SnapdError):
    """The client cancelled the request before its point of no return."""

    kind = "requestCancelled"
    default_hint = "send the request again if you still need its answer"


FULL = frozenset({errno_names.ENOSPC, errno_names.EDQUOT})


def error_from_os_error(error: OSError, path: bytes | str) -> SnapdError:
    """Returns `StorageFull` if no space or quota is left, else `IoError`."""
    shown = os.fsdecode(path)
    shown = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    text = os.strerror(error.errno) if error.errno else str(error)
    name = errno_names.errorcode.get(error.errno or 0, "unknown")
    if error.errno in FULL:
        return StorageFull(f"no space left: {shown}", path=shown, errno=name)
    return IoError(f"{shown}: {text}", path=shown, errno=name)


@contextmanager
def os_errors(path: bytes | str) -> Iterator[None]:
    """Raises an `OSError` of the block as the error of `error_from_os_error`."""
    try:
        yield
    except OSError as error:
        raise error_from_os_error(error, path) from error


def did_you_mean(given: str, names: Iterable[str], spelled: Callable[[str], str] = str) -> str:
    """Returns the start of a hint with the name most similar to `given`, or nothing; `spelled` formats it."""
    # only loaded after a typing error
    import difflib

    # leading dashes and case do not count
    by_letters = {name.lstrip("-").lower(): name for name in names}
    close = difflib.get_close_matches(given.lstrip("-").lower(), by_letters, 1)
    return f"did you mean {spelled(by_letters[close[0]])!r}? " if close else ""
