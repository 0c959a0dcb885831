"""Serves the client at standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.rpc.transport.streams import take_stdout

from .lines import Output, read_lines
from .link import Link
from .server import Server

if TYPE_CHECKING:
    from .link import Connect


def serve(connect: Connect, own_session: str | None, directory: str) -> None:
    """Serves until standard input ends; nothing but messages goes to standard output.

    Args:
        connect: connects to the daemon, which it starts if it does not run, and opens the folder.
        own_session: the session of the agent that started this, where it is known.
        directory: where the agent works, absolute.
    """
    output = Output(take_stdout())
    link = Link(connect, directory)
    try:
        Server(output, link, own_session).serve(read_lines(0))
    finally:
        link.close()
