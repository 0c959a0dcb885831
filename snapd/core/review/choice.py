"""Selects pending changes, and decides what a file becomes if they are kept or reverted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import attrs

from snapd.core.compare.edits import without
from snapd.model.errors import InvalidParams
from snapd.model.paths import shown
from snapd.model.snapshot import RelPath
from snapd.model.timeline import StepId
from snapd.model.trees import is_among

from .changes import Texts
from .fold import FileFold, PendingFile, PendingTexts


@attrs.frozen
class Choice:
    """A selection of pending changes; all of them by default."""

    # only these files, or those below these directories; empty for all. A moved file matches under both names.
    files: tuple[RelPath, ...] = ()
    hunks: tuple[int, ...] | None = None  # only these hunks of the only file, counted from 0; None for all
    is_owner: Callable[[StepId], bool] | None = None  # only changes of steps for which this is true; None for all
    expect: Mapping[RelPath, str] = attrs.field(factory=dict)  # the ids of the files that the person was shown

    def among(self, files: Iterable[PendingFile]) -> list[PendingFile]:
        """Returns the selected ones of some files with pending changes."""
        files = list(files)
        there = {file.path for file in files}
        return [file for file in files if self._has(file, there)]

    def named(self, files: Iterable[PendingFile]) -> list[PendingFile]:
        """Filters like `among`; raises `InvalidParams` if nothing is pending in a file that was named."""
        pending_files = self.among(files)
        names = {name for file in pending_files for name in _names(file, ())}
        for name in self.files:
            if not any(is_among(path, (name,)) for path in names):
                raise InvalidParams(
                    f"{shown(name)} has no pending changes",
                    hint="'snapd review' lists the files with pending changes",
                    field="files" if self.hunks is None else "file",
                )
        return pending_files

    def _has(self, file: PendingFile, there: Collection[RelPath]) -> bool:
        if self.is_owner is not None and not any(map(self.is_owner, file.owners)):
            return False
        return not self.files or any(is_among(path, self.files) for path in _names(file, there))


def _names(file: PendingFile, there: Collection[RelPath]) -> tuple[RelPath, ...]:
    """Returns the names of a file, except a former one that another file has by now."""
    source = file.summary.renamed_from
    return (file.path,) if source is None or source in there else (file.path, source)


def kept_text(choice: Choice, fold: FileFold, file: PendingTexts, texts: Texts) -> bytes | None:
    """Returns the baseline's text once the selected changes are kept; None if all of them are.

    Raises `InvalidParams` if there are no such hunks.
    """
    if choice.hunks is not None:
        left = [hunk.hunk.index for hunk in file.hunks if hunk.hunk.index not in choice.hunks]
        # raises if there is no such hunk
        without(file.before, file.after, choice.hunks, texts.differ, texts.call)
        return without(file.before, file.after, left, texts.differ, texts.call) if left else None
    if choice.is_owner is None or not file.hunks:
        return None
    assert fold.pending is not None
    blocks = list(fold.pending.blocks(fold.writers))
    meant = [block for block in blocks if any(map(choice.is_owner, block.steps))]
    if len(meant) == len(blocks):
        return None
    lines = list(fold.pending.lines)
    for block in reversed(meant):
        lines[block.base_start : block.base_end] = fold.lines[block.start : block.end]
    return b"".join(lines)


@attrs.frozen
class FileRevert:
    """What becomes of a file whose pending changes are reverted."""

    text: bytes | None = None  # the file's text; None if all changes are reverted
    # whether the file stays as it is, because steps that are not selected took part in the changes
    shared: bool = False


def reverted(choice: Choice, fold: FileFold, file: PendingTexts, texts: Texts, *, overwrites: bool) -> FileRevert:
    """Returns what a file becomes once the selected changes are reverted.

    `overwrites` says whether to revert changes in which steps outside the selection took part. Raises `InvalidParams`
    if there are no such hunks.
    """
    if choice.hunks is not None:
        text = without(file.before, file.after, choice.hunks, texts.differ, texts.call)
        return FileRevert(None if len(choice.hunks) == len(file.hunks) else text)
    is_owner = choice.is_owner
    if is_owner is None:
        return FileRevert()
    if not (file.hunks and fold.is_text):
        return FileRevert(shared=not overwrites and not all(map(is_owner, file.file.owners)))
    assert fold.pending is not None
    blocks = list(fold.pending.blocks(fold.writers))
    meant = [block for block in blocks if any(map(is_owner, block.steps))]
    if not overwrites and any(not is_owner(step) for block in meant for step in block.steps):
        return FileRevert(shared=True)
    if len(meant) == len(blocks):
        return FileRevert()
    lines = list(fold.lines)
    for block in reversed(meant):
        lines[block.start : block.end] = fold.pending.lines[block.base_start : block.base_end]
    return FileRevert(b"".join(lines))
