"""The lines that are gone from a file: an operation may bring them back."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .changes import LineWriter

_PLACES = 32
"""How many places of equal lines are remembered, the last ones."""


@attrs.frozen
class Origin:
    """Where a line comes from.

    Attributes:
        writer: who wrote it.
        accepted: whether a person has accepted it; a person's own lines are.
        removed_by: the agent that removed it, if it was gone and came back; None if a person did.
    """

    writer: LineWriter
    accepted: bool
    removed_by: LineWriter | None = None


_numbers = itertools.count()
"""Tells what went at once from everything else, in whatever collections it is."""


@attrs.define
class Buried:
    """Lines that are gone, in the order in which they went; what went at once is there once."""

    _lines: list[bytes] = attrs.field(factory=list)
    _origins: list[Origin] = attrs.field(factory=list)
    _places: dict[bytes, tuple[int, ...]] = attrs.field(factory=dict)
    _went: dict[int, range] = attrs.field(factory=dict)

    def copy(self) -> Buried:
        """A collection that goes on by itself."""
        return Buried(list(self._lines), list(self._origins), dict(self._places), dict(self._went))

    def add(self, lines: Sequence[bytes], origins: Sequence[Origin]) -> None:
        """Adds lines that went together."""
        self._add(next(_numbers), lines, origins)

    def join(self, later: Buried) -> None:
        """Adds all lines of another collection as those that went last, but for what both have."""
        for number, lines in later._went.items():
            if number not in self._went:
                part = slice(lines.start, lines.stop)
                self._add(number, later._lines[part], later._origins[part])

    def _add(self, number: int, lines: Sequence[bytes], origins: Sequence[Origin]) -> None:
        self._went[number] = range(len(self._lines), len(self._lines) + len(lines))
        for line in lines:
            self._places[line] = (*self._places.get(line, ()), len(self._lines))[-_PLACES:]
            self._lines.append(line)
        self._origins += origins

    def origins(self, lines: Sequence[bytes], otherwise: Origin) -> list[Origin]:
        """Says where lines come from that came back: the longest runs that went together, the last to go first.

        Args:
            lines: what came.
            otherwise: where a line comes from that never went.
        """
        found: list[Origin] = []
        while len(found) < len(lines):
            at = len(found)
            places = self._places.get(lines[at], ())
            length, place = max(((self._length(lines, at, place), place) for place in places), default=(0, 0))
            found += self._origins[place : place + length] if length else [otherwise]
        return found

    def _length(self, lines: Sequence[bytes], at: int, place: int) -> int:
        length = 0
        while (
            at + length < len(lines)
            and place + length < len(self._lines)
            and lines[at + length] == self._lines[place + length]
        ):
            length += 1
        return length
