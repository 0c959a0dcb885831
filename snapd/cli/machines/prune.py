"""`snapd push --prune`: old sessions are deleted from a git repository."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.terminal.confirming import confirmed, declined
from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import print_json
from snapd.core.errors import InvalidParams

from .remote import counted, remote_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_LISTED = 20
"""How many sessions are listed."""


def prune(options: argparse.Namespace) -> int:
    """Shows which sessions are old, asks, and deletes them from a remote."""
    _check(options)
    params = {
        "remote": remote_of(options),
        "prune": True,
        "olderThanDays": options.older_than,
        "all": options.all or None,
    }
    with backend(options) as found:
        if options.dry_run or not options.yes:
            plan = ask(found, "session/push", {**params, "dryRun": True})
            if options.dry_run or not plan["pruned"]:
                return _tell(options, plan)
            if not sys.stdin.isatty():
                raise InvalidParams(
                    f"this would delete {counted(len(plan['pruned']), 'session')} for everybody, and standard input is "
                    "no terminal to ask on",
                    hint="see which with --dry-run, then confirm with --yes",
                    field="--yes",
                )
            for line in _lines(plan):
                print(line, file=sys.stderr)
            print("Every machine keeps those that it made or fetched. Nobody else can fetch them.", file=sys.stderr)
            if not confirmed(f"Delete them from {printable(plan['remote'])}?"):
                return declined(options)
        return _tell(options, ask(found, "session/push", params))


def _check(options: argparse.Namespace) -> None:
    for name, is_given in (
        ("SESSION", bool(options.sessions)),
        ("--exclude", bool(options.exclude)),
        ("--redact", bool(options.redact)),
        ("--no-prompts", options.no_prompts),
        ("--sign", options.sign),
        ("--signing-key", options.signing_key),
        ("--delete", options.delete),
    ):
        if is_given:
            raise InvalidParams(f"{name}: not together with --prune", hint="leave it out", field=name)
    if options.older_than is None:
        raise InvalidParams(
            "--prune: expected --older-than DAYS", hint="say how old a session has to be", field="--older-than"
        )
    if not 0 <= options.older_than < math.inf:
        raise InvalidParams("--older-than: expected a number of days, at least 0", field="--older-than")


def _tell(options: argparse.Namespace, result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    elif options.dry_run and result["pruned"]:
        for line in _lines(result):
            print(line)
    else:
        what, remote = counted(len(result["pruned"]), "session"), printable(result["remote"])
        print(f"deleted {what} from {remote}" if result["pruned"] else f"no session at {remote} is so old")
    return DONE


def _lines(plan: dict[str, Any]) -> Iterator[str]:
    """What would be deleted, in lines; the oldest sessions first."""
    sessions = plan["pruned"]
    yield f"{printable(plan['remote'])} has {counted(len(sessions), 'session')} so old, which would be deleted:"
    for session in sessions[:_LISTED]:
        # where nobody here knows its name, the end of its reference has to do
        name = session.get("sessionId") or session["reference"].rpartition("/")[2]
        yield f"  {session['lastAt'][:10]}  {printable(short(name))}  from {printable(session['host'])}"
    if (more := len(sessions) - _LISTED) > 0:
        yield f"  and {more} more; --json lists all"
