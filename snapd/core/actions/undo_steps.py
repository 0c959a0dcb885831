"""Takes steps back and does them again, and keeps what others changed since; see `undo_operation`."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.call import Call
from snapd.core.errors import NothingToRedo, NothingToUndo, UnknownStep

from .sessions import IN_FORCE
from .undo_operation import UndoOperation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.answers import StepView
    from snapd.core.model import Outcome
    from snapd.core.operations.writer import OperationOptions
    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.model import SessionId, Step, StepId

    from .undo_task import UndoTask


@attrs.define(eq=False)
class UndoSteps(UndoOperation):
    """Undo and redo in one workspace; the first arguments are those of `UndoOperation`.

    Every operation takes the name of a session, how the client wants it done, and the request, which may be cancelled
    until the first file is moved. It raises `UnknownSession` if there is no such session. If it raises `StoreCorrupt`,
    `StorageFull`, `WorkspaceGone`, `IoError` or `Cancelled`, nothing was changed.

    Args:
        timeline: of the workspace.
    """

    _timeline: Timeline

    # -- steps

    def undo(
        self, session_id: SessionId, count: int, step_id: StepId | None, options: OperationOptions, call: Call
    ) -> tuple[Outcome, tuple[StepView, ...]]:
        """Takes back the last `count` steps that changed something, or one named step with its parts.

        Of a step that was taken back before, this takes back what conflicted then. An open step whose client is gone
        counts too; a named step is ended first if it is open.

        Returns:
            What became of the files; and the steps, in the order in which they were taken back.

        Raises:
            UnknownStep: the step is not one of the session.
            NothingToUndo: no step is left to take back.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            if step_id is not None:
                tasks = self._named(session_id, step_id, options, call)
            else:
                tasks = self._last(session_id, count, options, call)
            if not tasks:
                raise NothingToUndo("there is nothing to undo", sessionId=session_id)
            return self.carry_out("undo", session_id, tasks, options, call, root=step_id)

    def redo(
        self, session_id: SessionId, count: int, options: OperationOptions, call: Call
    ) -> tuple[Outcome, tuple[StepView, ...]]:
        """Does up to `count` steps again, the last one taken back first; returns what `undo` returns.

        Raises:
            NothingToRedo: no such step is left.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            undone = self._timeline.redoable(session_id)
            if not undone:
                raise NothingToRedo("there is nothing to redo", sessionId=session_id)
            return self.carry_out(
                "redo", session_id, self._planner.to_redo(session_id, undone, count, call), options, call
            )

    def revert(
        self, session_id: SessionId, message_id: str, part_id: str | None, options: OperationOptions, call: Call
    ) -> Outcome:
        """Goes back to before a message, or a part of it: takes back all steps of the session since, open ones too.

        Raises:
            UnknownStep: no step of the session belongs to that message, or that part.
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
            with self._ended(since, options, call):
                changing = self._changing(session_id, call)
                tasks = [self._planner.to_undo(step, call) for step in changing if step.begun.index >= first]
            outcome, _ = self.carry_out(
                "revert", session_id, tasks, options, call, message_id=message_id, part_id=part_id
            )
            return outcome

    def unrevert(self, session_id: SessionId, options: OperationOptions, call: Call) -> Outcome:
        """Does again what `revert` took back, unless that was done already.

        Raises:
            NothingToRedo: no step is left to do again, or a later step changed something.
        """
        with self._writer.turn(call):
            self._sessions.known(session_id)
            reverted = self._planner.reverted(self._timeline.redoable(session_id))
            if not reverted:
                raise NothingToRedo("there is nothing to unrevert", sessionId=session_id)
            tasks = self._planner.to_redo(session_id, reverted, len(reverted), call)
            outcome, _ = self.carry_out("unrevert", session_id, tasks, options, call)
            return outcome

    # -- resolving

    def _last(self, session_id: SessionId, count: int, options: OperationOptions, call: Call) -> list[UndoTask]:
        """Finds what there is to take back of the last steps of a session; ends those whose client is gone."""
        changing = {step.step_id for step in self._changing(session_id, call)}
        unattended = [
            step
            for step in self._sessions.unattended(session_id)
            if not self._step_changes.summary(step, call).is_empty
        ]
        wanted = changing | {step.step_id for step in unattended}
        last = [step for step in reversed(self._timeline.steps(session_id)) if step.step_id in wanted][:count]
        with self._ended([step for step in reversed(last) if step.state == "open"], options, call):
            return [self._planner.to_undo(self._sessions.known_step(step.step_id), call) for step in last]

    def _named(self, session_id: SessionId, step_id: StepId, options: OperationOptions, call: Call) -> list[UndoTask]:
        """Finds what there is to take back of one step and its parts."""
        step = self._sessions.step_of(session_id, step_id)
        # if an older snapd took a step back, only the files as they are show what is left of it
        self._writer.seen(call)
        with self._ended([part for part in self._step_changes.with_parts(step) if part.state == "open"], options, call):
            parts = self._step_changes.with_parts(self._sessions.known_step(step_id))
            tasks = [self._planner.to_undo(part, call) for part in reversed(parts)]
        # a step that changed nothing can be undone once, which does nothing
        return [task for task in tasks if task.is_change or "undone" not in (step.state, task.step.state)]

    @contextmanager
    def _ended(self, steps: Sequence[Step], options: OperationOptions, call: Call) -> Iterator[None]:
        """Ends open steps, the last one first; for a dry run, only makes them look ended until the block ends."""
        if not steps:
            yield
        elif options.dry_run:
            with self._sessions.supposing_ended(tuple(reversed(steps)), call):
                yield
        else:
            for step in reversed(steps):
                call.check()
                # the step has ended even if the undo is cancelled afterwards
                self._sessions.notify_ended(self._sessions.end_open(step, None, Call(), spoken_for=False))
            yield

    def _changing(self, session_id: SessionId, call: Call) -> list[Step]:
        """Lists the steps of a session that changed something and were not taken back as a whole, newest first."""
        return [
            step
            for step in reversed(self._timeline.steps(session_id))
            if step.state in IN_FORCE and not self._step_changes.summary(step, call).is_empty
        ]
