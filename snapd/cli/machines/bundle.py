"""`snapd bundle` and `snapd unbundle`: sessions into a file, and out of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import ask, backend, in_folder
from snapd.cli.requests.names import find_session
from snapd.cli.terminal.filenames import printable
from snapd.core.errors import InvalidParams

from .fetched import tell_fetched
from .leaving import Leaving, leave, leaving_params

if TYPE_CHECKING:
    import argparse


def bundle(options: argparse.Namespace) -> int:
    """Shows what would be in the file, asks, and writes it."""
    if options.all == bool(options.sessions):
        raise InvalidParams(
            "expected sessions, or --all", hint="name the sessions after FILE, or give --all", field="SESSION"
        )
    file = printable(options.file)

    def where(_: dict[str, Any]) -> str:
        return file

    def readers(_: dict[str, Any]) -> str:
        return "Only you can read the file; whoever you give it to can read all of it."

    with backend(options) as found:
        names = [find_session(found, word)["sessionId"] for word in options.sessions]
        which: dict[str, Any] = {"all": True} if options.all else {"sessionIds": names}
        params = {"file": in_folder(options, options.file), **leaving_params(options), **which}
        return leave(options, found, Leaving("session/export", params, "write", "wrote", where, readers))


def unbundle(options: argparse.Namespace) -> int:
    """Takes the sessions of a file, and says which are new."""
    with backend(options) as found:
        result = ask(found, "session/import", {"file": in_folder(options, options.file)})
    return tell_fetched(options, result, "nothing new in it")
