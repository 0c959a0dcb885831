"""`snapd connect`: a byte bridge between standard input and output and the daemon."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import own_settings
from snapd.cli.terminal.output import print_error
from snapd.core.errors import InvalidParams, IoError
from snapd.launch import ensure_daemon
from snapd.locations import Locations

if TYPE_CHECKING:
    import argparse

_CHUNK = 1 << 16


def connect(options: argparse.Namespace) -> int:
    """Carries bytes both ways until the daemon has said its last."""
    locations = Locations.from_environment(os.environ)
    path = os.path.abspath(options.socket) if options.socket else locations.socket
    try:
        own_settings(locations)
    except InvalidParams as error:
        # the daemon does not read these variables: an editor has its snapshots all the same
        print_error(error)
    connection = ensure_daemon(locations, path)
    threading.Thread(target=_upstream, args=(connection,), daemon=True).start()
    try:
        while chunk := connection.recv(_CHUNK):
            view = memoryview(chunk)
            while view:
                view = view[os.write(1, view) :]
    except BrokenPipeError:
        # whoever it was for is gone, as at the end of the input
        return DONE
    except ConnectionResetError as error:
        raise IoError(
            f"the daemon at {path} is gone: {error.strerror or error}",
            hint="run the command again: it starts the daemon",
            path=path,
            errno="ECONNREFUSED",
        ) from error
    return DONE


def _upstream(connection: socket.socket) -> None:
    try:
        while chunk := os.read(0, _CHUNK):
            connection.sendall(chunk)
        # the daemon answers what it was asked, then closes
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        # the daemon closed: the other direction sees that too, and ends the process
        return
