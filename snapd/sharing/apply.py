"""Applies what steps changed on another machine, or in another folder, as a step of its own that can be undone.

It works like a redo: each step's changes are merged into the current files (`core/actions/undo/planner.py`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import nullcontext

import attrs

from snapd.core.actions.compare import take_over
from snapd.core.actions.sessions import Sessions
from snapd.core.actions.undo.planner import UndoPlanner, UndoTask, files_after_tasks, snapshot_before
from snapd.core.attribution import Delta, own_moves
from snapd.core.operations.patch import Target
from snapd.core.operations.runner import OperationOptions, Request, Runner
from snapd.core.operations.writer import Writer
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, NothingToRedo, UnknownStep, Untrusted
from snapd.model.handover import SignatureStatus
from snapd.model.snapshot import Outcome
from snapd.model.timeline import Session, SessionEnded, SessionId, SessionStarted, Step, StepBegun, StepId
from snapd.store.store import Store

from .sessions import FetchedReader, FetchedSessions


@attrs.frozen
class Applied:
    """The result of applying steps.

    `step_id` is the step of this folder that made the changes; None if nothing was done.
    """

    outcome: Outcome
    step_id: StepId | None
    signature: SignatureStatus | None = None


@attrs.define(eq=False)
class Apply:
    """Applies steps of fetched sessions, and of other folders of this machine."""

    _writer: Writer
    _store: Store
    _sessions: Sessions
    _planner: UndoPlanner
    _fetched: FetchedSessions
    _runner: Runner

    def apply(
        self,
        session_id: SessionId | None,
        step_ids: Sequence[StepId],
        options: OperationOptions,
        call: Call,
        *,
        folder: bytes | None = None,
    ) -> Applied:
        """Applies the changes of a session that are not undone there, or all changes of some steps.

        Steps are applied in the order in which they began, with their parts, even if they were undone there. `folder`
        is another folder of this machine to take them from; None for fetched sessions. The request may be cancelled
        until the first file is moved.

        Raises `InvalidParams` unless exactly one of `session_id` and `step_ids` is given, and if a step has not ended;
        `UnknownStep` also if the steps are of several sessions; `NothingToRedo` if they changed nothing; `Untrusted` if
        the signature of the session is bad. After any error nothing was changed.
        """
        if (session_id is None) == (not step_ids):
            raise InvalidParams(
                "sessionId, stepIds: give one of them", hint="name a session, or some of its steps", field="stepIds"
            )
        with nullcontext(self._fetched) if folder is None else self._fetched.beside(folder) as result:
            if session_id is not None:
                reader = result.known_session(session_id)
                steps = reader.views.applied(session_id, None, None)
            else:
                reader = result.known_step(step_ids[0])
                steps = _named(reader, step_ids)
            session = reader.views.known(steps[0].session_id if session_id is None else session_id)
            signature = reader.signature(call)
            refuse_bad(signature, f"session {session.session_id!r}")
            with self._writer.turn(call):
                tasks = [self._task(reader, step, call, whole=session_id is None) for step in steps]
                tasks = [task for task in tasks if task.is_change]
                if not tasks:
                    raise NothingToRedo("these steps changed nothing", hint="'snapd show' says what a step changed")
                applied = self._carry_out(reader, session, tasks, options, call)
                return attrs.evolve(applied, signature=signature)

    def _task(self, reader: FetchedReader, step: Step, call: Call, *, whole: bool) -> UndoTask:
        """Plans the changes of a step: the reverse of undoing it."""
        call.check()
        assert step.to is not None
        changes = reader.changes
        own = changes.own(step) if whole else changes.in_force(step)
        entries = [entry for chain in own.files.values() for delta in chain for entry in (delta.old, delta.new)]
        contents = [entry.oid for entry in entries if entry is not None]
        # needed by the merges and the plan
        take_over(self._store, reader.fetched, (step.from_.tree, step.to.tree), contents, call)
        # an undo reverts the last change of a file first; applying begins with the first change
        files = {
            path: tuple(Delta(delta.new, delta.old) for delta in reversed(chain)) for path, chain in own.files.items()
        }
        moved = own_moves(changes.spans(step), reader.fetched.objects.renames)
        load = reader.fetched.objects.load
        target = snapshot_before(self._store, load(step.to), files)
        return UndoTask(
            unit=step,
            state="applied",
            files=files,
            made=tuple(sorted(path for path, delta in own.directories.items() if delta.came)),
            removed=tuple(sorted(path for path, delta in own.directories.items() if not delta.came)),
            renames={old: new for new, old in moved.items() if new in files and old in files},
            end=step.from_,
            target=target,
            stages=(Target(self._store, load(step.from_)), target),
            is_change=bool(own.files or own.directories),
        )

    def _carry_out(
        self, reader: FetchedReader, session: Session, tasks: Sequence[UndoTask], options: OperationOptions, call: Call
    ) -> Applied:
        writer, seen = self._writer, self._writer.capture_now(call)
        session_id, step_id = secrets.token_hex(16), secrets.token_hex(16)

        def begin() -> StepId:
            text = f"Apply {session.title or session.session_id} from {reader.origin.host}"
            begun = StepBegun(
                step_id=step_id,
                session_id=session_id,
                index=0,
                parent=None,
                message_id=None,
                part_id=None,
                tool="apply",
                description=text,
            )
            writer.track(seen, SessionStarted(session_id, session.agent, text), call, begun)
            return step_id

        # the kind is for recovery after a crash: otherwise the timeline gets the step instead
        request = Request(
            kind="redo",
            options=options,
            seen=seen,
            writes=files_after_tasks(tasks),
            patch=lambda prepared: self._planner.patch(tasks, prepared, (), call),
            begin=begin,
            events=[task.unit.name for task in tasks],
        )
        outcome = self._runner.carry_out(request, call)
        if self._store.timeline.step(step_id) is None:
            # nothing to do, or a dry run or conflict
            return Applied(outcome, None)
        writer.append_event(SessionEnded(session_id))
        self._sessions.notify(session_id, self._sessions.shown(self._sessions.known_step(step_id), call))
        return Applied(outcome, step_id)


def refuse_bad(signature: SignatureStatus | None, what: str) -> None:
    """Raises `Untrusted` for a bad signature, which suggests tampering; a missing one means nothing."""
    if signature is not None and signature.state == "bad":
        raise Untrusted(
            f"the signature of {what} is bad: {signature.reason}",
            hint="ask the person who signed it to push it again, then fetch it",
        )


def _named(reader: FetchedReader, step_ids: Sequence[StepId]) -> tuple[Step, ...]:
    """Returns the named steps with their parts, in the order in which they began.

    Raises `UnknownStep` if they are not of one session, and `InvalidParams` if one has not ended.
    """
    session_id = reader.views.known_step(step_ids[0]).session_id
    for step_id in step_ids:
        step = reader.fetched.timeline.step(step_id)
        if step is None or step.session_id != session_id:
            raise UnknownStep(f"step {step_id!r} is not of the same session as the others", stepId=step_id)
    steps = reader.with_parts(step_ids)
    for step in steps:
        if step.to is None:
            raise InvalidParams(
                f"stepIds: step {step.step_id!r} has not ended",
                hint="wait until it has ended, or end it with 'snapd step end'",
                field="stepIds",
            )
    return steps
