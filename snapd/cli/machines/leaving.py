"""What is about to leave this machine: shown, asked about, and sent."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import attrs

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask
from snapd.cli.terminal.confirming import confirmed, declined
from snapd.cli.terminal.filenames import file_name, printable
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, print_json, size
from snapd.core.errors import InvalidParams
from snapd.remotes.ssh_keygen import literal_key

from .remote import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from snapd.backend import Backend

_WHY = {"secret": "may hold a secret", "large": "is large"}
_LISTED = 20
"""How many files without a reason to look at are listed."""


@attrs.frozen
class Leaving:
    """How a command speaks of what leaves the machine.

    Attributes:
        method: the request that sends it.
        params: its params.
        verb: what the command does, such as `push`.
        done: what it has done then, such as `pushed`.
        where: says where it goes, from the answer to the request.
        readers: says who can read it there, as a sentence, from the same.
        with_folder: whether the folder goes with the sessions.
    """

    method: str
    params: dict[str, Any]
    verb: str
    done: str
    where: Callable[[dict[str, Any]], str]
    readers: Callable[[dict[str, Any]], str]
    with_folder: bool = False


def leaving_params(options: argparse.Namespace) -> dict[str, Any]:
    """What stays on this machine, and how the rest is signed, as params of a request."""
    redact = [os.path.abspath(os.path.join(options.directory, name)) for name in options.redact or ()]
    return {
        "exclude": options.exclude,
        "redact": redact or None,
        "withoutPrompts": options.no_prompts or None,
        "sign": options.sign or options.signing_key is not None or None,
        "signingKey": _key(options),
    }


def _key(options: argparse.Namespace) -> str | None:
    """The key that signs; the path of a file is absolute, for the daemon is elsewhere."""
    key: str | None = options.signing_key
    if key is None or literal_key(key) is not None:
        return key
    return os.path.abspath(os.path.join(options.directory, key))


def leave(options: argparse.Namespace, found: Backend, leaving: Leaving) -> int:
    """Shows what would leave the machine, asks, and sends it.

    Args:
        options: of the command, with `dry_run` and `yes`.
        found: who carries it out.
        leaving: what, and where to.

    Returns:
        The exit code.
    """
    painter = Painter(options, sys.stderr)
    if options.dry_run or not options.yes:
        plan = ask(found, leaving.method, {**leaving.params, "dryRun": True})
        if options.dry_run or not (plan["sessions"] or leaving.with_folder):
            return _tell(options, leaving, plan)
        if not sys.stdin.isatty():
            sessions = counted(len(plan["sessions"]), "session")
            raise InvalidParams(
                f"this would {leaving.verb} {sessions}, and standard input is no terminal to ask on",
                hint="see what would leave this machine with --dry-run, then confirm with --yes",
                field="--yes",
            )
        for line in _plan(painter, leaving, plan):
            print(line, file=sys.stderr)
        if not confirmed(f"{leaving.verb.capitalize()} this?"):
            return declined(options)
    return _tell(options, leaving, ask(found, leaving.method, leaving.params))


def _tell(options: argparse.Namespace, leaving: Leaving, result: dict[str, Any]) -> int:
    if options.json:
        print_json(result)
    elif not (result["sessions"] or leaving.with_folder):
        print(f"nothing to {leaving.verb}: the folder has no sessions")
    elif options.dry_run:
        for line in _plan(Painter(options), leaving, result):
            print(line)
    else:
        what, much = counted(len(result["sessions"]), "session"), size(result["bytes"])
        print(f"{leaving.done} {what} to {leaving.where(result)}: {much}")
    return DONE


def _plan(painter: Painter, leaving: Leaving, plan: dict[str, Any]) -> Iterator[str]:
    """What would leave the machine, in lines."""
    yield f"{counted(len(plan['sessions']), 'session')} to {leaving.where(plan)}: {size(plan['bytes'])}"
    prompts = "" if leaving.params.get("withoutPrompts") else " and prompts, titles and descriptions of steps"
    yield f"  their steps{prompts}, with the folder before and after each step"
    if leaving.params.get("sign"):
        yield "  signed with your ssh key"
    yield leaving.readers(plan)
    for text in plan["secretTexts"]:
        of = text.get("stepId") or text.get("messageId")
        named = f"the {text['kind']}{f' of {short(of)}' if of else ''} in session {short(text['sessionId'])}"
        yield painter.paint(f"  {printable(named)}  {_WHY['secret']}", "red")
    if plan["secretTexts"]:
        yield "--no-prompts leaves prompts, titles and descriptions out."
    files = sorted(plan["newFiles"], key=lambda file: "reason" not in file)
    if not files:
        yield "All files are in commits that are there already."
        return
    yield f"{counted(len(files), 'file')} {'are' if len(files) > 1 else 'is'} in no commit that is there:"
    told = [file for file in files if "reason" in file]
    for file in [*told, *files[len(told) : len(told) + _LISTED]]:
        reason = file.get("reason")
        line = f"  {size(file['size']):>10}  {file_name(file['file'], '')}"
        yield line if reason is None else painter.paint(f"{line}  {_WHY[reason]}", "red")
    if (more := len(files) - len(told) - _LISTED) > 0:
        yield f"  and {more} more; --json lists all"
    if told:
        yield "--exclude leaves files out, and --redact what is in them wherever else it is."
