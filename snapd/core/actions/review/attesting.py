"""Says what notes in the project's git say about lines that were there before snapd watched."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.edits import equal_lines, split_lines
from snapd.core.compare.text import is_binary
from snapd.core.errors import IoError, StorageFull
from snapd.core.ports.notes import NotedLines, NoteProblem
from snapd.core.review.matching import without_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.model import RelPath
    from snapd.core.ports.notes import CommittedFile, Notes
    from snapd.core.review.texts import Texts

_NAMES = 4
"""How many names of a file are looked for in the newest commit."""


@attrs.frozen
class Attesting:
    """Says what is noted about lines from before.

    Args:
        notes: of the project.
    """

    _notes: Notes

    def noted(
        self,
        names: Sequence[RelPath],
        lines: Sequence[bytes],
        before: Sequence[range],
        milliseconds: int | None,
        texts: Texts,
    ) -> NotedLines:
        """Says what is noted about lines of a file.

        The file is compared with what the newest commit has of it. What a commit brought later than the lines were
        there is not noted of them: they only equal its lines.

        Args:
            names: all that the file had, the newest first.
            lines: the file; which of its line ends git keeps does not count.
            before: those of the lines, from 0, that were there before snapd watched; at least one.
            milliseconds: when they were there, since 1970; None if nobody knows.
            texts: compares texts.

        Returns:
            What is noted, by the numbers of the lines, from 0. If it cannot be told, a problem says why.

        Raises:
            Cancelled: the request was cancelled.
        """
        try:
            file = self._notes.of(names[:_NAMES], texts.call)
            return NotedLines({}) if file is None else _noted(file, lines, before, milliseconds, texts)
        except (IoError, StorageFull) as error:
            # what snapd itself knows is no less true
            return NotedLines({}, (NoteProblem(None, error.message),))


def _noted(
    file: CommittedFile, lines: Sequence[bytes], before: Sequence[range], milliseconds: int | None, texts: Texts
) -> NotedLines:
    wanted = without_ends(lines)
    name, committed = None, dict[int, int]()
    for candidate, text in file.texts(texts.call).items():
        # another file may have taken the name since
        equal = {} if is_binary(text) else _equal(without_ends(split_lines(text)), wanted, texts)
        if len(equal) > len(committed):
            name, committed = candidate, equal
    if name is None:
        return NotedLines({})
    told = file.noted(name, texts.call)
    found = {}
    for line in chain.from_iterable(before):
        noted = told.lines.get(committed.get(line, -1))
        if noted is not None and (milliseconds is None or noted.seconds * 1000 <= milliseconds):
            found[line] = noted
    return NotedLines(found, told.problems)


def _equal(committed: list[bytes], wanted: list[bytes], texts: Texts) -> dict[int, int]:
    """For the lines of a text that a committed one has, too, their numbers there."""
    return dict(equal_lines(texts.edits(committed, wanted), len(committed), len(wanted)))
