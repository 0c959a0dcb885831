"""`snapd purge`: removes files and prompts, or everything of a folder, from all stored history."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snapd.backend import find_comment
from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import Command, common
from snapd.cli.requests.connection import ask, in_folder, open_backend
from snapd.cli.requests.names import find_message
from snapd.cli.terminal.asking import confirmed, declined
from snapd.cli.terminal.layout import printable, shell_name
from snapd.cli.terminal.output import counted, print_json, size
from snapd.model.errors import InvalidParams

if TYPE_CHECKING:
    import argparse

    from snapd_client.protocol import PurgeParams, PurgeResult

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser


def _arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("files", "FILE", "files or directories", nargs="*")
    parser.repeated(
        "--message", "ID", "messages", "remove the prompt of this message, and the descriptions of its steps"
    )
    parser.repeated("--comment", "ID", "comments", "remove this comment, and the replies to it")
    parser.flag("--workspace", help="remove all snapshots and sessions of the folder instead")
    parser.flag("-n", "--dry-run", help="only show what would be removed")
    parser.flag("-y", "--yes", help="do not ask")


@Command("purge", "space and secrets", _arguments, answer="PurgeResult", example="purge token.txt --dry-run")
def purge(options: argparse.Namespace) -> int:
    """Remove files or prompts, such as a leaked secret, for good."""
    if options.workspace == bool(options.files or options.messages or options.comments):
        what = "expected either files, messages and comments or --workspace"
        raise InvalidParams(what, hint="see 'snapd purge --help'", field="FILE")
    with open_backend(options) as backend:
        params = _params(options, backend)
        if options.dry_run or not options.yes:
            # raises an error if no snapshot has one of the files
            output = ask(backend, "snapshot/purge", {**params, "dryRun": True})
            if options.dry_run:
                return _show_plan(options, output)
            _check(output)
            if not confirmed(
                "Remove this for good? It cannot be undone.",
                "this cannot be undone",
                "see what would go with --dry-run, then confirm with --yes",
                _plan(output, everything=options.workspace),
            ):
                return declined(options)
        result = ask(backend, "snapshot/purge", params)
    if options.json:
        print_json(result)
        return DONE
    print(f"{_counted(result, everything=options.workspace)}; {size(result['freedBytes'])} freed")
    if result["remotes"]:
        print(
            f"snapd: it was sent elsewhere, and is still there: {_remotes(result)}\nhint: 'snapd push --delete REMOTE "
            "SESSION' removes a session there; a secret that got out has to be changed",
            file=sys.stderr,
        )
    if result["stillInGit"]:
        print(
            "snapd: the project's own git still has some of it\nhint: 'git filter-repo' removes it there",
            file=sys.stderr,
        )
    return DONE


def _params(options: argparse.Namespace, backend: Backend) -> PurgeParams:
    if options.workspace:
        return {"everything": True}
    messages = [find_message(backend, word)["messageId"] for word in options.messages or ()]
    comments = [find_comment(backend.request, word)["commentId"] for word in options.comments or ()]
    files = [in_folder(options, file) for file in options.files]
    return {"files": files or None, "messages": messages or None, "comments": comments or None}


def _show_plan(options: argparse.Namespace, plan: PurgeResult) -> int:
    if options.json:
        print_json(plan)
    else:
        print("\n".join(_plan(plan, everything=options.workspace)))
    return DONE


def _check(plan: PurgeResult) -> None:
    here = [shell_name(row["file"]) for row in plan["files"] if row["inFolder"]]
    if here:
        raise InvalidParams(
            f"{', '.join(here)}: still in the folder, so the next snapshot would have it again",
            hint="delete it, or ignore it and take it out of git's index, then purge again",
            field="FILE",
        )


def _plan(plan: PurgeResult, *, everything: bool) -> list[str]:
    rows = plan["files"]
    lines = []
    for row in rows:
        here = "; still in the folder: delete or ignore it first" if row["inFolder"] else ""
        about = f"{counted(row['versions'], 'version')}, {size(row['bytes'])}{here}"
        lines.append(f"  {shell_name(row['file'])}  ({about})")
    total = ""
    if rows:
        versions, count = (sum(row[key] for row in rows) for key in ("versions", "bytes"))
        total = f": {counted(versions, 'version')} of {counted(len(rows), 'file')}, {size(count)}"
    if plan["fetched"]:
        lines.append(f"{counted(plan['fetched'], 'fetched session')} to be dropped")
    if plan["remotes"]:
        lines.append(f"it was sent elsewhere, and stays there: {_remotes(plan)}")
    return [f"{_counted(plan, everything=everything)}{total}", *lines]


def _remotes(plan: PurgeResult) -> str:
    return ", ".join(map(printable, plan["remotes"]))


def _counted(result: PurgeResult, *, everything: bool) -> str:
    snapshots = counted(result["snapshots"], "snapshot")
    if result["messages"] or result["comments"]:
        texts = ((result["messages"], "prompt"), (result["comments"], "comment"))
        removed = " and ".join(counted(number, noun) for number, noun in texts if number)
        words = f"{removed} {'removed' if result['applied'] else 'to be removed'}"
        return f"{words}; {_rewritten(result)}" if result["snapshots"] else words
    if everything:
        verb = "purged" if result["applied"] else "to be purged"
        return f"{snapshots} and {counted(result['sessions'], 'session')} {verb}"
    return _rewritten(result)


def _rewritten(result: PurgeResult) -> str:
    return f"{counted(result['snapshots'], 'snapshot')} {'rewritten' if result['applied'] else 'to be rewritten'}"
