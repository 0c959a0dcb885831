"""Frames of the LSP base protocol: a header block, a blank line, a body of the announced length."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from snapd.wire.errors import INVALID_REQUEST, PARSE_ERROR

if TYPE_CHECKING:
    from asyncio import StreamReader

MAX_HEADER_BYTES = 16 << 10
MAX_MESSAGE_BYTES = 64 << 20

_END = b"\r\n\r\n"


class FramingError(Exception):
    """The stream cannot be read on: what comes next is not known to be a frame.

    Attributes:
        code: of the JSON-RPC error that tells the client.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def read_frame(reader: StreamReader, limit: int) -> bytes | None:
    """Reads one frame.

    Args:
        reader: made with a limit of at least `MAX_HEADER_BYTES`.
        limit: bytes; a longer body is refused by its header, before it is read.

    Returns:
        The body, None at the end of the stream, also where it ends within a frame.

    Raises:
        FramingError: no frame, or one that is too long.
    """
    try:
        block = await reader.readuntil(_END)
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise FramingError(PARSE_ERROR, "the stream ended within a header") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise FramingError(PARSE_ERROR, "the header block is too long") from error
    length = _content_length(block)
    if length > limit:
        raise FramingError(INVALID_REQUEST, f"a message of {length} bytes is over the limit of {limit}")
    try:
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None


def _content_length(block: bytes) -> int:
    lengths = []
    for line in block[: -len(_END)].split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            raise FramingError(PARSE_ERROR, "a header line has no colon")
        if name.strip().lower() == b"content-length":
            lengths.append(value.strip())
    if len(lengths) != 1:
        raise FramingError(PARSE_ERROR, f"{len(lengths)} Content-Length headers instead of one")
    # bytes.isdigit is ASCII only, and a number of twenty digits is over every limit
    if not lengths[0].isdigit() or len(lengths[0]) > 19:
        raise FramingError(PARSE_ERROR, "Content-Length is not a number of bytes")
    return int(lengths[0])


def frame(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
