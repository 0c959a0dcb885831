"""The parser of the command line."""

from __future__ import annotations

import argparse

from snapd._version import __version__

from .session_parser import add_sessions
from .shared_options import FOLDER, changing, common, looking
from .usage import Parser

COMMANDS = {
    "track": ("commands.look", "track"),
    "patch": ("commands.look", "patch"),
    "diff": ("commands.look", "diff"),
    "show": ("commands.look", "show"),
    "files": ("commands.look", "files"),
    "status": ("commands.look", "status"),
    "revert": ("commands.restore", "revert"),
    "restore": ("commands.restore", "restore"),
    "sessions": ("commands.log", "sessions"),
    "log": ("commands.log", "log"),
    "watch": ("commands.watch", "watch"),
    "undo": ("commands.undo", "undo"),
    "redo": ("commands.undo", "redo"),
    "revert-hunk": ("commands.hunk", "revert_hunk"),
    "step": ("commands.step", "step"),
    "session": ("commands.session", "end_session"),
    "run": ("commands.run", "run"),
    "gc": ("admin.gc", "gc"),
    "du": ("admin.du", "du"),
    "purge": ("commands.purge", "purge"),
    "serve": ("admin.serve", "serve"),
    "connect": ("admin.connect", "connect"),
    "stop": ("admin.stop", "stop"),
    "doctor": ("admin.doctor", "doctor"),
    "fsck": ("admin.fsck", "fsck"),
    "completion": ("admin.completion", "completion"),
}
"""For each command, the module below `snapd.cli` and the function that runs it."""

SHOWING = frozenset({"patch", "diff", "show", "files", "status", "sessions", "log", "watch", "du", "completion"})
"""The commands whose only purpose is their output: they stop when nobody reads it any more."""

_HASH = "a snapshot's hash (40 hex digits), or 'last'"
_EPILOG = (
    "exit codes: 0 done; 1 failed, nothing changed; 2 wrong usage or settings; 3 done, but not for every file; "
    "4 cannot reach the daemon; 130 interrupted; 141 the reader of the output is gone. "
    "The code says what was done even if the output could not be written"
)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser: argparse.ArgumentParser = Parser(
        prog="snapd",
        description="Snapshots of a folder that agents edit: see what changed, and get it back.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"snapd {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", default=".", help=FOLDER)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_add_looking, _add_bringing_back, add_sessions, _add_keeping, _add_serving):
        add(commands)
    return parser


def _add_looking(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shared = common()
    track = commands.add_parser("track", parents=[shared], help="take a snapshot and print its hash")
    track.add_argument(
        "--force", action="append", metavar="PATH", help="capture this path although it is ignored (repeatable)"
    )
    shown = looking()
    patch = commands.add_parser("patch", parents=[shown], help="list what changed since a snapshot, with counts")
    patch.add_argument("hash", metavar="HASH", help=_HASH)
    patch.add_argument("to", metavar="TO", nargs="?", help="another snapshot (default: the files as they are)")
    patch.add_argument(
        "--renames",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether to show a moved file as one entry (default: yes)",
    )
    diff = commands.add_parser("diff", parents=[shown], help="show what changed since a snapshot as a unified diff")
    diff.add_argument("hash", metavar="HASH", help=_HASH)
    diff.add_argument("to", metavar="TO", nargs="?", help="another snapshot (default: the files as they are)")
    diff.add_argument("--file", action="append", metavar="FILE", dest="files", help="only this file (repeatable)")
    show = commands.add_parser("show", parents=[shown], help="print a file as it was, or show a step and its diff")
    show.add_argument(
        "what",
        metavar="FILE@HASH | STEP",
        help="a file and the snapshot to read it from; or a step, as 'snapd log' shows it",
    )
    files = commands.add_parser("files", parents=[shown], help="list the files of a snapshot")
    files.add_argument("hash", metavar="HASH", help=_HASH)
    files.add_argument("prefix", metavar="PREFIX", nargs="?", default="", help="list only names that start with this")
    commands.add_parser("status", parents=[shared], help="show the state of the folder's snapshots and settings")


def _add_bringing_back(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shared = changing(
        "what to do with files that changed since the last snapshot (default: overwrite; a snapshot keeps them)"
    )
    revert = commands.add_parser("revert", parents=[shared], help="bring some files back from a snapshot")
    revert.add_argument("hash", metavar="HASH", help=_HASH)
    revert.add_argument("files", metavar="FILE", nargs="+", help="files or directories")
    restore = commands.add_parser("restore", parents=[shared], help="make the folder match a snapshot")
    restore.add_argument("hash", metavar="HASH", help=_HASH)


def _add_keeping(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    gc = commands.add_parser(
        "gc", parents=[common()], help="drop snapshots that the settings do not keep, and pack the rest"
    )
    gc.add_argument(
        "--older-than", metavar="DAYS", type=float, help="drop snapshots older than this (default: the setting; 0: all)"
    )
    gc.add_argument("-y", "--yes", action="store_true", help="do not ask before all snapshots are dropped")
    gc.add_argument("--all", action="store_true", help="for all folders of this user")
    gc.add_argument(
        "--missing", action="store_true", help="as --all, and also remove the snapshots of folders that no longer exist"
    )
    du = commands.add_parser(
        "du", parents=[common(asks=False)], help="show how much space the snapshots take, by session"
    )
    du.add_argument("--all", action="store_true", help="for all folders of this user")
    purge = commands.add_parser(
        "purge", parents=[common()], help="remove files, such as a leaked secret, from all snapshots for good"
    )
    purge.add_argument("files", metavar="FILE", nargs="*", help="files or directories")
    purge.add_argument(
        "--workspace", action="store_true", help="remove all snapshots and sessions of the folder instead"
    )
    purge.add_argument("-n", "--dry-run", action="store_true", help="only show what would be removed")
    purge.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _add_serving(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser("serve", help="run the daemon in the foreground")
    way = serve.add_mutually_exclusive_group()
    way.add_argument("--stdio", action="store_true", help="serve one client on standard input and output")
    way.add_argument("--socket", metavar="PATH", help="the Unix socket to serve (default: the user's own)")
    way.add_argument("--tcp", metavar="HOST:PORT", help="serve TCP; clients need a token")
    serve.add_argument("--token-file", metavar="PATH", help="the file that holds the token for --tcp")
    serve.add_argument("--allow-remote", action="store_true", help="let --tcp listen beyond the loopback interface")
    serve.add_argument(
        "--idle-exit",
        metavar="SECONDS",
        type=float,
        default=1800.0,
        help="end after this long without a client (default: 1800; 0: never)",
    )
    serve.add_argument(
        "--max-message", metavar="BYTES", type=int, default=64 << 20, help="refuse longer messages (default: 64 MiB)"
    )
    connect = commands.add_parser(
        "connect", help="connect standard input and output to the daemon, starting it if needed"
    )
    connect.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    connect.add_argument("--stdio", action="store_true", help="ignored: editors append it")
    stop = commands.add_parser("stop", help="end the daemon")
    stop.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    commands.add_parser("doctor", parents=[common()], help="check this installation and this folder")
    fsck = commands.add_parser("fsck", parents=[common()], help="check every object of this folder's store")
    fsck.add_argument("--repair", action="store_true", help="recover what can be recovered, and keep what is replaced")
    fsck.add_argument("--all", action="store_true", help="check the stores of all folders")
    completion = commands.add_parser("completion", help="print the completion script of a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
