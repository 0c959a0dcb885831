"""`snapd connect`, a byte bridge to the daemon, and `snapd stop`, which ends it."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Answer, Command, socket_option
from snapd.cli.requests.connection import daemon_at, own_settings
from snapd.cli.terminal.output import print_error, print_json
from snapd.launch import connect as reach
from snapd.launch import ensure_daemon
from snapd.model.errors import InvalidParams, IoError

if TYPE_CHECKING:
    import argparse
    from typing import Annotated

    from snapd.cli.parsing.usage import Parser

_CHUNK = 1 << 16
STOP_SECONDS = 9.0
"""A daemon that is still responsive ends sooner."""
KILL_SECONDS = 1.0
_POLL_SECONDS = 0.02


def _connect_arguments(parser: Parser) -> None:
    socket_option(parser)
    parser.flag("--stdio", help="ignored: editors append it")


@Command(
    "connect",
    "snapd itself",
    _connect_arguments,
    without_json="it carries the protocol",
    example="connect",
    plays=False,
)
def connect(options: argparse.Namespace) -> int:
    """Connect standard input and output to the daemon, starting it if needed."""
    locations, path = daemon_at(options.socket)
    try:
        own_settings(locations)
    except InvalidParams as error:
        # the daemon does not read these variables, so snapshots work for an editor all the same
        print_error(error)
    connection = ensure_daemon(locations, path)
    threading.Thread(target=_upstream, args=(connection,), daemon=True).start()
    try:
        while chunk := connection.recv(_CHUNK):
            view = memoryview(chunk)
            while view:
                view = view[os.write(1, view) :]
    except BrokenPipeError:
        # the reader is gone, as at the end of the input
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
        # the daemon answers all requests, then closes
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        # the daemon closed: the thread of the other direction sees that and ends the process
        return


class StopResult(Answer):
    """What `stop` did."""

    stopped: Annotated[bool, "Whether a daemon was running."]


def _stop_arguments(parser: Parser) -> None:
    socket_option(parser)
    parser.flag("--json", help="print the answer as JSON")


@Command("stop", "snapd itself", _stop_arguments, answer="StopResult", example="stop")
def stop(options: argparse.Namespace) -> int:
    """End the daemon."""
    stopped = end_daemon(daemon_at(options.socket)[1])
    if options.json:
        print_json({"stopped": stopped})
    elif not stopped:
        print("snapd: no daemon is running", file=sys.stderr)
    return DONE


def end_daemon(path: str) -> bool:
    """Ends the daemon that serves a socket, and waits until it is gone; returns whether there was one."""
    connection = reach(path)
    if connection is None:
        return False
    with connection:
        process = _peer(connection, path)
    # a process id may be reused, a descriptor not
    descriptor = os.pidfd_open(process) if sys.platform == "linux" else None
    os.kill(process, signal.SIGTERM)
    if not _ends(process, descriptor, STOP_SECONDS):
        print("snapd: the daemon does not end by itself: killing it; nothing is lost", file=sys.stderr)
        os.kill(process, signal.SIGKILL)
        if not _ends(process, descriptor, KILL_SECONDS):
            raise IoError(
                "the daemon cannot be stopped: it is waiting for a disk",
                hint="check the disks and network file systems of its folders; it ends when they answer",
                path=path,
                errno="ETIMEDOUT",
            )
    if descriptor is not None:
        os.close(descriptor)
    return True


def _ends(process: int, descriptor: int | None, seconds: float) -> bool:
    """Whether a process that is not our child ends within `seconds`."""
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
    """Returns the process that serves a socket: as the system reports it, else from the daemon's own note."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is not None:
        process, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
        return int(process)
    with open(f"{path}.pid", encoding="ascii") as file:
        return int(file.read())
