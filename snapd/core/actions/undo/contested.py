"""Says of files that cannot be taken back without somebody else's work who changed them since, and in which lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.actions.events import newest_first
from snapd.core.compare.conflicting import dispute
from snapd.core.model import SYMLINK, TEN_MIB, ChangedBy, Contested
from snapd.core.timeline.attribution import owners
from snapd.core.timeline.model import Operated, StepBegun
from snapd.core.trees import file_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.actions.steps.step_changes import StepChanges
    from snapd.core.call import Call
    from snapd.core.model import Dispute, Entry, FileOutcome, ObjectId, RelPath
    from snapd.core.operations.options import Prepared
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.objects import Objects
    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.attribution import Delta
    from snapd.core.timeline.model import SnapshotId, StepId, UndoUnit

    from .planner import UndoPlanner
    from .task import UndoTask


@attrs.frozen
class _Change:
    """One change of a file, and who made it, or may have made it."""

    old: Entry | None
    new: Entry | None
    by: tuple[ChangedBy, ...]


@attrs.define(eq=False)
class ContestedFiles:
    """Finds the files that are in conflict, and whose work they hold.

    Args:
        writer: knows the work tree, and who works in it.
        objects: holds the contents of files.
        timeline: of the workspace.
        step_changes: says who was at work.
        planner: takes steps back in memory.
        texts: compares texts.
    """

    _writer: Writer
    _objects: Objects
    _timeline: Timeline
    _step_changes: StepChanges
    _planner: UndoPlanner
    _texts: TextDiffer

    def of(self, tasks: Sequence[UndoTask], prepared: Prepared, call: Call) -> tuple[Contested, ...]:
        """Finds the files of some tasks that conflict, whatever the client wants done with them.

        Args:
            tasks: what to take back, in that order.
            prepared: the work tree as just captured.
            call: the request.

        Raises:
            StoreCorrupt, IoError, Cancelled: the store cannot tell, or the request was cancelled.
        """
        found = []
        for task, outcome, ours in self._planner.conflicts(tasks, prepared, call):
            chain = task.files.get(outcome.path, ())
            lines = self._dispute(chain, ours, call)
            found.append(
                Contested(
                    outcome.path,
                    task.unit.name,
                    outcome.reason,
                    tuple(self._by(task.unit, chain, outcome, ours, call, is_about_lines=lines is not None)),
                    lines,
                )
            )
        return tuple(found)

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
        """Lists who changed a file since, the last first, each once."""
        if outcome.reason == "shared":
            others = dict.fromkeys(other for delta in chain for other in delta.others)
            return [self._step(other, None) for other in others]
        changes = _without_detours(list(self._changes(unit, outcome.path, ours, call)))
        found: dict[tuple[StepId | None, str | None], ChangedBy] = {}
        for change in changes:
            is_cause = not is_about_lines or self._is_cause(chain, change, call)
            for by in change.by:
                known = found.setdefault((by.step_id, by.kind), attrs.evolve(by, cause=is_cause))
                if is_cause and not known.cause:
                    found[by.step_id, by.kind] = attrs.evolve(known, cause=True)
        return list(found.values())

    def _is_cause(self, chain: Sequence[Delta], change: _Change, call: Call) -> bool:
        """Whether a change is about the lines in question: they are others since."""
        before, after = (self._dispute(chain, entry, call) for entry in (change.old, change.new))
        return (before and before.now) != (after and after.now)

    def _changes(self, unit: UndoUnit, path: RelPath, ours: Entry | None, call: Call) -> Iterator[_Change]:
        """Goes back through the changes of a file to the last one of a unit, or to its beginning."""
        # an event begins where the one before it ended
        known: dict[ObjectId, Entry | None] = {}

        def at(snapshot: SnapshotId) -> Entry | None:
            if snapshot.tree not in known:
                known[snapshot.tree] = file_at(self._objects.entry_in, snapshot.tree, path)
            return known[snapshot.tree]

        captured = self._writer.work_tree.captured(path)
        saved = None if captured is None else captured.signature.mtime_ns // 1_000_000
        head = self._timeline.head
        if head is not None and at(head) != ours:
            at_work, _ = self._writer.attendance.split(self._timeline.open_steps())
            yield _Change(at(head), ours, self._owners(path, at_work, saved))
            saved = None
        for event in newest_first(self._timeline):
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
                    # a file that nobody touched since says itself when it was saved
                    when = event.milliseconds if saved is None else min(saved, event.milliseconds)
                    yield _Change(old, new, self._owners(path, seen.steps, when))
                    saved = None

    def _owners(self, path: RelPath, at_work: Sequence[StepId], when: int | None) -> tuple[ChangedBy, ...]:
        found = owners(path, self._step_changes.authors(at_work))
        return tuple(self._step(step_id, when) for step_id in found) or (ChangedBy(when),)

    def _step(self, step_id: StepId, when: int | None) -> ChangedBy:
        step = self._timeline.step(step_id)
        session = None if step is None else self._timeline.session(step.session_id)
        if session is None:
            return ChangedBy(when, step_id)
        return ChangedBy(when, step_id, session.session_id, session.agent)

    def _dispute(self, chain: Sequence[Delta], ours: Entry | None, call: Call) -> Dispute | None:
        if not chain or chain[-1].shared:
            return None
        sides = [self._text(entry) for entry in (chain[-1].new, ours, chain[-1].old)]
        left, now, wanted = sides
        if left is None or now is None or wanted is None:
            return None
        return dispute(left, now, wanted, self._texts, call)

    def _text(self, entry: Entry | None) -> bytes | None:
        if entry is None or entry.mode == SYMLINK:
            return None
        return self._objects.read_small_blob(entry.oid, TEN_MIB)


def _without_detours(changes: Sequence[_Change]) -> list[_Change]:
    """Leaves out changes that later ones took back: what was undone and redone; the last change first."""
    kept: list[_Change] = []
    for change in changes:
        kept.append(change)
        back = next((at for at, later in enumerate(kept) if later.new == change.old), None)
        if back is not None:
            del kept[back:]
    return kept
