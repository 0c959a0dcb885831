"""Packs in a process of its own: it frees the memory that libgit2 takes, and does not hold our interpreter lock.

It may change a repository until somebody else takes that right back.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import IoError, StorageFull, os_errors
from snapd.failpoints import failpoint
from snapd.store.files.space import free_bytes
from snapd.workers.job import WorkerEnded, run_job, serve
from snapd.workers.processes import can_start

from . import packing
from .packing import Due, PackResult
from .sweep import RESERVE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.workers.job import Report


_BUS_ERROR = getattr(signal, "SIGBUS", None)
"""libgit2 writes through maps: if the disk is full, it gets this signal and no error."""


class Revoked(Exception):
    """The token was revoked; nothing was dropped."""


class CancelToken:
    """Lets a repack drop files until the token is revoked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._on_cancel: Callable[[], None] | None = None
        self.revoked = False

    def revoke(self) -> None:
        """Revokes the token, and waits for a change under way: afterwards the job changes nothing any more."""
        self.cancel()
        with self._changing:
            pass

    def cancel(self) -> None:
        """Revokes the token without waiting."""
        with self._lock:
            self.revoked = True
            if self._on_cancel is not None:
                self._on_cancel()

    def check(self) -> None:
        """Raises `Revoked` if the token was revoked."""
        if self.revoked:
            raise Revoked

    @contextlib.contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """Calls `end` if the token is revoked while the block runs.

        Raises:
            Revoked: it was revoked before.
        """
        with self._lock:
            self.check()
            self._on_cancel = end
        try:
            yield
        finally:
            with self._lock:
                self._on_cancel = None

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Surrounds a change of the repository, for which `revoke` waits; raises `Revoked` if the token was revoked."""
        with self._changing:
            self.check()
            yield


def pack(store: str, directory: str, due: Due, token: CancelToken) -> PackResult:
    """Does the same as `packing.pack`; in this process only if no other can be started.

    Args:
        store: the git directory.
        directory: an empty directory for the new pack.
        due: what is to be packed.
        token: ends the process when it is revoked.

    Raises:
        Revoked: the token was revoked.
        StoreCorrupt, StorageFull, IoError: as `packing.pack`; `IoError` also if the process cannot be started, or
            ended before it had answered.
    """
    if not can_start():
        return packing.pack(store, directory, due, token.check)
    with os_errors(sys.executable):
        failpoint("packer.start")
    try:
        question = {"store": store, "directory": directory, "due": attrs.asdict(due)}
        packed = run_job(__name__, question, in_background=due.in_background, check=token.check)
    except WorkerEnded as error:
        if -error.status == _BUS_ERROR and free_bytes(directory) < RESERVE_BYTES:
            raise StorageFull(f"no space left to pack {store}", path=store, errno="ENOSPC") from error
        message = f"the process that packs {store} ended with {error.status}"
        raise IoError(message, hint="try again", path=store) from error
    return PackResult(**{**packed, "loose": [bytes.fromhex(oid) for oid in packed["loose"]]})


def main(_: str) -> None:
    """Runs in the other process."""
    serve(_pack)


def _pack(question: dict[str, Any], _: Report) -> PackResult:
    # a cancelled job ends the process
    return packing.pack(question["store"], question["directory"], Due(**question["due"]), lambda: None)
