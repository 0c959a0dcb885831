"""Sessions in the library: the work of an agent, step by step, with undo and redo."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any

import attrs

from snapd.core.errors import SnapdError, UnknownStep
from snapd.wire import session as wire
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
_NO_STEPS_DONE = StepsOutcome(applied=False, before="", after="", files=[], steps=[])


class Step:
    """One step of a session; `Session.step` makes it.

    What changes in the project between its begin and its end is its own. A `with` block begins and ends it, also where
    the block raises. Where snapshots are off, or could not be taken under `errors="degrade"`, it has no `step_id` and
    does nothing.

    Attributes:
        step_id: its name; None before its begin.
        before: the hash of the snapshot that it was begun on; None before its begin.
        after: the hash of the snapshot that it was ended with; None before its end.
        files: what changed while it was open, ordered by file; empty before its end.
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

    def __enter__(self) -> Step:
        return self.begin()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        _end(self._project, self.end, error)

    def begin(self) -> Step:
        """Begins it, on a snapshot of the project as it is; gives itself.

        Raises:
            RuntimeError: it was begun before, or `end` was called.
            UnknownSession: the session has ended.
            UnknownStep: there is no such parent.
            SnapdError: it was not begun.
        """

        def begin() -> None:
            if self._session.start():
                params = attrs.evolve(self._params, parent_step_id=self._parent_id())
                begun = self._project.request(params)
                self.step_id, self.before = begun.step_id, begun.hash

        with self._lock:
            if self._is_begun or self._is_over:
                raise RuntimeError("a step is begun once; Session.step makes another one")
            self._is_begun = True
            self._project.degrading(None, begin)
        return self

    def wrote(self, *files: FileName) -> None:
        """Says what the agent knows that it wrote, where steps of several agents overlap.

        Of what changed meanwhile, the step is then the author of these files and of no others. It may be said bit by
        bit, until the step ends; without a file, it says that nothing was written so far.

        Args:
            files: absolute, or relative to the project; a directory stands for all in it.
        """
        self._wrote = [*(self._wrote or ()), *(self._project.name(file) for file in files)]

    def end(self) -> None:
        """Ends it, with a snapshot of the project as it is; harmless where it has ended.

        A `begin` that is under way in another thread is waited for, and none is possible any more.

        Raises:
            SnapdError: it is open still.
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
        # None where it could not be: that must not stop the agent of this one
        return self._parent.step_id


class Session:
    """The work of one agent in a project, step by step; `Snapshot.session` makes it.

    A `with` block ends it. Safe to use from several threads. What a step changed can be taken back and done again,
    while what the user and other agents changed since stays; see `onConflict` in the protocol for what overlaps.

    Attributes:
        session_id: its name, by which it can be taken up again, also in another process.
    """

    def __init__(self, project: Project, session_id: str | None, agent: str | None, title: str | None) -> None:
        # a name of our own, so that a start whose answer was lost can be asked for again
        self.session_id = session_id if session_id is not None else secrets.token_hex(8)
        self._project = project
        self._params = wire.SessionStartParams(session_id=self.session_id, agent=agent, title=title)
        self._lock = threading.Lock()
        self._is_on: bool | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        _end(self._project, self.end, error)

    def start(self) -> bool:
        """Begins it where it was not begun yet, which `Snapshot.session` and every step do.

        Returns:
            False where snapshots are off: there are no steps then.

        Raises:
            SnapdError: it was not begun.
        """
        with self._lock:
            if self._is_on is None:
                is_on = self._project.enabled and self._project.request(StatusParams()).enabled
                if is_on:
                    self._project.request(self._params)
                self._is_on = is_on
            return self._is_on

    def end(self) -> None:
        """Ends it and the steps that are open in it; harmless where it has ended. `undo` and the rest still work.

        Raises:
            SnapdError: it goes on.
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
        """A step, which a `with` block or `Step.begin` begins.

        Args:
            tool: what is used in it.
            description: for people.
            message_id: the message that it belongs to, by whatever name the agent has for it.
            part_id: the part of that message, likewise.
            parent: the step that it is a part of, of whatever session: of a subagent, that of its agent.
        """
        params = wire.StepBeginParams(
            session_id=self.session_id, tool=tool, description=description, message_id=message_id, part_id=part_id
        )
        return Step(self._project, self, parent, params)

    def steps(self) -> list[StepInfo]:
        """Its steps, oldest first; those that were undone are among them.

        Raises:
            SnapdError: see there.
        """
        return self._project.request_or([], wire.SessionStepsParams(session_id=self.session_id), "steps")

    def diff(
        self, message_id: str | None = None, *, step: Step | StepInfo | str | None = None, contents: bool = True
    ) -> list[FileDiff]:
        """The net of what its applied steps changed, ordered by file; the user's changes are no part of it.

        Args:
            message_id: only the steps of this message.
            step: only this step and its parts.
            contents: whether `before` and `after` are filled in.

        Raises:
            SnapdError: see there.
        """

        def diff() -> list[FileDiff]:
            params = wire.SessionDiffParams(
                session_id=self.session_id, message_id=message_id, step_id=_id_of(step), contents=contents
            )
            return list(self._project.pages(params, "diffs"))

        return self._project.degrading([], diff)

    def undo(
        self,
        count: int = 1,
        *,
        step: Step | StepInfo | str | None = None,
        dry_run: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> StepsOutcome:
        """Takes back its last steps that changed something, or one step with its parts; what others did since stays.

        Args:
            count: how many; more than there are stands for all.
            step: this step alone; the later ones are kept.
            dry_run: only say what would be done.
            on_conflict: what to do with files that are not what the steps left.

        Raises:
            NothingToUndo: no such step is left.
            SnapdError: nothing was changed.
        """

        def undo() -> Any:
            params = wire.SessionUndoParams(
                session_id=self.session_id,
                count=count,
                step_id=_id_of(step),
                dry_run=dry_run,
                on_conflict=on_conflict,
            )
            return self._project.request(params)

        return self._project.degrading(_NO_STEPS_DONE, undo)

    def redo(self, count: int = 1, *, dry_run: bool = False, on_conflict: OnConflict = "merge") -> StepsOutcome:
        """Does steps again that were undone, the last one undone first.

        Args:
            count: how many; more than there are stands for all.
            dry_run: only say what would be done.
            on_conflict: what to do with files that are not what the undo left.

        Raises:
            NothingToRedo: there is none, or a later step changed something.
            SnapdError: nothing was changed.
        """
        return self._project.request_or(
            _NO_STEPS_DONE,
            wire.SessionRedoParams(session_id=self.session_id, count=count, dry_run=dry_run, on_conflict=on_conflict),
        )

    def revert(
        self,
        message_id: str,
        part_id: str | None = None,
        *,
        dry_run: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> RevertOutcome:
        """Goes back to before a message, or a part of it: takes back all its steps since.

        Args:
            message_id: the message.
            part_id: the part of it.
            dry_run: only say what would be done.
            on_conflict: what to do with files that are not what the steps left.

        Returns:
            What became of the files, with the `snapshot` that `unrevert` leads back to and a `diff` of what changed.

        Raises:
            UnknownStep: no step belongs to that message or part.
            SnapdError: nothing was changed.
        """
        nothing = RevertOutcome(
            applied=False, before="", after="", files=[], message_id=message_id, part_id=part_id, snapshot="", diff=""
        )
        params = wire.SessionRevertParams(
            session_id=self.session_id,
            message_id=message_id,
            part_id=part_id,
            dry_run=dry_run,
            on_conflict=on_conflict,
        )
        return self._project.request_or(nothing, params)

    def unrevert(self) -> Outcome:
        """Does again what `revert` took back; what others changed since stays.

        Raises:
            NothingToRedo: there is nothing, or a later step changed something.
            SnapdError: nothing was changed.
        """
        return self._project.request_or(NOTHING_DONE, wire.SessionUnrevertParams(session_id=self.session_id))

    def hunks(self, step: Step | StepInfo | str, file: FileName) -> list[Hunk]:
        """What a step changed in a file, hunk by hunk; none of a binary file.

        Args:
            step: the step.
            file: absolute, or relative to the project.

        Raises:
            InvalidParams: the step did not change it.
            SnapdError: see there.
        """

        def hunks() -> Any:
            params = wire.StepHunksParams(step_id=_id_of(step), file=self._project.name(file))
            return self._project.request(params).hunks

        return self._project.degrading([], hunks)

    def revert_hunks(
        self,
        step: Step | StepInfo | str,
        file: FileName,
        hunks: Iterable[int],
        *,
        dry_run: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> Outcome:
        """Takes some of these hunks back; the step stays applied.

        Args:
            step: the step.
            file: absolute, or relative to the project.
            hunks: which ones, by their indexes.
            dry_run: only say what would be done.
            on_conflict: what to do with a file that is not what the step left.

        Raises:
            InvalidParams: the step did not change the file, or has no such hunk in it.
            SnapdError: nothing was changed.
        """
        indexes = list(hunks)

        def revert() -> Any:
            params = wire.StepRevertHunksParams(
                step_id=_id_of(step),
                file=self._project.name(file),
                hunks=indexes,
                dry_run=dry_run,
                on_conflict=on_conflict,
            )
            return self._project.request(params)

        return self._project.degrading(NOTHING_DONE, revert)

    def revert_files(
        self,
        step: Step | StepInfo | str,
        files: Iterable[FileName],
        *,
        dry_run: bool = False,
        on_conflict: OnConflict = "merge",
    ) -> Outcome:
        """Takes back what a step changed in some files; the step stays applied.

        Args:
            step: the step.
            files: absolute, or relative to the project.
            dry_run: only say what would be done.
            on_conflict: what to do with a file that is not what the step left.

        Raises:
            TypeError: one name where several are expected.
            InvalidParams: the step did not change one of the files.
            SnapdError: nothing was changed.
        """
        names = self._project.names(files)

        def revert() -> Any:
            params = wire.StepRevertFilesParams(
                step_id=_id_of(step), files=names, dry_run=dry_run, on_conflict=on_conflict
            )
            return self._project.request(params)

        return self._project.degrading(NOTHING_DONE, revert)


def _id_of(step: Step | StepInfo | str | None) -> Any:
    """The name of a step; None for no step.

    Raises:
        UnknownStep: the step has no name yet; None would stand for all steps.
    """
    name = step.step_id if isinstance(step, (Step, StepInfo)) else step
    if step is not None and name is None:
        raise UnknownStep("the step was not begun", hint=_BEGIN)
    return name


def _end(project: Project, end: Callable[[], None], error: BaseException | None) -> None:
    """Ends what a block was about; what goes wrong then does not hide what the block raised."""
    try:
        end()
    except SnapdError as failure:
        if error is None:
            raise
        project.log(failure)
