"""The connection of the terminal view to the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from snapd.cli.requests.connection import connected
from snapd.cli.terminal.naming import learn

if TYPE_CHECKING:
    from collections.abc import Callable


class Link:
    """Sends requests to the daemon, and receives its notifications; thread-safe.

    `socket` is the path of the daemon's socket, None for the user's own; `folder` is absolute. Raises `NoDaemon`, or
    `SnapdError` if the folder cannot be opened or a setting is wrong.
    """

    def __init__(self, socket: str | None, folder: str) -> None:
        self.folder = folder
        self._backend, client = connected(socket, folder, None)
        # subscribe before the first request, so that no notification is missed
        self._notifications = client.subscribe()

    @property
    def is_open(self) -> bool:
        """Whether the daemon can be reached now."""
        return self._backend.is_open

    def ask(self, method: Any, params: Any) -> Any:
        """Returns the result of a request. Raises `SnapdError` if it fails or the daemon does not answer."""
        answer = self._backend.request(method, params)
        # now, since drawing a label sends no request
        learn(self._backend, answer)
        return answer

    def listen(self, hear: Callable[[str, dict[str, Any]], None]) -> None:
        """Calls `hear` with the method and params of each notification, in this thread, until `close`."""
        for notification in self._notifications:
            hear(notification.method, notification.params)

    def close(self) -> None:
        """Ends the connection and all waiting requests."""
        self._backend.close()
