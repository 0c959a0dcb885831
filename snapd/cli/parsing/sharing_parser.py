"""The parsers of the commands about other machines."""

from __future__ import annotations

import argparse

from .usage import changing, common

_REMOTE = "a git repository: a URL, host:path, a folder, or the name of a remote of the project's git"
_PUSH = (
    "Push sessions of agents to a git repository, so that others can look at them, take them in or go on with them. "
    "First it shows what would leave this machine: the sessions, how many bytes, the files that no commit there has, "
    "and which of them may hold secrets. Nothing is pushed before you have said yes, and nothing is ever pushed by "
    "itself."
)
_HANDOVER = (
    "Hand this folder over to another machine: all files as they are, the sessions of agents with their history, and "
    "what is pending. There, 'snapd takeover' goes on with it. Nothing changes here. First it shows what would leave "
    "this machine, as 'snapd push' does."
)
_BUNDLE = (
    "Write sessions of agents to a file, a git bundle, so that others can look at them, take them in or go on with "
    "them. First it shows what would be in the file, as 'snapd push' does. The file leaves out what a commit of the "
    "project has that others are likely to have; 'git bundle verify' names it."
)


def add_sharing(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds these commands."""
    push = commands.add_parser(
        "push", parents=[common()], help="push sessions to a git repository, for other machines", description=_PUSH
    )
    push.add_argument("remote", metavar="REMOTE", help=_REMOTE)
    push.add_argument("sessions", metavar="SESSION", nargs="*", help="which sessions (default: all of this folder)")
    push.add_argument("--delete", action="store_true", help="delete the sessions from there instead")
    push.add_argument(
        "--prune",
        action="store_true",
        help="delete old sessions from there instead: those of this folder, and those that this machine added to last",
    )
    push.add_argument(
        "--older-than", metavar="DAYS", type=float, help="with --prune: sessions that nobody added to for so long"
    )
    push.add_argument("--all", action="store_true", help="with --prune: the sessions of everybody else, too")
    _add_leaving(push, "only show what would leave this machine, or be deleted")
    fetch = commands.add_parser(
        "fetch", parents=[common()], help="fetch sessions from a git repository; the folder is not touched"
    )
    fetch.add_argument("remote", metavar="REMOTE", help=_REMOTE)
    fetch.add_argument("sessions", metavar="SESSION", nargs="*", help="which sessions (default: all that are there)")
    fetch.add_argument("-n", "--dry-run", action="store_true", help="only show what would come, and keep none of it")
    bundle = commands.add_parser(
        "bundle", parents=[common()], help="write sessions to a file, for other machines", description=_BUNDLE
    )
    bundle.add_argument("file", metavar="FILE", help="the file to write, which must not exist")
    bundle.add_argument("sessions", metavar="SESSION", nargs="*", help="which sessions")
    bundle.add_argument("--all", action="store_true", help="all sessions of this folder")
    _add_leaving(bundle)
    unbundle = commands.add_parser(
        "unbundle",
        parents=[common()],
        help="take the sessions of a file, as if they had been fetched; the folder is not touched",
    )
    unbundle.add_argument("file", metavar="FILE", help="a file that 'snapd bundle' wrote")
    handover = commands.add_parser(
        "handover",
        parents=[common()],
        help="hand this folder over to another machine, with its sessions and what is not committed",
        description=_HANDOVER,
    )
    handover.add_argument("remote", metavar="REMOTE", nargs="?", help=_REMOTE)
    handover.add_argument("--file", metavar="FILE", help="write it to this file instead, which must not exist")
    handover.add_argument("--name", metavar="NAME", help="its name there (default: of the folder and of this machine)")
    handover.add_argument(
        "--include", action="append", metavar="FILE", help="also this ignored file or folder (repeatable)"
    )
    _add_leaving(handover)
    takeover = commands.add_parser(
        "takeover",
        parents=[changing("what to do with files that changed on both machines (default: merge)")],
        help="take over what another machine handed over: its files and its sessions go on here",
    )
    takeover.add_argument("remote", metavar="REMOTE", nargs="?", help=_REMOTE)
    takeover.add_argument("--file", metavar="FILE", help="read it from a file instead")
    takeover.add_argument("--name", metavar="NAME", help="of the handover (default: the one that nobody took over yet)")
    apply = commands.add_parser(
        "apply",
        parents=[changing("what to do with files that are not as the steps found them (default: merge)")],
        help="take in what fetched steps changed, as a step that can be undone; or steps of another folder",
    )
    apply.add_argument(
        "--from",
        dest="source",
        metavar="DIR",
        help="the steps are those of another work tree or clone on this machine, and need not be fetched",
    )
    apply.add_argument(
        "names", metavar="SESSION|STEP", nargs="+", help="a session, or steps of one session: fetched, or of DIR"
    )


def _add_leaving(parser: argparse.ArgumentParser, dry_run: str = "only show what would leave this machine") -> None:
    """What all commands have that let something leave the machine."""
    parser.add_argument(
        "--exclude",
        action="append",
        metavar="PATTERN",
        help="leave these files out of what leaves this machine, as in a .gitignore (repeatable)",
    )
    parser.add_argument(
        "--redact",
        action="append",
        metavar="FILE",
        help="let nothing leave that this file ever was, under whatever name (repeatable)",
    )
    parser.add_argument(
        "--no-prompts",
        action="store_true",
        help="leave out prompts, titles of sessions, and descriptions and commands of steps",
    )
    parser.add_argument(
        "--sign", action="store_true", help="sign it with the ssh key that user.signingKey of your git names"
    )
    parser.add_argument(
        "--signing-key", metavar="KEY", help="sign it with this ssh key: a file, or a public key that your agent has"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help=dry_run)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
