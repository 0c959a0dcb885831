"""`snapd fetch`: sessions from a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.names import short
from snapd.cli.terminal.filenames import printable
from snapd.cli.terminal.layout import one_line
from snapd.cli.terminal.output import Painter, print_json

from .remote import counted, remote_of

if TYPE_CHECKING:
    import argparse


def fetch(options: argparse.Namespace) -> int:
    """Fetches sessions, and says which are new."""
    params = {"remote": remote_of(options), "sessionIds": options.sessions or None}
    with backend(options) as found:
        result = ask(found, "session/fetch", params)
    if options.json:
        print_json(result)
        return DONE
    painter = Painter(options)
    for session in result["sessions"]:
        said = " ".join(filter(None, (one_line(session.get("agent")), one_line(session.get("title")))))
        steps = counted(session["stepCount"], "step")
        name = painter.paint(printable(short(session["sessionId"])), "yellow")
        print(f"{name} {said}{': ' if said else ''}{steps}, from {printable(session['origin']['host'])}")
    if not result["sessions"]:
        print("nothing new there")
    return DONE
