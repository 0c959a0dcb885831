"""An operation between its first file and its last: what is kept of it, and how it is ended after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import FileOutcome
from snapd.core.paths import parents
from snapd.core.plan import Delete, Plan, Write
from snapd.core.timeline.model import Effect, Intent

from .linked_files import LinkedFiles, moved_contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from snapd.core.model import Entry, RelPath
    from snapd.core.ports.work_tree import WorkTree
    from snapd.core.timeline.model import Operated, StepTurned


def intent_of(plan: Plan, operation: Operated, forced: tuple[RelPath, ...]) -> Intent:
    """What to keep of an operation that is about to begin.

    Args:
        plan: what it will do.
        operation: as the timeline will tell it.
        forced: ignored paths that it looks at all the same.
    """
    writes = [
        Effect(write.path, write.captured.entry if write.captured is not None else None, write.entry)
        for write in plan.writes
    ]
    deletes = [Effect(delete.path, delete.captured.entry, None) for delete in plan.deletes]
    return Intent(operation, (*deletes, *writes), plan.make_directories, plan.remove_directories, forced, plan.linked)


def remaining(intent: Intent, work_tree: WorkTree) -> Plan:
    """What is left to be done of an operation that was cut short.

    A file that still is as the operation found it is brought where it was to go; one that somebody changed since is
    theirs, and what was to be done only together with it is left.

    Args:
        intent: what was kept.
        work_tree: as of a capture just taken.
    """
    writes: list[Write] = []
    deletes: list[Delete] = []
    settled: list[FileOutcome] = []
    linked = LinkedFiles.of(intent.linked)
    theirs = {effect.path for effect in intent.files if _now(effect, work_tree) not in (effect.old, effect.new)}
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
    return Plan(
        writes=tuple(sorted(writes, key=lambda write: write.path)),
        deletes=tuple(sorted(deletes, key=lambda delete: delete.path)),
        make_directories=tuple(path for path in intent.made_directories if not work_tree.is_directory(path)),
        remove_directories=tuple(path for path in intent.removed_directories if work_tree.is_directory(path)),
        settled=tuple(settled),
        linked=linked.within({*(write.path for write in writes), *(delete.path for delete in deletes)}),
    )


def _now(effect: Effect, work_tree: WorkTree) -> Entry | None:
    captured = work_tree.captured(effect.path)
    return captured.entry if captured is not None else None


def abandoned(plan: Plan) -> tuple[FileOutcome, ...]:
    """What became of the files of a plan that cannot be carried out, because what it needs is damaged."""
    paths = [*(write.path for write in plan.writes), *(delete.path for delete in plan.deletes)]
    outcomes = [*plan.settled, *(FileOutcome(path, "failed", "storeCorrupt") for path in paths)]
    return tuple(sorted(outcomes, key=lambda outcome: outcome.path))


def directories(intent: Intent) -> tuple[RelPath, ...]:
    """Where an operation may have left files aside that it was about to move into place."""
    return tuple(sorted({b"", *(above for effect in intent.files for above in parents(effect.path))}))


def done(intent: Intent, results: Iterable[FileOutcome]) -> tuple[Effect, ...]:
    """What an operation did to files, as it turned out."""
    left = {result.path for result in results if result.is_left}
    return tuple(effect for effect in intent.files if effect.path not in left)


def finished(operation: Operated, results: Iterable[FileOutcome]) -> Operated:
    """An operation as it turned out: what was not done to a file is told as left, and a step that is as it was not."""
    left = {result.path: result for result in results if result.is_left}
    if left:
        left |= _passed_through(operation.turned, left)
    turned = tuple(_as_done(turn, left) for turn in operation.turned)
    return attrs.evolve(operation, turned=tuple(turn for turn in turned if turn is not None))


def _passed_through(turned: Iterable[StepTurned], left: Mapping[RelPath, FileOutcome]) -> dict[RelPath, FileOutcome]:
    """The paths that only would have held for a while what was to move on and could not be moved.

    One step was to bring a file there, and the next to take it away. The disk says nothing of such a path, but a step
    of which one half counted as taken back would later take the other half away.
    """
    turns = tuple(turned)
    series: dict[RelPath, list[Effect]] = {}
    for turn in turns:
        for effect in turn.effects:
            series.setdefault(effect.path, []).append(effect)
    untouched = {path for path, effects in series.items() if effects[0].old == effects[-1].new}
    groups = [LinkedFiles(moved_contents(turn.effects)) for turn in turns]
    found: dict[RelPath, FileOutcome] = {}
    waiting = list(left.values())
    while waiting:
        outcome = waiting.pop()
        for other in {other for group in groups for other in group.others(outcome.path)} & untouched - found.keys():
            found[other] = attrs.evolve(outcome, path=other)
            waiting.append(found[other])
    return found


def _as_done(turn: StepTurned, left: Mapping[RelPath, FileOutcome]) -> StepTurned | None:
    """What became of a step; None where it is as it was, because all that was to be done could not be.

    Args:
        turn: as planned.
        left: the files and directories that were left as they are.
    """
    names = dict(turn.moved)
    missed = {names.get(effect.path, effect.path): effect.path for effect in turn.effects if effect.path in left}
    missed |= {path: path for path in turn.made_directories if path in left}
    # what is protected is left for good, and the step is done with
    unsettled = {name for name, path in missed.items() if left[path].can_be_tried_again}
    done = attrs.evolve(
        turn,
        effects=tuple(effect for effect in turn.effects if effect.path not in left),
        made_directories=tuple(path for path in turn.made_directories if path not in left),
        state="partly" if unsettled else turn.state,
    )
    if turn.again is not None:
        done = attrs.evolve(done, rest=tuple(sorted(unsettled.union(turn.rest))))
    elif turn.left is not None:
        done = attrs.evolve(done, left=tuple(sorted({*missed, *turn.left})))
    else:
        # an operation of an older snapd, which was cut short
        return attrs.evolve(done, state=turn.state)
    is_something = done.effects or done.made_directories or done.removed_directories
    remains = done.rest if turn.again is not None else done.state == "partly"
    return done if is_something or not remains else None
