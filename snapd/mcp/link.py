"""The connection to the daemon, which is made when it is first needed, and made again when it was lost."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from snapd_client import ConnectionLost

from snapd.model.errors import Cancelled, IoError
from snapd.wire.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd_client import Cancellation

    from snapd.backend import RemoteBackend, Report

    Connect = Callable[[], RemoteBackend]


_ATTEMPTS = 3


class Link:
    """Asks the daemon about one folder; any number of threads may do so at once.

    Args:
        connect: connects to the daemon, which it starts if it does not run, and opens the folder.
        directory: where the agent works, absolute: files are named relative to it.
    """

    def __init__(self, connect: Connect, directory: str = "") -> None:
        self._connect = connect
        self._directory = directory
        self._backend: RemoteBackend | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def request(
        self,
        method: Any,
        params: dict[str, Any],
        report: Report | None = None,
        cancellation: Cancellation | None = None,
    ) -> Any:
        """The result of a request, as JSON values.

        If the daemon is lost on the way, the request is sent once more to the one that is started then, unless the
        first one may have changed something.

        Args:
            method: of the wire's table.
            params: JSON values; None stands for what is absent.
            report: called with the progress of a long request.
            cancellation: lets another thread cancel it.

        Raises:
            SnapdError: the error that answers the request; `IoError` where the daemon cannot be reached; `Cancelled`
                once this is closed.
        """
        given: Any = {name: self._named(name, value) for name, value in params.items() if value is not None}
        try:
            return self._open().request(method, given, report, cancellation)
        except IoError as error:
            may_repeat = METHODS[method].may_repeat(given) or given.get("dryRun") is True
            if not (isinstance(error.__cause__, ConnectionLost) and may_repeat):
                raise
        return self._open().request(method, given, report, cancellation)

    def _named(self, key: str, value: Any) -> Any:
        """A value of params in which files are named as the daemon needs it."""
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
        """Ends the connection, and with it the requests that run."""
        with self._lock:
            self._is_closed = True
            if self._backend is not None:
                self._backend.close()

    def _open(self) -> RemoteBackend:
        with self._lock:
            if self._is_closed:
                raise Cancelled("the server has ended")
            if self._backend is not None and not self._backend.is_open:
                self._backend.close()
                self._backend = None
            if self._backend is None:
                self._backend = self._connected()
            return self._backend

    def _connected(self) -> RemoteBackend:
        """A new connection; tries again where it was lost at once, for a daemon that dies may still take it."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._connect()
            except IoError as error:
                if not isinstance(error.__cause__, ConnectionLost):
                    raise
        return self._connect()
