"""Shows what is pending in a file; the files that are remembered between two questions for that."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import attrs

from snapd.core.compare.edits import hunks
from snapd.core.compare.text import is_binary
from snapd.model.snapshot import SYMLINK, TEN_MIB, Entry, RelPath
from snapd.model.timeline import FileSummary

from .baseline import Baseline
from .changes import Texts
from .fold import FileFold, PendingFile, PendingHunk, PendingTexts, Rested

_DIGITS = 32


def view(fold: FileFold, texts: Texts) -> PendingTexts:
    """Shows the pending changes of a file that has some.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        IoError, Cancelled: the texts were not compared.
    """
    pending = fold.pending
    assert pending is not None
    is_text = fold.is_text and pending.is_text
    before, after = (b"".join(pending.lines), b"".join(fold.lines)) if is_text else (b"", b"")
    sides = (pending.entry, fold.now)
    if not is_text and all(entry is None or entry.mode == SYMLINK for entry in sides):
        # as git does, the text of a link is its target
        before, after = (b"" if entry is None else texts.blobs.read_blob(entry.oid) for entry in sides)
    found = hunks(before, after, texts.differ, texts.call)
    blocks = list(pending.blocks(fold.writers)) if is_text else []
    found_hunks = []
    for hunk in found:
        owners = dict.fromkeys(
            step
            for block in blocks
            if _meet((block.base_start, block.base_end), hunk.old) and _meet((block.start, block.end), hunk.new)
            for step in block.steps
        )
        found_hunks.append(PendingHunk(hunk, tuple(owners or pending.steps)))
    owners = dict.fromkeys(step for hunk in found_hunks for step in hunk.owners) or pending.steps
    binary = not is_text and any(_is_binary(entry, texts) for entry in sides)
    summary = FileSummary(
        fold.path,
        "added" if pending.mode is None else "deleted" if fold.now is None else "modified",
        sum(line.startswith("+") for hunk in found for line in hunk.lines),
        sum(line.startswith("-") for hunk in found for line in hunk.lines),
        binary,
        renamed_from=pending.path if pending.mode is not None and pending.path != fold.path else None,
    )
    return PendingTexts(
        PendingFile(summary, _id(fold, pending), len(found_hunks), tuple(owners)),
        tuple(found_hunks),
        before,
        after,
        pending.mode,
        None if fold.now is None else fold.now.mode,
        not is_text and not binary and any(_is_large(entry, texts) for entry in sides),
    )


def listed(file: FileFold | Rested, texts: Texts) -> PendingFile:
    """Shows a file as a list of pending files has it; raises as `view`."""
    if isinstance(file, Rested):
        assert file.pending is not None
        return file.pending
    if file.shown is None:
        file.shown = view(file, texts).file
    return file.shown


def rested(fold: FileFold, texts: Texts) -> Rested:
    """What is to be known of a file while nothing happens to it; raises as `view`."""
    pending = None if fold.pending is None else listed(fold, texts)
    return Rested(fold.path, fold.baseline_path, fold.is_gone, pending)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


def _is_binary(entry: Entry | None, texts: Texts) -> bool:
    if entry is None or entry.mode == SYMLINK:
        return False
    data = texts.blobs.read_small_blob(entry.oid, TEN_MIB)
    return data is not None and is_binary(data)


def _is_large(entry: Entry | None, texts: Texts) -> bool:
    return entry is not None and texts.blobs.blob_size(entry.oid) > TEN_MIB


def _id(fold: FileFold, pending: Baseline) -> str:
    """Names what is shown; it stays the same as long as baseline and file do."""
    opaque = pending.entry.oid if pending.entry is not None and not pending.is_text else b""
    now = (b"", b"") if fold.now is None else (fold.now.oid, b"%o" % fold.now.mode)
    digest = hashlib.sha256()
    for part in (fold.path, pending.path, b"%o" % (pending.mode or 0), opaque, b"".join(pending.lines), *now):
        digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:_DIGITS]


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
