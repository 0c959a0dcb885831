"""Where in a file to look for secrets: so little of it that the patterns, which are slow, see next to nothing.

Whatever the bytes are, windows of one kind do not overlap: together they are no longer than the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONG_BYTES = 20
"""The length of the shortest token that has a form of its own: AWS's access keys."""

BEFORE_BYTES = 80
"""How much of what stands before a token or a keyword its windows have: the name that a token is assigned to."""

AFTER_BYTES = 48
"""How much of what stands behind a long run its windows have at least: what follows a dot in a token, and a quote."""

WIDEST_BYTES = 6000
"""No match is longer, with what it looks at behind its end."""

STEP_BYTES = 1 << 15
"""How much a pattern sees at once: while it looks, Python runs no other thread."""

_OF_TOKENS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-~"
_MASK = bytes(0x74 if byte in _OF_TOKENS else 0x20 for byte in range(256))
_LONG = b"t" * LONG_BYTES

_WORDS = re.compile(rb"[a-z_/-]+|[A-Z_/-]*_[A-Z_/-]*")
"""Runs of words in one case: names and paths, of which code is full. No token is without a digit and in one case."""


class Window(NamedTuple):
    """A part of a text.

    Attributes:
        start: the position of its first byte.
        end: the position after its last byte, which is of no token.
    """

    start: int
    end: int


def _joined(windows: Iterable[Window]) -> Iterator[Window]:
    """Joins windows that overlap or touch; they come in the order of their starts."""
    last: Window | None = None
    for window in windows:
        if last is None:
            last = window
        elif window.start <= last.end:
            last = Window(last.start, max(last.end, window.end))
        else:
            yield last
            last = window
    if last is not None:
        yield last


@attrs.frozen
class Text:
    """The text of a file, prepared for looking.

    Attributes:
        raw: the text; a line break ends it.
        low: the same in lower case, byte for byte.
    """

    raw: bytes
    low: bytes
    _mask: bytes

    @classmethod
    def of(cls, data: bytes) -> Text:
        """Prepares the bytes of a file."""
        raw = data + b"\n"
        return cls(raw, raw.lower(), raw.translate(_MASK))

    def _end(self, at: int) -> int:
        """The position after the first byte from here on that is of no token."""
        return self._mask.find(b" ", min(at, len(self._mask) - 1)) + 1

    def _around_runs(self) -> Iterator[Window]:
        mask = self._mask
        at = mask.find(_LONG)
        while at >= 0:
            end = mask.find(b" ", at + LONG_BYTES)
            if not _WORDS.fullmatch(self.raw, at, end):
                yield Window(max(0, at - BEFORE_BYTES), self._end(end + AFTER_BYTES))
            at = mask.find(_LONG, end)

    def matches(self, pattern: re.Pattern[bytes], window: Window) -> Iterator[re.Match[bytes]]:
        """Gives the matches in a window, a step of it after the other.

        Args:
            pattern: has no match that is wider than `WIDEST_BYTES`.
            window: any part of the text.
        """
        for start in range(window.start, window.end, STEP_BYTES):
            for match in pattern.finditer(self.raw, start, min(window.end, start + STEP_BYTES + WIDEST_BYTES)):
                if match.start() >= start + STEP_BYTES:
                    break
                yield match

    def near_runs(self) -> list[Window]:
        """The windows around long runs of characters of which tokens are made, but for those of words."""
        return list(_joined(self._around_runs()))

    def _around(self, keyword: bytes, reach: int) -> Iterator[Window]:
        low = self.low
        at = low.find(keyword)
        while at >= 0:
            start, last = max(0, at - BEFORE_BYTES), at
            # the last one before the end stands for those between: many at one place take no more time than few
            while last >= 0:
                at, end = last, self._end(last + reach)
                last = low.rfind(keyword, at + 1, end)
            yield Window(start, end)
            at = low.find(keyword, max(at + 1, end - len(keyword) + 1))

    def near(self, keywords: tuple[bytes, ...], reach: int) -> list[Window]:
        """The windows around keywords.

        Args:
            keywords: lower case.
            reach: how many bytes behind the beginning of a keyword a window ends, or a little later.
        """
        found = [window for keyword in keywords for window in self._around(keyword, reach)]
        return list(_joined(sorted(found)))
