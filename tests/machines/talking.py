"""A git server that says what it is told to: protocol version 2, by hand."""

from __future__ import annotations

import hashlib
import itertools
import os
import socket
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator

from .listening import Listener

FLUSH, DELIMITER = b"0000", b"0001"
_MOST = 65_000


def line(data: bytes) -> bytes:
    """A line of the protocol."""
    return b"%04x%s" % (len(data) + 4, data)


class TalkingServer:
    """Serves one repository that it makes up as it goes.

    Args:
        references: what it says that there is: lines of the answer to `ls-refs`.
        pack: what it sends when it is asked for objects: bytes of its side band, each with its channel.

    Attributes:
        address: as git takes it.
    """

    def __init__(
        self, references: Callable[[], Iterable[bytes]], pack: Callable[[], Iterable[tuple[int, bytes]]]
    ) -> None:
        self._references = references
        self._pack = pack
        self._listener = Listener(self._serve)
        self.address = f"git://127.0.0.1:{self._listener.port}/it.git"

    def close(self) -> None:
        """Ends it."""
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as stream:
                self._talk(connection, stream)
        except OSError:
            # the other side has had enough
            return

    def _talk(self, connection: socket.socket, stream: object) -> None:
        requests = _lines(stream)
        next(requests)
        for said in (b"version 2\n", b"agent=talking\n", b"ls-refs\n", b"fetch=shallow\n", b"object-format=sha1\n"):
            connection.sendall(line(said))
        connection.sendall(FLUSH)
        asked: list[bytes] = []
        for said in requests:
            if said != FLUSH:
                asked.append(said)
                continue
            if asked[:1] == [b"command=ls-refs\n"]:
                for reference in self._references():
                    connection.sendall(line(reference))
                connection.sendall(FLUSH)
            elif asked:
                connection.sendall(line(b"packfile\n"))
                for channel, data in self._pack():
                    for at in range(0, len(data), _MOST):
                        connection.sendall(line(bytes([channel]) + data[at : at + _MOST]))
                connection.sendall(FLUSH)
            asked = []


def _lines(stream: object) -> Iterator[bytes]:
    read: Callable[[int], bytes] = stream.read  # type: ignore[attr-defined]
    while len(size := read(4)) == 4:
        length = int(size, 16)
        yield read(length - 4) if length > 4 else size


def endless_pack() -> Iterator[tuple[int, bytes]]:
    """A pack that never ends, of files that nothing makes smaller."""
    yield 1, b"PACK" + struct.pack(">II", 2, 1 << 30)
    for _ in itertools.count():
        yield 1, packed(3, os.urandom(1 << 20))


def packed(kind: int, data: bytes) -> bytes:
    """An object of a pack."""
    size = len(data)
    head = bytearray()
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    return bytes([*head, byte]) + zlib.compress(data, 1)


def bomb(doublings: int) -> bytes:
    """A pack of a file of 64 KiB, and of one that is made of twice the one before it, so many times."""
    start = b"x" * (1 << 16)
    objects = [packed(3, start)]
    size, base = len(start), hashlib.sha1(b"blob %d\0" % len(start) + start)
    name = base.digest()
    for _ in range(doublings):
        # copies all of the base, in pieces as large as there can be, twice
        pieces = [(at, min(0xFFFF00, size - at)) for at in range(0, size, 0xFFFF00)]
        copies = b"".join(b"\xff" + struct.pack("<I", at) + struct.pack("<I", length)[:3] for at, length in pieces)
        delta = _varint(size) + _varint(size * 2) + copies * 2
        size *= 2
        header = packed(7, delta)
        body = zlib.compress(delta, 1)
        objects.append(header[: len(header) - len(body)] + name + body)
        digest = hashlib.sha1(b"blob %d\0" % size)
        for _ in range(size // len(start)):
            digest.update(start)
        name = digest.digest()
    data = b"PACK" + struct.pack(">II", 2, len(objects)) + b"".join(objects)
    return data + hashlib.sha1(data).digest()


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
