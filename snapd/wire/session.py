"""The params and results of the `session/*` and `step/*` requests."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .git import GIT, GitChange
from .snapshot import BINARY, CURSOR, DECISIONS, DETAILS, DRY_RUN, EXACT, EXPECT, NEXT_CURSOR
from .values import (
    URI,
    Decision,
    Detail,
    FileChange,
    FileDiff,
    Limit,
    OnConflict,
    Origin,
    Outcome,
    Plan,
    RequestParams,
    RevertKind,
    Signature,
    TreeHash,
    Uncaptured,
)

SESSION = "The session."
_STEP = "The step."
_MESSAGE = "The message that it belongs to, by the agent's own id."
_PART = "The part of that message, by the agent's own id."
RENAMES = "Whether to list a moved file once, with `renamedFrom`."
_ON_CONFLICT = (
    'What to do with a file that is not as the step left it. Default: `"merge"`. See [Conflicts](#conflicts).'
)


@attrs.frozen(kw_only=True)
class Continuation:
    """Where the conversation of a session comes from."""

    session_id: Annotated[str, "The session whose conversation goes on in another one."]
    message_id: Annotated[str | None, "It goes on from before this message. Absent for the end."] = None


@attrs.frozen(kw_only=True)
class Session:
    """A session: the work of one agent, step by step."""

    session_id: Annotated[str, "The id of the session."]
    agent: Annotated[str | None, "The agent that works in it."] = None
    title: Annotated[str | None, "A title for people, if the agent gave one."] = None
    name: Annotated[
        str, "What people call it: its title, else the beginning of its first prompt, else its agent or its id."
    ]
    started_at: Annotated[str, "When it started, as RFC 3339 in UTC with milliseconds."]
    ended_at: Annotated[str | None, "When it ended. Absent while it goes on."] = None
    step_count: Annotated[int, "The number of steps that were begun in it."]
    undoable: Annotated[int, "The number of its steps that can be undone, in whole or in part."]
    redoable: Annotated[int, "The number of its steps that can be redone, in whole or in part."]
    continues: Annotated[Continuation | None, "The session whose conversation goes on in this one, if any."] = None
    origin: Annotated[Origin | None, "Where it was fetched from. Absent for a session of this folder."] = None
    taken_over: Annotated[
        Origin | None,
        "Who took it over after the folder was handed over, and where the last `session/fetch` saw that. Absent if "
        "nobody did, or if the folder has taken it over again.",
    ] = None
    signature: Annotated[
        Signature | None,
        "Of a fetched session: its signature. Absent if it is not signed. See [Signatures](#signatures).",
    ] = None


@attrs.frozen(kw_only=True)
class Overlap:
    """A file that a step of another agent changed, within 30 minutes. See [Two agents](#two-agents)."""

    file: Annotated[str, "The file, as the agent knew it: relative to the workspace root, with `/` between its parts."]
    uri: Annotated[str | None, URI] = None
    session_id: Annotated[str, "The session of the other agent."]
    agent: Annotated[str | None, "The other agent."] = None
    title: Annotated[str | None, "The title of its session."] = None
    step_id: Annotated[str, "Its step."]
    at: Annotated[str, "When that step changed the file last, as RFC 3339 in UTC with milliseconds."]
    start: Annotated[int | None, "The first line that is left of what it wrote, from 1. Absent if none is."] = None
    count: Annotated[int | None, "The number of lines from that one to the last one."] = None


@attrs.frozen(kw_only=True)
class Step:
    """A step of a session, and what it changed."""

    step_id: Annotated[str, "The id of the step."]
    session_id: Annotated[str, "The session of the step."]
    index: Annotated[int, "Its index among the steps of the session, from 0."]
    parent_step_id: Annotated[str | None, "The step that it is a part of."] = None
    message_id: Annotated[str | None, _MESSAGE] = None
    part_id: Annotated[str | None, _PART] = None
    agent: Annotated[str | None, "The agent that works in the session."] = None
    tool: Annotated[str | None, "The tool that was used."] = None
    description: Annotated[str | None, "A description for people."] = None
    command: Annotated[
        str | None, "The command that it ran, at most 10,000 characters. Absent if none is known or kept."
    ] = None
    started_at: Annotated[str, "When it began, as RFC 3339 in UTC with milliseconds."]
    ended_at: Annotated[str | None, "When it ended. Absent while it is open."] = None
    late: Annotated[
        Literal[True] | None,
        "Present if its beginning was reported late: `from` is then the last snapshot before that report, and what the "
        "user changed before `startedAt` may be among its changes.",
    ] = None
    from_: Annotated[TreeHash, "The snapshot at its beginning."]
    to: Annotated[TreeHash | None, "The snapshot at its end. Absent while it is open."] = None
    state: Annotated[
        Literal["open", "applied", "partly", "undone"],
        'What has become of it. `"partly"` means that some of its files were undone, and conflicts kept the others.',
    ]
    files: Annotated[
        list[FileChange] | None, "The files that it changed, ordered by file. Absent while it is open."
    ] = None
    uncaptured: Annotated[
        list[Uncaptured] | None,
        "What happened while it was open to files that no snapshot has, ordered by file, at most 100. Absent if "
        "nothing is known.",
    ] = None
    git: Annotated[
        GitChange | None, "How it changed the folder's own git. Absent if it did not, or while it is open."
    ] = None
    overlaps: Annotated[
        list[Overlap] | None,
        "What other agents had changed in its files, which its agent did not know when it began. Absent if nothing, "
        "while it is open, and in notifications.",
    ] = None


@attrs.frozen(kw_only=True)
class SessionStartParams(RequestParams):
    """Starts a session, or resumes an existing one, whether it has ended or not."""

    session_id: Annotated[
        str | None, "An id for the session. If a session has this id, it is resumed. Default: a new id."
    ] = None
    agent: Annotated[str | None, "The agent that works in it."] = None
    title: Annotated[str | None, "A title for people."] = None
    continues: Annotated[Continuation | None, "The session whose conversation goes on in this one."] = None


@attrs.frozen(kw_only=True)
class RewindChatParams(RequestParams):
    """Has the conversation of a session go on from before a message, in a new session of the agent.

    The agent's conversation stays as it is, and no file of the folder changes: `session/revert` takes the files back.
    The new session is a copy that snapd writes beside the agent's own file, or a fork that the agent's program makes;
    nothing is sent to a model. It is recorded as the continuation of the session.
    """

    session_id: Annotated[str, SESSION]
    message_id: Annotated[str, "Go back to before this message."]
    dry_run: Annotated[bool, "Only look at what would be done."] = False


@attrs.frozen(kw_only=True)
class Chat:
    """How the conversation goes on."""

    agent: Annotated[str | None, "The agent of the session, if it is known."] = None
    kind: Annotated[
        Literal["copy", "fork", "new"] | None,
        "How the new session is made: as a copy, as a fork by the agent's program, or as a new conversation, because "
        "the message is the first one. Absent with `problem`.",
    ] = None
    session_id: Annotated[str | None, "The new session. Absent with `new`, `dryRun` and `problem`."] = None
    command: Annotated[
        list[str], "What a person types to go on. With `dryRun`, without the new session; empty with `problem`."
    ]
    cwd: Annotated[str, "The directory to type it in."]
    drops: Annotated[
        list[str],
        "The prompts that the new session does not have, oldest first: their ids, or their texts if the agent gives "
        "them no ids.",
    ]
    prompt: Annotated[str | None, "The text of the prompt, to edit it and send it again."] = None
    summary: Annotated[str | None, "How it goes on, in one line for people. Absent with `problem`."] = None
    line: Annotated[
        str | None, "The same as `command` for a shell in any directory. Absent with `dryRun` and `problem`."
    ] = None
    problem: Annotated[str | None, "Why the conversation cannot go on from there, for people."] = None


@attrs.frozen(kw_only=True)
class RewindChatResult:
    """The result of `session/rewindChat`."""

    chat: Annotated[Chat, "How the conversation goes on."]


@attrs.frozen(kw_only=True)
class SessionStartResult:
    """The result of `session/start`."""

    session_id: Annotated[str, SESSION]


@attrs.frozen(kw_only=True)
class SessionEndParams(RequestParams):
    """Ends a session and its open steps. Its steps can still be undone."""

    session_id: Annotated[str, SESSION]


@attrs.frozen(kw_only=True)
class SessionEndResult:
    """The result of `session/end`."""


@attrs.frozen(kw_only=True)
class SessionListParams(RequestParams):
    """Lists the sessions of the workspace."""

    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of sessions in one response, at least 1. Default: all."] = None


@attrs.frozen(kw_only=True)
class SessionListResult:
    """The result of `session/list`."""

    sessions: Annotated[list[Session], "The sessions, in the order in which they were first started."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class SessionStepsParams(RequestParams):
    """Lists the steps of a session."""

    session_id: Annotated[str, SESSION]
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of steps in one response, at least 1. Default: all."] = None


@attrs.frozen(kw_only=True)
class SessionStepsResult:
    """The result of `session/steps`."""

    steps: Annotated[list[Step], "The steps, oldest first, including those that were undone."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class SessionDiffParams(RequestParams):
    """Returns the net changes of the session's own applied steps.

    They leave out what the user or other sessions changed between the steps.
    """

    session_id: Annotated[str, SESSION]
    message_id: Annotated[str | None, "Only the steps of this message."] = None
    step_id: Annotated[str | None, "Only this step and its parts."] = None
    contents: Annotated[bool, "Whether to fill in `before` and `after`."] = True
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of files in one response, at least 1."] = None


@attrs.frozen(kw_only=True)
class SessionDiffResult:
    """The result of `session/diff`."""

    diffs: Annotated[list[FileDiff], "The net changes of the session's own applied steps, ordered by file."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class SessionUndoParams(RequestParams):
    """Undoes what was done last in the workspace, the last steps of a session, one step, or the steps of a message.

    Without a session, step or message, it undoes what changed something last and is not undone yet: a
    step of any session, or an operation of the kind `restore`, `revert` or `hunks`. A step and a message may be
    anywhere in the history. What others changed since stays: see [Conflicts](#conflicts). A step is undone as far as
    its files do not conflict. If only some of its files could be undone, it is `partly` undone; if none could, it stays
    `applied`. Sending the request again tries the rest again, for example with `overwrite` once the user has decided.
    """

    session_id: Annotated[
        str | None, "The session. Default: that of the step or the message; without these, the whole workspace."
    ] = None
    count: Annotated[
        Limit, "How many of the last steps, or steps and operations, to undo. A number beyond the last one means all."
    ] = 1
    step_id: Annotated[str | None, "Undo only this step, with its parts, and keep later steps."] = None
    message_id: Annotated[
        str | None, "Undo all steps of this message, with their parts, and keep later steps. Not with `stepId`."
    ] = None
    after_step_id: Annotated[
        str | None, "Undo all steps of the session after this one. Not with `stepId` or `messageId`."
    ] = None
    git: Annotated[bool, GIT] = False
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class SessionRedoParams(RequestParams):
    """Reverses the undo of steps, or of steps and operations, the last undo first.

    A step may have been undone in several parts with others between them. If a file of a step conflicts, the step
    stays `partly` undone, and the next redo continues with the rest. This works until a later step of the session
    changes something; from then on, undone steps can only be restored by their hashes. For an operation, it works until
    a step of any session changes something, or another such operation does.
    """

    session_id: Annotated[
        str | None, "The session. Default: what was undone last in the workspace, steps and operations."
    ] = None
    count: Annotated[
        Limit, "How many steps, or steps and operations, to redo. A number beyond the last one means all."
    ] = 1
    whole: Annotated[bool, "Redo everything that the last undo took back, and ignore `count`."] = False
    git: Annotated[bool, GIT] = False
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class Operation:
    """An operation that can be undone."""

    operation_id: Annotated[str, "The id of the operation."]
    kind: Annotated[RevertKind, "What it is."]
    session_id: Annotated[str | None, "The session that it was about, if it was about one."] = None
    at: Annotated[str, "When it was done, as RFC 3339 in UTC with milliseconds."]
    before: Annotated[TreeHash, "The working tree before it."]
    after: Annotated[TreeHash, "The working tree after it."]
    state: Annotated[Literal["applied", "partly", "undone"], "What has become of it, as for a step."]


@attrs.frozen(kw_only=True)
class StepsOutcome(Outcome):
    """What `session/undo` and `session/redo` did."""

    steps: Annotated[list[Step], "The steps, in the order in which they were processed."]
    operations: Annotated[
        list[Operation] | None, "The operations, in the order in which they were processed. Absent if there are none."
    ] = None


@attrs.frozen(kw_only=True)
class SessionRevertParams(RequestParams):
    """Goes back to before a message, or a part of it.

    It undoes all steps of the session from the first one that belongs to it.
    """

    session_id: Annotated[str, SESSION]
    message_id: Annotated[str, "Go back to before this message."]
    part_id: Annotated[str | None, "Go back to before this part of the message."] = None
    git: Annotated[bool, GIT] = False
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class RevertOutcome(Outcome):
    """What `session/revert` did."""

    message_id: Annotated[str, "The message of the request."]
    part_id: Annotated[str | None, "The part of the request."] = None
    snapshot: Annotated[TreeHash, "The working tree before, to which `session/unrevert` returns."]
    diff: Annotated[str, "The changes that it made, as a unified diff."]


@attrs.frozen(kw_only=True)
class SessionUnrevertParams(RequestParams):
    """Reverses `session/revert`. What others changed since stays."""

    session_id: Annotated[str, SESSION]
    git: Annotated[bool, GIT] = False
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class AgentProcess:
    """How to notice that the agent of a detached step is gone: from then on, the step owns nothing more."""

    process_id: Annotated[int | None, "Its process, on this machine. One that does not run is ignored."] = None
    transcript: Annotated[str | None, "The absolute path of the file to which it appends lines of JSON."] = None
    interrupted: Annotated[list[str], "What a string in the transcript begins with if it was interrupted."] = (
        attrs.field(factory=list)
    )


@attrs.frozen(kw_only=True)
class StepBeginParams(RequestParams):
    """Begins a step on a snapshot of the working tree.

    The step owns what changes until it ends. With `ends`, another step ends on the same snapshot. If the session has a
    step with the same `partId` and `messageId` already, or an open one with the same `partId`, that step is the result,
    and nothing is begun.
    """

    session_id: Annotated[str, SESSION]
    parent_step_id: Annotated[
        str | None, "The step that this one is a part of, in any session: for a subagent, the step of its caller."
    ] = None
    message_id: Annotated[
        str | None,
        "The message that it belongs to, by the agent's own id. Default: the one that `session/message` sent last, if "
        "any.",
    ] = None
    part_id: Annotated[str | None, _PART] = None
    tool: Annotated[str | None, "The tool that is used."] = None
    description: Annotated[str | None, "A description for people."] = None
    command: Annotated[
        str | None,
        "The command that it runs. The first 10,000 characters are kept, or none if the setting `prompts` is off.",
    ] = None
    ends: Annotated[
        str | None,
        "A step of the same session to end with the snapshot on which this one begins, so that no change falls "
        "between the two or into both. If it has already ended, it stays as it is. It must not be a step that this "
        "one is a part of.",
    ] = None
    detached: Annotated[
        bool,
        "The step does not depend on this connection: for a hook that exits at once. See [Sessions and "
        "steps](#sessions-and-steps).",
    ] = False
    agent: Annotated[
        AgentProcess | None,
        "With `detached`, who works in the step. Without a process, the step owns nothing more once the agent starts "
        "another session, unless `step/end` names it.",
    ] = None
    began: Annotated[
        str | None,
        "When it began, as RFC 3339, if that is reported late. The step then begins on the newest snapshot that there "
        "is, and no new one is taken: a new one would have what the step did already. With `ends`, one is taken.",
    ] = None


@attrs.frozen(kw_only=True)
class StepBeginResult:
    """The result of `step/begin`."""

    step_id: Annotated[str, _STEP]
    hash: Annotated[TreeHash, "The snapshot at its beginning."]


@attrs.frozen(kw_only=True)
class StepFindParams(RequestParams):
    """Finds steps by the beginning of their ids, in all sessions."""

    prefix: Annotated[str | None, "The beginning of the step ids. Default: any."] = None
    session_id: Annotated[str | None, "Only steps of this session."] = None
    parent_step_id: Annotated[str | None, "Only steps that are parts of this one."] = None
    open: Annotated[bool, "Only open steps."] = False
    lingering: Annotated[bool, "The steps that `lingers` in `step/end` still keeps, too, first."] = False
    limit: Annotated[Limit | None, "The maximum number of steps in the response, at least 1. Default: all."] = None
    renames: Annotated[bool, RENAMES] = False


@attrs.frozen(kw_only=True)
class StepFindResult:
    """The result of `step/find`."""

    steps: Annotated[list[Step], "The steps, latest first."]


@attrs.frozen(kw_only=True)
class StepEndParams(RequestParams):
    """Ends a step with a snapshot of the working tree. Ending a step again returns the same result."""

    step_id: Annotated[str, _STEP]
    files: Annotated[
        list[str] | None,
        "The files that the agent knows it wrote: absolute paths, relative paths, or `file:` URIs. A directory stands "
        "for everything in it, a link also for what it leads to. Of the changes during the step, it owns those to "
        "these files and no others; with an empty list, none. Files outside of the workspace are left out.",
    ] = None
    directory: Annotated[
        str | None, "What relative paths in `files` are relative to. Default: the root of the workspace."
    ] = None
    description: Annotated[str | None, "A description for people, in place of that of `step/begin`."] = None
    left: Annotated[bool, "Nothing reported its end: what changed after its agent was gone is not its own."] = False
    lingers: Annotated[
        bool,
        "Own what is done to `files` in the next 10 s, as by a formatter: until the session begins a step or sends a "
        "message, an operation runs, or this step is ended again. What an editor saves is the user's.",
    ] = False


@attrs.frozen(kw_only=True)
class StepEndResult:
    """The result of `step/end`."""

    step_id: Annotated[str, _STEP]
    from_: Annotated[TreeHash, "The snapshot at its beginning."]
    to: Annotated[TreeHash, "The snapshot at its end."]
    files: Annotated[list[FileChange], "The files that it changed, ordered by file."]
    ignored: Annotated[list[str] | None, "Of the files that the request names, those that no snapshot has."] = None
    unnamed: Annotated[
        list[str] | None,
        "If the step changed none of the files that the request names: the first 10 others that changed during it.",
    ] = None
    outside: Annotated[
        list[str] | None, "Those of the request's `files` that are not in the workspace. Absent if there are none."
    ] = None


@attrs.frozen(kw_only=True)
class StepDiffParams(RequestParams):
    """Returns what a step and its parts changed as one unified diff, even if it was undone.

    It leaves out what others changed in the same files, and shows a moved file as one.
    """

    step_id: Annotated[str, _STEP]
    files: Annotated[
        list[str] | None,
        "Only these files: relative paths, absolute paths, or `file:` URIs. A moved file can be given by either name.",
    ] = None
    exact: Annotated[bool, EXACT] = False
    binary: Annotated[bool, BINARY] = False


@attrs.frozen(kw_only=True)
class StepHunksParams(RequestParams):
    """Returns a step's own changes to a file, without those of others, as hunks of `git diff --no-renames`."""

    step_id: Annotated[str, _STEP]
    file: Annotated[str, "The file: a relative path, an absolute path, or a `file:` URI."]


@attrs.frozen(kw_only=True)
class Hunk:
    """One hunk of the changes of a step to a file."""

    index: Annotated[int, "Its index, from 0."]
    header: Annotated[str, "The line with `@@`."]
    lines: Annotated[list[str], "The lines, each with its ` `, `+`, `-` or `\\` in front."]


@attrs.frozen(kw_only=True)
class StepHunksResult:
    """The result of `step/hunks`."""

    hunks: Annotated[list[Hunk], "The hunks. Empty for a binary file, if only the mode changed, and with `mixed`."]
    mixed: Annotated[Literal[True] | None, "Present if others changed the same lines in the middle."] = None


@attrs.frozen(kw_only=True)
class StepRevertHunksParams(RequestParams):
    """Reverts some of the hunks of a step. The step stays applied.

    All hunks together revert the file as an undo of the step does.
    """

    step_id: Annotated[str, _STEP]
    file: Annotated[str, "The file: a relative path, an absolute path, or a `file:` URI."]
    hunks: Annotated[list[int], "The indexes of the hunks to revert."]
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class StepRevertFilesParams(RequestParams):
    """Reverts the changes of a step and its parts to some files of any kind.

    A moved file can be given by either name. An applied step stays applied. For a step that was undone, completely
    or in part, this reverts what conflicted then; once nothing of it is left, the step is `undone`.
    """

    step_id: Annotated[str, _STEP]
    files: Annotated[
        list[str], "Files that the step or one of its parts changed: relative paths, absolute paths, or `file:` URIs."
    ]
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None
