"""Takes steps back and does them again, as a whole or hunk by hunk, and leaves what others changed since.

One mechanism for all: the changes of a step are taken back on the files as they are, by a three-way merge of each; a
redo takes back what the undo did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from .call import Call
from .errors import InvalidParams, NothingToRedo, NothingToUndo, UnknownStep
from .history import Operated, StepTurned
from .hunks import hunks, without
from .model import SYMLINK, Entry, FileOutcome
from .ownership import own_moves
from .paths import parents, shown
from .target import Target
from .task import DirectoryOverlay, Task
from .text import is_binary
from .threeway import Overlay, TakenBack, combined, inverse, take_back

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .answers import StepView
    from .deeds import Deeds
    from .history import OperationId, OperationKind, SessionId, SnapshotId, Step, StepId
    from .hunks import Hunk
    from .model import Outcome, RelPath, Snapshot
    from .ownership import Delta
    from .plan import Plan
    from .planning import Planner
    from .ports import Store, TextDiffer, Timeline
    from .sessions import Sessions
    from .writer import Request, Writer


class Undoing:
    """Undo and redo in one workspace.

    Args:
        writer: of the workspace.
        sessions: likewise.
        deeds: tells what steps changed.
        texts: compares texts.
    """

    def __init__(self, writer: Writer, sessions: Sessions, deeds: Deeds, texts: TextDiffer) -> None:
        self._writer = writer
        self._sessions = sessions
        self._deeds = deeds
        self._texts = texts

    @property
    def _store(self) -> Store:
        return self._writer.store

    @property
    def _timeline(self) -> Timeline:
        return self._writer.store.timeline

    # -- steps

    def undo(
        self, session_id: SessionId, count: int, step_id: StepId | None, request: Request, call: Call
    ) -> tuple[Outcome, tuple[StepView, ...]]:
        """Takes back the last steps of a session that changed something, or one of its steps with the parts of it.

        Args:
            session_id: the session.
            count: how many; more than there are stands for all.
            step_id: this step alone; one that is open is ended first, and of one that was taken back already it is
                what conflicted then.
            request: how it is asked.
            call: the request; may be cancelled until the first file is moved.

        Returns:
            What became of the files; and the steps, in the order in which they were taken back.

        Raises:
            UnknownSession, UnknownStep: see there.
            NothingToUndo: no such step is left.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            if step_id is not None:
                tasks = self._named(session_id, step_id, request, call)
            else:
                tasks = [self._undoing(step) for step in self._changing(session_id, call)[:count]]
            if not tasks:
                raise NothingToUndo("there is nothing to undo", sessionId=session_id)
            return self._turn("undo", session_id, tasks, request, call, root=step_id)

    def redo(
        self, session_id: SessionId, count: int, request: Request, call: Call
    ) -> tuple[Outcome, tuple[StepView, ...]]:
        """Does steps of a session again, the last one taken back first.

        Args:
            session_id: the session.
            count: how many; more than there are stands for all.
            request: how it is asked.
            call: the request; may be cancelled until the first file is moved.

        Returns:
            As of `undo`.

        Raises:
            UnknownSession: see there.
            NothingToRedo: no such step is left.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            steps = self._timeline.redoable(session_id)
            if not steps:
                raise NothingToRedo("there is nothing to redo", sessionId=session_id)
            return self._turn("redo", session_id, self._redoing(session_id, steps, count), request, call)

    def revert(
        self, session_id: SessionId, message_id: str, part_id: str | None, request: Request, call: Call
    ) -> Outcome:
        """Goes back to before a message, or a part of it: takes back all steps of the session since, open ones too.

        Args:
            session_id: the session.
            message_id: the message.
            part_id: the part of it.
            request: how it is asked.
            call: the request; may be cancelled until the first file is moved.

        Raises:
            UnknownSession: see there.
            UnknownStep: no step of the session belongs to that message, or that part.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            first = next(
                (
                    step.begun.index
                    for step in self._timeline.steps(session_id)
                    if step.begun.message_id == message_id and part_id in (None, step.begun.part_id)
                ),
                None,
            )
            if first is None:
                raise UnknownStep(
                    "no step of the session belongs to that message or part", messageId=message_id, partId=part_id
                )
            since = [step for step in self._timeline.open_steps() if step.begun.session_id == session_id]
            since = [step for step in since if step.begun.index >= first]
            found = self._end(since, request, call)
            tasks = [self._undoing(step, found) for step in reversed(since) if found is not None]
            tasks += [self._undoing(step) for step in self._changing(session_id, call) if step.begun.index >= first]
            outcome, _ = self._turn("revert", session_id, tasks, request, call, message_id=message_id, part_id=part_id)
            return outcome

    def unrevert(self, session_id: SessionId, request: Request, call: Call) -> Outcome:
        """Does again what `revert` took back, and was not done again since.

        Raises:
            UnknownSession: see there.
            NothingToRedo: there is no such step, or a later step changed something.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            steps = tuple(
                step for step in self._timeline.redoable(session_id) if self._turned_by(step).kind == "revert"
            )
            if not steps:
                raise NothingToRedo("there is nothing to unrevert", sessionId=session_id)
            outcome, _ = self._turn("unrevert", session_id, self._redoing(session_id, steps, len(steps)), request, call)
            return outcome

    # -- hunks

    def hunks(self, step_id: StepId, path: RelPath, call: Call) -> tuple[Hunk, ...]:
        """The hunks of what a step changed in a file; none of a binary file.

        Raises:
            UnknownStep: see there.
            InvalidParams: the step did not change it.
            StoreCorrupt, IoError, Cancelled: see there.
        """
        step = self._sessions.known_step(step_id)
        sides = self._sides(step, path)
        return hunks(*sides, self._texts, call) if sides is not None else ()

    def revert_hunks(
        self, step_id: StepId, path: RelPath, indexes: Sequence[int], request: Request, call: Call
    ) -> Outcome:
        """Takes back some hunks of what a step changed in a file.

        Args:
            step_id: the step.
            path: the file.
            indexes: which hunks.
            request: how it is asked.
            call: the request; may be cancelled until the file is moved.

        Raises:
            UnknownStep: see there.
            InvalidParams: the step did not change the file, or there are no such hunks.
            StoreCorrupt, StorageFull, WorkspaceGone, IoError, Cancelled: nothing was changed.
        """
        with self._writer.turn(call):
            step = self._sessions.known_step(step_id)
            sides = self._sides(step, path)
            if sides is None:
                raise InvalidParams("hunks: the file is binary", field="hunks")
            change = self._deeds.net([step])[path]
            data = without(*sides, indexes, self._texts, call)
            wanted = self._without(change, data, sides)
            task = attrs.evolve(
                self._undoing(step),
                files={path: (attrs.evolve(change, old=wanted),)},
                made=(),
                removed=(),
                renames={},
            )

            def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
                plan, _ = self._plan(planner, before, [task], request, call)
                operation = attrs.evolve(self._writer.operation("hunks", before), session_id=step.begun.session_id)
                return plan, operation

            return self._writer.operate(make_plan, (), request, call)

    # -- which steps

    def _named(self, session_id: SessionId, step_id: StepId, request: Request, call: Call) -> list[Task]:
        """What there is to take back of one step and its parts."""
        step = self._sessions.known_step(step_id)
        if step.begun.session_id != session_id:
            raise UnknownStep(f"step {step_id!r} is not one of session {session_id!r}", stepId=step_id)
        if step.state == "undone":
            self._writer.look((), call)
            again = [self._left_over(part) for part in reversed(self._deeds.with_parts(step)) if part.state == "undone"]
            return [task for task in again if task.files]
        found = self._end([part for part in self._deeds.with_parts(step) if part.state == "open"], request, call)
        parts = self._deeds.with_parts(self._sessions.known_step(step_id))
        return [self._undoing(part, found) for part in reversed(parts) if part.state != "undone"]

    def _left_over(self, step: Step) -> Task:
        """What a conflict kept from being taken back of a step: the user has looked, and asks for it once more."""
        turn = next(turn for turn in self._turned_by(step).turned if turn.step_id == step.step_id)
        done = {effect.path for effect in turn.effects}
        task = self._undoing(step)
        files = {
            path: chain
            for path, chain in task.files.items()
            if path not in done and self._current(path) != chain[0].old
        }
        renames = {new: old for new, old in task.renames.items() if new in files and old in files}
        return attrs.evolve(task, files=files, made=(), removed=(), renames=renames, earlier=turn)

    def _end(self, steps: Sequence[Step], request: Request, call: Call) -> SnapshotId | None:
        """Ends open steps; for a dry run only looks what they would be ended with: gives that."""
        if not steps:
            return None
        if request.dry_run:
            return self._store.identify(self._writer.look((), call))
        for step in reversed(steps):
            # they have ended, whatever becomes of the rest, which may be cancelled still
            self._sessions.tell_ended(self._sessions.end_open(step, None, Call()))
        return None

    def _changing(self, session_id: SessionId, call: Call) -> list[Step]:
        """The applied steps of a session that changed something, the newest first."""
        return [
            step
            for step in reversed(self._timeline.steps(session_id))
            if step.state == "applied" and not self._deeds.summary(step, call).is_empty
        ]

    def _turned_by(self, step: Step) -> Operated:
        assert step.turned_by is not None
        operation = self._timeline.operation(step.turned_by)
        assert operation is not None
        return operation

    # -- what is to be taken back

    def _undoing(self, step: Step, found: SnapshotId | None = None) -> Task:
        """What there is to take back of a step; of one that is open, as if it had ended with what was found."""
        if found is not None and step.ended is None:
            own = self._deeds.ended_with(step, found, step.claims)
        else:
            own = self._deeds.own(step)
        target = Target(self._store, self._store.load(step.from_))
        # an empty directory that may be another session's stays as it is
        went = {path for path, delta in own.directories.items() if not delta.came and not delta.shared}
        came = {path for path, delta in own.directories.items() if delta.came and not delta.shared}
        left = step.to or found or self._timeline.head
        assert left is not None
        return Task(
            step,
            "undone",
            own.files,
            tuple(sorted(went)),
            tuple(sorted({above for path in came for above in (path, *parents(path))})),
            self._moved(step, own.files),
            left,
            target,
            bool(own.files or own.directories),
        )

    def _redoing(self, session_id: SessionId, steps: Sequence[Step], count: int) -> list[Task]:
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
                operation = self._turned_by(step)
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
        files = inverse(turn.effects)
        moved = self._moved(step, self._deeds.own(step).files)
        return Task(
            step,
            "applied",
            files,
            turn.removed_directories,
            turn.made_directories,
            {old: new for new, old in moved.items()},
            operation.before,
            Target(self._store, self._store.load(operation.before)),
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

    # -- doing it

    def _turn(
        self,
        kind: OperationKind,
        session_id: SessionId,
        tasks: Sequence[Task],
        request: Request,
        call: Call,
        *,
        root: StepId | None = None,
        message_id: str | None = None,
        part_id: str | None = None,
    ) -> tuple[Outcome, tuple[StepView, ...]]:
        # where nothing was changed nothing is turned: there is nothing to do again
        turning = tasks if any(task.is_change for task in tasks) else ()

        def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
            plan, turned = self._plan(planner, before, turning, request, call)
            operation = attrs.evolve(
                self._writer.operation(kind, before),
                session_id=session_id,
                turned=turned,
                root=root,
                message_id=message_id,
                part_id=part_id,
            )
            return plan, operation

        outcome = self._writer.operate(make_plan, (), request, call)
        steps = [self._sessions.known_step(task.step.step_id) for task in turning]
        views = tuple(self._sessions.shown(step, call) for step in steps)
        if outcome.applied:
            self._sessions.tell_steps(views)
        return outcome, views

    def _plan(
        self, planner: Planner, before: Snapshot, tasks: Sequence[Task], request: Request, call: Call
    ) -> tuple[Plan, tuple[StepTurned, ...]]:
        overlay = Overlay(self._current, self._writer.work_tree.captured_below)
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
                self._store.merge,
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
        for path in self._untouchable(planner, effects.keys(), pairs):
            outcomes[path] = FileOutcome(path, "conflict", "unsavedInEditor")
            effects.pop(path, None)
        plan = planner.decided(effects.values(), outcomes.values(), targets, directories.goals(), call)
        return plan, tuple(turned)

    def _untouchable(
        self, planner: Planner, changing: Collection[RelPath], pairs: Iterable[tuple[RelPath, RelPath]]
    ) -> set[RelPath]:
        """Files that would be touched and have unsaved text in an editor; one that moves, by both its names."""
        blocked = planner.unsaved & set(changing)
        for new, old in pairs:
            if blocked & {new, old}:
                blocked = blocked | ({new, old} & set(changing))
        return set(blocked)

    def _current(self, path: RelPath) -> Entry | None:
        standing = self._writer.work_tree.standing(path)
        return standing.entry if standing is not None else None

    def _moved_since(self, left: SnapshotId, before: Snapshot) -> Callable[[], Mapping[RelPath, RelPath]]:
        def ask() -> Mapping[RelPath, RelPath]:
            return {old: new for new, old in self._store.renames(left.tree, before.tree).items()}

        return ask

    # -- texts

    def _sides(self, step: Step, path: RelPath) -> tuple[bytes, bytes] | None:
        """What a step made of a file, before and after; None where either is binary, or a symlink became a file."""
        change = self._deeds.net([step]).get(path)
        if change is None:
            raise InvalidParams(f"file: step {step.step_id!r} did not change {shown(path)}", field="file")
        if len({side.mode == SYMLINK for side in (change.old, change.new) if side is not None}) > 1:
            return None
        old, new = (b"" if side is None else self._store.read_blob(side.oid) for side in (change.old, change.new))
        return None if is_binary(old) or is_binary(new) else (old, new)

    def _without(self, change: Delta, data: bytes, sides: tuple[bytes, bytes]) -> Entry | None:
        """A file with some of its hunks taken back."""
        if data == sides[1]:
            return change.new
        if data == sides[0] and (change.old is None or change.new is None):
            return change.old
        left = change.new or change.old
        assert left is not None
        with self._store.batch() as batch:
            oid = batch.blob(data)
            batch.commit()
        return Entry(left.mode, oid)
