"""The sessions of a workspace and their steps: begun, ended, shown."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.answers import Page, SessionView, StepView
from snapd.core.call import Call
from snapd.core.errors import InvalidParams, SnapdError, UnknownSession, UnknownStep
from snapd.core.feed.events import SessionMoved
from snapd.core.timeline.model import SessionEnded, SessionStarted, StepBegun, StepEnded, StepsLeft

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from snapd.core.model import RelPath, Snapshot
    from snapd.core.operations.writer import Writer
    from snapd.core.ports.timeline import Timeline
    from snapd.core.timeline.model import Operated, Session, SessionId, Step, StepId, StepQuery

    from .step_changes import StepChanges


IN_FORCE = ("applied", "partly")
"""The states of steps that have ended and were not taken back as a whole."""

SPARE = 100
"""News that an operation tells besides those of steps."""


@attrs.frozen
class Ended:
    """A step that just ended.

    Attributes:
        step: it.
        beside: the ended steps that were open beside it, as they were before.
    """

    step: Step
    beside: tuple[Step, ...]


class Sessions:
    """Begins and ends sessions and steps.

    Args:
        writer: of the workspace.
        deeds: tells what steps changed.
    """

    def __init__(self, writer: Writer, deeds: StepChanges) -> None:
        self._writer = writer
        self._deeds = deeds
        writer.on_recovery(self._tell_recovered)

    @property
    def _timeline(self) -> Timeline:
        return self._writer.store.timeline

    # -- sessions

    def start(self, session_id: SessionId | None, agent: str | None, title: str | None, call: Call) -> SessionId:
        """Begins a session, or takes up one that was begun before.

        Args:
            session_id: its name; None to have one made.
            agent: who works in it.
            title: for people.
            call: the request.

        Raises:
            StorageFull, IoError: it was not begun.
        """
        name = session_id if session_id is not None else secrets.token_hex(8)
        with self._writer.turn(call):
            self._writer.note(SessionStarted(name, agent, title))
            self.tell(name, None)
        return name

    def end(self, session_id: SessionId, call: Call) -> None:
        """Ends a session and the steps that are open in it; harmless where it has ended.

        Raises:
            UnknownSession: see there.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it goes on.
        """
        with self._writer.turn(call):
            if self.known(session_id).ended is not None:
                return
            for step in reversed(self._timeline.open_steps()):
                if step.begun.session_id == session_id:
                    self.tell_ended(self.end_open(step, None, call, spoken_for=False))
            self._writer.note(SessionEnded(session_id))
            self.tell(session_id, None)

    def all(self, call: Call, after: int | None = None, limit: int | None = None) -> Page[SessionView]:
        """The sessions, in the order in which they were first begun.

        Args:
            call: the request.
            after: where the page before ended; None for the first.
            limit: sessions on this page, at most; None for all.
        """
        sessions, last = self._timeline.session_page(after, limit)
        return Page(tuple(self.view(session, call) for session in sessions), last)

    def steps(
        self, session_id: SessionId, call: Call, after: int | None = None, limit: int | None = None
    ) -> Page[StepView]:
        """The steps of a session, oldest first; those taken back are among them.

        Args:
            session_id: the session.
            call: the request.
            after: where the page before ended; None for the first.
            limit: steps on this page, at most; None for all.

        Raises:
            UnknownSession: see there.
        """
        session = self.known(session_id)
        steps, last = self._timeline.step_page(session_id, after, limit)
        found: list[StepView] = []
        for step in steps:
            call.check()
            found.append(self._deeds.view(step, session.agent, call))
        return Page(tuple(found), last)

    def find(self, wanted: StepQuery, limit: int | None, call: Call) -> tuple[StepView, ...]:
        """Finds steps in all sessions, the one that was begun last first.

        Args:
            wanted: which.
            limit: steps, at most; None for all.
            call: the request.

        Raises:
            UnknownSession, UnknownStep: the query names what there is not.
        """
        if wanted.session_id is not None:
            self.known(wanted.session_id)
        if wanted.parent is not None:
            self.known_step(wanted.parent)
        found: list[StepView] = []
        for step in self._timeline.find_steps(wanted, limit):
            call.check()
            found.append(self.shown(step, call))
        return tuple(found)

    # -- steps

    def begin(
        self,
        session_id: SessionId,
        parent: StepId | None,
        message_id: str | None,
        part_id: str | None,
        tool: str | None,
        description: str | None,
        client: Hashable | None,
        call: Call,
        *,
        ends: StepId | None = None,
    ) -> Step:
        """Begins a step, on a snapshot of the work tree as it is.

        Args:
            session_id: its session.
            parent: the step that it is a part of.
            message_id: the message that it belongs to.
            part_id: the part of it.
            tool: what is used in it.
            description: for people.
            client: who is at work in it until it `leave`s; None for a step that is detached from who began it.
            call: the request.
            ends: a step of the session that ends with the very snapshot on which this one begins, so that no change
                falls between the two or into both. It claims nothing. One that has ended stays as it is.

        Raises:
            UnknownSession: there is none, or it has ended.
            UnknownStep: the parent, or the one to end: there is none, or it is another session's.
            InvalidParams: the step to end is one that the new step would be a part of.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it was not begun; the other may have ended.
        """
        ended: Ended | None = None
        try:
            with self._writer.turn(call):
                session = self._going_on(session_id)
                if parent is not None:
                    self.known_step(parent)
                before = None if ends is None else self._to_end(ends, session_id, parent)
                self._writer.work_tree.check_present()
                snapshot = self._writer.look((), call)
                if before is not None and before.state == "open":
                    ended = self._end_on(snapshot, before, None, call, spoken_for=True)
                step_id = secrets.token_hex(8)
                begun = StepBegun(
                    step_id,
                    session_id,
                    session.step_count,
                    parent,
                    message_id,
                    part_id,
                    tool,
                    description,
                    client is None,
                )
                self._writer.track(snapshot, begun, call)
                if client is not None:
                    self._writer.attendance.attend(step_id, client)
                step = self.known_step(step_id)
                self.tell(session_id, self._deeds.view(step, session.agent, call))
        finally:
            if ended is not None:
                self._tell_of_end(ended, call)
        return step

    def _tell_of_end(self, ended: Ended, call: Call) -> None:
        """Tells that a step ended where another one began: what goes wrong with that is no failure of the other one."""
        try:
            self._tell_behind(ended, call)
        except SnapdError as error:
            self._writer.tell_trouble(error)

    def _going_on(self, session_id: SessionId) -> Session:
        """A session that steps can be begun in; raises `UnknownSession`."""
        session = self.known(session_id)
        if session.ended is not None:
            raise UnknownSession(
                f"session {session_id!r} has ended", hint="resume it with `session/start`", sessionId=session_id
            )
        return session

    def _to_end(self, ends: StepId, session_id: SessionId, parent: StepId | None) -> Step:
        """The step that ends where another one begins; raises as `begin`."""
        step = self.known_step(ends)
        if step.begun.session_id != session_id:
            raise UnknownStep(f"step {ends!r} is not one of session {session_id!r}", stepId=ends)
        above = parent
        while above is not None:
            if above == ends:
                raise InvalidParams(f"ends: the new step would be a part of step {ends!r}", field="ends")
            above = self.known_step(above).begun.parent
        return step

    def finish(self, step_id: StepId, claims: Iterable[RelPath] | None, call: Call) -> StepView:
        """Ends a step, with a snapshot of the work tree as it is; one that has ended is told as it is.

        Args:
            step_id: the step.
            claims: the files that its agent knows that it wrote; None where it says nothing of that.
            call: the request.

        Raises:
            UnknownStep: see there.
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it is open.
        """
        with self._writer.turn(call):
            step = self.known_step(step_id)
            ended = None
            if step.state == "open":
                ended = self.end_open(step, None if claims is None else tuple(claims), call, spoken_for=True)
        if ended is None:
            return self.shown(step, call)
        return self._tell_behind(ended, call)

    def _tell_behind(self, ended: Ended, call: Call) -> StepView:
        """Tells that a step ended; the lines of a large one are counted while others may write."""
        view = self.shown(ended.step, call)
        with self._writer.turn(call):
            self.tell_ended(ended)
        return view

    def end_open(self, step: Step, claims: tuple[RelPath, ...] | None, call: Call, *, spoken_for: bool) -> Ended:
        """Ends an open step; for who has the right to write, and tells of it by `tell_ended`.

        Args:
            step: the step.
            claims: as of `finish`.
            call: the request.
            spoken_for: whether it was named to be ended; see `history.StepEnded`.

        Raises:
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: it is open.
        """
        self._writer.work_tree.check_present()
        return self._end_on(self._writer.look((), call), step, claims, call, spoken_for=spoken_for)

    def _end_on(
        self, snapshot: Snapshot, step: Step, claims: tuple[RelPath, ...] | None, call: Call, *, spoken_for: bool
    ) -> Ended:
        """As `end_open`, with a snapshot of the work tree that was just taken."""
        beside = [self.known_step(other) for other in self._timeline.beside(step.step_id)]
        self._writer.bulletin.prepare(len(beside) + SPARE)
        self._writer.track(snapshot, self._end_of(step, snapshot, claims, spoken_for=spoken_for), call)
        self._writer.attendance.drop((step.step_id,))
        return Ended(self.known_step(step.step_id), tuple(other for other in beside if other.ended is not None))

    @contextmanager
    def supposing_ended(self, steps: Iterable[Step], call: Call) -> Iterator[None]:
        """Has everything answer as if `end_open` had ended some steps, unspoken for, until the block ends.

        Nothing is recorded, and nobody hears of it. For who has the right to write.

        Args:
            steps: open, in the order in which they would be ended.
            call: the request.

        Raises:
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: see there.
        """
        self._writer.work_tree.check_present()
        snapshot = self._writer.look((), call)
        with self._timeline.supposing():
            for step in steps:
                self._writer.suppose(snapshot, self._end_of(step, snapshot, None, spoken_for=False))
            yield

    def _end_of(
        self, step: Step, snapshot: Snapshot, claims: tuple[RelPath, ...] | None, *, spoken_for: bool
    ) -> StepEnded:
        """The event that ends an open step with what was found."""
        seen = self._writer.span(self._writer.store.identify(snapshot))
        own = self._deeds.ended_with(step, seen, claims, spoken_for=spoken_for)
        return StepEnded(step.step_id, claims, bool(own.files or own.directories), spoken_for)

    def left(self, session_id: SessionId) -> tuple[Step, ...]:
        """The open steps of a session whose client is gone."""
        gone = self._writer.attendance.left(self._timeline.open_steps())
        return tuple(step for step in gone if step.begun.session_id == session_id)

    def attended_by(self, client: Hashable) -> bool:
        """Whether a client is at work in any step."""
        return bool(self._writer.attendance.of(client))

    def leave(self, client: Hashable, call: Call) -> None:
        """A client is gone. Its steps stay open, and what changes from now on is not their doing.

        Unless somebody ends them by name later, who speaks for that too: an agent that came back.

        Args:
            client: as of `begin`.
            call: the request.

        Raises:
            WorkspaceGone, StoreCorrupt, StorageFull, IoError, Cancelled: what changed since the last event is not their
                doing either.
        """
        attendance = self._writer.attendance
        if not attendance.of(client):
            return
        try:
            with self._writer.turn(call):
                steps = attendance.of(client)
                self._writer.work_tree.check_present()
                snapshot = self._writer.look((), call)
                if steps and self._writer.span(self._writer.store.identify(snapshot)) is not None:
                    self._writer.track(snapshot, StepsLeft(steps), call)
                attendance.drop(steps)
        finally:
            attendance.drop(attendance.of(client))

    # -- showing

    def applied(self, session_id: SessionId, message_id: str | None, step_id: StepId | None) -> tuple[Step, ...]:
        """The steps of a session of which anything is in force, oldest first; none that is open.

        Args:
            session_id: the session.
            message_id: only the steps of this message.
            step_id: only this step and its parts.

        Raises:
            UnknownSession, UnknownStep: see there.
        """
        self.known(session_id)
        steps = self._timeline.steps(session_id)
        if step_id is not None:
            named = self.known_step(step_id)
            if named.begun.session_id != session_id:
                raise UnknownStep(f"step {step_id!r} is not one of session {session_id!r}", stepId=step_id)
            steps = self._deeds.with_parts(named)
        return tuple(step for step in steps if step.state in IN_FORCE and message_id in (None, step.begun.message_id))

    def known(self, session_id: SessionId) -> Session:
        """A session by its name; raises `UnknownSession`."""
        session = self._timeline.session(session_id)
        if session is None:
            raise UnknownSession(f"no session {session_id!r} in this workspace", sessionId=session_id)
        return session

    def known_step(self, step_id: StepId) -> Step:
        """A step by its name; raises `UnknownStep`."""
        step = self._timeline.step(step_id)
        if step is None:
            raise UnknownStep(f"no step {step_id!r} in this workspace", stepId=step_id)
        return step

    def view(self, session: Session, call: Call) -> SessionView:
        """A session, with what can be done in it; raises as `StepChanges.summary`."""
        tally = self._timeline.tally(session.session_id)
        more = sum(not self._deeds.summary(step, call).is_empty for step in tally.unknown)
        return SessionView(session, tally.undoable + more, tally.redoable)

    def shown(self, step: Step, call: Call) -> StepView:
        """A step, with what it changed; raises as `StepChanges.view`."""
        return self._deeds.view(step, self.known(step.begun.session_id).agent, call)

    # -- telling

    def tell(self, session_id: SessionId, *steps: StepView | None) -> None:
        """Tells that a session changed, by each of some steps, or as a whole: None."""
        # what was done is told, whoever does not want to know any more
        session = self.view(self.known(session_id), Call())
        for step in steps:
            self._writer.tell(SessionMoved(session, step))

    def tell_steps(self, steps: Iterable[StepView]) -> None:
        """Tells that some steps changed, of whatever session."""
        of: dict[SessionId, list[StepView]] = {}
        for view in steps:
            of.setdefault(view.step.begun.session_id, []).append(view)
        for session_id, views in of.items():
            self.tell(session_id, *views)

    def _tell_recovered(self, operation: Operated) -> None:
        turned = dict.fromkeys(turn.step_id for turn in operation.turned)
        self.tell_steps([self.shown(self.known_step(step_id), Call()) for step_id in turned])

    def tell_ended(self, ended: Ended) -> None:
        """Tells that a step ended, and of those whose changes look different by that."""
        steps = [self.known_step(ended.step.step_id)]
        for before in ended.beside:
            step = self.known_step(before.step_id)
            if self._deeds.summary(step, Call()) != before.summary:
                steps.append(step)
        self.tell_steps([self.shown(step, Call()) for step in steps])
