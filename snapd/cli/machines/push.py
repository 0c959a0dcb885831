"""`snapd push`: sessions to a git repository, once somebody saw what would leave this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.names import find_session
from snapd.cli.terminal.confirming import confirmed, declined
from snapd.cli.terminal.filenames import file_name, printable
from snapd.cli.terminal.output import Painter, print_json, size
from snapd.core.errors import InvalidParams

from .prune import prune
from .remote import counted, remote_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from snapd.backend import Backend

_WHY = {"secret": "may hold a secret", "large": "is large"}
_LISTED = 20
"""How many files without a reason to look at are listed."""


def push(options: argparse.Namespace) -> int:
    """Shows what would leave the machine, asks, and pushes it; or deletes sessions from there."""
    if options.prune:
        return prune(options)
    for name, is_given in (("--older-than", options.older_than is not None), ("--all", options.all)):
        if is_given:
            raise InvalidParams(f"{name}: only together with --prune", hint="add --prune, or leave it out", field=name)
    painter = Painter(options, sys.stderr)
    with backend(options) as found:
        params = _params(options, found)
        if options.delete:
            return _delete(options, found, params)
        if options.dry_run or not options.yes:
            plan = ask(found, "session/push", {**params, "dryRun": True})
            if options.dry_run:
                return _tell(options, plan)
            if not sys.stdin.isatty():
                sessions = counted(len(plan["sessions"]), "session")
                raise InvalidParams(
                    f"this would push {sessions}, and standard input is no terminal to ask on",
                    hint="see what would leave this machine with --dry-run, then confirm with --yes",
                    field="--yes",
                )
            for line in _plan(painter, plan):
                print(line, file=sys.stderr)
            if not confirmed("Push this?"):
                return declined(options)
        return _tell(options, ask(found, "session/push", params))


def _params(options: argparse.Namespace, found: Backend) -> dict[str, Any]:
    names = [find_session(found, word)["sessionId"] for word in options.sessions]
    which: dict[str, Any] = {"sessionIds": names} if names else {"all": True}
    return {"remote": remote_of(options), "exclude": options.exclude, **which}


def _delete(options: argparse.Namespace, found: Backend, params: dict[str, Any]) -> int:
    if not options.sessions:
        raise InvalidParams(
            "expected the sessions to delete from there", hint="name them after REMOTE", field="SESSION"
        )
    if options.dry_run or options.exclude:
        other = "--dry-run" if options.dry_run else "--exclude"
        raise InvalidParams(f"{other}: not together with --delete", hint="leave it out", field=other)
    if not options.yes:
        if not sys.stdin.isatty():
            raise InvalidParams(
                "this would delete sessions for others, and standard input is no terminal to ask on",
                hint="confirm with --yes",
                field="--yes",
            )
        what = counted(len(options.sessions), "session")
        print("Who has fetched them keeps them, and a git host may keep them for some time.", file=sys.stderr)
        if not confirmed(f"Delete {what} from {printable(params['remote'])}?"):
            return declined(options)
    result = ask(found, "session/push", {**params, "exclude": None, "delete": True})
    if options.json:
        print_json(result)
    else:
        print(f"deleted {counted(len(result['sessions']), 'session')} from {printable(result['remote'])}")
    return DONE


def _tell(options: argparse.Namespace, result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    elif options.dry_run:
        for line in _plan(Painter(options), result):
            print(line)
    else:
        what, much = counted(len(result["sessions"]), "session"), size(result["bytes"])
        print(f"pushed {what} to {printable(result['remote'])}: {much}")
    return DONE


def _plan(painter: Painter, plan: dict[str, Any]) -> Iterator[str]:
    """What would leave the machine, in lines."""
    remote = printable(plan["remote"])
    yield f"{counted(len(plan['sessions']), 'session')} to {remote}: {size(plan['bytes'])}"
    yield "  their steps and prompts, with the folder before and after each step"
    yield f"Whoever can read {_where(remote)} can read all of it."
    files = sorted(plan["newFiles"], key=lambda file: "reason" not in file)
    if not files:
        yield "All files are in commits of the project already."
        return
    yield f"{counted(len(files), 'file')} {'are' if len(files) > 1 else 'is'} in no commit of the project:"
    told = [file for file in files if "reason" in file]
    for file in [*told, *files[len(told) : len(told) + _LISTED]]:
        reason = file.get("reason")
        line = f"  {size(file['size']):>10}  {file_name(file['file'], '')}"
        yield line if reason is None else painter.paint(f"{line}  {_WHY[reason]}", "red")
    if (more := len(files) - len(told) - _LISTED) > 0:
        yield f"  and {more} more; --json lists all"
    if told:
        yield "--exclude leaves files out."


def _where(remote: str) -> str:
    """Who can read it, as far as the address says."""
    if remote.startswith("/"):
        return "this folder"
    host = remote.partition("://")[2].partition("/")[0].rpartition("@")[2] if "://" in remote else ""
    host = host or (remote.partition(":")[0].rpartition("@")[2] if ":" in remote else "")
    return f"this repository on {host}" if host else "this repository"
