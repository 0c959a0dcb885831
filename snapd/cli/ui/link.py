"""The connection of the terminal view to the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import connected
from snapd.cli.terminal.naming import learn

if TYPE_CHECKING:
    from collections.abc import Callable


class Link:
    """Asks the daemon, and hears its notifications. Any thread may use it.

    Args:
        socket: path of the daemon's socket; None for the user's own.
        folder: absolute path of the workspace.

    Raises:
        NoDaemon: the daemon cannot be started or reached.
        SnapdError: the folder cannot be opened, or a setting is wrong.
    """

    def __init__(self, socket: str | None, folder: str) -> None:
        self.folder = folder
        self._backend, client = connected(socket, folder, None)
        # from here on, before anything is asked: nothing falls between an answer and the notifications
        self._format_result = client.subscribe()

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

    def listen(self, on_notification: Callable[[str, dict[str, Any]], None]) -> None:
        """Passes on each notification, by method and params, in this thread, until `close`."""
        for notification in self._format_result:
            on_notification(notification.method, notification.params)

    def close(self) -> None:
        """Ends the connection, and with it requests that still wait."""
        self._backend.close()
