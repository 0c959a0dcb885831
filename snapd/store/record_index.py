"""The records of a log in memory, so that some of them are found without a look at the others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.model import ObjectId, RecordKind

_DIGITS = 40
"""Of a tree's name in hexadecimal."""


@attrs.frozen
class Record:
    """One entry of the log.

    Attributes:
        seq: its position in the log.
        kind: why it was taken.
        tree: the tree of the snapshot.
        coverage: the blob with its coverage.
        seconds: since 1970, when it was taken.
    """

    seq: int
    kind: RecordKind
    tree: ObjectId
    coverage: ObjectId
    seconds: int

    def same_state(self, other: Record) -> bool:
        """Whether both differ at most in `seq` and `seconds`."""
        return (self.kind, self.tree, self.coverage) == (other.kind, other.tree, other.coverage)


class RecordIndex:
    """Finds records by their place in the log, their time and their tree. Only one thread at a time may use it."""

    def __init__(self) -> None:
        # within each list, the clock never went back; so both `seq` and `seconds` are in order there
        self._runs: list[list[Record]] = []
        self._by_tree: dict[ObjectId, Record] = {}
        # made at its first use: to keep it in order while a log is read would cost more than to sort it once
        self._trees: list[ObjectId] | None = None

    def add(self, record: Record) -> None:
        """Adds a record, whose `seq` is higher than that of all others."""
        if self._runs and self._runs[-1][-1].seconds <= record.seconds:
            self._runs[-1].append(record)
        else:
            self._runs.append([record])
        if self._trees is not None and record.tree not in self._by_tree:
            insort(self._trees, record.tree)
        self._by_tree[record.tree] = record

    def of(self, tree: ObjectId) -> Record | None:
        """The newest record of a tree."""
        return self._by_tree.get(tree)

    def newest_first(self, below: int | None = None, until: int | None = None) -> Iterator[Record]:
        """The records in the reverse order of the log.

        Args:
            below: only those with a lower `seq`; None for all.
            until: only those taken at or before this time, in seconds since 1970; None for all.
        """
        for run in reversed(self._runs):
            end = len(run)
            if below is not None:
                end = bisect_left(run, below, key=lambda record: record.seq)
            if until is not None:
                end = bisect_right(run, until, hi=end, key=lambda record: record.seconds)
            for at in range(end - 1, -1, -1):
                yield run[at]

    def beginning(self, prefix: str) -> list[Record]:
        """The newest record of each tree whose name begins with some digits, the newest first."""
        if self._trees is None:
            self._trees = sorted(self._by_tree)
        first = bytes.fromhex(prefix.ljust(_DIGITS, "0"))
        last = bytes.fromhex(prefix.ljust(_DIGITS, "f"))
        found = self._trees[bisect_left(self._trees, first) : bisect_right(self._trees, last)]
        return sorted((self._by_tree[tree] for tree in found), key=lambda record: -record.seq)
