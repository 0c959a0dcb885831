"""How a client wants an operation done, and what its plan would do: to which files, how many lines, and as a diff."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Literal

import attrs

from snapd.core.compare.file_diff import as_text, describe, unified
from snapd.core.compare.text import Blobs, TextDiffer
from snapd.model.call import Call
from snapd.model.plan import CapturedFile, Plan
from snapd.model.snapshot import Change, Details, ObjectId, OnConflict, Outcome, RelPath, Snapshot
from snapd.model.timeline import Event, Operated, SnapshotId
from snapd.worktree.worktree import WorkTree

from .planner import Planner


@attrs.frozen
class OperationOptions:
    """How a client wants an operation done, whatever the operation is.

    Attributes:
        on_conflict: what to do with files that are not what the agent left.
        by_name: whether the client chose `on_conflict` itself.
        dry_run: only say what would be done.
        details: what to say besides: how many lines change, and who changed the files in conflict; or the diff, too.
        expect: the plan that the client confirmed. If another one would be carried out, nothing is done or recorded,
            and the outcome is that of a dry run. None for any plan; no plan is called "".
    """

    on_conflict: OnConflict
    by_name: bool
    dry_run: bool
    details: Literal["counts", "diff"] | None = None
    expect: str | None = None

    @property
    def respects_editors(self) -> bool:
        """Whether to leave files alone that have unsaved text in an editor."""
        return not (self.on_conflict == "overwrite" and self.by_name)


Arriving = Callable[[Event, SnapshotId], "Sequence[Event]"]
"""Gives the events that came from another machine, numbered, between two of this one: the first is given, with what
changed here before; the last has the given snapshot as its head."""


@attrs.frozen
class Prepared:
    """What an operation starts from.

    Attributes:
        seen: the work tree, without the ignored files in `forced`: they are nobody's change.
        before: the work tree with them.
        forced: ignored files and directories that the operation looks at all the same.
        options: how the client wants it done.
        planner: makes the plan.
    """

    seen: Snapshot
    before: Snapshot
    forced: tuple[RelPath, ...]
    options: OperationOptions
    planner: Planner


def details_of(
    plan: Plan, blobs: Blobs, texts: TextDiffer, wanted: Literal["counts", "diff"] | None, call: Call
) -> Details | None:
    """Counts the lines that a plan changes.

    Args:
        plan: before it is carried out.
        blobs: holds the contents of both sides.
        texts: compares them.
        wanted: whether a unified diff is wanted besides the counts; None for nothing, which gives None.
        call: the request.

    Raises:
        StoreCorrupt: a blob is missing or damaged.
        IoError, Cancelled: from `texts`.
    """
    if wanted is None:
        return None
    changes = [
        Change(write.path, None if write.captured is None else write.captured.entry, write.entry)
        for write in plan.writes
    ]
    changes += [Change(delete.path, delete.captured.entry, None) for delete in plan.deletes]
    additions = deletions = 0
    parts: list[bytes] = []
    for change in sorted(changes, key=lambda change: change.path):
        call.check()
        counted = describe(blobs, change.path, change.old, change.new, texts, call, contents=False)
        additions += counted.additions
        deletions += counted.deletions
        if wanted == "diff":
            parts.append(unified(blobs, change, texts, call))
    return Details(additions, deletions, as_text(parts) if wanted == "diff" else None)


def foretell(
    plan: Plan,
    prepared: Prepared,
    operation: Operated,
    events: Collection[object],
    work_tree: WorkTree,
    call: Call,
    *,
    blobs: Blobs,
    texts: TextDiffer,
) -> Outcome | None:
    """The outcome of a dry run, of a refusal, or of an operation that has another plan than the client expects.

    Args:
        plan: of the operation.
        prepared: what the plan was made from.
        operation: how the timeline would record it.
        events: names of what the timeline gets besides, which is part of what the client confirms.
        work_tree: the folder, as of the capture that the plan was made from.
        call: the request.
        blobs: holds the contents of the files.
        texts: compares them.

    Returns:
        The outcome, in which nothing was done; None if the plan is to be carried out.

    Raises:
        StoreCorrupt, IoError, Cancelled: as `details_of`.
    """
    options, tree = prepared.options, prepared.before.tree
    is_refused = options.on_conflict == "fail" and plan.conflicts
    name = None
    if options.dry_run or options.expect is not None:
        units = [(turn.name, turn.state, turn.left, turn.rest) for turn in operation.turned]
        about = (operation.kind, units, sorted(map(repr, events)), is_refused)
        name = _name_of(Plan() if is_refused else plan, about, work_tree)
    if not (options.dry_run or is_refused or options.expect not in (None, name)):
        return None
    details = details_of(plan, blobs, texts, options.details, call)
    return Outcome(False, tree, tree, plan.refused() if is_refused else plan.foretold(), details, name)


def _name_of(plan: Plan, about: object, work_tree: WorkTree) -> str:
    """Names exactly what a plan does to the files as they are; two plans that do the same have the same name.

    Args:
        plan: made from the last capture of the work tree.
        about: what is recorded besides, whose `repr` is the same in every process.
        work_tree: the folder.
    """
    gone = {delete.path for delete in plan.deletes}
    going: set[RelPath] = set()
    for path in plan.remove_directories:
        # only an empty directory is removed
        inside = chain(work_tree.captured_below(path), work_tree.directories_below(path))
        if not any(work_tree.foreign_below(path)) and all(below in gone or below in going for below in inside):
            going.add(path)
    does = (
        about,
        [(write.path, _exact(write.captured), write.entry.mode, write.entry.oid) for write in plan.writes],
        [(delete.path, _exact(delete.captured)) for delete in plan.deletes],
        plan.make_directories,
        sorted(going),
        [(move.old, move.new, sorted(work_tree.foreign_below(move.old))) for move in plan.moves],
    )
    return hashlib.sha256(repr(does).encode()).hexdigest()[:40]


def _exact(captured: CapturedFile | None) -> tuple[int, int, ObjectId] | None:
    """The bytes and the mode of a file that is there now."""
    return None if captured is None else (captured.entry.mode, captured.signature.mode, captured.entry.oid)
