"""Which changes of a plan wait for others, or are skipped because of others that they belong to.

A file that moves is written under its new name before it is deleted under the old one, and not deleted if it could not
be written: it is always there under one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import FileOutcome
from snapd.core.operations.linked_files import LinkedFiles
from snapd.core.paths import folders_above, parents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from snapd.core.model import RelPath
    from snapd.core.plan import Plan


class MovePairs:
    """The dependencies between the changes of one plan.

    Args:
        plan: the changes.
    """

    def __init__(self, plan: Plan) -> None:
        self._linked = LinkedFiles.of(plan.linked)
        self._writes = {write.path for write in plan.writes}
        self._deletes = {delete.path for delete in plan.deletes}
        self._needing: dict[RelPath, list[RelPath]] = {}
        # a file may need a name above it that belongs to another file now
        for path, above in _below(self._writes, self._deletes):
            self._needing.setdefault(above, []).append(path)
        # or the names of the files in the folder that it replaces
        for path, above in _below(self._deletes, self._writes):
            self._needing.setdefault(path, []).append(above)
        moved = self._deletes.intersection(path for group in plan.linked for path in group)
        made = self._writes.union(plan.make_directories) if moved else set()
        above_made = folders_above(made)
        self.deferred = {path for path in moved if path not in above_made and made.isdisjoint(parents(path))}
        """The deletes that can wait until everything is written: nothing new needs their names."""

    def blocked(self, outcomes: Mapping[RelPath, FileOutcome]) -> dict[RelPath, FileOutcome]:
        """The changes that must be skipped, with their outcomes.

        Args:
            outcomes: those known so far: of the writes that could not be prepared.
        """
        found: dict[RelPath, FileOutcome] = {}
        waiting = [outcome for outcome in outcomes.values() if outcome.outcome == "failed"]
        while waiting:
            outcome = waiting.pop()
            also = [attrs.evolve(outcome, path=other) for other in self._linked.others(outcome.path)]
            if outcome.path in self._deletes:
                # it stays, so what needs its name cannot be written
                also += [FileOutcome(path, "failed", "inTheWay") for path in self._needing.get(outcome.path, ())]
            for other in also:
                is_planned = other.path in self._writes or other.path in self._deletes
                if is_planned and other.path not in outcomes and other.path not in found:
                    found[other.path] = other
                    waiting.append(other)
        return found

    def blocker(self, path: RelPath, outcomes: Mapping[RelPath, FileOutcome]) -> FileOutcome | None:
        """The outcome of a deferred delete that must be skipped, because a change that it belongs to was; else None."""
        for other in self._linked.others(path):
            outcome = outcomes.get(other)
            if outcome is not None and outcome.is_left:
                return attrs.evolve(outcome, path=path)
        return None


def _below(paths: set[RelPath], others: set[RelPath]) -> Iterator[tuple[RelPath, RelPath]]:
    """Pairs each path with each of the others that is above it."""
    # mostly none is, and that is quick to find out
    found = others & folders_above(paths)
    if found:
        yield from ((path, above) for path in paths for above in found.intersection(parents(path)))
