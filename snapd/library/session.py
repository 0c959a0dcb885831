"""Sessions in the library: the work of an agent, step by step, with undo and redo."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any

import attrs

from snapd.model.errors import SnapdError, UnknownStep
from snapd.wire import session as wire
from snapd.wire.message import (
    Message,
    SessionMessageParams,
    SessionMessagesParams,
    SessionNewsParams,
    SessionNewsResult,
)
from snapd.wire.session import Hunk, RevertOutcome, StepEndResult, StepsOutcome
from snapd.wire.session import Step as StepInfo
from snapd.wire.snapshot import StatusParams
from snapd.wire.values import FileChange, FileDiff, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from snapd.wire.values import OnConflict

    from .project import FileName, Project

_BEGIN = "begin it first, with `with` or `Step.begin`"
NOTHING_DONE = Outcome(applied=False, before="", after="", files=[])
NO_NEWS = SessionNewsResult(undone=[], redone=[], files=[], news_id="")
NO_STEPS_DONE = StepsOutcome(applied=False, before="", after="", files=[], steps=[])


class Step:
    """One step of a session; `Session.step` creates it.

    It owns what changes in the project between its beginning and its end. A `with` block begins and ends it, even if
    the block raises. If snapshots are off, or fail under `errors="degrade"`, it has no `step_id` and does nothing.

    Attributes:
        step_id: its id; None before it begins.
        before: the hash of the snapshot at its beginning; None before it begins.
        after: the hash of the snapshot at its end; None before it ends.
        files: what changed while it was open, sorted by file; empty before it ends.
    """

    def __init__(
        self, project: Project, session: Session, parent: Step | str | None, params: wire.StepBeginParams
    ) -> None:
        self.step_id: str | None = None
        self.before: str | None = None
        self.after: str | None = None
        self.files: list[FileChange] = []
        self._project = project
        self._session = session
        self._parent = parent
        self._params = params
        self._wrote: list[str] | None = None
        self._lock = threading.Lock()
        self._is_begun = False
        self._is_over = False

    def __repr__(self) -> str:
        title = self._params.description or self._params.tool
        state = "over" if self._is_over else "open" if self._is_begun else "not begun"
        return f"<Step {self.step_id or '-'}{f' {title!r}' if title else ''}, {state}>"

    def __enter__(self) -> Step:
        return self.begin()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        _end(self._project, self.end, error)

    def begin(self) -> Step:
        """Begins the step with a snapshot of the project; returns the step itself.

        Raises `RuntimeError` after an earlier `begin` or `end`, `UnknownSession` if the session has ended,
        `UnknownStep` if the parent does not exist, and `SnapdError`; then the step was not begun.
        """

        def begin() -> None:
            if self._session.start():
                params = attrs.evolve(self._params, parent_step_id=self._parent_id())
                begun = self._project.request(params)
                self.step_id, self.before = begun.step_id, begun.hash

        with self._lock:
            if self._is_begun or self._is_over:
                raise RuntimeError("a step can begin only once; Session.step makes another one")
            self._is_begun = True
            self._project.degrading(None, begin)
        return self

    def wrote(self, *files: FileName) -> None:
        """Declares that the step owns the changes of these files and no others; a directory includes everything in it.

        Call it as often as needed until the step ends. Without a file, it declares that the agent has written nothing
        yet.
        """
        self._wrote = [*(self._wrote or ()), *(self._project.name(file) for file in files)]

    def end(self) -> None:
        """Ends the step with a snapshot of the project; does nothing if it has ended.

        Waits for a `begin` that runs in another thread. The step cannot begin after that. Raises `SnapdError` if the
        step is still open.
        """
        with self._lock:
            self._is_over = True
            if self.step_id is None or self.after is not None:
                return
            params = wire.StepEndParams(step_id=self.step_id, files=self._wrote)
            ended: StepEndResult | None = self._project.request_or(None, params)
            if ended is not None:
                self.after, self.files = ended.to, ended.files

    def _parent_id(self) -> str | None:
        if not isinstance(self._parent, Step):
            return self._parent
        if not self._parent._is_begun:
            raise UnknownStep("the parent was not begun", hint=_BEGIN)
        # None if the parent could not begin: that must not stop the agent of this step
        return self._parent.step_id


class Session:
    """The work of one agent in a project, step by step; `Snapshot.session` creates it.

    A `with` block ends it. `session_id` lets this or another process resume it. Safe to use from several threads.

    Steps can be undone and redone; later changes of the user and of other agents stay. The methods for this have these
    parameters in common:

    - `dry_run`: only report what would be done.
    - `expect`: the plan that a dry run returned; raises `PlanChanged` if the plan is now different.
    - `on_conflict`: what to do with files that changed since; see `onConflict` in the protocol.

    File names are absolute, or relative to the project. Every method raises `SnapdError` if the project cannot be
    opened or read; then no file was changed.
    """

    def __init__(self, project: Project, session_id: str | None, agent: str | None, title: str | None) -> None:
        # the id is made here, so that a start whose response was lost can be sent again
        self.session_id = session_id if session_id is not None else secrets.token_hex(16)
        self._project = project
        self._params = wire.SessionStartParams(session_id=self.session_id, agent=agent, title=title)
        self._lock = threading.Lock()
        self._is_on: bool | None = None

    def __repr__(self) -> str:
        words = [self.session_id, *(repr(text) for text in (self._params.agent, self._params.title) if text)]
        return f"<Session {' '.join(words)}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        _end(self._project, self.end, error)

    def start(self) -> bool:
        """Begins the session if necessary; `Snapshot.session` and every step call this.

        Returns False if snapshots are off: there are no steps then. Raises `SnapdError` if the session was not begun.
        """
        with self._lock:
            if self._is_on is None:
                is_on = self._project.enabled and self._project.request(StatusParams()).enabled
                if is_on:
                    self._project.request(self._params)
                self._is_on = is_on
            return self._is_on

    def end(self) -> None:
        """Ends the session and its open steps; does nothing if it has ended. `undo` and the rest still work.

        Raises `SnapdError` if the session has not ended.
        """
        if self._is_on:
            self._project.request_or(None, wire.SessionEndParams(session_id=self.session_id))

    def step(
        self,
        *,
        tool: str | None = None,
        description: str | None = None,
        message_id: str | None = None,
        part_id: str | None = None,
        parent: Step | str | None = None,
    ) -> Step:
        """Returns a new step, which a `with` block or `Step.begin` begins.

        Args:
            tool: the tool that the step uses.
            description: for people.
            message_id: the agent's id for the step's message; None for the last one of `message`.
            part_id: the agent's id for the part of that message.
            parent: the step that it is a part of, in any session: for a subagent, the step of its agent.
        """
        params = wire.StepBeginParams(
            session_id=self.session_id, tool=tool, description=description, message_id=message_id, part_id=part_id
        )
        return Step(self._project, self, parent, params)

    def message(self, message_id: str, text: str | None = None) -> None:
        """Records that a message was sent to the agent: steps that name no message belong to it from now on.

        `message_id` is the agent's id for the message; calling this again with the same id changes only the text.
        `text` is the prompt: the first 10,000 characters are kept, or none, depending on the setting `prompts`. Raises
        `SnapdError` if the message was not recorded.
        """

        def send() -> None:
            if self.start():
                params = SessionMessageParams(session_id=self.session_id, message_id=message_id, text=text)
                self._project.request(params)

        self._project.degrading(None, send)

    def messages(self) -> list[Message]:
        """Returns the messages of the session, oldest first, each with what its steps changed."""
        return self._project.request_or([], SessionMessagesParams(session_id=self.session_id), "messages")

    def news(self) -> SessionNewsResult:
        """Returns what others did to the session's work since the last call, for the agent's next prompt."""
        return self._project.request_or(NO_NEWS, SessionNewsParams(session_id=self.session_id))

    def steps(self) -> list[StepInfo]:
        """Returns the steps of the session, oldest first, including undone ones."""
        return self._project.request_or([], wire.SessionStepsParams(session_id=self.session_id), "steps")

    def diff(
        self, message_id: str | None = None, *, step: Step | StepInfo | str | None = None, contents: bool = True
    ) -> list[FileDiff]:
        """Returns the net change of its applied steps, sorted by file, without the user's changes.

        `message_id` limits it to the steps of a message, `step` to a step and its parts. `contents=False` leaves
        `before` and `after` empty.
        """
        return self._project.listed(
            lambda: wire.SessionDiffParams(
                session_id=self.session_id, message_id=message_id, step_id=_id_of(step), contents=contents
            ),
            "diffs",
        )

    def undo(
        self,
        count: int = 1,
        *,
        step: Step | StepInfo | str | None = None,
        message: str | None = None,
        after: Step | StepInfo | str | None = None,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
    ) -> StepsOutcome:
        """Undoes the last `count` steps that changed something, or the named ones; later changes of others stay.

        `step` undoes only this step with its parts, `message` only the steps of this message with their parts, and
        `after` all steps after this one. Raises `NothingToUndo` if there is no step left to undo, and `UnknownStep` if
        the session has no such step, or none of that message.
        """
        return self._project.request_or(
            NO_STEPS_DONE,
            lambda: wire.SessionUndoParams(
                session_id=self.session_id,
                count=count,
                step_id=_id_of(step),
                message_id=message,
                after_step_id=_id_of(after),
                dry_run=dry_run,
                expect=expect,
                on_conflict=on_conflict,
            ),
        )

    def redo(
        self,
        count: int | None = 1,
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
    ) -> StepsOutcome:
        """Redoes up to `count` undone steps, the last undone first. None redoes all of the last undo.

        Raises `NothingToRedo` if there is no step to redo, or a later step changed something.
        """
        return self._project.request_or(
            NO_STEPS_DONE,
            wire.SessionRedoParams(
                session_id=self.session_id,
                count=1 if count is None else count,
                whole=count is None,
                dry_run=dry_run,
                expect=expect,
                on_conflict=on_conflict,
            ),
        )

    def revert(
        self,
        message_id: str,
        part_id: str | None = None,
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
    ) -> RevertOutcome:
        """Returns to before a message, or a part of it: undoes all steps of the session since then.

        The result has the outcome for each file, the `snapshot` that `unrevert` restores, and a `diff` of what changed.
        Raises `UnknownStep` if no step belongs to that message or part.
        """
        nothing = RevertOutcome(
            applied=False, before="", after="", files=[], message_id=message_id, part_id=part_id, snapshot="", diff=""
        )
        params = wire.SessionRevertParams(
            session_id=self.session_id,
            message_id=message_id,
            part_id=part_id,
            dry_run=dry_run,
            expect=expect,
            on_conflict=on_conflict,
        )
        return self._project.request_or(nothing, params)

    def unrevert(self, *, dry_run: bool = False, expect: str | None = None) -> Outcome:
        """Redoes what `revert` undid; later changes of others stay.

        Raises `NothingToRedo` if there is nothing to redo, or a later step changed something.
        """
        return self._project.request_or(
            NOTHING_DONE, wire.SessionUnrevertParams(session_id=self.session_id, dry_run=dry_run, expect=expect)
        )

    def hunks(self, step: Step | StepInfo | str, file: FileName) -> list[Hunk]:
        """Returns the hunks that a step changed in a file; none for a binary file.

        Raises `InvalidParams` if the step did not change it.
        """
        return self._project.request_or(
            [], lambda: wire.StepHunksParams(step_id=_id_of(step), file=self._project.name(file)), "hunks"
        )

    def revert_hunks(
        self,
        step: Step | StepInfo | str,
        file: FileName,
        hunks: Iterable[int],
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
    ) -> Outcome:
        """Undoes the hunks of a step with these indexes; the step stays applied.

        Raises `InvalidParams` if the step did not change the file, or has no such hunk in it.
        """
        indexes = list(hunks)
        return self._project.request_or(
            NOTHING_DONE,
            lambda: wire.StepRevertHunksParams(
                step_id=_id_of(step),
                file=self._project.name(file),
                hunks=indexes,
                dry_run=dry_run,
                expect=expect,
                on_conflict=on_conflict,
            ),
        )

    def revert_files(
        self,
        step: Step | StepInfo | str,
        files: Iterable[FileName],
        *,
        dry_run: bool = False,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
    ) -> Outcome:
        """Undoes what a step changed in some files; the step stays applied.

        Raises `InvalidParams` if the step did not change one of the files, and `TypeError` for a single name.
        """
        names = self._project.names(files)
        return self._project.request_or(
            NOTHING_DONE,
            lambda: wire.StepRevertFilesParams(
                step_id=_id_of(step), files=names, dry_run=dry_run, expect=expect, on_conflict=on_conflict
            ),
        )


def _id_of(step: Step | StepInfo | str | None) -> Any:
    """Returns the id of a step; None for no step.

    Raises `UnknownStep` if the step has no id yet: None would stand for all steps.
    """
    name = step.step_id if isinstance(step, (Step, StepInfo)) else step
    if step is not None and name is None:
        raise UnknownStep("the step was not begun", hint=_BEGIN)
    return name


def _end(project: Project, end: Callable[[], None], error: BaseException | None) -> None:
    """Calls `end` after a block; an error of `end` does not hide the exception of the block."""
    try:
        end()
    except SnapdError as failure:
        if error is None:
            raise
        project.log(failure)
