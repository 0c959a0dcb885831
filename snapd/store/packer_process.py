"""The process that packs for `packer.py`: one order comes in, one answer goes out."""

from __future__ import annotations

import os
import threading

from snapd.core.errors import SnapdError

from .durable import write_all
from .packer_wire import decode_order, encode_answer
from .packing import pack

_NICENESS = 10
_READ_BYTES = 1 << 16


def main(_: str) -> None:
    """Serves standard input and output; what is printed by anyone goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, _READ_BYTES)
        if not data:
            return
        line += data
    order = decode_order(line)
    threading.Thread(target=_end_with_input, daemon=True).start()
    if order.behind and hasattr(os, "nice"):
        os.nice(_NICENESS)
    try:
        answer = encode_answer(pack(order, _go_on))
    except SnapdError as error:
        answer = encode_answer(error)
    write_all(answers, answer)
    os.close(answers)


def _end_with_input() -> None:
    # whoever asked holds the other end until it is answered: there is nobody to pack for any more
    while os.read(0, _READ_BYTES):
        pass
    os._exit(1)


def _go_on() -> None:
    """Who changes their mind ends the process."""
