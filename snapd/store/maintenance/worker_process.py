"""The process that packs for `packer.py`: one order comes in, one answer goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError
from snapd.workers.serving import give_way, serve

from .packing import pack
from .worker_protocol import decode_order, encode_answer

if TYPE_CHECKING:
    from snapd.workers.serving import Say


def main(_: str) -> None:
    """Packs what standard input says, and answers on standard output."""
    serve(_pack)


def _pack(line: bytes, _: Say) -> bytes:
    order = decode_order(line)
    if order.behind:
        give_way()
    try:
        return encode_answer(pack(order, _go_on))
    except SnapdError as error:
        return encode_answer(error)


def _go_on() -> None:
    """Who changes their mind ends the process."""
