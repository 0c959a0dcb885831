"""The parsers of the commands that agents call, or that wire agents to snapd."""

from __future__ import annotations

import argparse

from .shared_options import FOLDER


def add_agents(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds them."""
    for add in (_add_hook, _add_mcp):
        add(commands)


def _add_hook(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    hook = commands.add_parser(
        "hook",
        help="record an event of an agent, from its hooks",
        description="Reads one event of an agent as JSON on standard input, and records it: a prompt is a message, a "
        "call of a tool is a step. It exits with 0, whatever happens, and prints JSON for the agent, or nothing. It "
        "takes two seconds at most ($SNAPD_HOOK_SECONDS). What it passes over is in hook.log, in the directory of the "
        "daemon's socket, and with $SNAPD_LOG on standard error.",
    )
    hook.add_argument("name", metavar="AGENT", nargs="?", help="the agent (default: recognized by the event)")


def _add_mcp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    mcp = commands.add_parser(
        "mcp",
        help="let an agent see and undo steps, by the Model Context Protocol",
        description="A Model Context Protocol server on standard input and output, for agents to start. It works on "
        "the folder in CLAUDE_PROJECT_DIR, if that is set, or else on this one, unless -C names another.",
    )
    mcp.add_argument("-C", dest="directory", metavar="DIR", default=argparse.SUPPRESS, help=FOLDER)
    mcp.add_argument(
        "--here", action="store_true", help="use this very folder, not the one around it that has snapshots of it"
    )
    mcp.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
