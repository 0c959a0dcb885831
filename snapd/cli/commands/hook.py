"""The commands that agents and editors start: `snapd hook`, `snapd mcp` and `snapd acp`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import FOLDER, Command, socket_option
from snapd.cli.requests.connection import connected, folder_of
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    from snapd.backend import RemoteBackend
    from snapd.cli.parsing.usage import Parser

_LOG = "SNAPD_LOG"


def _acp_arguments(parser: Parser) -> None:
    socket_option(parser)
    parser.argument("words", "AGENT", "the agent's command and its arguments", nargs=argparse.REMAINDER)


@Command(
    "acp",
    "connect agents",
    _acp_arguments,
    usage="snapd acp [options] -- AGENT ...",
    without_json="standard input and output carry the protocol between editor and agent",
    example="acp -- claude-agent-acp",
    plays=False,
)
def acp(options: argparse.Namespace) -> int:
    """Run an agent of the Agent Client Protocol for an editor, and record what it does.

    Stand between an editor and an agent that speak the Agent Client Protocol: each prompt becomes a step, each
    tool call that can write a part of it, and /undo, /redo, /rewind and /steps work in the conversation. What changes
    files shows its plan and asks. In the editor's settings, put 'snapd acp --' before the agent's command. With
    SNAPD_LOG=info, snapd logs what it does to standard error.
    """
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise InvalidParams(
            "expected an agent after --", hint="for example: snapd acp -- claude-agent-acp", field="AGENT"
        )
    if os.isatty(0):
        # on a terminal, a person logs in or asks the agent for its version
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
    """Sends the log to standard error if `SNAPD_LOG` names a level; nowhere otherwise."""
    asked = os.environ.get(_LOG, "").upper()
    level = logging.getLevelName(asked) if asked else None
    if level is None:
        logging.getLogger("snapd").addHandler(logging.NullHandler())
    else:
        text = "snapd: %(levelname)s: %(message)s"
        logging.basicConfig(stream=sys.stderr, level=level if isinstance(level, int) else logging.INFO, format=text)


def _mcp_arguments(parser: Parser) -> None:
    parser.argument("-C", "DIR", FOLDER, dest="directory", default=argparse.SUPPRESS)
    parser.flag("--here", help="use this very folder, not the one around it that has snapshots of it")
    socket_option(parser)


@Command(
    "mcp",
    "connect agents",
    _mcp_arguments,
    without_json="it speaks the Model Context Protocol",
    example="mcp",
    plays=False,
)
def mcp(options: argparse.Namespace) -> int:
    """Let an agent see and undo steps, by the Model Context Protocol.

    A Model Context Protocol server on standard input and output, for agents to start. It works on the folder in
    CLAUDE_PROJECT_DIR, if that is set, or else on this one, unless -C names another.
    """
    from snapd.mcp.server import serve

    if options.directory == ".":
        options.directory = os.environ.get("CLAUDE_PROJECT_DIR") or "."

    def connect() -> RemoteBackend:
        return connected(options.socket, folder_of(options), None)[0]

    serve(connect, os.environ.get("CLAUDE_CODE_SESSION_ID") or None, os.path.abspath(options.directory))
    return DONE


def _hook_arguments(parser: Parser) -> None:
    parser.argument("name", "AGENT", "the agent (default: recognized by the event)", nargs="?")


@Command(
    "hook",
    "connect agents",
    _hook_arguments,
    without_json="it answers an agent, in the form that the agent reads",
    example="hook < event.json",
    plays=False,
)
def hook(options: argparse.Namespace) -> int:
    """Record an event of an agent, from its hooks.

    Reads one event of an agent as JSON on standard input, and records it: a prompt is a message, a call of a
    tool is a step. It exits with 0, whatever happens, and prints JSON for the agent, or nothing. It takes two
    seconds at most ($SNAPD_HOOK_SECONDS). What it cannot record is in hook.log, in the directory of the daemon's
    socket, and with $SNAPD_LOG also on standard error.
    """
    from snapd.hook.main import main

    return main(options.name)
