"""What the processes of a store share: one line asks, others answer, and the end of the pipe ends the process."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Say = Callable[[bytes], None]
    """Says a line to whoever asked."""

NICENESS = 10
"""How far a process that works behind gives way to others."""

_READ_BYTES = 1 << 16


def serve(work: Callable[[bytes, Say], bytes]) -> None:
    """Serves standard input and output; what is printed by anyone goes to standard error.

    Args:
        work: gives the last line of the answer, of the line that asks; may say others before.
    """
    with open(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        line = b""
        while not line.endswith(b"\n"):
            data = os.read(0, _READ_BYTES)
            if not data:
                return
            line += data
        threading.Thread(target=_end_with_input, daemon=True).start()

        def say(said: bytes) -> None:
            try:
                answers.write(said)
                answers.flush()
            except BrokenPipeError:
                # whoever asked is gone, as `_end_with_input` may not have seen yet
                os._exit(1)

        say(work(line, say))


def give_way() -> None:
    """Has this process work behind all others."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


def _end_with_input() -> None:
    # whoever asked holds the other end until it is answered: there is nobody to work for any more
    while os.read(0, _READ_BYTES):
        pass
    os._exit(1)
