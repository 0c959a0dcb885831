"""`snapd fetch`: sessions from a git repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.cli.requests.connection import ask, backend

from .fetched import tell_fetched
from .remote import remote_of

if TYPE_CHECKING:
    import argparse


def fetch(options: argparse.Namespace) -> int:
    """Fetches sessions, and says which are new."""
    params = {"remote": remote_of(options), "sessionIds": options.sessions or None}
    with backend(options) as found:
        result = ask(found, "session/fetch", params)
    return tell_fetched(options, result, "nothing new there")
