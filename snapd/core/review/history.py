"""Folds what the timeline knows of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .changes import lineage_of
from .fold import FileFold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from snapd.core.model import RelPath
    from snapd.core.ports.timeline import Timeline

    from .changes import Attributor, FileChange, Lineage
    from .texts import Texts

    Formers = dict[tuple[RelPath, int], FileFold | None]


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
        formers: Formers = {}
        self._fold_all([(path, seq)], formers, texts)
        return formers[path, seq]

    def added(
        self,
        fold: FileFold | None,
        changes: Iterable[FileChange],
        replaced: Sequence[tuple[RelPath, int]],
        texts: Texts,
    ) -> FileFold | None:
        """Adds changes of one event to a fold.

        Args:
            fold: is changed; None begins one.
            changes: of the file, in their order.
            replaced: see `Lineage`.
            texts: reads and compares files.
        """
        formers: Formers = {}
        if fold is None:
            self._fold_all(replaced, formers, texts)
        return self._added(fold, changes, replaced, formers, texts)

    def _fold_all(self, wanted: Iterable[tuple[RelPath, int]], formers: Formers, texts: Texts) -> None:
        """Folds files, and those that were at their names before: where files take turns at a name, each once."""
        lines: dict[tuple[RelPath, int], Lineage] = {}
        waiting = list(wanted)
        while waiting:
            here = waiting.pop()
            if here not in lines:
                lines[here] = lineage_of(self._timeline, *here)
                waiting += lines[here].replaced
        # what a file replaced went before it came
        for here in sorted(lines, key=lambda here: here[1]):
            fold = None
            for _, changes in self._attributor.attributed(lines[here].rows):
                fold = self._added(fold, changes, lines[here].replaced, formers, texts)
            formers[here] = fold

    def _added(
        self,
        fold: FileFold | None,
        changes: Iterable[FileChange],
        replaced: Iterable[tuple[RelPath, int]],
        formers: Formers,
        texts: Texts,
    ) -> FileFold | None:
        for change in changes:
            if fold is None:
                fold = FileFold.begun(change.source or change.path, change.old, texts, is_reviewed=self._is_reviewed)
                for here in replaced:
                    former = formers[here]
                    if former is not None:
                        fold.remember(former)
            fold.add(change, texts)
        return fold
