"""`snapd stop`."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.terminal.output import print_json
from snapd.core.errors import IoError
from snapd.launch import connect
from snapd.locations import Locations

if TYPE_CHECKING:
    import argparse

_STOP_SECONDS = 9.0
"""A daemon that can still do anything ends before that."""
_KILL_SECONDS = 1.0
_POLL_SECONDS = 0.02


def stop(options: argparse.Namespace) -> int:
    """Ends the daemon in order and waits until it is gone."""
    locations = Locations.from_environment(os.environ)
    path = os.path.abspath(options.socket) if options.socket else locations.socket
    connection = connect(path)
    if connection is None:
        if options.json:
            print_json({"stopped": False})
        else:
            print("snapd: no daemon is running", file=sys.stderr)
        return DONE
    with connection:
        process = _peer(connection, path)
    # kept open: the number may become that of another process
    descriptor = os.pidfd_open(process) if sys.platform == "linux" else None
    os.kill(process, signal.SIGTERM)
    if not _ends(process, descriptor, _STOP_SECONDS):
        print("snapd: the daemon does not end by itself: killing it; nothing is lost", file=sys.stderr)
        os.kill(process, signal.SIGKILL)
        if not _ends(process, descriptor, _KILL_SECONDS):
            raise IoError(
                "the daemon waits for a disk, so that nothing can end it",
                hint="check the disks and network file systems of its folders; it ends when they answer",
                path=path,
                errno="ETIMEDOUT",
            )
    if descriptor is not None:
        os.close(descriptor)
    if options.json:
        print_json({"stopped": True})
    return DONE


def _ends(process: int, descriptor: int | None, seconds: float) -> bool:
    """Whether a process that somebody else has started ends within a time."""
    if descriptor is not None:
        return bool(select.select([descriptor], [], [], seconds)[0])
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _peer(connection: socket.socket, path: str) -> int:
    """The process that serves a socket: the system's word where it gives it, else the daemon's own note."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is not None:
        process, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
        return int(process)
    with open(f"{path}.pid", encoding="ascii") as file:
        return int(file.read())
