"""Compresses and expands objects, with ISA-L if there is a build of it for this machine, else with zlib.

ISA-L writes and reads the same format (RFC 1950). Speed in MB/s and compressed size as a fraction, for 3,000 source
files of the kernel, 17 KB each: zlib level 1, which git uses for loose objects, 136 and 0.256; level 4, 88 and 0.226;
ISA-L level 2, 471 and 0.251. Expanding: zlib 272, ISA-L 722. Both release the interpreter lock.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

# ISA-L's have the same methods; only type checkers know the names of zlib's own classes
Deflater: TypeAlias = "zlib._Compress"
Inflater: TypeAlias = "zlib._Decompress"


def _load() -> tuple[Any, int]:
    """Returns the module, and its fastest level."""
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
"""A stream expands to at most this many times its size: 1,032 in zlib's documentation, and a margin for its ends."""

ERRORS: tuple[type[Exception], ...] = (zlib.error, _fast.error)
"""The exceptions for damaged streams."""


class NoStream(Exception):
    """The bytes are not a whole compressed stream."""


def deflate(data: bytes) -> bytes:
    """Compresses one of many objects: fast."""
    compressed: bytes = _fast.compress(data, _FAST_LEVEL)
    return compressed


def deflate_small(data: bytes) -> bytes:
    """Compresses a loose object, so that a step with few objects takes no more space than in git.

    git uses level 1. Bytes and microseconds for each of 200 source files of the kernel of 10 to 20 KB: level 1 4284 and
    108, 2 4150 and 114, 3 4074 and 126, 4 3854 and 146, 5 3761 and 181, 6 3738 and 213. Level 5 is the first that saves
    more than our commit, its reference and its entry in the journal take. Trees hardly compress at any level.
    """
    return zlib.compress(data, _SMALL_LEVEL) if _TINY_BYTES < len(data) <= _SMALL_BYTES else deflate(data)


def deflater() -> Deflater:
    """Returns a new stream for a large object."""
    made: Deflater = _fast.compressobj(_FAST_LEVEL)
    return made


def inflater() -> Inflater:
    """Returns a new stream to expand an object."""
    made: Inflater = _fast.decompressobj()
    return made


def expand(data: bytes, size: int) -> bytes | None:
    """Expands a stream, which other bytes may follow; None if it is not a whole stream of `size` expanded bytes.

    The size may be wrong: no more memory is taken than the stream fills.
    """
    stream = inflater()
    try:
        # one byte more than expected: with exactly `size`, the end of the stream would not be read
        result = stream.decompress(data, size + 1)
    except ERRORS:
        return None
    return result if stream.eof and len(result) == size else None


def expanded(pieces: Iterable[bytes], most: int, stream: Inflater | None = None) -> Iterator[bytes]:
    """Expands a stream in pieces of at most `most` bytes; raises `NoStream` if it is damaged or cut short."""
    stream = stream or inflater()
    try:
        for piece in pieces:
            left = piece
            while left and not stream.eof:
                yield stream.decompress(left, most)
                left = stream.unconsumed_tail
            # a stream that has taken all input may still hold output
            while not stream.eof and (more := stream.decompress(b"", most)):
                yield more
            if stream.eof:
                return
    except ERRORS as error:
        raise NoStream(str(error)) from error
    raise NoStream("it is cut short")
