"""The process that packs for `packer.py`: one order comes in, one answer goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError

from .packer_wire import decode_order, encode_answer
from .packing import pack
from .served import give_way, serve

if TYPE_CHECKING:
    from .served import Say


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
