"""The params and results of the `session/*` and `step/*` requests."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .snapshot import CURSOR, DRY_RUN, NEXT_CURSOR
from .values import FileChange, FileDiff, Limit, OnConflict, Outcome, RequestParams, TreeHash, says

_SESSION = "The session."
_STEP = "The step."
_MESSAGE = "The message that it belongs to, by the agent's own id."
_PART = "The part of that message, by the agent's own id."
_ON_CONFLICT = (
    'What to do with a file that is not as the step left it. Default: `"merge"`. See [Conflicts](#conflicts).'
)


@attrs.frozen(kw_only=True)
class Session:
    """A session: the work of one agent, step by step."""

    session_id: str = field(metadata=says("The id of the session."))
    agent: str | None = field(default=None, metadata=says("The agent that works in it."))
    title: str | None = field(default=None, metadata=says("A title for people."))
    started_at: str = field(metadata=says("When it started, as RFC 3339 in UTC with milliseconds."))
    ended_at: str | None = field(default=None, metadata=says("When it ended. Absent while it goes on."))
    step_count: int = field(metadata=says("The number of steps that were begun in it."))
    undoable: int = field(metadata=says("The number of its steps that can be undone, in whole or in part."))
    redoable: int = field(metadata=says("The number of its steps that can be redone, in whole or in part."))


@attrs.frozen(kw_only=True)
class Step:
    """A step of a session, and what it changed."""

    step_id: str = field(metadata=says("The id of the step."))
    session_id: str = field(metadata=says("The session of the step."))
    index: int = field(metadata=says("Its index among the steps of the session, from 0."))
    parent_step_id: str | None = field(default=None, metadata=says("The step that it is a part of."))
    message_id: str | None = field(default=None, metadata=says(_MESSAGE))
    part_id: str | None = field(default=None, metadata=says(_PART))
    agent: str | None = field(default=None, metadata=says("The agent that works in the session."))
    tool: str | None = field(default=None, metadata=says("The tool that was used."))
    description: str | None = field(default=None, metadata=says("A description for people."))
    started_at: str = field(metadata=says("When it began, as RFC 3339 in UTC with milliseconds."))
    ended_at: str | None = field(default=None, metadata=says("When it ended. Absent while it is open."))
    from_: TreeHash = field(metadata=says("The snapshot at its beginning."))
    to: TreeHash | None = field(default=None, metadata=says("The snapshot at its end. Absent while it is open."))
    state: Literal["open", "applied", "partly", "undone"] = field(
        metadata=says(
            'What has become of it. `"partly"` means that some of its files were undone, and conflicts kept the others.'
        )
    )
    files: list[FileChange] | None = field(
        default=None, metadata=says("The files that it changed, ordered by file. Absent while it is open.")
    )


@attrs.frozen(kw_only=True)
class SessionStartParams(RequestParams):
    """The params of `session/start`."""

    session_id: str | None = field(
        default=None,
        metadata=says("An id for the session. If a session has this id, it is resumed. Default: a new id."),
    )
    agent: str | None = field(default=None, metadata=says("The agent that works in it."))
    title: str | None = field(default=None, metadata=says("A title for people."))


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
    limit: Limit | None = field(
        default=None, metadata=says("The maximum number of sessions in one response, at least 1. Default: all.")
    )


@attrs.frozen(kw_only=True)
class SessionListResult:
    """The result of `session/list`."""

    sessions: list[Session] = field(metadata=says("The sessions, in the order in which they were first started."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class SessionStepsParams(RequestParams):
    """The params of `session/steps`."""

    session_id: str = field(metadata=says(_SESSION))
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(
        default=None, metadata=says("The maximum number of steps in one response, at least 1. Default: all.")
    )


@attrs.frozen(kw_only=True)
class SessionStepsResult:
    """The result of `session/steps`."""

    steps: list[Step] = field(metadata=says("The steps, oldest first, including those that were undone."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class SessionDiffParams(RequestParams):
    """The params of `session/diff`."""

    session_id: str = field(metadata=says(_SESSION))
    message_id: str | None = field(default=None, metadata=says("Only the steps of this message."))
    step_id: str | None = field(default=None, metadata=says("Only this step and its parts."))
    contents: bool = field(default=True, metadata=says("Whether to fill in `before` and `after`."))
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The maximum number of files in one response, at least 1."))


@attrs.frozen(kw_only=True)
class SessionDiffResult:
    """The result of `session/diff`."""

    diffs: list[FileDiff] = field(metadata=says("The net changes of the session's own applied steps, ordered by file."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class SessionUndoParams(RequestParams):
    """The params of `session/undo`."""

    session_id: str = field(metadata=says(_SESSION))
    count: Limit = field(default=1, metadata=says("How many steps to undo. A number beyond the last one means all."))
    step_id: str | None = field(
        default=None, metadata=says("Undo only this step, with its parts, and keep later steps.")
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class SessionRedoParams(RequestParams):
    """The params of `session/redo`."""

    session_id: str = field(metadata=says(_SESSION))
    count: Limit = field(default=1, metadata=says("How many steps to redo. A number beyond the last one means all."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class StepsOutcome(Outcome):
    """What `session/undo` and `session/redo` did."""

    steps: list[Step] = field(metadata=says("The steps, in the order in which they were processed."))


@attrs.frozen(kw_only=True)
class SessionRevertParams(RequestParams):
    """The params of `session/revert`."""

    session_id: str = field(metadata=says(_SESSION))
    message_id: str = field(metadata=says("Go back to before this message."))
    part_id: str | None = field(default=None, metadata=says("Go back to before this part of the message."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class RevertOutcome(Outcome):
    """What `session/revert` did."""

    message_id: str = field(metadata=says("The message of the request."))
    part_id: str | None = field(default=None, metadata=says("The part of the request."))
    snapshot: TreeHash = field(metadata=says("The working tree before, to which `session/unrevert` returns."))
    diff: str = field(metadata=says("The changes that it made, as a unified diff."))


@attrs.frozen(kw_only=True)
class SessionUnrevertParams(RequestParams):
    """The params of `session/unrevert`."""

    session_id: str = field(metadata=says(_SESSION))


@attrs.frozen(kw_only=True)
class StepBeginParams(RequestParams):
    """The params of `step/begin`."""

    session_id: str = field(metadata=says(_SESSION))
    parent_step_id: str | None = field(
        default=None,
        metadata=says("The step that this one is a part of, in any session: for a subagent, the step of its caller."),
    )
    message_id: str | None = field(default=None, metadata=says(_MESSAGE))
    part_id: str | None = field(default=None, metadata=says(_PART))
    tool: str | None = field(default=None, metadata=says("The tool that is used."))
    description: str | None = field(default=None, metadata=says("A description for people."))
    ends: str | None = field(
        default=None,
        metadata=says(
            "A step of the same session to end with the snapshot on which this one begins, so that no change falls "
            "between the two or into both. If it has already ended, it stays as it is. It must not be a step that this "
            "one is a part of."
        ),
    )
    detached: bool = field(
        default=False,
        metadata=says(
            "The step does not depend on this connection: for a hook that exits at once. See [Sessions and "
            "steps](#sessions-and-steps)."
        ),
    )


@attrs.frozen(kw_only=True)
class StepBeginResult:
    """The result of `step/begin`."""

    step_id: str = field(metadata=says(_STEP))
    hash: TreeHash = field(metadata=says("The snapshot at its beginning."))


@attrs.frozen(kw_only=True)
class StepFindParams(RequestParams):
    """The params of `step/find`."""

    prefix: str | None = field(default=None, metadata=says("The beginning of the step ids. Default: any."))
    session_id: str | None = field(default=None, metadata=says("Only steps of this session."))
    parent_step_id: str | None = field(default=None, metadata=says("Only steps that are parts of this one."))
    limit: Limit | None = field(
        default=None, metadata=says("The maximum number of steps in the response, at least 1. Default: all.")
    )


@attrs.frozen(kw_only=True)
class StepFindResult:
    """The result of `step/find`."""

    steps: list[Step] = field(metadata=says("The steps, latest first."))


@attrs.frozen(kw_only=True)
class StepEndParams(RequestParams):
    """The params of `step/end`."""

    step_id: str = field(metadata=says(_STEP))
    files: list[str] | None = field(
        default=None,
        metadata=says(
            "The files that the agent knows it wrote. A directory stands for everything in it. Of the changes during "
            "the step, it owns those to these files and no others; with an empty list, none."
        ),
    )


@attrs.frozen(kw_only=True)
class StepEndResult:
    """The result of `step/end`."""

    step_id: str = field(metadata=says(_STEP))
    from_: TreeHash = field(metadata=says("The snapshot at its beginning."))
    to: TreeHash = field(metadata=says("The snapshot at its end."))
    files: list[FileChange] = field(metadata=says("The files that it changed, ordered by file."))


@attrs.frozen(kw_only=True)
class StepHunksParams(RequestParams):
    """The params of `step/hunks`."""

    step_id: str = field(metadata=says(_STEP))
    file: str = field(metadata=says("The file: a relative path, an absolute path, or a `file:` URI."))


@attrs.frozen(kw_only=True)
class Hunk:
    """One hunk of the changes of a step to a file."""

    index: int = field(metadata=says("Its index, from 0."))
    header: str = field(metadata=says("The line with `@@`."))
    lines: list[str] = field(metadata=says("The lines, each with its ` `, `+`, `-` or `\\` in front."))


@attrs.frozen(kw_only=True)
class StepHunksResult:
    """The result of `step/hunks`."""

    hunks: list[Hunk] = field(metadata=says("The hunks. Empty for a binary file, and if only the mode changed."))


@attrs.frozen(kw_only=True)
class StepRevertHunksParams(RequestParams):
    """The params of `step/revertHunks`."""

    step_id: str = field(metadata=says(_STEP))
    file: str = field(metadata=says("The file: a relative path, an absolute path, or a `file:` URI."))
    hunks: list[int] = field(metadata=says("The indexes of the hunks to revert."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class StepRevertFilesParams(RequestParams):
    """The params of `step/revertFiles`."""

    step_id: str = field(metadata=says(_STEP))
    files: list[str] = field(
        metadata=says(
            "Files that the step or one of its parts changed: relative paths, absolute paths, or `file:` URIs."
        )
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class HistoryParams(RequestParams):
    """The params of `session/history`."""

    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(
        default=None, metadata=says("The maximum number of entries in one response, at least 1.")
    )


@attrs.frozen(kw_only=True)
class Entry:
    """An entry of the history: a step, an operation, or what changed while no step was open."""

    kind: Literal["step", "user", "restore", "revert", "undo", "redo", "unrevert", "hunks"] = field(
        metadata=says('What it is. `"user"` means changes while no step was open.')
    )
    at: str = field(
        metadata=says('When it began; for `"user"`, when it was noticed. RFC 3339 in UTC with milliseconds.')
    )
    step: Step | None = field(default=None, metadata=says("The step, if it is one."))
    session_id: str | None = field(default=None, metadata=says("The session of an operation."))
    steps: list[str] | None = field(default=None, metadata=says("The steps that an operation undid or redid."))
    before: TreeHash = field(metadata=says("The working tree before it."))
    after: TreeHash | None = field(default=None, metadata=says("The working tree after it. Absent for an open step."))
    files: list[FileChange] = field(metadata=says("The files that it changed, ordered by file."))


@attrs.frozen(kw_only=True)
class HistoryResult:
    """The result of `session/history`."""

    entries: list[Entry] = field(metadata=says("The entries, latest first."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))
