"""The params and results of the `session/*` and `step/*` requests."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .snapshot import CURSOR, DRY_RUN, NEXT_CURSOR
from .values import FileChange, FileDiff, Limit, OnConflict, Outcome, RequestParams, TreeHash, says

_SESSION = "The session."
_ALL = "; all where it is not given."
_STEP = "The step."
_MESSAGE = "The message that it belongs to, by whatever name the agent has for it."
_PART = "The part of that message, likewise."
_TIME = "In UTC, as RFC 3339 has it, with milliseconds."
_ON_CONFLICT = (
    'What happens to a file that is not what the step left, by default `"merge"`: see [Conflicts](#conflicts).'
)


@attrs.frozen(kw_only=True)
class Session:
    """A session: the work of one agent, step by step."""

    session_id: str = field(metadata=says("Its name."))
    agent: str | None = field(default=None, metadata=says("Who works in it."))
    title: str | None = field(default=None, metadata=says("For people."))
    started_at: str = field(metadata=says(_TIME))
    ended_at: str | None = field(default=None, metadata=says(f"There once it has ended. {_TIME}"))
    step_count: int = field(metadata=says("How many steps were begun in it."))
    undoable: int = field(metadata=says("How many of its steps can be undone, or what is left of them."))
    redoable: int = field(metadata=says("How many of its steps can be redone, as far as they were undone."))


@attrs.frozen(kw_only=True)
class Step:
    """A step of a session, and what it changed."""

    step_id: str = field(metadata=says("Its name."))
    session_id: str = field(metadata=says("Its session."))
    index: int = field(metadata=says("Its place among the steps of the session, from 0."))
    parent_step_id: str | None = field(default=None, metadata=says("The step that it is a part of."))
    message_id: str | None = field(default=None, metadata=says(_MESSAGE))
    part_id: str | None = field(default=None, metadata=says(_PART))
    agent: str | None = field(default=None, metadata=says("Who works in the session."))
    tool: str | None = field(default=None, metadata=says("What was used in it."))
    description: str | None = field(default=None, metadata=says("For people."))
    started_at: str = field(metadata=says(_TIME))
    ended_at: str | None = field(default=None, metadata=says(f"There once it has ended. {_TIME}"))
    from_: TreeHash = field(metadata=says("The snapshot that it was begun on."))
    to: TreeHash | None = field(default=None, metadata=says("The snapshot that it was ended with."))
    state: Literal["open", "applied", "partly", "undone"] = field(
        metadata=says("What became of it; `partly` where some of its files were undone, and conflicts kept the others.")
    )
    files: list[FileChange] | None = field(
        default=None, metadata=says("What changed while it was open, ordered by file; there once it has ended.")
    )


@attrs.frozen(kw_only=True)
class SessionStartParams(RequestParams):
    """The params of `session/start`."""

    session_id: str | None = field(
        default=None, metadata=says("A name for it, else one is made. A session of this name is taken up again.")
    )
    agent: str | None = field(default=None, metadata=says("Who works in it."))
    title: str | None = field(default=None, metadata=says("For people."))


@attrs.frozen(kw_only=True)
class SessionStartResult:
    """The result of `session/start`."""

    session_id: str = field(metadata=says(_SESSION))


@attrs.frozen(kw_only=True)
class SessionEndParams(RequestParams):
    """The params of `session/end`."""

    session_id: str = field(metadata=says(_SESSION))


@attrs.frozen(kw_only=True)
class SessionEndResult:
    """The result of `session/end`."""


@attrs.frozen(kw_only=True)
class SessionListParams(RequestParams):
    """The params of `session/list`."""

    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says(f"The most sessions in one answer, at least 1{_ALL}"))


@attrs.frozen(kw_only=True)
class SessionListResult:
    """The result of `session/list`."""

    sessions: list[Session] = field(metadata=says("In the order in which they were first started."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class SessionStepsParams(RequestParams):
    """The params of `session/steps`."""

    session_id: str = field(metadata=says(_SESSION))
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says(f"The most steps in one answer, at least 1{_ALL}"))


@attrs.frozen(kw_only=True)
class SessionStepsResult:
    """The result of `session/steps`."""

    steps: list[Step] = field(metadata=says("Oldest first; those undone are among them."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class SessionDiffParams(RequestParams):
    """The params of `session/diff`."""

    session_id: str = field(metadata=says(_SESSION))
    message_id: str | None = field(default=None, metadata=says("Only the steps of this message."))
    step_id: str | None = field(default=None, metadata=says("Only this step and its parts."))
    contents: bool = field(default=True, metadata=says("Whether `before` and `after` are filled in."))
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The most files in one answer, at least 1."))


@attrs.frozen(kw_only=True)
class SessionDiffResult:
    """The result of `session/diff`."""

    diffs: list[FileDiff] = field(
        metadata=says("The net of what the session's own applied steps changed, ordered by file.")
    )
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class SessionUndoParams(RequestParams):
    """The params of `session/undo`."""

    session_id: str = field(metadata=says(_SESSION))
    count: Limit = field(default=1, metadata=says("How many steps; more than there are stands for all."))
    step_id: str | None = field(
        default=None, metadata=says("This step alone, with its parts; the later ones are kept.")
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class SessionRedoParams(RequestParams):
    """The params of `session/redo`."""

    session_id: str = field(metadata=says(_SESSION))
    count: Limit = field(default=1, metadata=says("How many steps; more than there are stands for all."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class StepsOutcome(Outcome):
    """What `session/undo` and `session/redo` did."""

    steps: list[Step] = field(metadata=says("The steps that it was about, in the order in which they were taken."))


@attrs.frozen(kw_only=True)
class SessionRevertParams(RequestParams):
    """The params of `session/revert`."""

    session_id: str = field(metadata=says(_SESSION))
    message_id: str = field(metadata=says("Back to before this message."))
    part_id: str | None = field(default=None, metadata=says("Back to before this part of it."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class RevertOutcome(Outcome):
    """What `session/revert` did: a `RevertInfo` and an `Outcome`."""

    message_id: str = field(metadata=says("The message that was gone back before."))
    part_id: str | None = field(default=None, metadata=says("The part of it."))
    snapshot: TreeHash = field(metadata=says("The working tree before, which `session/unrevert` leads back to."))
    diff: str = field(metadata=says("What it changed, as a unified diff."))


@attrs.frozen(kw_only=True)
class SessionUnrevertParams(RequestParams):
    """The params of `session/unrevert`."""

    session_id: str = field(metadata=says(_SESSION))


@attrs.frozen(kw_only=True)
class StepBeginParams(RequestParams):
    """The params of `step/begin`."""

    session_id: str = field(metadata=says(_SESSION))
    parent_step_id: str | None = field(
        default=None, metadata=says("The step that it is a part of, of whatever session: that of a subagent, say.")
    )
    message_id: str | None = field(default=None, metadata=says(_MESSAGE))
    part_id: str | None = field(default=None, metadata=says(_PART))
    tool: str | None = field(default=None, metadata=says("What is used in it."))
    description: str | None = field(default=None, metadata=says("For people."))
    ends: str | None = field(
        default=None,
        metadata=says(
            "A step of the same session that ends with the very snapshot on which this one begins, so that no change "
            "falls between the two, or into both. One that has ended stays as it is. Not a step that this one is a "
            "part of."
        ),
    )
    detached: bool = field(
        default=False,
        metadata=says("It goes on without this connection: that of a hook which is gone at once, say. See Sessions."),
    )


@attrs.frozen(kw_only=True)
class StepBeginResult:
    """The result of `step/begin`."""

    step_id: str = field(metadata=says(_STEP))
    hash: TreeHash = field(metadata=says("The snapshot that it was begun on."))


@attrs.frozen(kw_only=True)
class StepFindParams(RequestParams):
    """The params of `step/find`."""

    prefix: str | None = field(default=None, metadata=says("The beginning of the names; any where it is not given."))
    session_id: str | None = field(default=None, metadata=says("Only steps of this session."))
    parent_step_id: str | None = field(default=None, metadata=says("Only steps that are parts of this one."))
    limit: Limit | None = field(default=None, metadata=says(f"The most steps in the answer, at least 1{_ALL}"))


@attrs.frozen(kw_only=True)
class StepFindResult:
    """The result of `step/find`."""

    steps: list[Step] = field(metadata=says("The one that was begun last comes first."))


@attrs.frozen(kw_only=True)
class StepEndParams(RequestParams):
    """The params of `step/end`."""

    step_id: str = field(metadata=says(_STEP))
    files: list[str] | None = field(
        default=None,
        metadata=says(
            "What the agent knows that it wrote, where steps overlap; a directory stands for all in it. Of what "
            "changed meanwhile, it is the author of these files and of no others."
        ),
    )


@attrs.frozen(kw_only=True)
class StepEndResult:
    """The result of `step/end`."""

    step_id: str = field(metadata=says(_STEP))
    from_: TreeHash = field(metadata=says("The snapshot that it was begun on."))
    to: TreeHash = field(metadata=says("The snapshot that it was ended with."))
    files: list[FileChange] = field(metadata=says("What changed while it was open, ordered by file."))


@attrs.frozen(kw_only=True)
class StepHunksParams(RequestParams):
    """The params of `step/hunks`."""

    step_id: str = field(metadata=says(_STEP))
    file: str = field(metadata=says("The file: a relative path, an absolute one, or a `file:` URI."))


@attrs.frozen(kw_only=True)
class Hunk:
    """A hunk of what a step changed in a file."""

    index: int = field(metadata=says("From 0."))
    header: str = field(metadata=says("The line with `@@`."))
    lines: list[str] = field(metadata=says("Each with its ` `, `+`, `-` or `\\` in front."))


@attrs.frozen(kw_only=True)
class StepHunksResult:
    """The result of `step/hunks`."""

    hunks: list[Hunk] = field(metadata=says("None for a binary file, and where only the mode changed."))


@attrs.frozen(kw_only=True)
class StepRevertHunksParams(RequestParams):
    """The params of `step/revertHunks`."""

    step_id: str = field(metadata=says(_STEP))
    file: str = field(metadata=says("The file: a relative path, an absolute one, or a `file:` URI."))
    hunks: list[int] = field(metadata=says("Which hunks, by their indexes."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class StepRevertFilesParams(RequestParams):
    """The params of `step/revertFiles`."""

    step_id: str = field(metadata=says(_STEP))
    files: list[str] = field(
        metadata=says("Files that it or a part of it changed: relative paths, absolute ones, or `file:` URIs.")
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class HistoryParams(RequestParams):
    """The params of `session/history`."""

    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The most entries in one answer, at least 1."))


@attrs.frozen(kw_only=True)
class Entry:
    """An entry of the history: a step, an operation, or what changed while no step was open."""

    kind: Literal["step", "user", "restore", "revert", "undo", "redo", "unrevert", "hunks"] = field(
        metadata=says("What it is; `user` where no step was open.")
    )
    at: str = field(metadata=says(f"When it began; of `user`, when it was noticed. {_TIME}"))
    step: Step | None = field(default=None, metadata=says("Of a step: it."))
    session_id: str | None = field(default=None, metadata=says("Of an operation: the session that it was about."))
    steps: list[str] | None = field(default=None, metadata=says("Of an operation: the steps that it turned."))
    before: TreeHash = field(metadata=says("The working tree before it."))
    after: TreeHash | None = field(
        default=None, metadata=says("The working tree after it; not there while it is open.")
    )
    files: list[FileChange] = field(metadata=says("What it changed, ordered by file."))


@attrs.frozen(kw_only=True)
class HistoryResult:
    """The result of `session/history`."""

    entries: list[Entry] = field(metadata=says("The latest first."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))
