"""The process that compares texts: questions on standard input, answers on standard output, until the input ends.

Each is a frame: a header, then the bytes that it announces.
"""

from __future__ import annotations

import os
import struct

from snapd.core.compare.text import compare_lines, hunks
from snapd.store.files.durable import write_all

QUESTION = struct.Struct("<BII")
"""The kind of question, and the sizes of the old and the new text, bytes."""
COUNT = 1
"""Asks for the numbers of added and deleted lines, answered by `COUNTS`."""
HUNKS = 2
"""Asks for the hunks of a unified diff."""

ANSWER = struct.Struct("<I")
"""The size of the answer, bytes. The worker's first answer, before any question, is empty: it is ready."""
COUNTS = struct.Struct("<II")
"""Lines added, lines deleted."""

_BUFFER = 1 << 20


def serve(questions: int, answers: int) -> None:
    """Says that it is ready, then answers questions in their order, until they end, even within one."""
    write_all(answers, ANSWER.pack(0))
    with open(questions, "rb", buffering=_BUFFER) as stream:
        while len(header := stream.read(QUESTION.size)) == QUESTION.size:
            kind, old_size, new_size = QUESTION.unpack(header)
            old, new = stream.read(old_size), stream.read(new_size)
            if len(old) + len(new) < old_size + new_size:
                return
            answer = COUNTS.pack(*compare_lines(old, new)) if kind == COUNT else hunks(old, new)
            write_all(answers, ANSWER.pack(len(answer)) + answer)


def main(_: str) -> None:
    """Serves standard input and output; what any module prints goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    try:
        serve(0, answers)
    except BrokenPipeError:
        # the process that asked is gone
        return
