"""One owner per store: a lock that the system lets go of when its holder dies, never a file's age."""

from __future__ import annotations

import json
import os

from filelock import FileLock, Timeout

from snapd.core.errors import StoreLocked, os_errors
from snapd.failpoints import failpoint

from .durable import make_directories, write_file

OWNER = "owner.json"
"""The file that says who owns a store, written when that began."""


class Ownership:
    """The right to write to a store, held until `release` or the process's end.

    Args:
        path: the store's directory; made where it is missing.
        socket: where the owner can be reached by others, None where it cannot.

    Raises:
        StoreLocked: another process holds it; `data["socket"]` says where to find that one.
        StorageFull, IoError: it was not taken.
    """

    def __init__(self, path: str, socket: str | None) -> None:
        make_directories(path)
        owner = os.path.join(path, OWNER)
        # thread_local=False: a worker thread may take what the main thread lets go of
        self._lock = FileLock(os.path.join(path, "lock"), mode=0o600, thread_local=False, is_singleton=False)
        with os_errors(path):
            failpoint("ownership.lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                raise StoreLocked(
                    f"another process owns the store {path}", socket=_read_socket(owner), path=path
                ) from error
        try:
            write_file(owner, json.dumps({"pid": os.getpid(), "socket": socket}).encode())
        except BaseException:
            # nobody has this object, so nobody else would
            self.release()
            raise

    def release(self) -> None:
        """Lets another process own the store."""
        self._lock.release()


def _read_socket(owner: str) -> str | None:
    try:
        with open(owner, encoding="ascii") as file:
            socket = json.load(file).get("socket")
    except (OSError, ValueError):
        return None
    return socket if isinstance(socket, str) else None
