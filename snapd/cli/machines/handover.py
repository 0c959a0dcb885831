"""`snapd handover` and `snapd takeover`: a folder, with its sessions, from one machine to another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import backend
from snapd.cli.requests.operation import operate
from snapd.cli.terminal.filenames import printable
from snapd.core.errors import InvalidParams

from .leaving import Leaving, leave, leaving_params
from .remote import readers_of, remote_of

if TYPE_CHECKING:
    import argparse


def handover(options: argparse.Namespace) -> int:
    """Shows what would leave the machine, asks, and hands over."""

    def where(result: dict[str, Any]) -> str:
        return f"{printable(result['remote'])} as {result['name']}"

    include = [os.path.abspath(os.path.join(options.directory, name)) for name in options.include or ()]
    params = {**_where(options), "name": options.name, "include": include or None, **leaving_params(options)}
    with backend(options) as found:
        leaving = Leaving("session/handover", params, "hand over", "handed over", where, readers_of, with_folder=True)
        return leave(options, found, leaving)


def takeover(options: argparse.Namespace) -> int:
    """Takes over what another machine handed over."""
    params = {**_where(options), "name": options.name}
    with backend(options) as found:
        return operate(options, found, "session/takeover", params, sure=options.yes)


def _where(options: argparse.Namespace) -> dict[str, str]:
    """The remote or the file; the path of a file is absolute, for the daemon is elsewhere."""
    if (options.remote is None) == (options.file is None):
        raise InvalidParams("expected REMOTE, or --file", hint="name a git repository, or a file", field="REMOTE")
    if options.file is not None:
        return {"file": os.path.abspath(os.path.join(options.directory, options.file))}
    return {"remote": remote_of(options)}
