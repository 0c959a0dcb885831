"""The params and the result of `snapshot/check`."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .values import RequestParams, TreeHash, says


@attrs.frozen(kw_only=True)
class CheckParams(RequestParams):
    """The params of `snapshot/check`."""

    repair: bool = field(default=False, metadata=says("Repair what can be repaired. Not together with `quick`."))
    quick: bool = field(default=False, metadata=says("Read only references, records, events and the ends of packs."))


@attrs.frozen(kw_only=True)
class TouchedFile:
    """A file of snapshots that a damaged or missing object belongs to."""

    file: str = field(metadata=says("The file, or the directory if a directory is lost. Empty for the whole snapshot."))
    uri: str | None = field(
        default=None,
        metadata=says(
            "The exact, percent-encoded `file:` URI. Present if the name is not valid UTF-8, so that `file` shows it "
            "with U+FFFD."
        ),
    )
    snapshots: list[TreeHash] = field(metadata=says("The snapshots in which the file is affected."))


@attrs.frozen(kw_only=True)
class TouchedStep:
    """An entry of the history that names a snapshot."""

    session_id: str | None = field(default=None, metadata=says("The session, if it belongs to one."))
    step_id: str | None = field(default=None, metadata=says("The step, if it is one."))
    operation_id: str | None = field(default=None, metadata=says("The restore, revert or undo, if it is one."))


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
            "What is wrong. After a repair, a `lostRecord` or `lostEvent` in `repaired` means that the rest of its "
            "chain can be reached again, without that snapshot or event. A repair does not touch data in a "
            "`newerFormat`."
        )
    )
    subject: str = field(metadata=says("What has the problem: an object id, a reference, or a file of the store."))
    message: str = field(metadata=says("An explanation for people."))
    files: list[TouchedFile] = field(metadata=says("The affected files."))
    snapshots: list[TreeHash] = field(metadata=says("The snapshots that are affected as a whole."))
    steps: list[TouchedStep] = field(metadata=says("The entries of the history that name these snapshots."))


@attrs.frozen(kw_only=True)
class Leftovers:
    """Files that crashes left in a store. They are harmless, and the next cleanup removes them."""

    files: int = field(metadata=says("The number of files."))
    bytes: int = field(metadata=says("Their size in bytes."))


@attrs.frozen(kw_only=True)
class CheckResult:
    """The result of `snapshot/check`."""

    store: str = field(metadata=says("The directory of the store."))
    quick: bool = field(metadata=says("Whether the check skipped the objects."))
    objects: int = field(metadata=says("The number of objects that were read and compared with their ids."))
    bytes: int = field(metadata=says("Their size in bytes, inflated."))
    snapshots: int = field(metadata=says("The number of snapshot records."))
    events: int = field(metadata=says("The number of events in the history."))
    problems: list[Problem] = field(metadata=says("What is wrong; after a repair, what is still wrong."))
    repaired: list[Problem] = field(metadata=says("What was wrong before the repair and is right now."))
    broken_snapshots: list[TreeHash] = field(
        metadata=says(
            "The snapshots that cannot be restored completely. They stay listed; a request that needs a lost object "
            "fails with `storeCorrupt` and names the object."
        )
    )
    leftovers: Leftovers = field(metadata=says("What crashes left behind."))
    truncated: Literal[True] | None = field(
        default=None,
        metadata=says("There are more problems or affected files than are listed. `brokenSnapshots` is complete."),
    )
    quarantine: str | None = field(
        default=None, metadata=says("The directory to which the repair moved damaged files, with a manifest.")
    )
