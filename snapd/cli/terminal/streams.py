"""Standard output and standard error, which may be closed, full, or a pipe without a reader.

This must not change the reported outcome of a command: a failed write is recorded, and the command goes on.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import TYPE_CHECKING

from .layout import STYLE, visible

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Output(io.FileIO):
    """A standard stream that can be lost, for the reason `lost`; with `stops`, the first write that fails raises."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.lost: OSError | None = None
        self.stops = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Writes bytes; reports all of them as written if the stream is lost."""
        if self.lost is None:
            try:
                return self._write(data)
            except OSError as error:
                self.lost = error
                if self.stops:
                    raise
        return memoryview(data).nbytes

    def _write(self, data: ReadableBuffer) -> int:
        while (written := super().write(data)) is None:
            # a process that shares the stream made it non-blocking
            poll = select.poll()
            poll.register(self.fileno(), select.POLLOUT)
            poll.poll()
        return written


class Text(io.TextIOWrapper):
    """Text on a standard stream, of which a terminal interprets only our own styles, or all if `obeyed`."""

    def __init__(self, raw: Output, encoding: str, *, line_buffering: bool, obeyed: bool = False) -> None:
        super().__init__(
            io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=line_buffering
        )
        self._is_screen = raw.isatty() and not obeyed

    def write(self, text: str, /) -> int:
        """Writes text; see `safe`."""
        super().write(self.safe(text))
        return len(text)

    def safe(self, text: str) -> str:
        """Returns the text to write: with control characters made visible, if this is a terminal."""
        return visible(text) if self._is_screen else text.replace(STYLE, "\033")


def take_over() -> Output:
    """Replaces `sys.stdout` and `sys.stderr` (not their descriptors) by such streams; returns standard output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # keep the number taken, or the next opened file would get it; writes still fail
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    output, errors = Output(1), Output(2)
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    # file names and diffs are UTF-8 whatever the locale says
    sys.stdout = Text(output, "utf-8", line_buffering=output.isatty())
    sys.stderr = Text(errors, encoding, line_buffering=True)
    return output


def can_be_asked() -> bool:
    """Whether a question that was printed to standard error was written."""
    sys.stderr.flush()
    raw = getattr(getattr(sys.stderr, "buffer", None), "raw", None)
    return not (isinstance(raw, Output) and raw.lost is not None)
