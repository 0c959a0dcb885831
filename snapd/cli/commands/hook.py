"""The commands that agents and editors start and speak to: `snapd hook`, `snapd mcp` and `snapd acp`."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import connected
from snapd.cli.requests.folder import folder_of
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd.backend import RemoteBackend

_LOG = "SNAPD_LOG"


def acp(options: argparse.Namespace) -> int:
    """Runs the agent until it or its editor ends; its exit code is that of the agent.

    Raises:
        InvalidParams: there is no agent to run.
    """
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise InvalidParams(
            "expected an agent after --", hint="for example: snapd acp -- claude-agent-acp", field="AGENT"
        )
    if os.isatty(0):
        # nobody speaks the protocol there: a person logs in, or asks the agent for its version
        return _without_proxy(words)
    _log()
    from snapd.acp.proxy import run
    from snapd.acp.recording import Daemon

    return run(words, Daemon(options.socket))


def _without_proxy(words: list[str]) -> int:
    try:
        os.execvp(words[0], words)  # noqa: S606 - the very command that was asked for
    except OSError as error:
        hint = "check its name, and PATH"
        print(f"snapd: {words[0]}: {error.strerror}\nhint: {hint}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126


def _log() -> None:
    """Has the log go to standard error where `SNAPD_LOG` asks for it, by the name of a level; nowhere else."""
    asked = os.environ.get(_LOG, "").upper()
    level = logging.getLevelName(asked) if asked else None
    if level is None:
        logging.getLogger("snapd").addHandler(logging.NullHandler())
    else:
        told = "snapd: %(levelname)s: %(message)s"
        logging.basicConfig(stream=sys.stderr, level=level if isinstance(level, int) else logging.INFO, format=told)


def mcp(options: argparse.Namespace) -> int:
    """Serves the Model Context Protocol until standard input ends."""
    from snapd.mcp.server import serve

    if options.directory == ".":
        options.directory = os.environ.get("CLAUDE_PROJECT_DIR") or "."

    def connect() -> RemoteBackend:
        return connected(options.socket, folder_of(options), None)[0]

    serve(connect, os.environ.get("CLAUDE_CODE_SESSION_ID") or None, os.path.abspath(options.directory))
    return DONE


def hook(options: argparse.Namespace) -> int:
    """Records the event on standard input."""
    from snapd.hook.main import main

    return main(options.name)
