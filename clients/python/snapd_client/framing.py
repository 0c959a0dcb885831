"""The LSP base protocol: `Content-Length: N`, an empty line, N bytes of JSON."""

from __future__ import annotations

import json

from snapd_client.errors import FramingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["MAX_HEADER", "MAX_MESSAGE", "FrameReader", "decode_message", "encode_message"]

MAX_HEADER = 16 * 1024
"""The longest header block, in bytes."""

MAX_MESSAGE = 1024 * 1024 * 1024
"""The longest message by default, in bytes."""

_END = b"\r\n\r\n"
_CHUNK = 256 * 1024


def encode_message(message: dict[str, Any]) -> bytes:
    """Returns the frame of a JSON-RPC message.

    Raises:
        ValueError: JSON in UTF-8 cannot represent the message: it contains NaN, or text with lone surrogates, as in
            a file name that is not valid UTF-8. `snapd_client.to_uri` converts such a name.
        TypeError: The message contains something that is not a JSON value.
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body = text.encode("utf-8")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def decode_message(body: bytes) -> dict[str, Any]:
    """Parses the JSON-RPC message of a frame.

    Raises:
        FramingError: The body is not a JSON object in UTF-8.
    """
    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FramingError(f"a message is not JSON in UTF-8: {error}") from error
    if not isinstance(message, dict):
        raise FramingError(f"a message is not a JSON object but {type(message).__name__}")
    return message


class FrameReader:
    """Splits a stream of bytes into frames.

    Args:
        read: Returns between one byte and as many as requested; no bytes at the end of the stream.
        max_message: The longest message to accept, in bytes.
    """

    def __init__(self, read: Callable[[int], bytes], max_message: int = MAX_MESSAGE) -> None:
        self._read = read
        self._max_message = max_message
        self._buffer = bytearray()

    def read_frame(self) -> bytes | None:
        """Returns the body of the next frame, None if the stream ends between two frames.

        Raises:
            FramingError: The data is not a frame, exceeds a limit, or ends early. Nothing can be read after that.
        """
        length = self._read_header()
        if length is None:
            return None
        buffer = self._buffer
        if len(buffer) >= length:
            body = bytes(buffer[:length])
            del buffer[:length]
            return body
        # The chunks are kept as they came: memory grows with what was sent, not with what was announced.
        chunks = [bytes(buffer)]
        missing = length - len(buffer)
        buffer.clear()
        while missing:
            chunk = self._read(min(missing, _CHUNK))
            if not chunk:
                raise FramingError(f"the stream ended {missing} bytes before the end of a message of {length}")
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def _read_header(self) -> int | None:
        buffer = self._buffer
        searched = 0
        while (end := buffer.find(_END, searched, MAX_HEADER)) < 0:
            if len(buffer) >= MAX_HEADER:
                raise FramingError(f"a header block is longer than {MAX_HEADER} bytes")
            searched = max(0, len(buffer) - len(_END) + 1)
            chunk = self._read(_CHUNK)
            if not chunk:
                if buffer:
                    raise FramingError("the stream ended inside a header block")
                return None
            buffer += chunk
        block = bytes(buffer[:end])
        del buffer[: end + len(_END)]
        return self._content_length(block)

    def _content_length(self, block: bytes) -> int:
        lengths = set()
        for line in block.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon or not name:
                raise FramingError(f"a header line is not of the form 'Name: value': {line[:80]!r}")
            if name.strip().lower() == b"content-length":
                lengths.add(value.strip())
        if len(lengths) != 1:
            raise FramingError(f"a header block has {len(lengths) or 'no'} Content-Length: {block[:80]!r}")
        digits = lengths.pop()
        if not digits.isdigit():
            raise FramingError(f"a Content-Length is not a number: {digits[:80]!r}")
        # A number of thousands of digits is over the limit without being worked out.
        significant = digits.lstrip(b"0")
        if len(significant) > 18 or int(significant or b"0") > self._max_message:
            raise FramingError(f"a message is longer than {self._max_message} bytes")
        return int(significant or b"0")
