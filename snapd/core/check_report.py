"""What a check of a store finds, as plain data: what is wrong, what that touches, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from snapd.core.timeline.model import OperationId, SessionId, StepId

    from .model import ObjectId, RelPath

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
    "damagedIntent",
    "damagedNumbers",
    "damagedRoot",
    "damagedConfig",
    "permissions",
    "newerFormat",
]


@attrs.frozen
class TouchedFile:
    """A file that an object is a part of.

    Attributes:
        path: the file, or the directory where the object is one.
        snapshots: the trees of those that have it there, ordered.
    """

    path: RelPath
    snapshots: tuple[ObjectId, ...]


@attrs.frozen
class TouchedStep:
    """A step or an operation of the timeline; `step_id` is None for an operation that is about none."""

    session_id: SessionId | None
    step_id: StepId | None
    operation_id: OperationId | None = None


@attrs.frozen
class Problem:
    """Something that is wrong.

    Attributes:
        kind: what.
        subject: with what: an object's id in hex, a reference, or a file relative to the store.
        message: a sentence for people.
        files: what it touches, ordered by path.
        snapshots: the trees of the snapshots that it touches as a whole, ordered.
        steps: what of the timeline names these.
    """

    kind: ProblemKind
    subject: str
    message: str
    files: tuple[TouchedFile, ...] = ()
    snapshots: tuple[ObjectId, ...] = ()
    steps: tuple[TouchedStep, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The same for the same thing that is wrong: a damaged object that was put aside is missing from then on."""
        return ("object" if self.kind in ("damagedObject", "missingObject") else self.kind, self.subject)


@attrs.frozen
class Leftovers:
    """What crashes left; it does no harm, and goes by the next cleanup.

    Attributes:
        files: how many.
        bytes: what they take.
    """

    files: int
    bytes: int


@attrs.frozen
class CheckReport:
    """What a check found.

    Attributes:
        store: where the store lies.
        quick: whether it looked at no more than references, records and the ends of files.
        objects: how many objects were read, inflated and hashed; 0 for a quick check.
        bytes: what these take when they are inflated.
        snapshots: how many records of snapshots there are.
        events: how many events of the timeline there are.
        problems: what is wrong still.
        repaired: what was wrong before.
        broken: the trees of the snapshots that cannot be restored whole, ordered.
        leftovers: what crashes left.
        is_cut: whether more is wrong, or is touched, than is told here; `broken` has all nevertheless.
        quarantine: the directory with what was put aside by this repair, where anything was.
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
    """What is to be told of a repair: what was wrong and is no more, and what is still.

    Args:
        first: what the repair itself told.
        last: the check after it.
    """
    left = {problem.key for problem in last.problems}
    gone = tuple(problem for problem in first.problems if problem.key not in left)
    return attrs.evolve(last, repaired=(*gone, *first.repaired), quarantine=first.quarantine)
