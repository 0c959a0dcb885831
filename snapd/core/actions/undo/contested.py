"""Finds who changed the files since that an undo cannot revert without losing others' work, and in which lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from snapd.core.actions.history import newest_first
from snapd.core.actions.step_changes import StepChanges
from snapd.core.attribution import Delta, joined, owners
from snapd.core.compare.edits import Edit, edits, split_lines
from snapd.core.compare.text import TextDiffer, decode, is_binary
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.snapshot import (
    SYMLINK,
    TEN_MIB,
    ChangedBy,
    Contested,
    Dispute,
    Entry,
    FileOutcome,
    ObjectId,
    RelPath,
    Snapshot,
)
from snapd.model.timeline import Operated, SnapshotId, StepBegun, StepId, UndoUnit
from snapd.model.trees import file_at
from snapd.store.store import Store

from .planner import UndoPlanner, UndoTask

MOST_LINES = 100
"""The maximum number of lines to show of each side."""


def dispute(left: bytes, now: bytes, wanted: bytes, texts: TextDiffer, call: Call) -> Dispute | None:
    """Returns the first lines in which two changes of a text overlap; None if they do not, or a text is binary.

    `left` is the text that both began with, `now` the current one, and `wanted` the one to restore.
    """
    if any(is_binary(side) for side in (left, now, wanted)):
        return None
    base = split_lines(left)
    ours, theirs = (edits(base, split_lines(side), texts, call) for side in (now, wanted))
    first = next(((one, other) for one in ours for other in theirs if _overlap(one, other)), None)
    if first is None:
        return None
    region = Edit(min(edit.start for edit in first), max(edit.end for edit in first), ())
    while (wider := _widened(region, (*ours, *theirs))) != region:
        region = wider
    line = 1 + region.start + sum(len(edit.lines) + edit.start - edit.end for edit in ours if edit.start < region.start)
    sides = [_applied(base, region, made) for made in (ours, (), theirs)]
    shown, _ = decode(*(b"".join(side[:MOST_LINES]) for side in sides))
    now_lines, left_lines, wanted_lines = (tuple(_split(text)) for text in shown)
    return Dispute(line, now_lines, left_lines, wanted_lines)


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _overlap(one: Edit, other: Edit) -> bool:
    both_insert_there = one.start == one.end == other.start == other.end
    return (both_insert_there and one != other) or (one.start < other.end and other.start < one.end and one != other)


def _widened(region: Edit, matches: Iterable[Edit]) -> Edit:
    reached = [edit for edit in matches if edit.start < region.end and region.start < edit.end]
    ends = (region, *reached)
    return Edit(min(edit.start for edit in ends), max(edit.end for edit in ends), ())


def _applied(base: Sequence[bytes], region: Edit, made: Iterable[Edit]) -> list[bytes]:
    lines: list[bytes] = []
    at = region.start
    for edit in made:
        if region.start <= edit.start and edit.end <= region.end:
            lines += base[at : edit.start]
            lines += edit.lines
            at = edit.end
    return [*lines, *base[at : region.end]]


@attrs.frozen
class _Change:
    """One change of a file, and who made it, or may have made it."""

    old: Entry | None
    new: Entry | None
    by: tuple[ChangedBy, ...]


@attrs.define(eq=False)
class ContestedFiles:
    """Finds the files in conflict, and whose work they contain. For `is_elsewhere`, see `Workspace`."""

    _writer: Writer
    _store: Store
    _step_changes: StepChanges
    _planner: UndoPlanner
    _texts: TextDiffer
    _is_elsewhere: Callable[[RelPath], bool]

    def of(self, tasks: Sequence[UndoTask], seen: Snapshot, call: Call) -> tuple[Contested, ...]:
        """Returns the files of some tasks that conflict, whatever the client wants done with them."""
        matches = []
        for task, outcome, ours in self._planner.conflicts(tasks, seen, call):
            chain = task.files.get(outcome.path, ())
            lines = self._dispute(chain, ours, call)
            by = self._by(task.unit, chain, outcome, ours, call, is_about_lines=lines is not None)
            matches.append(Contested(outcome.path, task.unit.name, outcome.reason, tuple(by), lines))
        return tuple(matches)

    def _by(
        self,
        unit: UndoUnit,
        chain: Sequence[Delta],
        outcome: FileOutcome,
        ours: Entry | None,
        call: Call,
        *,
        is_about_lines: bool,
    ) -> list[ChangedBy]:
        """Returns who changed a file since, the last first, each once."""
        if outcome.reason == "shared":
            return [self._step(other, None) for other in joined(*(delta.others for delta in chain))]
        changes = _without_detours(list(self._changes(unit, outcome.path, ours, call)))
        result: dict[tuple[StepId | None, str | None], ChangedBy] = {}
        for change in changes:
            is_cause = not is_about_lines or self._is_cause(chain, change, call)
            for by in change.by:
                known = result.setdefault((by.step_id, by.kind), attrs.evolve(by, cause=is_cause))
                if is_cause and not known.cause:
                    result[by.step_id, by.kind] = attrs.evolve(known, cause=True)
        return list(result.values())

    def _is_cause(self, chain: Sequence[Delta], change: _Change, call: Call) -> bool:
        before, after = (self._dispute(chain, entry, call) for entry in (change.old, change.new))
        return (before and before.now) != (after and after.now)

    def _changes(self, unit: UndoUnit, path: RelPath, ours: Entry | None, call: Call) -> Iterator[_Change]:
        """Yields the changes of a file backwards to the last one of a unit, or to its beginning."""
        # an event begins where the one before it ended
        known: dict[ObjectId, Entry | None] = {}

        def at(snapshot: SnapshotId) -> Entry | None:
            if snapshot.tree not in known:
                known[snapshot.tree] = file_at(self._store.entry_in, snapshot.tree, path)
            return known[snapshot.tree]

        captured = self._writer.work_tree.captured(path)
        saved = None if captured is None else captured.signature.mtime_ns // 1_000_000
        head = self._store.timeline.head
        if head is not None and at(head) != ours:
            at_work, _ = self._writer.attendance.split(self._store.timeline.open_steps())
            yield _Change(at(head), ours, self._owners(path, at_work, saved))
            saved = None
        for event in newest_first(self._store.timeline):
            call.check()
            what, seen = event.what, event.seen
            if isinstance(what, StepBegun) and what.step_id == unit.name:
                return
            if isinstance(what, Operated) and event.head is not None:
                if what.operation_id == unit.name:
                    return
                old, new = at(what.before), at(event.head)
                if old != new:
                    yield _Change(old, new, (ChangedBy(event.milliseconds, kind=what.kind),))
                    saved = None
            if seen is not None:
                old, new = at(seen.before), at(seen.after)
                if old != new:
                    if unit.name in owners(path, self._step_changes.authors(seen.steps)):
                        return
                    # the mtime of a file untouched since is the time of the save
                    when = event.milliseconds if saved is None else min(saved, event.milliseconds)
                    yield _Change(old, new, self._owners(path, seen.steps, when))
                    saved = None

    def _owners(self, path: RelPath, at_work: Sequence[StepId], when: int | None) -> tuple[ChangedBy, ...]:
        result = owners(path, self._step_changes.authors(at_work))
        return tuple(self._step(step_id, when) for step_id in result) or (
            ChangedBy(when, is_unknown=self._is_elsewhere(path)),
        )

    def _step(self, step_id: StepId, when: int | None) -> ChangedBy:
        step = self._store.timeline.step(step_id)
        session = None if step is None else self._store.timeline.session(step.session_id)
        if session is None:
            return ChangedBy(when, step_id)
        return ChangedBy(when, step_id, session.session_id, session.agent)

    def _dispute(self, chain: Sequence[Delta], ours: Entry | None, call: Call) -> Dispute | None:
        if not chain or chain[-1].shared:
            return None
        left, now, wanted = (self._text(entry) for entry in (chain[-1].new, ours, chain[-1].old))
        if left is None or now is None or wanted is None:
            return None
        return dispute(left, now, wanted, self._texts, call)

    def _text(self, entry: Entry | None) -> bytes | None:
        if entry is None or entry.mode == SYMLINK:
            return None
        return self._store.read_small_blob(entry.oid, TEN_MIB)


def _without_detours(changes: Sequence[_Change]) -> list[_Change]:
    """Omits changes that later ones reverted, such as an undo and its redo; the last change is first."""
    kept: list[_Change] = []
    for change in changes:
        kept.append(change)
        back = next((at for at, later in enumerate(kept) if later.new == change.old), None)
        if back is not None:
            del kept[back:]
    return kept
