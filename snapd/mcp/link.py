"""The connection to the daemon, opened on first use."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from snapd.model.errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd_client import Cancellation

    from snapd.backend import RemoteBackend, Report

    Connect = Callable[[], RemoteBackend]


class Link:
    """Sends requests about one folder to the daemon; thread-safe. File names are relative to `directory`."""

    def __init__(self, connect: Connect, directory: str = "") -> None:
        self._connect = connect
        self._directory = directory
        self._backend: RemoteBackend | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def request(
        self,
        method: Any,
        params: Any,
        report: Report | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """Sends a request and returns JSON values; None in `params` means absent.

        Raises its error, `IoError` if the daemon cannot be reached, or `Cancelled` after `close`.
        """
        given: Any = {name: self._named(name, value) for name, value in params.items() if value is not None}
        return self._opened().request(method, given, report, cancellation)

    def _named(self, key: str, value: Any) -> Any:
        if key == "patches":
            return [{**patch, "files": self._named("files", patch["files"])} for patch in value]
        if key == "files":
            return [self._named("name", name) for name in value]
        if key not in ("file", "name") or not self._directory:
            return value
        full = os.path.join(self._directory, value)
        # answers name files relative to the root of the workspace
        found = full if os.path.isdir(os.path.dirname(full)) else value
        return os.path.realpath(full) if key == "file" and os.path.islink(full) else found

    def close(self) -> None:
        """Closes the connection, which ends running requests."""
        with self._lock:
            self._is_closed = True
            if self._backend is not None:
                self._backend.close()

    def _opened(self) -> RemoteBackend:
        with self._lock:
            if self._is_closed:
                raise Cancelled("the server has ended")
            if self._backend is None:
                self._backend = self._connect()
            return self._backend
