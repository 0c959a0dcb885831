"""`snapd push`: sessions to a git repository, once somebody saw what would leave this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.names import find_session
from snapd.cli.terminal.confirming import confirmed, declined
from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.output import print_json
from snapd.core.errors import InvalidParams

from .leaving import Leaving, leave, leaving_params
from .prune import prune
from .remote import counted, readers_of, remote_of

if TYPE_CHECKING:
    import argparse

    from snapd.backend import Backend


def push(options: argparse.Namespace) -> int:
    """Shows what would leave the machine, asks, and pushes it; or deletes sessions from there."""
    if options.prune:
        return prune(options)
    for name, is_given in (("--older-than", options.older_than is not None), ("--all", options.all)):
        if is_given:
            raise InvalidParams(f"{name}: only together with --prune", hint="add --prune, or leave it out", field=name)
    with backend(options) as found:
        params = _params(options, found)
        if options.delete:
            return _delete(options, found, params)
        return leave(options, found, Leaving("session/push", params, "push", "pushed", _remote, readers_of))


def _params(options: argparse.Namespace, found: Backend) -> dict[str, Any]:
    names = [find_session(found, word)["sessionId"] for word in options.sessions]
    which: dict[str, Any] = {"sessionIds": names} if names else {"all": True}
    return {"remote": remote_of(options), **leaving_params(options), **which}


def _delete(options: argparse.Namespace, found: Backend, params: dict[str, Any]) -> int:
    if not options.sessions:
        raise InvalidParams(
            "expected the sessions to delete from there", hint="name them after REMOTE", field="SESSION"
        )
    given = {
        "--dry-run": options.dry_run,
        "--exclude": options.exclude,
        "--redact": options.redact,
        "--no-prompts": options.no_prompts,
        "--sign": options.sign,
        "--signing-key": options.signing_key,
    }
    for other in (name for name, value in given.items() if value):
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
    result = ask(found, "session/push", {**params, "delete": True})
    if options.json:
        print_json(result)
    else:
        print(f"deleted {counted(len(result['sessions']), 'session')} from {printable(result['remote'])}")
    return DONE


def _remote(result: dict[str, Any]) -> str:
    return printable(result["remote"])
