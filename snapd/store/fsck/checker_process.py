"""The process that checks for `checker.py`: one question comes in, and answers go out until the check is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from snapd.core.call import Call
from snapd.core.errors import SnapdError
from snapd.workers.serving import give_way, serve

from .checker_wire import Found, Progress, decode_question, encode_answer
from .checkers import check

if TYPE_CHECKING:
    from snapd.workers.serving import Say

_SAID_SECONDS = 0.1
"""How far it is, is said no more often."""


def main(_: str) -> None:
    """Checks the store that standard input names, and answers on standard output."""
    serve(_check)


def _check(line: bytes, say: Say) -> bytes:
    give_way()
    store = decode_question(line)
    said = [0.0]
    asked: list[bool] = []

    def report(message: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - said[0] >= _SAID_SECONDS:
            said[0] = now
            say(encode_answer(Progress(message, done, total)))

    def agrees() -> bool:
        # only whoever has the timeline open can tell
        asked.append(True)
        return True

    try:
        checkup = check(store, Call(report), quick=False, agrees=agrees)
    except SnapdError as error:
        return encode_answer(error)
    return encode_answer(Found(checkup, bool(asked)))
