"""Takes steps back and does them again, as a whole or hunk by hunk, and leaves what others changed since.

One mechanism for all: the changes of a step are taken back on the files as they are, by a three-way merge of each; a
redo takes back what the undo did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from .errors import InvalidParams, NothingToRedo, NothingToUndo, UnknownStep
from .history import Operated, StepTurned
from .hunks import hunks, without
from .model import REGULAR, Entry, FileOutcome
from .ownership import own_moves
from .paths import parents, shown
from .planning import DirectoryGoals
from .target import Target
from .text import is_binary
from .threeway import Overlay, TakenBack, combined, inverse, take_back

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from .answers import StepView
    from .call import Call
    from .deeds import Deeds
    from .history import OperationKind, SessionId, SnapshotId, Step, StepId
    from .hunks import Hunk
    from .model import Outcome, RelPath, Snapshot
    from .ownership import Delta
    from .plan import Plan
    from .planning import Planner
    from .ports import Store, TextDiffer, Timeline
    from .sessions import Sessions
    from .writer import Request, Writer


@attrs.frozen
class _Task:
    """Something to take back.

    Attributes:
        step: the step that it is about.
        state: what that is to be.
        files: for each file the changes to take back, the oldest first.
        made: empty directories to make.
        removed: empty directories to remove, with those above them that were not there either.
        renames: the old path by the new one, of files that were moved by what is to be taken back.
        left: what it left.
        target: what the files are to be again.
    """

    step: Step
    state: Literal["applied", "undone"]
    files: Mapping[RelPath, Sequence[Delta]]
    made: tuple[RelPath, ...]
    removed: tuple[RelPath, ...]
    renames: Mapping[RelPath, RelPath]
    left: SnapshotId
    target: Target


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
            step_id: this step alone; one that is open is ended first.
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
                steps = self._named(session_id, step_id, request, call)
            else:
                steps = self._changing(session_id, call)[:count]
            if not steps:
                raise NothingToUndo("there is nothing to undo", sessionId=session_id)
            return self._turn("undo", session_id, [self._undoing(step) for step in steps], request, call, root=step_id)

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
            return self._turn("redo", session_id, self._redoing(steps, count), request, call)

    def revert(
        self, session_id: SessionId, message_id: str, part_id: str | None, request: Request, call: Call
    ) -> Outcome:
        """Goes back to before a message, or a part of it: takes back all steps of the session since.

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
            steps = [step for step in self._changing(session_id, call) if step.begun.index >= first]
            tasks = [self._undoing(step) for step in steps]
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
            outcome, _ = self._turn("unrevert", session_id, self._redoing(steps, len(steps)), request, call)
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
            wanted = self._without(change, data, sides[0])
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

    def _named(self, session_id: SessionId, step_id: StepId, request: Request, call: Call) -> list[Step]:
        step = self._sessions.known_step(step_id)
        if step.begun.session_id != session_id:
            raise UnknownStep(f"step {step_id!r} is not one of session {session_id!r}", stepId=step_id)
        if not request.dry_run:
            for part in reversed(self._deeds.with_parts(step)):
                if part.state == "open":
                    self._sessions.end_open(part, None, call)
        chosen = [part for part in self._deeds.with_parts(self._sessions.known_step(step_id)) if part.state != "undone"]
        return chosen[::-1]

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

    def _undoing(self, step: Step) -> _Task:
        own = self._deeds.own(step)
        target = Target(self._store, self._store.load(step.from_))
        went = {path for path, delta in own.directories.items() if not delta.came and not delta.shared}
        came = {path for path, delta in own.directories.items() if delta.came and not delta.shared}
        left = step.to if step.to is not None else self._timeline.head
        assert left is not None
        return _Task(
            step,
            "undone",
            own.files,
            tuple(sorted(went)),
            tuple(sorted({above for path in came for above in (path, *parents(path))})),
            self._moved(step, own.files),
            left,
            target,
        )

    def _redoing(self, steps: Sequence[Step], count: int) -> list[_Task]:
        """What to do for so many of some steps; those that were taken back as the parts of one come with it."""
        tasks: dict[StepId, _Task] = {}
        taken = 0
        for step in steps:
            if step.step_id in tasks:
                continue
            if taken == count:
                break
            taken += 1
            operation = self._turned_by(step)
            together = {step.step_id}
            if operation.root is not None:
                together = {turn.step_id for turn in operation.turned}
            for turn in reversed(operation.turned):
                if turn.step_id in together:
                    part = self._sessions.known_step(turn.step_id)
                    if part.turned_by == operation.operation_id and part.state == "undone":
                        tasks[turn.step_id] = self._again(part, turn, operation)
        return list(tasks.values())

    def _again(self, step: Step, turn: StepTurned, operation: Operated) -> _Task:
        files = inverse(turn.effects)
        moved = self._moved(step, self._deeds.own(step).files)
        return _Task(
            step,
            "applied",
            files,
            turn.removed_directories,
            turn.made_directories,
            {old: new for new, old in moved.items()},
            operation.before,
            Target(self._store, self._store.load(operation.before)),
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
        tasks: Sequence[_Task],
        request: Request,
        call: Call,
        *,
        root: StepId | None = None,
        message_id: str | None = None,
        part_id: str | None = None,
    ) -> tuple[Outcome, tuple[StepView, ...]]:
        def make_plan(planner: Planner, before: Snapshot) -> tuple[Plan, Operated]:
            plan, turned = self._plan(planner, before, tasks, request, call)
            operation = attrs.evolve(
                self._writer.operation(kind, before),
                session_id=session_id,
                turned=turned,
                root=root,
                message_id=message_id,
                part_id=part_id,
            )
            return plan, operation

        changing = [task for task in tasks if task.files or task.made or task.removed]
        tasks = changing
        outcome = self._writer.operate(make_plan, (), request, call)
        steps = [self._sessions.known_step(task.step.step_id) for task in tasks]
        if outcome.applied:
            for step in steps:
                self._sessions.tell(step.begun.session_id, step, call)
        agents = {step.begun.session_id: self._sessions.known(step.begun.session_id).agent for step in steps}
        views = tuple(self._deeds.view(step, agents[step.begun.session_id], call) for step in steps)
        return outcome, views

    def _plan(
        self, planner: Planner, before: Snapshot, tasks: Sequence[_Task], request: Request, call: Call
    ) -> tuple[Plan, tuple[StepTurned, ...]]:
        overlay = Overlay(self._current, self._writer.work_tree.captured_below)
        done: list[TakenBack] = []
        targets: dict[RelPath, Target] = {}
        pairs: list[tuple[RelPath, RelPath]] = []
        turned: list[StepTurned] = []
        made: dict[RelPath, None] = {}
        removed: dict[RelPath, Target] = {}
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
            gone = [path for path in task.removed if not task.target.has_directory(path)]
            removed.update((path, task.target) for path in gone)
            made.update(dict.fromkeys(task.made))
            turned.append(StepTurned(task.step.step_id, task.state, taken.effects, task.made, tuple(gone)))
        outcomes = {outcome.path: outcome for outcome in combined(overlay, done)}
        effects = {effect.path: effect for effect in overlay.effects()}
        for path in self._untouchable(planner, effects.keys(), pairs):
            outcomes[path] = FileOutcome(path, "conflict", "unsavedInEditor")
            effects.pop(path, None)
        goals = DirectoryGoals(tuple(made), tuple(removed.items()))
        plan = planner.decided(effects.values(), outcomes.values(), targets, goals, call)
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
        """What a step made of a file, before and after; None where either is binary."""
        change = self._deeds.net([step]).get(path)
        if change is None:
            raise InvalidParams(f"file: step {step.step_id!r} did not change {shown(path)}", field="file")
        old, new = (b"" if side is None else self._store.read_blob(side.oid) for side in (change.old, change.new))
        return None if is_binary(old) or is_binary(new) else (old, new)

    def _without(self, change: Delta, data: bytes, old: bytes) -> Entry | None:
        """A file with some of its hunks taken back."""
        if data == old and (change.old is None or change.new is None):
            return change.old
        mode = change.new.mode if change.new is not None else REGULAR
        with self._store.batch() as batch:
            oid = batch.blob(data)
            batch.commit()
        return Entry(mode, oid)
