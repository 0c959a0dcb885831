"""One owner per store: a lock that the system releases when the owner dies, never the age of a file."""

from __future__ import annotations

import json
import os

from filelock import FileLock, Timeout

from snapd.core.errors import StoreLocked, os_errors
from snapd.failpoints import failpoint

from .durable import make_directories, write_file

OWNER = "owner.json"
"""The file that names the owner of a store."""


class Ownership:
    """The right to write to a store, held until `release` or the end of the process.

    Args:
        path: the directory of the store; created if it does not exist.
        socket: the address at which others can reach the owner; None if they cannot.

    Raises:
        StoreLocked: another process owns the store; `data["socket"]` is its address.
        StorageFull, IoError: the store was not locked.
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
                raise StoreLocked(
                    f"another process owns the store {path}", socket=owner_socket(path), path=path
                ) from error
        try:
            write_file(owner, json.dumps({"pid": os.getpid(), "socket": socket}).encode())
        except BaseException:
            # nobody gets this object, so nobody else would release it
            self.release()
            raise

    def release(self) -> None:
        """Lets another process own the store."""
        self._lock.release()


def owner_socket(path: str) -> str | None:
    """The address of the process that owns a store, or was the last to; None if it has none, or nobody ever owned it.

    Args:
        path: the directory of the store.
    """
    try:
        with open(os.path.join(path, OWNER), encoding="ascii") as file:
            socket = json.load(file).get("socket")
    except (OSError, ValueError):
        return None
    return socket if isinstance(socket, str) else None
