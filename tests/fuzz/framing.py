"""The daemon's own framing and parsing, in this process, against the model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from snapd.rpc.params import structure
from snapd.rpc.transport.framing import (
    MAX_HEADER_BYTES,
    HttpRequest,
    Notification,
    Request,
    Response,
    RpcError,
    parse,
    read_frame,
)
from snapd.wire.errors import INVALID_PARAMS
from tests.fuzz import model

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 1 << 20


def read_all(loop: asyncio.AbstractEventLoop, pieces: Sequence[bytes]) -> tuple[list[bytes], str]:
    """What `read_frame` makes of a stream that comes in pieces: as `model.frames` has it."""
    return loop.run_until_complete(_read_all(pieces))


async def _read_all(pieces: Sequence[bytes]) -> tuple[list[bytes], str]:
    reader = asyncio.StreamReader(limit=MAX_HEADER_BYTES * 4)
    reading = asyncio.ensure_future(_frames(reader))
    for piece in pieces:
        reader.feed_data(piece)
        # it reads what there is before the next piece comes
        await asyncio.sleep(0)
    reader.feed_eof()
    return await reading


async def _frames(reader: asyncio.StreamReader) -> tuple[list[bytes], str]:
    bodies: list[bytes] = []
    while True:
        try:
            body = await read_frame(reader, LIMIT)
        except RpcError:
            return bodies, model.ERROR
        except HttpRequest:
            return bodies, model.HTTP
        if body is None:
            return bodies, model.END
        bodies.append(body)


def check(loop: asyncio.AbstractEventLoop, data: bytes, pieces: Sequence[bytes]) -> int:
    """Reads a stream and all messages in it, and compares with the model.

    Returns:
        How many frames there were.
    """
    bodies, end = read_all(loop, pieces)
    assert (bodies, end) == model.frames(data, LIMIT), data[:400]
    for body in bodies:
        _check_body(body)
    return len(bodies)


def _check_body(body: bytes) -> None:
    try:
        under = model.answered_under(body)
    except model.Unclear:
        under = None
    message = _parsed(body)
    if isinstance(message, RpcError):
        assert under is None or message.message_id == under, body[:400]
        return
    if isinstance(message, Request):
        assert under is None or message.id == under, body[:400]
    else:
        assert under is None or under is ..., body[:400]
    if isinstance(message, Request | Notification):
        refused = _refusal(message)
        assert refused is None or refused.code == INVALID_PARAMS, body[:400]


def _parsed(body: bytes) -> Request | Notification | Response | RpcError:
    try:
        return parse(body)
    except RpcError as error:
        return error


def _refusal(message: Request | Notification) -> RpcError | None:
    try:
        structure(message.method, message.params)
    except RpcError as error:
        return error
    return None
