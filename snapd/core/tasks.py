"""What there is to take back, or to do again, of steps; and the plan that it comes to on the files as they are.

One mechanism for all: the changes of a step are taken back on the files as they are, by a three-way merge of each; a
redo takes back what the undo did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from .history import StepTurned
from .model import FileOutcome
from .ownership import own_moves
from .paths import parents
from .target import Target
from .task import DirectoryOverlay, Task
from .threeway import Overlay, TakenBack, combined, inverse, take_back
from .together import Together, moved_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .call import Call
    from .deeds import Deeds
    from .history import Operated, OperationId, OperationKind, SessionId, SnapshotId, Step, StepId
    from .model import Entry, RelPath, Snapshot
    from .ownership import Delta
    from .plan import Plan
    from .planning import Planner
    from .ports import Store, Timeline
    from .sessions import Sessions
    from .writer import Request, Writer


class Tasks:
    """The tasks of one workspace.

    Args:
        writer: of the workspace.
        sessions: likewise.
        deeds: tells what steps changed.
    """

    def __init__(self, writer: Writer, sessions: Sessions, deeds: Deeds) -> None:
        self._writer = writer
        self._sessions = sessions
        self._deeds = deeds

    @property
    def _store(self) -> Store:
        return self._writer.store

    @property
    def _timeline(self) -> Timeline:
        return self._writer.store.timeline

    # -- what is to be taken back

    def undoing(self, step: Step, found: SnapshotId | None = None) -> Task:
        """What there is to take back of a step; of one that is open, as if it had ended with what was found."""
        self._writer.check()
        if found is not None and step.ended is None:
            own = self._deeds.ended_with(step, self._writer.span(found), step.claims, spoken_for=False)
        else:
            own = self._deeds.own(step)
        target = Target(self._store, self._store.load(step.from_))
        # an empty directory that may be another session's stays as it is
        went = {path for path, delta in own.directories.items() if not delta.came and not delta.shared}
        came = {path for path, delta in own.directories.items() if delta.came and not delta.shared}
        above = {above for path in came for above in parents(path)}
        left = step.to or found or self._timeline.head
        assert left is not None
        return Task(
            step,
            "undone",
            own.files,
            tuple(sorted(went)),
            tuple(sorted(path for path in {*came, *above} if not target.has_directory(path))),
            self._moved(step, own.files),
            left,
            target,
            (target,),
            bool(own.files or own.directories),
        )

    def redoing(self, session_id: SessionId, steps: Sequence[Step], count: int) -> list[Task]:
        """What to do for so many of a session's steps; those that it took back as the parts of one come with that."""
        tasks: dict[StepId, Task] = {}
        # one that turned a thousand steps is read once
        operations: dict[OperationId, tuple[Operated, dict[StepId, StepTurned]]] = {}
        taken = 0
        for step in steps:
            if step.step_id in tasks:
                continue
            if taken == count:
                break
            taken += 1
            assert step.turned_by is not None
            if step.turned_by not in operations:
                operation = self.turned_by(step)
                operations[step.turned_by] = (operation, {turn.step_id: turn for turn in operation.turned})
            operation, turns = operations[step.turned_by]
            together = [step]
            if operation.root is not None and operation.session_id == session_id:
                parts = [self._sessions.known_step(turn.step_id) for turn in reversed(operation.turned)]
                together = [part for part in parts if part.turned_by == step.turned_by and part.state == "undone"]
            for part in together:
                tasks[part.step_id] = self._again(part, turns[part.step_id], operation)
        return list(tasks.values())

    def _again(self, step: Step, turn: StepTurned, operation: Operated) -> Task:
        self._writer.check()
        files = inverse(turn.effects)
        target = Target(self._store, self._store.load(operation.before), _put_where_nothing_was(turn))
        moved = self._moved(step, self._deeds.own(step).files)
        return Task(
            step,
            "applied",
            files,
            turn.removed_directories,
            turn.made_directories,
            {old: new for new, old in moved.items()},
            operation.before,
            target,
            # steps that were taken back together are done again by and by, or together
            (Target(self._store, self._store.load(step.to or operation.before)), target),
            True,
        )

    def _moved(self, step: Step, files: Mapping[RelPath, Sequence[Delta]]) -> Mapping[RelPath, RelPath]:
        """The old path by the new one of the files that a step moved; looked for where one went and another came."""
        went = any(delta.new is None for chain in files.values() for delta in chain)
        came = any(delta.old is None for chain in files.values() for delta in chain)
        if not (went and came):
            return {}
        found = own_moves(self._timeline.spans(step.step_id), self._store.renames)
        return {new: old for new, old in found.items() if new in files and old in files}

    def left_over(self, step: Step) -> Task:
        """What a conflict kept from being taken back of a step: the user has looked, and asks for it once more."""
        turn = next(turn for turn in self.turned_by(step).turned if turn.step_id == step.step_id)
        done = {effect.path for effect in turn.effects}
        task = self.undoing(step)
        files = {
            path: chain
            for path, chain in task.files.items()
            if path not in done and self._current(path) != chain[0].old
        }
        renames = {new: old for new, old in task.renames.items() if new in files and old in files}
        return attrs.evolve(task, files=files, made=(), removed=(), renames=renames, earlier=turn)

    def turned_by(self, step: Step) -> Operated:
        """The operation that turned a step last, which one did."""
        assert step.turned_by is not None
        operation = self._timeline.operation(step.turned_by)
        assert operation is not None
        return operation

    def turned_as(self, steps: Iterable[Step], kind: OperationKind) -> tuple[Step, ...]:
        """Those of some steps that an operation of some kind turned last."""
        # one that turned a thousand steps is read once
        kinds: dict[OperationId, OperationKind] = {}
        found = []
        for step in steps:
            assert step.turned_by is not None
            if step.turned_by not in kinds:
                kinds[step.turned_by] = self.turned_by(step).kind
            if kinds[step.turned_by] == kind:
                found.append(step)
        return tuple(found)

    # -- the plan

    def plan(
        self, planner: Planner, before: Snapshot, tasks: Sequence[Task], request: Request, call: Call
    ) -> tuple[Plan, tuple[StepTurned, ...]]:
        """What some tasks come to, one after the other, on the files as they are.

        Args:
            planner: of the operation.
            before: the work tree, as just captured.
            tasks: in the order in which they are done.
            request: how the operation is asked for.
            call: the request.

        Returns:
            What to do to each file, and how the timeline tells of each task.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: see there.
        """

        def current(path: RelPath) -> Entry | None:
            call.check()
            return self._current(path)

        def merge(base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
            call.check()
            return self._store.merge(base, ours, theirs)

        overlay = Overlay(current, self._writer.work_tree.captured_below)
        done: list[TakenBack] = []
        targets: dict[RelPath, Target] = {}
        pairs: list[tuple[RelPath, RelPath]] = []
        turned: list[StepTurned] = []
        directories = DirectoryOverlay(self._writer.work_tree, overlay)
        for task in tasks:
            call.check()
            taken = take_back(
                overlay,
                task.files,
                task.renames,
                self._moved_since(task.left, before),
                merge,
                request.on_conflict,
            )
            done.append(taken)
            targets.update((effect.path, task.target) for effect in taken.effects)
            pairs += task.renames.items()
            made, removed = directories.take_back(task, taken)
            turned.append(task.turned(taken.effects, made, removed))
        outcomes = {outcome.path: outcome for outcome in combined(overlay, done)}
        outcomes |= {path: FileOutcome(path, "conflict", "occupied") for path in directories.blocked}
        effects = {effect.path: effect for effect in overlay.effects()}
        together = Together([*pairs, *moved_contents(effects.values())])
        for path in self._untouchable(planner, effects.keys(), together):
            outcomes[path] = FileOutcome(path, "conflict", "unsavedInEditor")
            effects.pop(path, None)
        plan = planner.decided(effects.values(), outcomes.values(), targets, directories.goals(), together, call)
        return plan, tuple(turned)

    def _untouchable(self, planner: Planner, changing: Collection[RelPath], together: Together) -> set[RelPath]:
        """Files that would be touched and have unsaved text in an editor; and those touched only together with them."""
        blocked = planner.unsaved & set(changing)
        also = {other for path in blocked for other in together.others(path) if other in changing}
        return also.union(blocked)

    def _current(self, path: RelPath) -> Entry | None:
        standing = self._writer.work_tree.standing(path)
        return standing.entry if standing is not None else None

    def _moved_since(self, left: SnapshotId, before: Snapshot) -> Callable[[], Mapping[RelPath, RelPath]]:
        def ask() -> Mapping[RelPath, RelPath]:
            return {old: new for new, old in self._store.renames(left.tree, before.tree).items()}

        return ask


def _put_where_nothing_was(turn: StepTurned) -> frozenset[RelPath]:
    """Files that an operation brought: it puts none where anything is, be that ignored or captured."""
    return frozenset(effect.path for effect in turn.effects if effect.old is None)
