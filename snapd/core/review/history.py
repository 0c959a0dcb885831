"""Folds what the timeline knows of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .changes import lineage_of
from .fold import FileFold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from snapd.core.model import RelPath
    from snapd.core.ports.timeline import Timeline

    from .changes import Attributor, FileChange
    from .texts import Texts


class FileHistory:
    """Folds the changes of files of one workspace.

    Args:
        timeline: of the workspace; the files of its events are listed.
        attributor: says whose changes were.
        is_reviewed: see `FileFold`.
    """

    def __init__(self, timeline: Timeline, attributor: Attributor, *, is_reviewed: bool) -> None:
        self._timeline = timeline
        self._attributor = attributor
        self._is_reviewed = is_reviewed

    def before(self, path: RelPath, seq: int, texts: Texts) -> FileFold | None:
        """Folds all changes of a file by events with a number below `seq`; None if there are none.

        Raises:
            StoreCorrupt: an object is missing or damaged.
            IoError, Cancelled: the texts were not compared.
        """
        line = lineage_of(self._timeline, path, seq)
        fold = None
        for _, changes in self._attributor.attributed(line.rows):
            fold = self.added(fold, changes, line.replaced, texts)
        return fold

    def added(
        self,
        fold: FileFold | None,
        changes: Iterable[FileChange],
        replaced: Iterable[tuple[RelPath, int]],
        texts: Texts,
    ) -> FileFold | None:
        """Adds changes of one event to a fold.

        Args:
            fold: is changed; None begins one.
            changes: of the file, in their order.
            replaced: see `Lineage`.
            texts: reads and compares files.
        """
        for change in changes:
            if fold is None:
                fold = FileFold.begun(change.source or change.path, change.old, texts, is_reviewed=self._is_reviewed)
                for name, seq in replaced:
                    former = self.before(name, seq, texts)
                    if former is not None:
                        fold.remember(former)
            fold.add(change, texts)
        return fold
