"""The report of a store check: problems, what they affect, and what was repaired."""

from __future__ import annotations

import attrs

from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import OperationId, SessionId, StepId
from snapd.wire.check import ProblemKind


@attrs.frozen
class AffectedFile:
    """A file or directory that a problem affects, and the trees of the affected snapshots, ordered."""

    path: RelPath
    snapshots: tuple[ObjectId, ...]


@attrs.frozen
class AffectedStep:
    """A step or operation that a problem affects; `step_id` is None for an operation without a step."""

    session_id: SessionId | None
    step_id: StepId | None
    operation_id: OperationId | None = None


@attrs.frozen
class Problem:
    """A problem in the store."""

    kind: ProblemKind
    subject: str  # an object's id in hex, a reference, or a file relative to the store
    message: str
    files: tuple[AffectedFile, ...] = ()  # affected, ordered by path
    snapshots: tuple[ObjectId, ...] = ()  # the trees of those affected as a whole, ordered
    steps: tuple[AffectedStep, ...] = ()  # those that name these snapshots

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the problem across checks: a damaged object becomes a missing one when it is quarantined."""
        return ("object" if self.kind in ("damagedObject", "missingObject") else self.kind, self.subject)


@attrs.frozen
class Leftovers:
    """Files that crashes left, and their size in bytes; harmless, and removed by the next cleanup."""

    files: int
    bytes: int


@attrs.frozen
class CheckReport:
    """The result of a check."""

    store: str
    quick: bool  # only references, records and the ends of files were checked
    objects: int  # read, inflated and hashed; 0 for a quick check
    bytes: int  # inflated size of these objects
    snapshots: int  # number of records
    events: int
    problems: tuple[Problem, ...]
    repaired: tuple[Problem, ...]  # what was wrong before the repair
    broken: tuple[ObjectId, ...]  # trees of snapshots that cannot be restored completely, ordered; never cut
    leftovers: Leftovers
    is_cut: bool = False  # some problems or affected items are left out
    quarantine: str | None = None  # the directory with what this repair moved aside; None if nothing


def after_repair(first: CheckReport, last: CheckReport) -> CheckReport:
    """Returns a repair's report, from that of the repair itself and that of the check after it."""
    left = {problem.key for problem in last.problems}
    gone = tuple(problem for problem in first.problems if problem.key not in left)
    return attrs.evolve(last, repaired=(*gone, *first.repaired), quarantine=first.quarantine)
