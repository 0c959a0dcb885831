"""Has a process of its own pack: what libgit2 takes for it goes with the process, and nobody waits for its lock."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import TYPE_CHECKING

from snapd.core.errors import IoError, StorageFull, os_errors
from snapd.failpoints import failpoint
from snapd.workers.processes import ChildProcess, can_start

from . import packing
from .sweep import RESERVE_BYTES, room
from .worker_protocol import Garbled, decode_answer, encode_order

if TYPE_CHECKING:
    from .cancel_token import CancelToken
    from .packing import Order, Packed

_READ_BYTES = 1 << 16
_BUS_ERROR = getattr(signal, "SIGBUS", None)
"""libgit2 writes through maps: where the disk is full, that is no error but a signal."""


def pack(order: Order, permission: CancelToken) -> Packed:
    """Packs what is due, as `packing.pack`; in this process only where there can be no other.

    Args:
        order: what that is.
        permission: ends the work when it is revoked; no process is left then.

    Raises:
        Revoked: as the permission has it.
        StoreCorrupt, StorageFull, IoError: see `packing.pack`; an `IoError` too where the process ended before it had
            answered, or cannot be started.
    """
    if not can_start():
        return packing.pack(order, permission.check)
    with os_errors(sys.executable):
        failpoint("packer.start")
        child = ChildProcess("snapd.store.maintenance.worker_process")
    line = b""
    try:
        with permission.on_cancel(child.kill):
            line = _ask(child, encode_order(order))
    finally:
        # one that has answered has nothing left to do
        status = child.end()
    permission.check()
    try:
        return decode_answer(line)
    except Garbled as error:
        if -status == _BUS_ERROR and room(order.directory) < RESERVE_BYTES:
            raise StorageFull(
                f"no space left to pack {order.store}", path=order.store, errno=errno.errorcode[errno.ENOSPC]
            ) from error
        raise IoError(
            f"the process that packs {order.store} ended with {status}", hint="try again", path=order.store
        ) from error


def _ask(child: ChildProcess, question: bytes) -> bytes:
    """All that it says until it ends."""
    pieces = []
    try:
        # the rest of the pipe stays open: its end tells the process that this one is gone
        os.write(child.input, question)
        while piece := os.read(child.output, _READ_BYTES):
            pieces.append(piece)
    except OSError:
        # it is gone; what it said, and how it ended, tells why
        return b"".join(pieces)
    return b"".join(pieces)
