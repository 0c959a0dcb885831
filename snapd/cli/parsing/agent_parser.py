"""The parsers of the commands that agents call, or that wire agents to snapd."""

from __future__ import annotations

import argparse

from .usage import FOLDER, common

_ACP = (
    "Stand between an editor and an agent that speak the Agent Client Protocol: each prompt becomes a step, each tool "
    "call that can write a part of it, and /undo, /redo and /steps work in the conversation. What changes files shows "
    "its plan and asks. In the editor's settings, "
    "put 'snapd acp --' before the agent's command. SNAPD_LOG=info tells on standard error what snapd does."
)


def add_agents(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds them."""
    for add in (_add_agent, _add_acp, _add_mcp, _add_hook):
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


def _add_acp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    acp = commands.add_parser(
        "acp",
        help="run an agent of the Agent Client Protocol for an editor, and record what it does",
        description=_ACP,
        usage="snapd acp [options] -- AGENT ...",
    )
    acp.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    acp.add_argument("words", metavar="AGENT", nargs=argparse.REMAINDER, help="the agent's command and its arguments")


def _add_agent(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    agent = commands.add_parser("agent", help="wire agents to snapd by their own hooks, and see whether that works")
    actions = agent.add_subparsers(dest="action", metavar="ACTION", required=True)
    install = actions.add_parser(
        "install",
        parents=[common(asks=False)],
        help="write snapd's hooks into the settings of agents",
        description="Write hooks into the settings of agents, so that each of their steps is recorded. Everything "
        "else in these files stays as it is.",
    )
    uninstall = actions.add_parser(
        "uninstall", parents=[common(asks=False)], help="take snapd's hooks out of the settings of agents"
    )
    install.add_argument("--all", action="store_true", help="all agents that are on this machine")
    uninstall.add_argument("--all", action="store_true", help="all agents that snapd knows")
    for action in (install, uninstall):
        action.add_argument(
            "names", metavar="NAME", nargs="*", help="such as claude or codex; 'snapd agent status' lists them"
        )
        action.add_argument(
            "--project", action="store_true", help="the settings of this project, not those of the user"
        )
        action.add_argument("-n", "--dry-run", action="store_true", help="only show the diff of what would be done")
    actions.add_parser(
        "status",
        parents=[common(asks=False)],
        help="show which agents are wired, and what keeps their hooks from working",
    )
