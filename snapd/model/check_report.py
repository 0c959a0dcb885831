"""The report of a check of the store: what is wrong, what it affects, and what was repaired."""

from __future__ import annotations

from typing import Literal

import attrs

from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import OperationId, SessionId, StepId

ProblemKind = Literal[
    "damagedObject",
    "missingObject",
    "damagedPack",
    "damagedIndex",
    "damagedReference",
    "lostReference",
    "lostRecord",
    "lostEvent",
    "notKept",
    "damagedJournal",
    "damagedTimeline",
    "damagedNumbers",
    "damagedRoot",
    "damagedConfig",
    "permissions",
    "newerFormat",
]


@attrs.frozen
class AffectedFile:
    """A file that a problem affects, or a directory; and the trees of the snapshots that have it there, ordered."""

    path: RelPath
    snapshots: tuple[ObjectId, ...]


@attrs.frozen
class AffectedStep:
    """A step or an operation that a problem affects; `step_id` is None for an operation that is about no step."""

    session_id: SessionId | None
    step_id: StepId | None
    operation_id: OperationId | None = None


@attrs.frozen
class Problem:
    """Something that is wrong.

    Attributes:
        subject: an object's id in hex, a reference, or a file relative to the store.
        files: the files that it affects, ordered by path.
        snapshots: the trees of the snapshots that it affects as a whole, ordered.
        steps: the steps and operations that name these snapshots.
    """

    kind: ProblemKind
    subject: str
    message: str
    files: tuple[AffectedFile, ...] = ()
    snapshots: tuple[ObjectId, ...] = ()
    steps: tuple[AffectedStep, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the problem across checks: a damaged object becomes a missing one when it is quarantined."""
        return ("object" if self.kind in ("damagedObject", "missingObject") else self.kind, self.subject)


@attrs.frozen
class Leftovers:
    """Files that crashes left, and their size in bytes; they do no harm, and the next cleanup removes them."""

    files: int
    bytes: int


@attrs.frozen
class CheckReport:
    """What a check found.

    Attributes:
        quick: whether it only looked at references, records and the ends of files.
        objects: how many objects were read, inflated and hashed; 0 for a quick check.
        bytes: the inflated size of these objects.
        snapshots: how many records of snapshots there are.
        events: how many events of the timeline there are.
        repaired: what was wrong before the repair.
        broken: the trees of the snapshots that cannot be restored completely, ordered.
        is_cut: whether the report leaves out problems or what they affect; `broken` is complete in any case.
        quarantine: the directory with what this repair moved aside; None if it moved nothing.
    """

    store: str
    quick: bool
    objects: int
    bytes: int
    snapshots: int
    events: int
    problems: tuple[Problem, ...]
    repaired: tuple[Problem, ...]
    broken: tuple[ObjectId, ...]
    leftovers: Leftovers
    is_cut: bool = False
    quarantine: str | None = None


def after_repair(first: CheckReport, last: CheckReport) -> CheckReport:
    """Makes the report of a repair from that of the repair itself and that of the check after it."""
    left = {problem.key for problem in last.problems}
    gone = tuple(problem for problem in first.problems if problem.key not in left)
    return attrs.evolve(last, repaired=(*gone, *first.repaired), quarantine=first.quarantine)
