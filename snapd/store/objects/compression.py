"""Compresses and expands objects: through ISA-L where there is a build of it for this machine, else through zlib.

ISA-L writes and reads the same format (RFC 1950). Of 3,000 source files of the kernel, 17 KB each, in MB/s and in parts
of their size: zlib level 1, which git uses for loose objects, 136 and 0.256; level 4, 88 and 0.226; ISA-L level 2, 471
and 0.251; expanding 272 against 722. Both let go of the interpreter lock.
"""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def _load() -> tuple[Any, int]:
    """The module, and its level for speed."""
    try:
        return import_module("isal.isal_zlib"), 2
    except ImportError:
        return zlib, 1


_fast, _FAST_LEVEL = _load()
_SMALL_BYTES = 64 << 10
_SMALL_LEVEL = 5
_TINY_BYTES = 4096

CHUNK_BYTES = 1 << 20
"""Large objects are read, expanded and hashed in pieces of this size."""

MOST_EXPANDED = 1040
"""A stream holds at most 1,032 times its own bytes (zlib's documentation), and its ends take some."""

ERRORS: tuple[type[Exception], ...] = (zlib.error, _fast.error)
"""What is raised where the bytes to expand are damaged."""


class Deflater(Protocol):
    """Compresses piece by piece."""

    def compress(self, data: bytes, /) -> bytes:
        """Takes a piece; returns what is ready."""

    def flush(self) -> bytes:
        """Returns the rest."""


class Inflater(Protocol):
    """Expands piece by piece."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""

    @property
    def unconsumed_tail(self) -> bytes:
        """What the last `decompress` had no room for."""

    @property
    def unused_data(self) -> bytes:
        """What the last `decompress` was given beyond the end of the stream."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Takes a piece; returns what it holds, up to `max_length` bytes of it where that is not 0."""


class NoStream(Exception):
    """Bytes that are no whole compressed stream."""


def deflate(data: bytes) -> bytes:
    """Compresses an object that is stored with many others: fast."""
    compressed: bytes = _fast.compress(data, _FAST_LEVEL)
    return compressed


def deflate_small(data: bytes) -> bytes:
    """Compresses an object that is stored by itself, so that a step of a few is not larger than git's.

    git stores loose objects at level 1. Of 200 source files of 10 to 20 KB (the kernel's), in bytes and microseconds
    each: level 1 4284 and 108, 2 4150 and 114, 3 4074 and 126, 4 3854 and 146, 5 3761 and 181, 6 3738 and 213. Level 5
    is the first that saves more than our commit, its reference and its line in the journal take. A tree, which is
    hardly compressed by anything, is not worth the time.
    """
    return zlib.compress(data, _SMALL_LEVEL) if _TINY_BYTES < len(data) <= _SMALL_BYTES else deflate(data)


def deflater() -> Deflater:
    """Compresses a large object piece by piece."""
    made: Deflater = _fast.compressobj(_FAST_LEVEL)
    return made


def inflater() -> Inflater:
    """Expands an object piece by piece."""
    made: Inflater = _fast.decompressobj()
    return made


def expand(data: bytes, size: int) -> bytes | None:
    """Expands a stream that is to hold `size` bytes.

    Args:
        data: the stream; what follows it does not matter.
        size: bytes. It may be a lie: no more memory is taken than the stream fills.

    Returns:
        None if `data` is no whole stream of that size.
    """
    stream = inflater()
    try:
        # one byte more than expected: at exactly `size`, the end of the stream would not be looked at
        found = stream.decompress(data, size + 1)
    except ERRORS:
        return None
    return found if stream.eof and len(found) == size else None


def expanded(pieces: Iterable[bytes], most: int, stream: Inflater | None = None) -> Iterator[bytes]:
    """Expands a stream piece by piece.

    Args:
        pieces: the stream.
        most: bytes that one piece of the result has at most, however well the stream is compressed.
        stream: expands it; a new one if it is None.

    Raises:
        NoStream: from the iterator, where the stream is damaged or cut short.
    """
    stream = stream or inflater()
    try:
        for piece in pieces:
            left = piece
            while left and not stream.eof:
                yield stream.decompress(left, most)
                left = stream.unconsumed_tail
            # what did not fit is held by the stream where it has taken all of the input
            while not stream.eof and (more := stream.decompress(b"", most)):
                yield more
            if stream.eof:
                return
    except ERRORS as error:
        raise NoStream(str(error)) from error
    raise NoStream("it is cut short")
