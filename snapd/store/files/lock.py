"""One owner per store: a lock that the system releases when the owner dies, never the age of a file."""

from __future__ import annotations

import json
import os

from filelock import FileLock, Timeout

from snapd.failpoints import failpoint
from snapd.model.errors import StoreLocked, os_errors

from .durable import make_directories, write_file

OWNER = "owner.json"
"""The file that names the owner of a store."""
_MOST_OF_A_COMMAND = 120
_CLOSE = (
    "it works without the daemon: end it, or have it close its `Snapshot`; without `in_process=True` or "
    "`--no-daemon` it shares the store"
)


class Ownership:
    """The right to write to a store, held until `release` or the end of the process; creates the directory if needed.

    Raises `StoreLocked` if another process owns the store; `data["socket"]` is its address, if it can be reached.
    """

    def __init__(self, path: str, socket: str | None) -> None:
        make_directories(path)
        owner = os.path.join(path, OWNER)
        # thread_local=False: a worker thread may lock, and the main thread release
        self._lock = FileLock(os.path.join(path, "lock"), mode=0o600, thread_local=False, is_singleton=False)
        with os_errors(path):
            failpoint("ownership.lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                raise _locked(path) from error
        try:
            write_file(owner, json.dumps({"pid": os.getpid(), "socket": socket}).encode())
        except BaseException:
            # the caller never gets this object, so it cannot release it
            self.release()
            raise

    def release(self) -> None:
        """Lets another process own the store."""
        self._lock.release()


def owner_socket(path: str) -> str | None:
    """Returns the address of the current or last owner of a store; None if it has none, or there was no owner."""
    return _owner(path)[1]


def _owner(path: str) -> tuple[int | None, str | None]:
    try:
        with open(os.path.join(path, OWNER), encoding="ascii") as file:
            result = json.load(file)
        pid, socket = result.get("pid"), result.get("socket")
    except (OSError, ValueError, AttributeError):
        return None, None
    return pid if type(pid) is int else None, socket if isinstance(socket, str) else None


def _locked(path: str) -> StoreLocked:
    pid, socket = _owner(path)
    who = "" if pid is None else f": process {pid}{_command(pid)}"
    hint = None if socket else _CLOSE
    return StoreLocked(f"another process owns the store {path}{who}", hint=hint, socket=socket, path=path, pid=pid)


def _command(pid: int) -> str:
    """Returns the beginning of the command of a process, in brackets; empty if unknown."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(_MOST_OF_A_COMMAND).decode("utf-8", "replace").split("\0")
    except OSError:
        # another system, another container, or it has just ended
        return ""
    text = " ".join("".join(each if each.isprintable() else " " for each in " ".join(words)).split())
    return f" ({text})" if text else ""
