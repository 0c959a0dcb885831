"""The connection of the terminal view to the daemon."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from snapd_client import ClientError

from snapd.cli.requests.connection import NoDaemon, connect_again, connected
from snapd.cli.terminal.naming import learn
from snapd.model.errors import SnapdError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
"""Seconds between two attempts to connect again: at first, and at most."""


class Link:
    """Asks the daemon, hears its notifications, and connects again when it has ended. Any thread may use it.

    Args:
        socket: path of the daemon's socket; None for the user's own.
        folder: absolute path of the workspace.

    Raises:
        NoDaemon: the daemon cannot be started or reached.
        SnapdError: the folder cannot be opened, or a setting is wrong.
    """

    def __init__(self, socket: str | None, folder: str) -> None:
        self.folder = folder
        self._socket = socket
        self._closed = threading.Event()
        self._backend, self._client = connected(socket, folder, None)
        # from here on, before anything is asked: nothing falls between an answer and the notifications
        self._told = self._client.subscribe()

    @property
    def is_open(self) -> bool:
        """Whether the daemon can be asked now."""
        return self._backend.is_open

    def ask(self, method: Any, params: Any) -> Any:
        """Returns the result of a request. Raises `SnapdError`: the error that answers it, or that nobody does."""
        answer = self._backend.request(method, params)
        # here, since a label that is drawn asks nobody
        learn(self._backend, answer)
        return answer

    def listen(self, hear: Callable[[str, dict[str, Any]], None]) -> None:
        """Passes on each notification, by method and params, in this thread, until `close`."""
        for notification in self._told:
            hear(notification.method, notification.params)

    def connect_again(self) -> None:
        """Connects again, and tries several times; starts the daemon if none runs. Returns at once after `close`.

        Raises:
            NoDaemon: it did not succeed.
        """
        pause = FIRST_PAUSE
        while not self._closed.is_set():
            try:
                connect_again(self._client, self._socket)
                return
            except (SnapdError, ClientError, OSError) as error:
                self._closed.wait(pause)
                if pause >= LONGEST_PAUSE:
                    message = f"cannot connect to the daemon again: {error}"
                    raise NoDaemon(message, hint="'snapd doctor' says more") from error
            pause = min(2 * pause, LONGEST_PAUSE)

    def close(self) -> None:
        """Ends the connection, and with it requests that still wait."""
        self._closed.set()
        self._backend.close()
