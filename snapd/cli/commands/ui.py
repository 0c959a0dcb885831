"""`snapd ui`: the terminal view."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.cli.exit_codes import DONE
from snapd.cli.requests.folder import folder_of
from snapd.core.errors import InvalidParams, SnapdError
from snapd.locations import Locations

if TYPE_CHECKING:
    import argparse


class NotInstalled(SnapdError):
    """A package that only some commands need is not installed."""

    kind = "notInstalled"
    default_hint = "install it with: pip install 'snapd[ui]'"


def ui(options: argparse.Namespace) -> int:
    """Shows the sessions of the folder until the user leaves.

    Raises:
        NotInstalled: textual is not installed.
        InvalidParams: there is no terminal.
        SnapdError: the daemon cannot be reached, or the folder cannot be opened.
    """
    try:
        import textual  # noqa: F401 - whether it is there
    except ImportError as error:
        raise NotInstalled("the terminal view needs the package textual, which is not installed") from error
    if not (os.isatty(0) and os.isatty(2)):
        raise InvalidParams("the terminal view needs a terminal", hint="'snapd log' prints the same", field="ui")

    from snapd.cli.ui.app import TerminalView
    from snapd.cli.ui.link import Link

    locations = Locations.from_environment(os.environ)
    socket = os.path.abspath(options.socket) if options.socket else locations.socket
    link = Link(locations, socket, folder_of(options))
    if options.color == "never":
        # textual reads its setting from here
        os.environ["NO_COLOR"] = "1"
    elif options.color == "always":
        os.environ.pop("NO_COLOR", None)
    TerminalView(link).run()
    return DONE
