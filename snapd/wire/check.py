"""The params and the result of `snapshot/check`."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .values import RequestParams, TreeHash, says


@attrs.frozen(kw_only=True)
class CheckParams(RequestParams):
    """The params of `snapshot/check`."""

    repair: bool = field(default=False, metadata=says("Repair what can be repaired; not together with `quick`."))
    quick: bool = field(
        default=False, metadata=says("Read no more than references, records, events and the ends of packs.")
    )


@attrs.frozen(kw_only=True)
class TouchedFile:
    """A file of snapshots that an object is a part of."""

    file: str = field(
        metadata=says("The file, or the directory where a directory is lost; empty for the whole of a snapshot.")
    )
    uri: str | None = field(
        default=None,
        metadata=says(
            "The exact, percent-encoded `file:` URI, where the name is not valid UTF-8 and `file` shows U+FFFD in it."
        ),
    )
    snapshots: list[TreeHash] = field(metadata=says("The snapshots that have it there."))


@attrs.frozen(kw_only=True)
class TouchedStep:
    """What of the history names a snapshot."""

    session_id: str | None = field(default=None, metadata=says("The session, where it is of one."))
    step_id: str | None = field(default=None, metadata=says("The step, where it is one."))
    operation_id: str | None = field(default=None, metadata=says("The restore, revert or undo, where it is one."))


@attrs.frozen(kw_only=True)
class Problem:
    """Something that is wrong with a store."""

    kind: Literal[
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
    ] = field(
        metadata=says(
            "What. After a repair, a `lostRecord` or `lostEvent` among `repaired` says that the rest of its chain is "
            "reached again, without that snapshot or event. A repair leaves what is of a `newerFormat` as it is."
        )
    )
    subject: str = field(metadata=says("With what: an object's id, a reference, or a file in the store."))
    message: str = field(metadata=says("For people."))
    files: list[TouchedFile] = field(metadata=says("The files that it touches."))
    snapshots: list[TreeHash] = field(metadata=says("The snapshots that it touches as a whole."))
    steps: list[TouchedStep] = field(metadata=says("What of the history names these snapshots."))


@attrs.frozen(kw_only=True)
class Leftovers:
    """What crashes left in a store; it does no harm, and goes by the next cleanup."""

    files: int = field(metadata=says("How many."))
    bytes: int = field(metadata=says("What they take."))


@attrs.frozen(kw_only=True)
class CheckResult:
    """The result of `snapshot/check`."""

    store: str = field(metadata=says("The directory of the store."))
    quick: bool = field(metadata=says("Whether objects were not read."))
    objects: int = field(metadata=says("How many objects were read and compared with their ids."))
    bytes: int = field(metadata=says("What they take when they are inflated."))
    snapshots: int = field(metadata=says("How many records of snapshots there are."))
    events: int = field(metadata=says("How many events of the history there are."))
    problems: list[Problem] = field(metadata=says("What is wrong; after a repair, what is still."))
    repaired: list[Problem] = field(metadata=says("What was wrong before the repair, and is no more."))
    broken_snapshots: list[TreeHash] = field(
        metadata=says(
            "The snapshots that cannot be restored whole. They stay listed; what needs a lost object answers "
            "`storeCorrupt` and names it."
        )
    )
    leftovers: Leftovers = field(metadata=says("What crashes left."))
    truncated: Literal[True] | None = field(
        default=None, metadata=says("More is wrong, or is touched, than is told; `brokenSnapshots` has all.")
    )
    quarantine: str | None = field(
        default=None, metadata=says("The directory to which the repair moved damaged files, with a manifest.")
    )
