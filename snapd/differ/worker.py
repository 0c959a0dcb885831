"""The process that compares texts; questions and answers are frames: a header, then the announced bytes."""

from __future__ import annotations

import os
import struct

from snapd.core.compare.text import compare_lines, hunks
from snapd.store.files.durable import write_all

QUESTION = struct.Struct("<BII")  # kind of question, sizes of the old and the new text in bytes
COUNT = 1  # asks for the numbers of added and deleted lines, answered by `COUNTS`
HUNKS = 2  # asks for the hunks of a unified diff

ANSWER = struct.Struct("<I")  # size in bytes; the first answer, before any question, is empty: ready
COUNTS = struct.Struct("<II")  # lines added, lines deleted

_BUFFER = 1 << 20


def serve(questions: int, answers: int) -> None:
    """Sends the first answer, then answers questions in order until they end."""
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
        # the parent process is gone
        return
