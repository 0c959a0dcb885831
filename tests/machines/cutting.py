"""A proxy on loopback that cuts the line after so many bytes."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Literal

from .listening import Listener

Direction = Literal["up", "down"]
_RESET = struct.pack("ii", 1, 0)


class CuttingProxy:
    """Passes connections on, until what went in one direction, over all of them, has so many bytes.

    Args:
        port: of the server that is spoken with through it.

    Attributes:
        port: where it listens.
        was_cut: whether the line was cut since `cut_after`.
    """

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._left: dict[Direction, int | None] = {"up": None, "down": None}
        self._lock = threading.Lock()
        self.was_cut = False
        self._listener = Listener(self._serve)
        self.port = self._listener.port

    def cut_after(self, direction: Direction | None, count: int = 0) -> None:
        """Cuts the line once so many bytes went to the server (`up`) or came from it; None: it stays whole."""
        with self._lock:
            self._left = {"up": None, "down": None}
            self.was_cut = False
            if direction is not None:
                self._left[direction] = count

    def close(self) -> None:
        """Ends it."""
        self._listener.close()

    def _serve(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._upstream)) as server:
            threads = [
                threading.Thread(target=self._pass_on, args=("up", client, server)),
                threading.Thread(target=self._pass_on, args=("down", server, client)),
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def _pass_on(self, direction: Direction, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                allowed = self._allowed(direction, len(data))
                target.sendall(data[:allowed])
                if allowed < len(data):
                    for end in (source, target):
                        # a reset, rather than an orderly end
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                        end.shutdown(socket.SHUT_RDWR)
                    return
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # one side is gone: so is the other
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _allowed(self, direction: Direction, wanted: int) -> int:
        """How many of so many bytes go on before the line is cut; all of them if it is not."""
        with self._lock:
            left = self._left[direction]
            if left is None:
                return wanted
            allowed = min(left, wanted)
            self._left[direction] = left - allowed
            self.was_cut |= allowed < wanted
            return allowed
