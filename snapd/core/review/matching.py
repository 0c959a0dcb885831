"""Who wrote the lines of a text that may be no version of its file: found in the versions that are most like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import attrs

from snapd.core.compare.edits import equal_lines, split_lines

from .changes import UNKNOWN, LineWriter, Texts


@attrs.frozen
class Version:
    """A file as it was for a while.

    Attributes:
        lines: of the file.
        writers: who wrote each.
        since: when it was like this at the earliest, milliseconds since 1970; None if nobody knows.
        until: when it was like this at the latest; None if nobody knows, or if it still is.
    """

    lines: Sequence[bytes]
    writers: Sequence[LineWriter]
    since: int | None
    until: int | None


_Distance = tuple[int, int]
"""How many lines of a text a version lacks, and how far away in time it is."""
_FAR: _Distance = (1 << 62, 0)


def writers_of(
    text: bytes, when: int | None, versions: Callable[[], Iterable[Version]], texts: Texts
) -> list[LineWriter]:
    """Says who wrote each line of a text, such as one that somebody committed.

    The text is compared with all versions of its file. If one is the very text, that one counts. Else a line is by
    whoever wrote it in a version that has it: in the one that has the most lines of the text, for what somebody commits
    may be made of several versions. Of several that are as good, it is the one that was there at the time that the text
    is from, else the latest. Line ends do not count: others may store them in another way.

    Args:
        text: what is asked about.
        when: the time that it is from, milliseconds since 1970; None if nobody knows.
        versions: gives those of the file, each later than the one before; called once more if none is the very text.
        texts: compares lines.

    Returns:
        The writer of each line; `UNKNOWN` for a line that no version has at this place.

    Raises:
        IoError, Cancelled: the texts were not compared.
    """
    wanted = without_ends(split_lines(text))
    # most often there is one, and to look for it takes no comparison
    same = _very_text(wanted, when, versions())
    if same is not None:
        return list(same.writers)
    best = _Best(wanted)
    for version in versions():
        best.consider(version, when, texts)
    return best.writers


def _very_text(wanted: list[bytes], when: int | None, versions: Iterable[Version]) -> Version | None:
    found: Version | None = None
    distance = 0
    for version in versions:
        if len(version.lines) != len(wanted) or without_ends(version.lines) != wanted:
            continue
        away = _away(version, when)
        if found is None or away <= distance:
            found, distance = version, away
        if when is not None and away == 0:
            break
    return found


class _Best:
    """The writer of each line, from the best of the versions so far that have the line."""

    def __init__(self, wanted: list[bytes]) -> None:
        self._wanted = wanted
        self._counts = Counter(wanted)
        self.writers: list[LineWriter] = [UNKNOWN] * len(wanted)
        self._distances: list[_Distance] = [_FAR] * len(wanted)

    def consider(self, version: Version, when: int | None, texts: Texts) -> None:
        lines = without_ends(version.lines)
        away = _away(version, when)
        # no comparison finds more equal lines than this
        missing = (self._counts - Counter(lines)).total()
        if missing == len(self._wanted) or (missing, away) > max(self._distances):
            return
        equal = list(equal_lines(texts.edits(lines, self._wanted), len(lines), len(self._wanted)))
        distance = len(self._wanted) - len(equal), away
        for line, there in equal:
            if distance <= self._distances[line]:
                self._distances[line], self.writers[line] = distance, version.writers[there]


def without_ends(lines: Sequence[bytes]) -> list[bytes]:
    """Lines that all end in the same way."""
    data = b"".join(lines)
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return split_lines(data.replace(b"\r\n", b"\n"))


def _away(version: Version, when: int | None) -> int:
    """How long after or before the time of a version another time is."""
    if when is None:
        return 0
    too_early = 0 if version.since is None else version.since - when
    too_late = 0 if version.until is None else when - version.until
    return max(0, too_early, too_late)
