"""Packs in a process of its own: it frees the memory that libgit2 takes, and does not hold our interpreter lock."""

from __future__ import annotations

import errno
import signal
import sys
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import IoError, StorageFull, os_errors
from snapd.failpoints import failpoint
from snapd.store.files.free_space import free_bytes
from snapd.workers.job import WorkerEnded, run_job, serve
from snapd.workers.processes import can_start

from . import packing
from .packing import Order, PackResult
from .sweep import RESERVE_BYTES

if TYPE_CHECKING:
    from snapd.workers.job import Report

    from .cancel_token import CancelToken

_BUS_ERROR = getattr(signal, "SIGBUS", None)
"""libgit2 writes through maps: if the disk is full, it gets this signal and no error."""


def pack(order: Order, token: CancelToken) -> PackResult:
    """Does the same as `packing.pack`; in this process only if no other can be started.

    Args:
        order: what to pack.
        token: ends the process when it is revoked.

    Raises:
        Revoked: the token was revoked.
        StoreCorrupt, StorageFull, IoError: as `packing.pack`; `IoError` also if the process cannot be started, or
            ended before it had answered.
    """
    if not can_start():
        return packing.pack(order, token.check)
    with os_errors(sys.executable):
        failpoint("packer.start")
    try:
        packed = run_job(
            __name__,
            attrs.asdict(order),
            in_background=order.in_background,
            check=token.check,
        )
    except WorkerEnded as error:
        if -error.status == _BUS_ERROR and free_bytes(order.directory) < RESERVE_BYTES:
            raise StorageFull(
                f"no space left to pack {order.store}", path=order.store, errno=errno.errorcode[errno.ENOSPC]
            ) from error
        raise IoError(
            f"the process that packs {order.store} ended with {error.status}", hint="try again", path=order.store
        ) from error
    return PackResult(**{**packed, "loose": [bytes.fromhex(oid) for oid in packed["loose"]]})


def main(_: str) -> None:
    """Runs in the other process."""
    serve(_pack)


def _pack(question: dict[str, Any], _: Report) -> PackResult:
    # a cancelled job ends the process
    return packing.pack(Order(**question), lambda: None)
