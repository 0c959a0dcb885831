"""What of a plan waits for, or is left because of, what belongs together with it.

A file that moves is written under the one name before it is deleted under the other, and not deleted where it could
not be written: whatever happens in between, it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import FileOutcome
from snapd.core.operations.linked_files import LinkedFiles
from snapd.core.paths import parents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from snapd.core.model import RelPath
    from snapd.core.plan import Plan


class MovePairs:
    """Of one plan.

    Args:
        plan: what is to be done.
    """

    def __init__(self, plan: Plan) -> None:
        self._linked = LinkedFiles.of(plan.linked)
        self._writes = {write.path for write in plan.writes}
        self._deletes = {delete.path for delete in plan.deletes}
        self._needing: dict[RelPath, list[RelPath]] = {}
        for path in self._writes:
            # a file may need the place of a folder above it that is a file now
            for above in self._deletes.intersection(parents(path)):
                self._needing.setdefault(above, []).append(path)
        for path in self._deletes:
            # and that of the files in the folder whose place it takes
            for above in self._writes.intersection(parents(path)):
                self._needing.setdefault(path, []).append(above)
        halves = self._deletes.intersection(path for group in plan.linked for path in group)
        made = self._writes.union(plan.make_directories) if halves else set()
        above_made = {above for path in made for above in parents(path)}
        self.last = {path for path in halves if path not in above_made and made.isdisjoint(parents(path))}
        """The deletes that can wait until all is written: nothing that is made needs their room."""

    def left(self, outcomes: Mapping[RelPath, FileOutcome]) -> dict[RelPath, FileOutcome]:
        """What is not to be done of what was not begun, and how that is told.

        Args:
            outcomes: what is known already: what of the writes could not even be prepared.
        """
        found: dict[RelPath, FileOutcome] = {}
        waiting = [outcome for outcome in outcomes.values() if outcome.outcome == "failed"]
        while waiting:
            outcome = waiting.pop()
            also = [attrs.evolve(outcome, path=other) for other in self._linked.others(outcome.path)]
            if outcome.path in self._deletes:
                # it stays, and what was to have its room cannot come
                also += [FileOutcome(path, "failed", "inTheWay") for path in self._needing.get(outcome.path, ())]
            for other in also:
                is_planned = other.path in self._writes or other.path in self._deletes
                if is_planned and other.path not in outcomes and other.path not in found:
                    found[other.path] = other
                    waiting.append(other)
        return found

    def why_not(self, path: RelPath, outcomes: Mapping[RelPath, FileOutcome]) -> FileOutcome | None:
        """Why a delete that waited is not done after all: what belongs together with it could not be."""
        for other in self._linked.others(path):
            outcome = outcomes.get(other)
            if outcome is not None and outcome.is_left:
                return attrs.evolve(outcome, path=path)
        return None
