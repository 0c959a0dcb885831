"""`snapd watch`: shows what happens in a folder while it happens."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

from snapd_client import ClientError
from snapd_client.notifications import DISCONNECTED

from snapd.cli.requests.connection import connected
from snapd.cli.requests.folder import folder_of
from snapd.cli.terminal.layout import terminal_width
from snapd.cli.terminal.output import Painter, print_error, printable
from snapd.cli.terminal.times import local_now
from snapd.core.errors import IoError
from snapd.launch import ensure_daemon
from snapd.locations import Locations

from .happening import Happening

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from snapd_client import Client

    from snapd.backend import RemoteBackend

_HEARD = frozenset({"snapshot/didTrack", "snapshot/didChange", "snapshot/didRevert", "session/didChange"})
_AGAIN_SECONDS = 0.5
_NEVER = 1 << 52
"""A number that no notification has."""


def watch(options: argparse.Namespace) -> NoReturn:
    """Shows a line for each thing that happens, until Ctrl-C; changes nothing, and takes no snapshot.

    Raises:
        KeyboardInterrupt: the user has seen enough.
        SnapdError: the folder cannot be opened, or is gone.
    """
    folder = folder_of(options)
    locations = Locations.from_environment(os.environ)
    path = os.path.abspath(options.socket) if options.socket else locations.socket
    found, client = connected(locations, path, folder, None)
    try:
        _Watch(options, found, client, lambda: ensure_daemon(locations, path).close()).run(folder)
    finally:
        found.close()


class _Watch:
    """Listens to the daemon, also to one that was started anew.

    Args:
        options: of the command; `json` and `color` are read.
        found: who answers.
        client: its connection.
        ensure: makes sure that there is a daemon.
    """

    def __init__(
        self, options: argparse.Namespace, found: RemoteBackend, client: Client, ensure: Callable[[], None]
    ) -> None:
        self._json = options.json
        self._found = found
        self._client = client
        self._ensure = ensure
        self._subscription = client.subscribe(_HEARD)
        self._happening = Happening(Painter(options))
        self._seq = 0

    def run(self, folder: str) -> NoReturn:
        """Tells what is heard, without end."""
        # what was told before is over; this is no number yet, so it tells the latest alone
        self._seq = self._found.request("snapshot/events", {"since": _NEVER})["latest"]
        self._look_around()
        print(f"snapd: watching {printable(folder)}; Ctrl-C ends it", file=sys.stderr)
        while True:
            heard = self._subscription.get()
            assert heard is not None, "only `close` ends the subscription"
            if heard.method in _HEARD:
                self._tell(heard.method, heard.params)
            elif heard.method == DISCONNECTED and not self._client.connected:
                self._connect_again()

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        if params["seq"] <= self._seq:
            # told when it was caught up with
            return
        self._seq = params["seq"]
        if self._json:
            print(json.dumps({"method": method, "params": params}, ensure_ascii=False), flush=True)
            return
        for line in self._happening.lines(method, params, local_now(), terminal_width(unlimited=True)):
            print(line, flush=True)

    def _look_around(self) -> None:
        """Finds out which steps are open: their beginning was not heard."""
        self._happening.go_on(self._found.request("snapshot/status", {})["openSteps"])

    def _connect_again(self) -> None:
        print("snapd: the daemon has ended; connecting again", file=sys.stderr)
        trouble = ""
        while True:
            try:
                self._ensure()
                self._client.reconnect()
                break
            except (IoError, ClientError, OSError) as error:
                # said once: it is tried again for as long as it takes
                if str(error) != trouble:
                    print_error(error, "no daemon yet: ")
                trouble = str(error)
            time.sleep(_AGAIN_SECONDS)
        self._catch_up()
        self._look_around()
        print("snapd: connected again", file=sys.stderr)

    def _catch_up(self) -> None:
        """Tells what was missed, where the daemon is the same and still knows it."""
        missed = self._found.request("snapshot/events", {"since": self._seq})
        if "reset" in missed:
            self._seq = missed["latest"]
            return
        for event in missed["events"]:
            self._tell(event["method"], event["params"])
