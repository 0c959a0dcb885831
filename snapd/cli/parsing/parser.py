"""The parser of the command line, and the table of commands."""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING, Any

from snapd._version import __version__

from .session_parser import add_agents, add_sessions
from .sharing_parser import add_sharing
from .usage import FOLDER, Parser, changing, common, looking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MODULES = {
    "commands.completion": "completion help",
    "commands.stop": "connect stop",
    "commands.doctor": "doctor",
    "commands.du": "du",
    "commands.fsck": "fsck",
    "commands.gc": "adopt gc",
    "commands.uninstall": "uninstall",
    "commands.serve": "serve",
    "commands.web": "ui web",
    "commands.agent": "agent",
    "commands.hook": "acp hook mcp",
    "commands.bisect": "bisect",
    "commands.keep": "keep restore revert",
    "commands.purge": "purge",
    "commands.run": "run",
    "commands.stage": "stage",
    "commands.step": "session step",
    "commands.undo": "redo revert-hunk undo",
    "commands.log": "log sessions",
    "commands.diff": "diff export files patch show snapshots track",
    "commands.review": "blame review",
    "commands.status": "status",
    "commands.watch": "watch",
    "commands.fetch": "apply fetch takeover unbundle",
    "commands.push": "bundle handover push",
}
"""The modules below `snapd.cli`, and the commands whose functions are in each; a function has its command's name."""
COMMANDS = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The module of each command."""
HIDDEN = {"complete": "commands.completion"}
"""As `COMMANDS`, for what only programs call: the help does not list it."""
GROUPS = {
    "look": ("status", "log", "sessions", "show", "diff", "patch", "files", "snapshots", "watch", "ui", "web"),
    "review": ("review", "keep", "blame"),
    "try out": ("export", "bisect"),
    "take back": ("undo", "redo", "revert-hunk", "revert", "restore"),
    "other machines": ("push", "fetch", "bundle", "unbundle", "handover", "takeover", "apply"),
    "agents": ("agent", "run", "acp", "mcp", "hook", "step", "session"),
    "keep": ("track", "stage", "gc", "du", "purge", "adopt"),
    "service": ("doctor", "fsck", "serve", "connect", "stop", "completion", "uninstall", "help"),
}
"""The commands of each group, in the order in which they are listed. Every command belongs to one group."""
SHOWING = frozenset({*GROUPS["look"], "blame", "completion", "du", "help", "review"} - {"ui", "web"})
"""The commands whose only purpose is their output: they stop when nobody reads it any more."""
_SNAPSHOT = (
    "a snapshot: its hash or the beginning of it (6 digits or more), 'last', STEP (before that step), STEP+ (after "
    "it), or @2h (as of two hours ago), @14:30, @2026-11-20, @2026-11-20T14:30; what may be a step or a hash is the "
    "step; 'snapd snapshots' lists them"
)
_OTHER = "another snapshot (default: the files as they are; for a step alone: as the step left them)"
_EPILOG = (
    "exit codes: 0 done; 1 failed, nothing changed; 2 wrong usage or settings; 3 done, but not for every file; "
    "4 cannot reach the daemon; 130 interrupted; 141 the reader of the output is gone. "
    "The code says what was done even if the output could not be written"
)
PORT = 7627
"""SNAP on the keys of a telephone: always the same, so that links to a step can be kept."""
_BISECT = (
    "Finds the step of a session that broke a command, such as a test. The command runs on snapshots before, between "
    "and after the steps, in a temporary folder outside of the project ($TMPDIR), which is removed in the end; the "
    "project is not touched. The command's exit code says what it found, as for 'git bisect run': 0 is good, 125 skips "
    "the snapshot, another one up to 127 is bad, and a higher one stops the search. Ignored files and .git are in no "
    "snapshot: if the command needs installed packages, have it install them, and --reuse keeps them. It gets no input "
    "and no terminal, its output goes to standard error, and what it leaves running is ended. Steps of other sessions "
    "that ran at the same time are tried by themselves; steps that were undone are not tried."
)


@cache
def build_parser(command: str | None = None) -> Parser:
    """The parser of all commands. Each is made once, for parsing leaves it as it is.

    Args:
        command: the command or option of which alone something is asked: then others may be missing, which saves time.
    """
    parser = Parser(
        prog="snapd",
        description="Snapshots of a folder that agents edit: see what changed, and get it back.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"snapd {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", default=".", help=FOLDER)
    # the parsers below it are of its class, of which the functions that fill them need not know
    base: argparse.ArgumentParser = parser
    commands = base.add_subparsers(dest="command", metavar="COMMAND")
    parser.groups = GROUPS
    for add, names in _PARSERS.items():
        if command is None or command in names.split():
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
    patch.add_argument("hash", metavar="SNAPSHOT", help=_SNAPSHOT)
    patch.add_argument("to", metavar="TO", nargs="?", help=_OTHER)
    patch.add_argument(
        "--renames",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether to show a moved file as one entry (default: yes)",
    )
    diff = commands.add_parser("diff", parents=[shown], help="show what changed since a snapshot as a unified diff")
    diff.add_argument("hash", metavar="SNAPSHOT", help=_SNAPSHOT)
    diff.add_argument("to", metavar="TO", nargs="?", help=_OTHER)
    diff.add_argument("--file", action="append", metavar="FILE", dest="files", help="only this file (repeatable)")
    show = commands.add_parser("show", parents=[shown], help="print a file as it was, or show a step and its diff")
    show.add_argument(
        "what",
        metavar="FILE@SNAPSHOT | STEP",
        help="a file and the snapshot to read it from, such as a.py@last or a.py@@2h; or a step that 'snapd log' shows",
    )
    files = commands.add_parser("files", parents=[shown], help="list the files of a snapshot")
    files.add_argument("hash", metavar="SNAPSHOT", help=_SNAPSHOT)
    files.add_argument("prefix", metavar="PREFIX", nargs="?", default="", help="list only names that start with this")
    snapshots = commands.add_parser("snapshots", parents=[shown], help="list the snapshots: when, and why")
    snapshots.add_argument(
        "-n", dest="number", metavar="N", type=int, default=25, help="how many to show (default: 25; 0: all)"
    )
    commands.add_parser("status", parents=[shared], help="show the state of the folder's snapshots and settings")


def _add_bringing_back(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shared = changing(
        "what to do with files that changed since the last snapshot (default: overwrite; a snapshot keeps them)"
    )
    revert = commands.add_parser(
        "revert", parents=[shared], help="bring files back from a snapshot, or with -p choose what agents changed"
    )
    revert.add_argument("hash", metavar="SNAPSHOT", nargs="?", help=f"{_SNAPSHOT}; not with -p")
    revert.add_argument("files", metavar="FILE", nargs="*", help="files or directories")
    revert.add_argument(
        "-p", "--patch", action="store_true", help="ask about each hunk that agents left pending in these files"
    )
    restore = commands.add_parser("restore", parents=[shared], help="make the folder match a snapshot")
    restore.add_argument("hash", metavar="SNAPSHOT", help=_SNAPSHOT)


def _add_reviewing(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shown = looking()
    review = commands.add_parser("review", parents=[shown], help="list what agents changed and you have not kept yet")
    review.add_argument("files", metavar="FILE", nargs="*", help="only these files or directories")
    review.add_argument("-p", "--patch", action="store_true", help="show the hunks, each with the agent that made it")
    review.add_argument(
        "--session", metavar="S", help="only changes of this session: its id or the beginning of its id"
    )
    review.add_argument("--agent", metavar="NAME", help="only changes of this agent")
    keep = commands.add_parser("keep", parents=[common()], help="accept what agents changed")
    keep.add_argument(
        "what", metavar="FILE | STEP", nargs="*", help="files or directories; or a step: the beginning of its id"
    )
    keep.add_argument("--all", action="store_true", help="accept all pending changes")
    keep.add_argument(
        "--session", metavar="S", help="accept the changes of this session: its id or the beginning of its id"
    )
    keep.add_argument("-p", "--patch", action="store_true", help="ask about each hunk")
    keep.add_argument("-y", "--yes", action="store_true", help="with -p, accept all hunks")
    blame = commands.add_parser(
        "blame",
        parents=[shown],
        help="show who wrote each line of a file",
        description="For lines that were there before snapd watched, this shows the commit and its author, as 'git "
        "blame' does, marked 'git'; or who wrote them by the commit's note of git-ai (refs/notes/ai). Lines from before "
        "that are not committed are marked 'before'.",
    )
    blame.add_argument(
        "file", metavar="FILE[:LINES]", help="a file, and which lines of it, such as a.py:12 or a.py:3-9"
    )
    blame.add_argument("hash", metavar="SNAPSHOT", nargs="?", help=f"{_SNAPSHOT} (default: the file as it is)")


def _add_keeping(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    gc = commands.add_parser(
        "gc", parents=[common()], help="drop snapshots that the settings do not keep, and pack the rest"
    )
    gc.add_argument(
        "--older-than", metavar="DAYS", type=float, help="drop snapshots older than this (default: the setting; 0: all)"
    )
    gc.add_argument("-n", "--dry-run", action="store_true", help="only show what would be dropped")
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
        "purge",
        parents=[common()],
        help="remove files or prompts, such as a leaked secret, for good",
    )
    purge.add_argument("files", metavar="FILE", nargs="*", help="files or directories")
    purge.add_argument(
        "--message",
        action="append",
        metavar="ID",
        dest="messages",
        help="remove the prompt of this message, and what is said of its steps (repeatable)",
    )
    purge.add_argument(
        "--workspace", action="store_true", help="remove all snapshots and sessions of the folder instead"
    )
    purge.add_argument("-n", "--dry-run", action="store_true", help="only show what would be removed")
    purge.add_argument("-y", "--yes", action="store_true", help="do not ask")

    adopt = commands.add_parser(
        "adopt",
        parents=[common()],
        help="take the history of a folder that was renamed, or that was here before",
        description="snapd knows a folder again that was renamed or moved. This command gives it its history back. "
        "What the folder has by now is kept, and a second 'snapd adopt' exchanges the two. It restarts the daemon.",
    )
    adopt.add_argument(
        "old", metavar="OLD", nargs="?", help="the former path, or the directory of the store (default: the only one)"
    )


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
    uninstall = commands.add_parser(
        "uninstall",
        help="remove hooks, the daemon and all data from this machine",
        description="Takes snapd's hooks out of the settings of all agents, ends the daemon, and deletes all "
        "snapshots, sessions and settings. It says what is left, and how to remove the program.",
    )
    uninstall.add_argument("--keep-data", action="store_true", help="keep the snapshots, the sessions and the settings")
    uninstall.add_argument("-n", "--dry-run", action="store_true", help="only show what would be removed")
    uninstall.add_argument("-y", "--yes", action="store_true", help="do not ask")
    uninstall.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    uninstall.add_argument("--json", action="store_true", help="print the answer as JSON")
    stop = commands.add_parser("stop", help="end the daemon")
    stop.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's own)")
    stop.add_argument("--json", action="store_true", help="print the answer as JSON")
    commands.add_parser("doctor", parents=[common()], help="check this installation and this folder")
    fsck = commands.add_parser("fsck", parents=[common()], help="check every object of this folder's store")
    fsck.add_argument("--repair", action="store_true", help="recover what can be recovered, and keep what is replaced")
    fsck.add_argument("--all", action="store_true", help="check the stores of all folders")
    completion = commands.add_parser("completion", help="print the completion script of a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"), help="the shell")
    # without a help text, it is not listed
    complete = commands.add_parser("complete", add_help=False)
    complete.add_argument("shell")
    complete.add_argument("words", nargs=argparse.REMAINDER)
    help_ = commands.add_parser("help", help="list the commands, or show the options of one")
    help_.add_argument("words", metavar="COMMAND", nargs="*", help="such as undo, or step begin")


def _add_views(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    commands.add_parser(
        "ui",
        parents=[common(alone=False)],
        help="see sessions, steps and diffs live, and undo by key",
        description="A terminal view of sessions, steps, files and hunks, and of what is to review.",
    )
    web = commands.add_parser(
        "web",
        parents=[common(alone=False)],
        help="serve a page with all of this to the browser, and an HTTP API",
        description="A page in the browser that shows sessions, steps and diffs live, and undoes them; and an HTTP API "
        "for programs. It answers only those who have the token of the address that it prints.",
    )
    web.add_argument(
        "--port",
        metavar="N",
        type=int,
        default=PORT,
        help=f"listen on this port (default: {PORT}; 0: any that is free)",
    )
    web.add_argument("--open", action="store_true", help="open the page in the browser")
    web.add_argument("--read-only", action="store_true", help="show everything, and refuse to change anything")
    web.add_argument("--json", action="store_true", help="print address and token as JSON, on one line")
    web.add_argument(
        "--host",
        metavar="H",
        default="127.0.0.1",
        help="listen on this address of the machine, for others too; needs --i-know, --cert and --key",
    )
    web.add_argument(
        "--i-know", action="store_true", help="let --host listen beyond this machine: whoever has the token can undo"
    )
    web.add_argument("--cert", metavar="FILE", help="the certificate for TLS, in PEM")
    web.add_argument("--key", metavar="FILE", help="the key of the certificate, in PEM")


def _add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = commands.add_parser(
        "export", parents=[common()], help="write the files of a snapshot to another folder, as plain files"
    )
    export.add_argument("hash", metavar="SNAPSHOT", help=_SNAPSHOT)
    export.add_argument("to", metavar="DIR", help="a folder outside of the project that is empty or does not exist")
    bisect = commands.add_parser(
        "bisect",
        parents=[common()],
        help="find the step that broke a command",
        description=_BISECT,
        usage="snapd bisect [options] [SESSION] -- COMMAND ...",
    )
    bisect.set_defaults(session=None)
    bisect.add_argument(
        "--reuse",
        action="store_true",
        help="keep files that the command makes, such as build results, from run to run; files that a snapshot has "
        "are put right all the same",
    )
    bisect.add_argument(
        "words",
        metavar="[SESSION] -- COMMAND",
        nargs=argparse.REMAINDER,
        action=_Split,
        help="the session: its id or the beginning of it (default: the one with the latest change); the command and "
        "its arguments",
    )


class _Split(argparse.Action):
    """Takes the session, and the options behind it, from in front of the `--`."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002 - argparse's
    ) -> None:
        words = [str(value) for value in values or ()]
        at = words.index("--") if "--" in words else len(words)
        own = words[:at]
        if own and namespace.session is not None:
            parser.error(f"{own[0]!r} is one argument too many before the --")
        if own:
            namespace.session = own[0]
        if own[1:]:
            parser.parse_args([*own[1:], *words[at:]], namespace)
        else:
            namespace.words = words[at + 1 :]


_PARSERS: dict[Callable[[argparse._SubParsersAction[argparse.ArgumentParser]], None], str] = {
    _add_looking: "track patch diff show files snapshots status",
    _add_bringing_back: "revert restore",
    _add_reviewing: "review keep blame",
    _add_export: "export bisect",
    add_sessions: "sessions log undo redo revert-hunk stage watch step session run",
    add_sharing: "push fetch bundle unbundle handover takeover apply",
    add_agents: "agent acp mcp hook",
    _add_views: "ui web",
    _add_keeping: "gc du purge adopt",
    _add_serving: "serve connect stop doctor fsck completion complete uninstall help",
}
"""The functions that add parsers, and the commands that each adds."""
