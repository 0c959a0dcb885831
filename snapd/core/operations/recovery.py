"""Stores what an operation is about to do, and finishes it after a crash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from snapd.core.feed import RevertNotice, TrackNotice
from snapd.model.paths import folders_above, parents
from snapd.model.plan import Delete, LinkedFiles, MoveDirectory, Plan, Write
from snapd.model.snapshot import Entry, FileOutcome, Outcome, RelPath, Snapshot
from snapd.model.timeline import Effect, Intent, Operated, Reversal, SnapshotId, Span, StepEnded, StepId
from snapd.worktree.worktree import WorkTree

from .directory_moves import moved_contents, with_directory_moves


def intent_of(plan: Plan, operation: Operated, forced: tuple[RelPath, ...], step_id: StepId | None) -> Intent:
    """Makes the durable note of an operation that is about to begin; `forced` are ignored paths captured for it."""
    writes = [
        Effect(write.path, write.captured.entry if write.captured is not None else None, write.entry)
        for write in plan.writes
    ]
    deletes = [Effect(delete.path, delete.captured.entry, None) for delete in plan.deletes]
    return Intent(
        operation=operation,
        files=(*deletes, *writes),
        made_directories=plan.make_directories,
        removed_directories=plan.remove_directories,
        forced=forced,
        linked=plan.linked,
        step_id=step_id,
        moves=tuple((move.old, move.new, move.uncaptured) for move in plan.moves),
        permissions=plan.permissions,
    )


def remaining(intent: Intent, work_tree: WorkTree) -> Plan:
    """Plans the rest of an interrupted operation; `work_tree` was just captured.

    A file that is as the operation found it is finished. A file that was changed since stays as it is, and so do the
    files linked with it.
    """
    writes: list[Write] = []
    deletes: list[Delete] = []
    settled: list[FileOutcome] = []
    linked = LinkedFiles.of(intent.linked)
    by_path = {effect.path: effect for effect in intent.files}
    moves = [MoveDirectory(*move) for move in intent.moves]
    # a file that moved with its directory, and was not edited or deleted yet, is still as the operation found it
    came = {
        move.there(path): effect.old
        for move in moves
        if not move.uncaptured
        for path, effect in by_path.items()
        if effect.new is None and move.old in parents(path)
    }
    for path, entry in came.items():
        captured = work_tree.captured(path)
        if path not in by_path and captured is not None and captured.entry == entry:
            deletes.append(Delete(path, captured))
    theirs = {
        effect.path
        for effect in intent.files
        if (now := _now(effect, work_tree)) not in (effect.old, effect.new)
        and (now is None or now != came.get(effect.path))
    }
    left = {other for path in theirs for other in linked.others(path)}
    for effect in intent.files:
        captured = work_tree.captured(effect.path)
        now = _now(effect, work_tree)
        if now == effect.new:
            settled.append(FileOutcome(effect.path, "deleted" if now is None else "restored"))
        elif effect.path in theirs:
            settled.append(FileOutcome(effect.path, "conflict", "changedSince"))
        elif effect.path in left:
            settled.append(FileOutcome(effect.path, "conflict", "occupied"))
        elif effect.new is not None:
            writes.append(Write(effect.path, effect.new, captured))
        elif captured is not None:
            deletes.append(Delete(effect.path, captured))
    removed = _removed_directories(intent, moves)
    plan = Plan(
        writes=tuple(sorted(writes, key=lambda write: write.path)),
        deletes=tuple(sorted(deletes, key=lambda delete: delete.path)),
        make_directories=tuple(path for path in intent.made_directories if not work_tree.is_directory(path)),
        remove_directories=tuple(path for path in removed if work_tree.is_directory(path)),
        settled=tuple(settled),
        linked=linked.within({*(write.path for write in writes), *(delete.path for delete in deletes)}),
    )
    plan = with_directory_moves(attrs.evolve(plan, permissions=intent.permissions), work_tree)
    again = [move for move in moves if move.uncaptured and work_tree.occupant(move.old) is not None]
    return attrs.evolve(plan, moves=(*plan.moves, *again))


def _removed_directories(intent: Intent, moves: Sequence[MoveDirectory]) -> Iterable[RelPath]:
    """Returns the directories that an operation removes, including the new names of those that moved."""
    needed = folders_above(effect.path for effect in intent.files if effect.new is not None)
    needed |= {*intent.made_directories, *folders_above(intent.made_directories)}
    there = [
        move.there(path)
        for path in intent.removed_directories
        for move in moves
        if not move.uncaptured and move.old in (path, *parents(path))
    ]
    return dict.fromkeys([*intent.removed_directories, *(path for path in there if path not in needed)])


def _now(effect: Effect, work_tree: WorkTree) -> Entry | None:
    captured = work_tree.captured(effect.path)
    return captured.entry if captured is not None else None


def abandoned(plan: Plan) -> tuple[FileOutcome, ...]:
    """Reports the files of a plan as failed, because contents that it needs are damaged."""
    paths = [*(write.path for write in plan.writes), *(delete.path for delete in plan.deletes)]
    outcomes = [*plan.settled, *(FileOutcome(path, "failed", "storeCorrupt") for path in paths)]
    return tuple(sorted(outcomes, key=lambda outcome: outcome.path))


def directories(intent: Intent) -> tuple[RelPath, ...]:
    """Returns where an interrupted operation may have left temporary files."""
    return tuple(sorted({b"", *(above for effect in intent.files for above in parents(effect.path))}))


def done(intent: Intent, results: Iterable[FileOutcome]) -> tuple[Effect, ...]:
    """Returns what an operation really did to files."""
    left = {result.path for result in results if result.is_left}
    return tuple(effect for effect in intent.files if effect.path not in left)


def finished(operation: Operated, results: Iterable[FileOutcome]) -> Operated:
    """Corrects the record of an operation: untouched files stay in force, unchanged steps are dropped."""
    left = {result.path: result for result in results if result.is_left}
    if left:
        left |= _passed_through(operation.turned, left)
    turned = [_as_done(turn, left) for turn in operation.turned]
    changed = {turn.name for turn in turned if _is_anything(turn)}
    # a redo of the other pieces of a step must report what is left of this one
    turned = [turn for turn in turned if _is_anything(turn) or (turn.again is not None and turn.name in changed)]
    partly = {turn.name for turn in turned if turn.rest}
    return attrs.evolve(
        operation,
        turned=tuple(attrs.evolve(turn, state="partly") if turn.name in partly else turn for turn in turned),
    )


def _passed_through(turned: Iterable[Reversal], left: Mapping[RelPath, FileOutcome]) -> dict[RelPath, FileOutcome]:
    """Returns the intermediate paths of files that could not be moved.

    Undoing one step would have put a file there, and the next would have moved it on. The disk does not show such a
    path; but if half of a step counted as undone, a redo would later remove the other half.
    """
    turns = tuple(turned)
    series: dict[RelPath, list[Effect]] = {}
    for turn in turns:
        for effect in turn.effects:
            series.setdefault(effect.path, []).append(effect)
    untouched = {path for path, effects in series.items() if effects[0].old == effects[-1].new}
    groups = [LinkedFiles(moved_contents(turn.effects)) for turn in turns]
    result: dict[RelPath, FileOutcome] = {}
    waiting = list(left.values())
    while waiting:
        outcome = waiting.pop()
        for other in {other for group in groups for other in group.others(outcome.path)} & untouched - result.keys():
            result[other] = attrs.evolve(outcome, path=other)
            waiting.append(result[other])
    return result


def _is_anything(turn: Reversal) -> bool:
    """Whether some of the plan for one step was done, or nothing had to be."""
    if turn.again is None and turn.left is None:
        # the interrupted operation of an older snapd
        return True
    remains = turn.rest if turn.again is not None else turn.state == "partly"
    return bool(turn.effects or turn.made_directories or turn.removed_directories or turn.git) or not remains


def _as_done(turn: Reversal, left: Mapping[RelPath, FileOutcome]) -> Reversal:
    """Corrects the planned record of one step; `left` has the files and directories that were not touched."""
    names = dict(turn.moved)
    missed = {names.get(effect.path, effect.path): effect.path for effect in turn.effects if effect.path in left}
    missed |= {path: path for path in turn.made_directories if path in left}
    # protected files are left for good, and do not prevent the step from being done
    unsettled = {name for name, path in missed.items() if left[path].can_be_tried_again}
    done = attrs.evolve(
        turn,
        effects=tuple(effect for effect in turn.effects if effect.path not in left),
        made_directories=tuple(path for path in turn.made_directories if path not in left),
        state="partly" if unsettled else turn.state,
    )
    if turn.again is not None:
        return attrs.evolve(done, rest=tuple(sorted(unsettled.union(turn.rest))))
    if turn.left is not None:
        return attrs.evolve(done, left=tuple(sorted({*missed, *turn.left})))
    # the interrupted operation of an older snapd
    return attrs.evolve(done, state=turn.state)


def record_of(
    intent: Intent, operation: Operated, after: SnapshotId, seen: Span | None
) -> tuple[Span | None, Operated | StepEnded]:
    """Returns what the timeline records of an operation: what changed, and the event.

    An operation that is the work of a step is recorded as the end of that step, which is alone in its span and so need
    not claim anything. `seen` is what changed before the snapshot `after`.
    """
    if intent.step_id is None:
        return seen, operation
    span = None if after == operation.before else Span(operation.before, after, (intent.step_id,))
    return span, StepEnded(intent.step_id, None, changed=span is not None, spoken_for=True)


def notice_of(intent: Intent, outcome: Outcome, after: Snapshot) -> RevertNotice | TrackNotice:
    """Makes the notification of an operation; the work of a step is a snapshot like any other."""
    if intent.step_id is None:
        return RevertNotice(intent.operation.kind, outcome)
    return TrackNotice(after.tree, outcome.before, after.coverage.skipped)
