"""`snapd session end`: for the hooks of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.connection import ask, backend
from snapd.cli.requests.names import find_session
from snapd.cli.terminal.output import print_json

if TYPE_CHECKING:
    import argparse


def end_session(options: argparse.Namespace) -> int:
    """Ends a session; one that has ended stays so."""
    with backend(options) as found:
        result = ask(found, "session/end", {"sessionId": find_session(found, options.session)["sessionId"]})
    if options.json:
        print_json(result)
    return DONE
