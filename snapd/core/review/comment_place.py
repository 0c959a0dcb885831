"""Finds where lines that were commented on are now: their file is folded like one that is blamed, from that version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from snapd.core.review.changes import Attributor, FileChange, LineWriter, Texts, order_of, was_moved_in
from snapd.core.review.fold import FileFold
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import Comment, FileChangeRow
from snapd.store.timeline.timeline import TimelineView

_MARK = LineWriter("unknown", ("comment",))
"""Stands for the writer of the lines that were commented on. No other line has this one."""


@attrs.frozen
class Place:
    """Where the lines of a comment are: from the first to the last one that is left, from 1."""

    path: RelPath
    start: int
    count: int
    outdated: bool  # whether none is left; `start` and `count` then say where the last ones were


@attrs.define
class _Followed:
    """The file of a comment, after the changes of the events up to `seq`."""

    seq: int
    fold: FileFold
    place: Place
    # who wrote the lines of each version since the comment: a version that comes back has them again
    versions: dict[ObjectId, list[LineWriter]]

    @classmethod
    def begun(cls, comment: Comment, texts: Texts) -> _Followed:
        """Begins with the version that was commented on."""
        made = comment.made
        fold = FileFold.begun(made.path, made.entry, texts, is_reviewed=False)
        first = made.start - 1
        fold.writers[first : first + made.count] = [_MARK] * len(fold.writers[first : first + made.count])
        place = Place(made.path, made.start, made.count, outdated=not fold.writers)
        versions = {} if made.entry is None else {made.entry.oid: list(fold.writers)}
        return cls(comment.seq, fold, place, versions)

    def copy(self) -> _Followed:
        """Returns an independent copy."""
        return attrs.evolve(self, fold=self.fold.copy(), versions=dict(self.versions))

    def add(self, changes: Iterable[FileChange], texts: Texts) -> None:
        """Adds changes of the file."""
        for change in changes:
            if change.nature == "keep":
                continue
            self.fold.add(change, texts)
            entry = self.fold.now
            if entry is not None:
                self.fold.writers = list(self.versions.setdefault(entry.oid, list(self.fold.writers)))
            marked = [at for at, writer in enumerate(self.fold.writers, 1) if writer == _MARK]
            if marked:
                self.place = Place(self.fold.path, marked[0], marked[-1] - marked[0] + 1, outdated=False)
            else:
                self.place = attrs.evolve(self.place, path=self.fold.path, outdated=True)


@attrs.define(eq=False)
class Places:
    """Follows the lines of comments through the changes of their files, whose events are listed."""

    _timeline: TimelineView
    _attributor: Attributor
    _known: dict[str, tuple[int, _Followed]] = attrs.field(factory=dict, init=False)

    def of(self, comment: Comment, last: int, unrecorded: Iterable[FileChange], texts: Texts) -> Place:
        """Returns where the lines of a comment are, after the events up to `last` and the changes since then.

        Raises `IoError` and `Cancelled`.
        """
        name, epoch = comment.made.comment_id, self._timeline.epoch
        known_epoch, known = self._known.get(name, (-1, None))
        if known is None or known_epoch != epoch or known.seq > last:
            known = _Followed.begun(comment, texts)
        followed = known.copy()
        for _, changes in self._attributor.attributed(self._rows(followed.fold.path, followed.seq, last + 1)):
            followed.add(changes, texts)
        followed.seq = max(followed.seq, last)
        self._known[name] = epoch, followed
        path = followed.fold.path
        newer = [change for change in unrecorded if path in (change.path, change.source)]
        if not newer:
            return followed.place
        now = followed.copy()
        now.add(newer, texts)
        # it may come back after an event without it
        followed.versions = now.versions
        return now.place

    def forget_all_but(self, names: Iterable[str]) -> None:
        """Drops what is remembered of all other comments."""
        staying = set(names)
        self._known = {name: known for name, known in self._known.items() if name in staying}

    def _rows(self, path: RelPath, after: int, before: int) -> Iterator[FileChangeRow]:
        """Yields the rows of a file by events between two, oldest first, with both names of each move."""
        rows = list(self._timeline.touched_of(path, before, after))
        while rows:
            row = rows.pop(0)
            if not (row.new is None and row.other is not None):
                if not was_moved_in(row):
                    yield row
                continue
            moved = self._timeline.touched_of(row.other, before, row.seq - 1)
            there = [each for each in moved if order_of(each) >= order_of(row)]
            yield row
            if there and was_moved_in(there[0]) and there[0].other == row.path:
                yield there[0]
                rows = there[1:]
