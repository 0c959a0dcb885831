"""The parser of `snapd agent`."""

from __future__ import annotations

import argparse

from .shared_options import common


def add_wiring(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command."""
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
