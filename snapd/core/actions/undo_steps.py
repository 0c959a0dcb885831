"""Takes steps back and does them again, and leaves what others changed since."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.actions.undo_task import wanted_by_tasks
from snapd.core.call import Call
from snapd.core.errors import NothingToRedo, NothingToUndo, UnknownStep

from .sessions import IN_FORCE, SPARE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.answers import StepView
    from snapd.core.model import Outcome, Snapshot
    from snapd.core.operations.planner import Planner
    from snapd.core.operations.writer import Request, Writer
    from snapd.core.plan import Plan
    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.model import Operated, OperationKind, SessionId, Step, StepId

    from .sessions import Sessions
    from .step_changes import StepChanges
    from .undo_planner import UndoPlanner
    from .undo_task import UndoTask


class UndoSteps:
    """Undo and redo in one workspace.

    Args:
        writer: of the workspace.
        sessions: likewise.
        deeds: tells what steps changed.
        tasks: what there is to take back.
    """

    def __init__(self, writer: Writer, sessions: Sessions, deeds: StepChanges, tasks: UndoPlanner) -> None:
        self._writer = writer
        self._sessions = sessions
        self._deeds = deeds
        self._tasks = tasks

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
            count: how many; more than there are stands for all. One that is open and whose client is gone counts too.
            step_id: this step alone; one that is open is ended first. Of one that was taken back already, it is what
                conflicted then; so it is for the last steps.
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
                tasks = self._last(session_id, count, request, call)
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
            undone = self._timeline.redoable(session_id)
            if not undone:
                raise NothingToRedo("there is nothing to redo", sessionId=session_id)
            return self._turn("redo", session_id, self._tasks.redoing(session_id, undone, count), request, call)

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
            with self._ended(since, request, call):
                changing = self._changing(session_id, call)
                tasks = [self._tasks.undoing(step) for step in changing if step.begun.index >= first]
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
            reverted = self._tasks.turned_as(self._timeline.redoable(session_id), "revert")
            if not reverted:
                raise NothingToRedo("there is nothing to unrevert", sessionId=session_id)
            tasks = self._tasks.redoing(session_id, reverted, len(reverted))
            outcome, _ = self._turn("unrevert", session_id, tasks, request, call)
            return outcome

    # -- which steps

    def _last(self, session_id: SessionId, count: int, request: Request, call: Call) -> list[UndoTask]:
        """What there is to take back of the last steps of a session; one whose client is gone has come to its end."""
        changing = {step.step_id for step in self._changing(session_id, call)}
        left = [step for step in self._sessions.left(session_id) if not self._deeds.summary(step, call).is_empty]
        wanted = changing | {step.step_id for step in left}
        last = [step for step in reversed(self._timeline.steps(session_id)) if step.step_id in wanted][:count]
        with self._ended([step for step in reversed(last) if step.state == "open"], request, call):
            return [self._tasks.undoing(self._sessions.known_step(step.step_id)) for step in last]

    def _named(self, session_id: SessionId, step_id: StepId, request: Request, call: Call) -> list[UndoTask]:
        """What there is to take back of one step and its parts."""
        step = self._sessions.known_step(step_id)
        if step.begun.session_id != session_id:
            raise UnknownStep(f"step {step_id!r} is not one of session {session_id!r}", stepId=step_id)
        # what is left of a step that an older snapd took back is told by the files as they are
        self._writer.look((), call)
        with self._ended([part for part in self._deeds.with_parts(step) if part.state == "open"], request, call):
            parts = self._deeds.with_parts(self._sessions.known_step(step_id))
            tasks = [self._tasks.undoing(part) for part in reversed(parts)]
        # a step that changed nothing is undone by doing nothing, once
        return [task for task in tasks if task.is_change or "undone" not in (step.state, task.step.state)]

    @contextmanager
    def _ended(self, steps: Sequence[Step], request: Request, call: Call) -> Iterator[None]:
        """Ends open steps, the last one first; for a dry run they only seem to have ended, until the block ends."""
        if not steps:
            yield
        elif request.dry_run:
            with self._sessions.supposing_ended(tuple(reversed(steps)), call):
                yield
        else:
            for step in reversed(steps):
                call.check()
                # they have ended, whatever becomes of the rest, which may be cancelled still
                self._sessions.tell_ended(self._sessions.end_open(step, None, Call(), spoken_for=False))
            yield

    def _changing(self, session_id: SessionId, call: Call) -> list[Step]:
        """The steps of a session that changed something and were not taken back as a whole, the newest first."""
        return [
            step
            for step in reversed(self._timeline.steps(session_id))
            if step.state in IN_FORCE and not self._deeds.summary(step, call).is_empty
        ]

    # -- doing it

    def _turn(
        self,
        kind: OperationKind,
        session_id: SessionId,
        tasks: Sequence[UndoTask],
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
            plan, turned = self._tasks.plan(planner, before, turning, request, call)
            operation = attrs.evolve(
                self._writer.operation(kind, before),
                session_id=session_id,
                turned=turned,
                root=root,
                message_id=message_id,
                part_id=part_id,
            )
            return plan, operation

        # each of them is told of, when nobody can say any more that there is no space for that
        self._writer.bulletin.prepare(len(turning) + SPARE)
        outcome = self._writer.operate(make_plan, (), lambda _: wanted_by_tasks(turning), request, call)
        steps = [self._sessions.known_step(step) for step in dict.fromkeys(task.step.step_id for task in turning)]
        views = tuple(self._sessions.shown(step, call) for step in steps)
        if outcome.applied:
            self._sessions.tell_steps(views)
        return outcome, views
