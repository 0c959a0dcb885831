"""Makes asyncio streams of standard input and output, be they pipes, sockets, terminals or files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import threading

from .framing import MAX_HEADER_BYTES

_CHUNK = 1 << 16


def take_stdout() -> int:
    """Reserves standard output for the protocol.

    Returns:
        A descriptor of standard output. From now on, everything that this process prints goes to standard error.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


async def open_stdio(stdin: int, stdout: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Makes streams of two descriptors.

    Args:
        stdin: the descriptor to read from.
        stdout: the descriptor to write to; closed with the writer.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_HEADER_BYTES * 4)
    protocol = asyncio.StreamReaderProtocol(reader)
    source = stdin if _is_pollable(stdin) else _pump_from(stdin)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(source, "rb", buffering=0))
    target = stdout if _is_pollable(stdout) else _pump_to(stdout)
    transport, flow = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(target, "wb", buffering=0)
    )
    return reader, asyncio.StreamWriter(transport, flow, None, loop)


def _is_pollable(descriptor: int) -> bool:
    """Whether asyncio can wait for a descriptor: it cannot for regular files and most devices."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _pump_from(descriptor: int) -> int:
    ours, theirs = os.pipe()
    _start_pump(descriptor, theirs)
    return ours


def _pump_to(descriptor: int) -> int:
    theirs, ours = os.pipe()
    _start_pump(theirs, descriptor, daemon=False)
    return ours


def _start_pump(source: int, target: int, *, daemon: bool = True) -> None:
    def pump() -> None:
        with contextlib.suppress(OSError):
            while chunk := os.read(source, _CHUNK):
                view = memoryview(chunk)
                while view:
                    view = view[os.write(target, view) :]
        # close both ends, so that the other end of the pipe notices that nothing more comes
        os.close(source)
        os.close(target)

    threading.Thread(target=pump, name="snapd-stdio", daemon=daemon).start()
