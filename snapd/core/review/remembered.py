"""The files that are remembered between two questions for what is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from .fold import FileFold
from .pending_file import Rested
from .view import rested

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from snapd.core.model import RelPath

    from .texts import Texts

_WITH_TEXTS = 200
"""How many files are kept with their texts, however long: those that were changed last."""
_WITH_LINES = 50_000
"""Up to how many lines in all more files are kept with their texts, some 8 MiB.

A file that rests is folded from its whole history when it changes.
"""


@attrs.frozen
class Unfolded:
    """A file whose changes were not folded yet: one fold is enough for all the changes of a long history."""

    path: RelPath


Remembered = FileFold | Rested | Unfolded


class RememberedFiles:
    """Files with pending changes, and some that had any."""

    def __init__(self) -> None:
        self._files: dict[RelPath, Remembered] = {}
        # those that can rest, with their numbers of lines, the one that was changed last at the end
        self._awake: dict[RelPath, int] = {}
        self._lines = 0
        self._unfolded: dict[RelPath, None] = {}
        self._away: dict[RelPath, None] = {}

    def get(self, path: RelPath) -> Remembered | None:
        """The file at a path."""
        return self._files.get(path)

    def __iter__(self) -> Iterator[Remembered]:
        return iter(self._files.values())

    @property
    def unfolded(self) -> list[RelPath]:
        """The files whose changes are to be folded, the one that was changed last at the end."""
        return list(self._unfolded)

    @property
    def away(self) -> Iterable[RelPath]:
        """The files for which `is_away` holds."""
        return self._away

    def put(self, path: RelPath, file: Remembered | None) -> None:
        """Puts a file in the place of what was at its path; None takes that out."""
        self._files.pop(path, None)
        self._lines -= self._awake.pop(path, 0)
        for names in (self._unfolded, self._away):
            names.pop(path, None)
        if file is None:
            return
        self._files[path] = file
        if isinstance(file, Unfolded):
            self._unfolded[path] = None
        elif is_away(file):
            self._away[path] = None
        if isinstance(file, FileFold) and file.is_own:
            self._awake[path] = len(file.lines)
            self._lines += len(file.lines)

    def rest(self, texts: Texts) -> None:
        """Drops the texts of the files that were changed longest ago, and those of them that have nothing pending.

        Raises:
            StoreCorrupt: an object is missing or damaged.
            IoError, Cancelled: texts were not compared; some files rest.
        """
        while len(self._awake) > _WITH_TEXTS and self._lines > _WITH_LINES:
            path = next(iter(self._awake))
            fold = self._files[path]
            assert isinstance(fold, FileFold)
            self.put(path, None if fold.pending is None else rested(fold, texts))


class Draft:
    """The same files after some more changes, which may be dropped: `remembered` stays as it is."""

    def __init__(self, remembered: RememberedFiles) -> None:
        self._remembered = remembered
        self._changed: dict[RelPath, Remembered | None] = {}
        # few files were moved and then removed; a step may change thousands
        self._away: dict[RelPath, None] = {}

    @property
    def changed(self) -> Mapping[RelPath, Remembered | None]:
        """The files that are not as they are remembered, by path; None for none."""
        return self._changed

    def get(self, path: RelPath) -> Remembered | None:
        """The file at a path."""
        return self._changed[path] if path in self._changed else self._remembered.get(path)

    def pop(self, path: RelPath) -> Remembered | None:
        """Takes a file out."""
        found = self.get(path)
        self.put(path, None)
        return found

    def put(self, path: RelPath, file: Remembered | None) -> None:
        """Puts a file in the place of what was at its path; None takes that out."""
        # what changes again moves to the end
        self._changed.pop(path, None)
        self._changed[path] = file
        if isinstance(file, FileFold | Rested) and is_away(file):
            self._away[path] = None

    def away_from(self, path: RelPath) -> FileFold | Rested | None:
        """A file that an agent moved away from a path and that was removed then; None if there is none."""
        for file in map(self.get, (*self._remembered.away, *self._away)):
            if isinstance(file, FileFold | Rested) and is_away(file) and file.baseline_path == path:
                return file
        return None

    def files(self) -> Iterator[FileFold | Rested]:
        """All files but those that are to be folded."""
        kept = (file for file in self._remembered if file.path not in self._changed)
        for file in (*kept, *self._changed.values()):
            if isinstance(file, FileFold | Rested):
                yield file


def is_away(file: FileFold | Rested) -> bool:
    """Whether a file was moved and then removed: what comes back at the old path may be this file."""
    return file.is_gone and file.baseline_path not in (None, file.path)
