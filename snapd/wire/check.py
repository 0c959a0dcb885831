"""The params and the result of `snapshot/check`."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .values import URI, RequestParams, TreeHash

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


@attrs.frozen(kw_only=True)
class CheckParams(RequestParams):
    """Reads every object of the store, compares it with its id, and finds what is named but missing.

    A repair recovers what the store itself, the project's git and the working tree still have. It moves damaged
    data to the store's `quarantine` and deletes nothing. Other requests go on meanwhile, but a repair, and a check
    that finds something, delay them. `storeCorrupt` means that the store is gone.
    """

    repair: Annotated[bool, "Repair what can be repaired. Cannot be used with `quick`."] = False
    quick: Annotated[bool, "Read only references, records, events and the ends of packs."] = False


@attrs.frozen(kw_only=True)
class AffectedFile:
    """A file of snapshots that a damaged or missing object belongs to."""

    file: Annotated[str, "The file, or the directory if a directory is lost. Empty for the whole snapshot."]
    uri: Annotated[str | None, URI] = None
    snapshots: Annotated[list[TreeHash], "The snapshots in which the file is affected."]


@attrs.frozen(kw_only=True)
class AffectedStep:
    """An entry of the history that names a snapshot."""

    session_id: Annotated[str | None, "The session, if it belongs to one."] = None
    step_id: Annotated[str | None, "The step, if it is one."] = None
    operation_id: Annotated[str | None, "The restore, revert or undo, if it is one."] = None


@attrs.frozen(kw_only=True)
class Problem:
    """Something that is wrong with a store."""

    kind: Annotated[
        ProblemKind,
        "What is wrong. After a repair, a `lostRecord` or `lostEvent` in `repaired` means that the rest of its "
        "chain can be reached again, without that snapshot or event. A repair does not touch data in a "
        "`newerFormat`.",
    ]
    subject: Annotated[str, "What has the problem: an object id, a reference, or a file of the store."]
    message: Annotated[str, "An explanation for people."]
    files: Annotated[list[AffectedFile], "The affected files."]
    snapshots: Annotated[list[TreeHash], "The snapshots that are affected as a whole."]
    steps: Annotated[list[AffectedStep], "The entries of the history that name these snapshots."]


@attrs.frozen(kw_only=True)
class Leftovers:
    """Files that crashes left in a store. They are harmless, and the next cleanup removes them."""

    files: Annotated[int, "The number of files."]
    bytes: Annotated[int, "Their size in bytes."]


@attrs.frozen(kw_only=True)
class CheckResult:
    """The result of `snapshot/check`."""

    store: Annotated[str, "The directory of the store."]
    quick: Annotated[bool, "Whether the check skipped the objects."]
    objects: Annotated[int, "The number of objects that were read and compared with their ids."]
    bytes: Annotated[int, "Their size in bytes, inflated."]
    snapshots: Annotated[int, "The number of snapshot records."]
    events: Annotated[int, "The number of events in the history."]
    problems: Annotated[list[Problem], "What is wrong; after a repair, what is still wrong."]
    repaired: Annotated[list[Problem], "What was wrong before the repair and is right now."]
    broken_snapshots: Annotated[
        list[TreeHash],
        "The snapshots that cannot be restored completely. They stay listed; a request that needs a lost object "
        "fails with `storeCorrupt` and names the object.",
    ]
    leftovers: Annotated[Leftovers, "What crashes left behind."]
    truncated: Annotated[
        Literal[True] | None,
        "There are more problems or affected files than are listed. `brokenSnapshots` is complete.",
    ] = None
    quarantine: Annotated[str | None, "The directory to which the repair moved damaged files, with a manifest."] = None
