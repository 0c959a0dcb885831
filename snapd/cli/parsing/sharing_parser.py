"""The parsers of the commands about other machines."""

from __future__ import annotations

import argparse

from .shared_options import changing, common

_REMOTE = "a git repository: a URL, host:path, a folder, or the name of a remote of the project's git"
_PUSH = (
    "Push sessions of agents to a git repository, so that others can look at them, take them in or go on with them. "
    "First it shows what would leave this machine: the sessions, how many bytes, the files that no commit of the "
    "project has, and which of them may hold secrets. Nothing is pushed before you have said yes, and nothing is ever "
    "pushed by itself."
)


def add_sharing(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds these commands."""
    push = commands.add_parser(
        "push", parents=[common()], help="push sessions to a git repository, for other machines", description=_PUSH
    )
    push.add_argument("remote", metavar="REMOTE", help=_REMOTE)
    push.add_argument("sessions", metavar="SESSION", nargs="*", help="which sessions (default: all of this folder)")
    push.add_argument(
        "--exclude",
        action="append",
        metavar="PATTERN",
        help="leave these files out of what is pushed, as in a .gitignore (repeatable)",
    )
    push.add_argument("--delete", action="store_true", help="delete the sessions from there instead")
    push.add_argument(
        "--prune", action="store_true", help="delete old sessions from there instead: of this folder and this machine"
    )
    push.add_argument(
        "--older-than", metavar="DAYS", type=float, help="with --prune: sessions that nobody added to for so long"
    )
    push.add_argument("--all", action="store_true", help="with --prune: the sessions of everybody else, too")
    push.add_argument(
        "-n", "--dry-run", action="store_true", help="only show what would leave this machine, or be deleted"
    )
    push.add_argument("-y", "--yes", action="store_true", help="do not ask")
    fetch = commands.add_parser(
        "fetch", parents=[common()], help="fetch sessions from a git repository; the folder is not touched"
    )
    fetch.add_argument("remote", metavar="REMOTE", help=_REMOTE)
    fetch.add_argument("sessions", metavar="SESSION", nargs="*", help="which sessions (default: all that are there)")
    apply = commands.add_parser(
        "apply",
        parents=[changing("what to do with files that are not as the steps found them (default: merge)")],
        help="take in what fetched steps changed, as a step that can be undone",
    )
    apply.add_argument(
        "names", metavar="SESSION|STEP", nargs="+", help="a fetched session, or fetched steps of one session"
    )
