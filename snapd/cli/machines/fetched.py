"""What came to this machine, told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.signatures import STYLES, signature_words
from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.layout import one_line
from snapd.cli.terminal.naming import short
from snapd.cli.terminal.output import Painter, print_json

from .remote import counted

if TYPE_CHECKING:
    import argparse


def tell_fetched(options: argparse.Namespace, result: dict[str, Any], nothing: str) -> int:
    """Says which sessions came.

    Args:
        options: of the command.
        result: of `session/fetch` or `session/import`.
        nothing: what to say if all of them were here.

    Returns:
        The exit code.
    """
    if options.json:
        print_json(result)
        return DONE
    painter = Painter(options)
    for session in result["sessions"]:
        said = " ".join(filter(None, (one_line(session.get("agent")), one_line(session.get("title")))))
        steps = counted(session["stepCount"], "step")
        name = painter.paint(printable(short(session["sessionId"])), "yellow")
        signed = f", {_signed(painter, session['signature'])}" if "signature" in session else ""
        print(f"{name} {said}{': ' if said else ''}{steps}, from {printable(session['origin']['host'])}{signed}")
    if not result["sessions"]:
        print(nothing)
    return DONE


def _signed(painter: Painter, signature: dict[str, Any]) -> str:
    return painter.paint(signature_words(signature), STYLES[signature["state"]])
