"""The commands that bring sessions to this machine: fetch, unbundle, take over, apply."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.parsing.command import REMOTE, Command, changing, common
from snapd.cli.requests.connection import ask, in_folder, known_folder_around, open_backend
from snapd.cli.requests.names import find_session_or_step
from snapd.cli.requests.operation import operate
from snapd.cli.terminal.layout import printable
from snapd.cli.terminal.naming import agent_name, session_name, short
from snapd.cli.terminal.output import Painter, counted, print_json
from snapd.cli.terminal.reasons import STYLES, signature_words
from snapd.model.errors import InvalidParams

from .push import carrier_of, remote_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from snapd_client.protocol import SessionFetchParams, SessionFetchResult, Signature

    from snapd.backend import Backend
    from snapd.cli.parsing.usage import Parser


def _print_fetched(options: argparse.Namespace, result: SessionFetchResult, nothing: str) -> int:
    if options.json:
        print_json(result)
        return DONE
    painter = Painter(options)
    for session in result["sessions"]:
        text = " ".join(filter(None, (agent_name(session), session_name(session))))
        steps = counted(session["stepCount"], "step")
        name = painter.paint(printable(short(session["sessionId"])), "yellow")
        signed = f", {_signed(painter, session['signature'])}" if "signature" in session else ""
        print(f"{name} {text}{': ' if text else ''}{steps}, from {printable(session['origin']['host'])}{signed}")
    if not result["sessions"]:
        print(nothing)
    return DONE


def _signed(painter: Painter, signature: Signature) -> str:
    return painter.paint(signature_words(signature), STYLES[signature["state"]])


def _fetch_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("remote", "REMOTE", REMOTE)
    parser.argument("sessions", "SESSION", "which sessions (default: all that are there)", nargs="*")
    parser.flag("-n", "--dry-run", help="only show what would come, and keep none of it")


@Command("fetch", "other machines", _fetch_arguments, answer="SessionFetchResult", example="fetch origin", plays=False)
def fetch(options: argparse.Namespace) -> int:
    """Fetch sessions from a git repository; the folder is not touched."""
    params: SessionFetchParams = {
        "remote": remote_of(options),
        "sessionIds": options.sessions or None,
        "dryRun": options.dry_run,
    }
    with open_backend(options) as backend:
        result = ask(backend, "session/fetch", params)
    return _print_fetched(options, result, "nothing new there")


def _unbundle_arguments(parser: Parser) -> None:
    common(parser)
    parser.argument("file", "FILE", "a file that 'snapd bundle' wrote")


@Command(
    "unbundle",
    "other machines",
    _unbundle_arguments,
    answer="SessionFetchResult",
    example="unbundle ../parser.bundle",
    plays=False,
)
def unbundle(options: argparse.Namespace) -> int:
    """Take the sessions of a file, as if they had been fetched; the folder is not touched."""
    with open_backend(options) as backend:
        result = ask(backend, "session/import", {"file": in_folder(options, options.file)})
    return _print_fetched(options, result, "nothing new in it")


def _takeover_arguments(parser: Parser) -> None:
    changing(parser, "what to do with files that changed on both machines (default: merge)")
    parser.argument("remote", "REMOTE", REMOTE, nargs="?")
    parser.argument("--file", "FILE", "read it from a file instead")
    parser.argument("--name", "NAME", "of the handover (default: the one that nobody took over yet)")


@Command(
    "takeover",
    "other machines",
    _takeover_arguments,
    answer="SessionTakeoverResult",
    example="takeover origin --dry-run",
    plays=False,
)
def takeover(options: argparse.Namespace) -> int:
    """Take over what another machine handed over: its files and its sessions go on here."""
    params = {**carrier_of(options), "name": options.name}
    with open_backend(options) as backend:
        return operate(options, backend, "session/takeover", params, sure=options.yes)


def _apply_arguments(parser: Parser) -> None:
    changing(parser, "what to do with files that are not as the steps found them (default: merge)")
    parser.argument(
        "--from",
        "DIR",
        "the steps are those of another work tree or clone on this machine, and need not be fetched",
        dest="source",
    )
    parser.argument("names", "SESSION|STEP", "a session, or steps of one session: fetched, or of DIR", nargs="+")


@Command(
    "apply",
    "other machines",
    _apply_arguments,
    answer="SessionApplyResult",
    example="apply 7c1e90b2 --dry-run",
    plays=False,
)
def apply(options: argparse.Namespace) -> int:
    """Take in what fetched steps changed, as a step that can be undone; or steps of another folder."""
    if options.source is None:
        with open_backend(options) as backend:
            return operate(options, backend, "session/apply", _which(backend, options.names), sure=options.yes)
    folder = known_folder_around(os.path.join(options.directory, options.source))
    with open_backend(options) as backend:
        with open_backend(options, folder) as other:
            which = _which(other, options.names)
        params = {**which, "from": in_folder(options, folder)}
        return operate(options, backend, "session/apply", params, sure=options.yes)


def _which(backend: Backend, names: Sequence[str]) -> dict[str, Any]:
    named = [find_session_or_step(backend, word) for word in names]
    sessions = [each["sessionId"] for each in named if "stepId" not in each]
    steps = [each["stepId"] for each in named if "stepId" in each]
    if sessions and len(named) > 1:
        raise InvalidParams(
            "expected one session, or steps of one session",
            hint="apply one session after the other",
            field="SESSION|STEP",
        )
    return {"sessionId": sessions[0]} if sessions else {"stepIds": steps}
