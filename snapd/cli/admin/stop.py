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

_STOP_SECONDS = 30.0
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
    # the socket goes first: what is in the stores is made whole after that
    descriptor = os.pidfd_open(process) if sys.platform == "linux" else None
    os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while os.path.exists(path) or (descriptor is not None and not _has_ended(descriptor)):
        if time.monotonic() > deadline:
            raise IoError(
                "the daemon is still finishing a request",
                hint="it ends after that: run 'snapd stop' again to wait for it",
                path=path,
                errno="ETIMEDOUT",
            )
        time.sleep(_POLL_SECONDS)
    if descriptor is not None:
        os.close(descriptor)
    if options.json:
        print_json({"stopped": True})
    return DONE


def _has_ended(descriptor: int) -> bool:
    """Whether a process has, waited for or not (pidfd_open(2))."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _peer(connection: socket.socket, path: str) -> int:
    """The process that serves a socket: the system's word where it gives it, else the daemon's own note."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is not None:
        process, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
        return int(process)
    with open(f"{path}.pid", encoding="ascii") as file:
        return int(file.read())
