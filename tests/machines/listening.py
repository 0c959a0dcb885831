"""A server on loopback that gives each connection to a program of its own, as inetd does, or to a function."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class Listener:
    """Listens on loopback until it is closed.

    Args:
        serve: called with each connection, in a thread of its own; the connection is closed when it returns.

    Attributes:
        port: where it listens.
    """

    def __init__(self, serve: Callable[[socket.socket], object]) -> None:
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._one, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _one(self, connection: socket.socket) -> None:
        with connection:
            self._serve(connection)

    def close(self) -> None:
        """Ends it, and waits for what it serves."""
        # to close a socket does not wake up who waits in `accept`
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._socket.close()
        for thread in self._threads:
            thread.join()


class Inetd:
    """Runs a program for each connection, with the connection as its standard input and output.

    Args:
        command: the program and its arguments.
        log: gets its standard error.
        environment: of the program.
    """

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self._command = command
        self._log = log
        self._environment = dict(environment)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._listener = Listener(self._run)
        self.port = self._listener.port

    def _run(self, connection: socket.socket) -> None:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                self._command, stdin=connection, stdout=connection, stderr=log, env=self._environment
            )
        self._running.add(process)
        # or the other side would not see that the program ended
        connection.close()
        process.wait()
        self._running.discard(process)

    def close(self) -> None:
        """Ends it with all that it runs."""
        for process in list(self._running):
            process.kill()
        self._listener.close()
