"""Takes steps and operations back and does them again, and keeps what others changed since; see `operation`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import attrs

from snapd.core.actions.sessions import WITH_OTHERS
from snapd.core.actions.steps.session_views import IN_FORCE
from snapd.core.answers import Turning
from snapd.core.operations.details import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, NothingToRedo, NothingToUndo, UnknownStep
from snapd.model.snapshot import Outcome
from snapd.model.timeline import SessionId, Step, StepId, StepQuery, UndoUnit

from .operation import UndoOperation
from .task import UndoTask

_REDO = "'snapd redo' does again what was undone last"


@attrs.frozen
class Wanted:
    """What to take back: the first of these that is given decides.

    Attributes:
        step_id: this step, with its parts.
        message_id: all steps of this message, with their parts.
        after: all steps of a session after this one, which stays with its parts.
        session_id: the last steps of this session that changed something; or the session of the others. None for the
            last that changed anything in the workspace: steps of all sessions, and operations.
        count: how many of the last.
    """

    session_id: SessionId | None = None
    count: int = 1
    step_id: StepId | None = None
    message_id: str | None = None
    after: StepId | None = None


@attrs.define(eq=False)
class UndoSteps(UndoOperation):
    """Undo and redo in one workspace; the arguments are those of `UndoOperation`.

    Every operation takes how the client wants it done, and the request, which may be cancelled until the first file is
    moved. It raises `UnknownSession` if it is given a session that does not exist. If it raises `StoreCorrupt`,
    `StorageFull`, `WorkspaceGone`, `IoError` or `Cancelled`, nothing was changed.
    """

    # -- steps

    def undo(self, wanted: Wanted, options: OperationOptions, call: Call) -> Turning:
        """Takes back steps, and operations such as a restore.

        Of what was taken back before, this takes back what conflicted then. Among the last, an open step whose client
        is gone counts too; other open steps that are meant are ended first.

        Raises:
            UnknownStep: there is no such step, or none of that message, or it is not one of the session.
            InvalidParams: several sessions have that message.
            NothingToUndo: nothing is left to take back.
        """

        def undo(options: OperationOptions) -> Turning:
            tasks = self._tasks(wanted, options, call)
            session_id = wanted.session_id or _common(tasks)
            return self.carry_out("undo", session_id, tasks, options, call, root=wanted.step_id)

        with self._writer.turn(call):
            self._writer.see_recent_edits(call)
            if wanted.session_id is not None:
                self._sessions.known(wanted.session_id)
            return self._as_expected(undo, options)

    def redo(self, session_id: SessionId | None, count: int, options: OperationOptions, call: Call) -> Turning:
        """Does up to `count` steps again, the last one taken back first.

        Args:
            session_id: of the steps; None for what was taken back last in the workspace, steps and operations.
            count: how many.
            options: as of `undo`.
            call: the request.

        Raises:
            NothingToRedo: no such step is left.
        """
        with self._writer.turn(call):
            if session_id is not None:
                self._sessions.known(session_id)
            undone = self._timeline.redoable(session_id)
            if not undone:
                raise NothingToRedo("there is nothing to redo", **_named_by(session_id))
            tasks = self._planner.to_redo(session_id, undone, count, call)
            return self.carry_out("redo", session_id or _common(tasks), tasks, options, call)

    def revert(
        self, session_id: SessionId, message_id: str, part_id: str | None, options: OperationOptions, call: Call
    ) -> Outcome:
        """Goes back to before a message, or a part of it: takes back all steps of the session since, open ones too.

        Raises:
            UnknownStep: no step of the session belongs to that message, or that part.
        """
        with self._writer.turn(call):
            self._writer.see_recent_edits(call)
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

            def revert(options: OperationOptions) -> Turning:
                tasks = self._since(session_id, lambda step: step.begun.index >= first, options, call)
                return self.carry_out(
                    "revert", session_id, tasks, options, call, message_id=message_id, part_id=part_id
                )

            return self._as_expected(revert, options).outcome

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
            return self.carry_out("unrevert", session_id, tasks, options, call).outcome

    def _as_expected(self, carry_out: Callable[[OperationOptions], Turning], options: OperationOptions) -> Turning:
        """Carries out what may have to end steps first: that is an event, so the plan is compared before."""
        if options.expect is not None and self._timeline.open_steps():
            foretold = carry_out(attrs.evolve(options, dry_run=True, expect=""))
            if foretold.outcome.plan != options.expect:
                return foretold
        return carry_out(options)

    # -- resolving

    def _tasks(self, wanted: Wanted, options: OperationOptions, call: Call) -> list[UndoTask]:
        """Finds what there is to take back, the last first; raises as `undo`."""
        session_id = wanted.session_id
        if wanted.step_id is not None:
            return self._named(session_id, wanted.step_id, options, call)
        if wanted.message_id is not None:
            return self._of_message(session_id, wanted.message_id, options, call)
        if wanted.after is not None:
            return self._after(session_id, wanted.after, options, call)
        if session_id is not None:
            tasks = self._last(session_id, wanted.count, options, call)
        else:
            tasks = self._latest(wanted.count, options, call)
        if not tasks:
            raise NothingToUndo("there is nothing to undo", **_named_by(session_id))
        return tasks

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
        return self._ending(last, options, call)

    def _latest(self, count: int, options: OperationOptions, call: Call) -> list[UndoTask]:
        """Finds what there is to take back of the last units of all; ends the steps whose client is gone."""
        unattended = {step.step_id for step in self._sessions.unattended(None)}
        last: list[UndoUnit] = []
        for name in self._timeline.in_force():
            call.check()
            unit = self._timeline.unit(name)
            if unit is None or (unit.state == "open" and name not in unattended):
                continue
            if isinstance(unit, Step):
                is_empty = self._step_changes.summary(unit, call).is_empty
            else:
                is_empty = not self._planner.whole(unit).is_change
            if not is_empty:
                last.append(unit)
            if len(last) == count:
                break
        return self._ending(last, options, call)

    def _ending(self, last: Sequence[UndoUnit], options: OperationOptions, call: Call) -> list[UndoTask]:
        """Makes the tasks of some units, in that order, once those that are open have ended."""
        opened = [unit for unit in reversed(last) if isinstance(unit, Step) and unit.state == "open"]
        with self._ended(opened, options, call):
            again = [self._timeline.unit(unit.name) for unit in last]
            return [self._planner.to_undo(unit, call) for unit in again if unit is not None]

    def _named(
        self, session_id: SessionId | None, step_id: StepId, options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        """Finds what there is to take back of one step and its parts."""
        step = self._step(session_id, step_id)
        tasks = self._whole([step], options, call)
        # a step that changed nothing can be undone once, which does nothing
        tasks = [task for task in tasks if task.is_change or "undone" not in (step.state, task.unit.state)]
        if not tasks:
            raise NothingToUndo(f"step {step_id!r} is already undone", hint=_REDO, stepId=step_id)
        return tasks

    def _of_message(
        self, session_id: SessionId | None, message_id: str, options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        """Finds what there is to take back of the steps of a message, and of their parts."""
        steps = self._timeline.find_steps(StepQuery("", session_id, message_id=message_id), None)
        if not steps:
            raise UnknownStep(f"no step belongs to message {message_id!r}", messageId=message_id)
        if len(names := {step.session_id for step in steps}) > 1:
            raise InvalidParams(
                f"messageId: several sessions have a message {message_id!r}: {', '.join(sorted(names))}",
                hint="say which session is meant",
                field="sessionId",
            )
        tasks = [task for task in self._whole(steps, options, call) if task.is_change]
        if not tasks:
            undone = any(step.state == "undone" for step in steps)
            said = "is already undone" if undone else "changed nothing"
            raise NothingToUndo(f"message {message_id!r} {said}", hint=_REDO if undone else None, messageId=message_id)
        return tasks

    def _after(
        self, session_id: SessionId | None, step_id: StepId, options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        """Finds what there is to take back of the steps of a session after one of them."""
        step = self._step(session_id, step_id)
        stay = {part.step_id for part in self._step_changes.with_parts(step)}
        tasks = self._since(
            step.session_id,
            lambda other: other.begun.index > step.begun.index and other.step_id not in stay,
            options,
            call,
        )
        if not tasks:
            raise NothingToUndo(
                f"no later step of the session is left to undo: step {step_id!r} is the last", stepId=step_id
            )
        return tasks

    def _since(
        self, session_id: SessionId, chosen: Callable[[Step], bool], options: OperationOptions, call: Call
    ) -> list[UndoTask]:
        """Finds what there is to take back of some steps of a session; ends those that are open."""
        opened = [step for step in self._timeline.open_steps() if step.session_id == session_id and chosen(step)]
        with self._ended(opened, options, call):
            return [self._planner.to_undo(step, call) for step in self._changing(session_id, call) if chosen(step)]

    def _whole(self, steps: Sequence[Step], options: OperationOptions, call: Call) -> list[UndoTask]:
        """Makes the tasks of some steps, given the last first, and of their parts; ends those that are open."""
        # if an older snapd took a step back, only the files as they are show what is left of it
        self._writer.seen(call)
        parts = [part for step in reversed(steps) for part in self._step_changes.with_parts(step)]
        # a part may belong to the same message as its step
        parts = list({part.step_id: part for part in parts}.values())
        with self._ended([part for part in parts if part.state == "open"], options, call):
            again = [self._sessions.known_step(part.step_id) for part in reversed(parts)]
            return [self._planner.to_undo(part, call) for part in again]

    def _step(self, session_id: SessionId | None, step_id: StepId) -> Step:
        """Looks up a step; raises `UnknownStep`."""
        return self._sessions.known_step(step_id) if session_id is None else self._sessions.step_of(session_id, step_id)

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
                self._sessions.notify_ended(self._sessions.end_open(step, WITH_OTHERS, Call()))
            yield

    def _changing(self, session_id: SessionId, call: Call) -> list[Step]:
        """Lists the steps of a session that changed something and were not taken back as a whole, newest first."""
        return [
            step
            for step in reversed(self._timeline.steps(session_id))
            if step.state in IN_FORCE and not self._step_changes.summary(step, call).is_empty
        ]


def _named_by(session_id: SessionId | None) -> dict[str, SessionId]:
    """The data of an error that names the session, if the request did."""
    return {} if session_id is None else {"sessionId": session_id}


def _common(tasks: Iterable[UndoTask]) -> SessionId | None:
    """The session that all tasks are about; None if there are several, or none."""
    sessions = {task.unit.session_id for task in tasks}
    return sessions.pop() if len(sessions) == 1 else None
