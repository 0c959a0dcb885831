"""`snapd mcp`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import connected
from snapd.cli.requests.folder import folder_of
from snapd.locations import Locations

if TYPE_CHECKING:
    import argparse

    from snapd.backend import RemoteBackend


def mcp(options: argparse.Namespace) -> int:
    """Serves the Model Context Protocol until standard input ends."""
    from snapd.mcp.stdio import serve

    if options.directory == ".":
        options.directory = os.environ.get("CLAUDE_PROJECT_DIR") or "."
    locations = Locations.from_environment(os.environ)
    socket = os.path.abspath(options.socket) if options.socket else locations.socket

    def connect() -> RemoteBackend:
        return connected(locations, socket, folder_of(options), None)[0]

    serve(connect, os.environ.get("CLAUDE_CODE_SESSION_ID") or None, os.path.abspath(options.directory))
    return DONE
