"""The params and results of `session/message`, `messages`, `news`, `history` and `activity`."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .git import GitChange
from .review import Comment
from .session import RENAMES, SESSION, Operation, Overlap, Session, Step
from .snapshot import CURSOR, NEXT_CURSOR
from .values import FileChange, FormerHistory, Limit, RequestParams, TreeHash


@attrs.frozen(kw_only=True)
class Message:
    """A message to an agent, which begins a turn, and what the agent did in that turn."""

    session_id: Annotated[str, "The id of its session."]
    message_id: Annotated[str, "The id of the message."]
    text: Annotated[str | None, "The prompt, if it is known: at most 10,000 characters of it."] = None
    at: Annotated[str, "When it was sent, or its first step began. RFC 3339 in UTC with milliseconds."]
    steps: Annotated[int, "The number of its steps."]
    files: Annotated[int, "The number of files that these steps and their parts changed."]
    additions: Annotated[int, "The number of lines that they added."]
    deletions: Annotated[int, "The number of lines that they deleted."]
    state: Annotated[Literal["applied", "undone", "partly"], "What has become of these steps, as for one step."]


@attrs.frozen(kw_only=True)
class SessionMessageParams(RequestParams):
    """Records that a person sent a message to the agent, with a snapshot of the working tree.

    Steps that are begun from now on without a `messageId` belong to it. Sending a message again only replaces its text.
    """

    session_id: Annotated[str, SESSION]
    message_id: Annotated[str, "The message, by the agent's own id."]
    text: Annotated[
        str | None,
        "The prompt. The first 10,000 characters are kept, or nothing if the setting `prompts` is `false`.",
    ] = None
    late: Annotated[
        bool, "It was sent a while ago, and is reported only now. Then no snapshot is taken if there is one."
    ] = False


@attrs.frozen(kw_only=True)
class SessionMessageResult:
    """The result of `session/message`."""


@attrs.frozen(kw_only=True)
class SessionMessagesParams(RequestParams):
    """Lists the messages of a session or of all sessions, including those that only steps name."""

    session_id: Annotated[str | None, "The id of the session. Default: all sessions."] = None
    prefix: Annotated[str, "The beginning of the message ids. A whole id means that message alone."] = ""
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of messages in one response, at least 1. Default: all."] = None


@attrs.frozen(kw_only=True)
class SessionMessagesResult:
    """The result of `session/messages`."""

    messages: Annotated[
        list[Message], "The messages: those of one session oldest first, those of all sessions latest first."
    ]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class SessionNewsParams(RequestParams):
    """Returns what others did to the work of a session since the last such request, and records that it was reported.

    For clients that can pass it on to the agent, such as a hook. Comments and overlaps come again until `session/told`
    says that the agent heard of them. It returns nothing if the setting `tellAgents` is `false`.
    """

    session_id: Annotated[str, SESSION]
    files: Annotated[
        list[str] | None, "The files that the agent is about to change. Names outside the workspace are passed over."
    ] = None


@attrs.frozen(kw_only=True)
class SessionNewsResult:
    """The result of `session/news`. All lists are empty or absent if there is nothing to tell."""

    undone: Annotated[list[Step], "Its steps that were undone, as a whole or in part."]
    redone: Annotated[list[Step], "Its steps that were redone."]
    files: Annotated[
        list[FileChange],
        "The files of its steps that somebody else changed, ordered by file: how they differ from then.",
    ]
    git: Annotated[
        GitChange | None,
        "How undos, redos and the like changed the folder's own git. Absent if they did not.",
    ] = None
    comments: Annotated[
        list[Comment] | None,
        "Open comments for the agent of which it has yet to hear, oldest first: as many as fit one message. Absent if "
        "there are none. They come again until `session/told` says that the agent heard of them.",
    ] = None
    overlaps: Annotated[
        list[Overlap] | None,
        "What other agents changed, in files that this one changed or is about to change, since it last looked at "
        "them: one for each step and file. Absent if there is nothing. They come again until `session/told`.",
    ] = None
    news_id: Annotated[str, "The id of this answer, for `session/told`."]
    former_histories: Annotated[
        list[FormerHistory] | None, "The histories that the folder may adopt, once in a session: show them to the user."
    ] = None


@attrs.frozen(kw_only=True)
class SessionToldParams(RequestParams):
    """Says that the agent heard of the comments and overlaps in an answer of `session/news`.

    Whoever passes them on sends it once that is done. What nobody acknowledged is in the next answer again.
    """

    session_id: Annotated[str, SESSION]
    news_id: Annotated[str, "The `newsId` of the answer."]


@attrs.frozen(kw_only=True)
class SessionToldResult:
    """The result of `session/told`."""


@attrs.frozen(kw_only=True)
class HistoryParams(RequestParams):
    """Lists what happened in the workspace.

    The entries are the steps and messages of all sessions, the operations, and what changed while no step was open.
    """

    session_id: Annotated[str | None, "Only the steps, messages and operations of this session."] = None
    files: Annotated[
        list[str] | None,
        "Only entries that changed one of these files or folders, with only these files in their `files`: relative "
        "paths, absolute paths, or `file:` URIs. With `renames`, a file is followed to its older names.",
    ] = None
    renames: Annotated[bool, RENAMES] = False
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of entries in one response, at least 1."] = None


@attrs.frozen(kw_only=True)
class Entry:
    """An entry of the history: a step, an operation, a message, or what changed while no step was open."""

    kind: Annotated[
        Literal["step", "user", "message", "restore", "revert", "undo", "redo", "unrevert", "hunks"],
        'What it is. `"user"` means changes while no step was open.',
    ]
    at: Annotated[str, 'When it began; for `"user"`, when it was noticed. RFC 3339 in UTC with milliseconds.']
    step: Annotated[Step | None, "The step, if it is one."] = None
    session_id: Annotated[str | None, "The session of an operation or a message."] = None
    message_id: Annotated[str | None, "The id of the message, if it is one."] = None
    text: Annotated[str | None, "The prompt of a message, if it is known."] = None
    steps: Annotated[list[str] | None, "The steps that an operation undid or redid."] = None
    state: Annotated[
        Literal["partly", "undone"] | None, "Of an operation that was undone, or `partly` so, as for a step."
    ] = None
    operations: Annotated[
        list[Operation] | None, "The operations that an operation undid or redid. Absent if there are none."
    ] = None
    before: Annotated[TreeHash, "The working tree before it."]
    after: Annotated[TreeHash | None, "The working tree after it. Absent for an open step."] = None
    files: Annotated[list[FileChange], "The files that it changed, ordered by file."]
    git: Annotated[GitChange | None, "How the folder's own git changed. Absent if it did not."] = None
    unknown: Annotated[
        Literal[True] | None,
        'Present for `"user"` if some of the files are in a repository with a history of its own: that one knows who.',
    ] = None


@attrs.frozen(kw_only=True)
class HistoryResult:
    """The result of `session/history`."""

    entries: Annotated[list[Entry], "The entries, latest first."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class ActivityParams(RequestParams):
    """Sums up what each session did since a time, such as today: prompts, steps, files, and what needs a look."""

    since: Annotated[str, "Only prompts and steps that began at this time or later. RFC 3339."]


@attrs.frozen(kw_only=True)
class StepProblem:
    """Something about a step that a person should look at."""

    step_id: Annotated[str, "The step."]
    message_id: Annotated[str | None, "The message that it belongs to."] = None
    tool: Annotated[str | None, "The tool that was used."] = None
    description: Annotated[str | None, "Its description for people."] = None
    at: Annotated[str, "When it began. RFC 3339 in UTC with milliseconds."]
    kind: Annotated[
        Literal["conflict", "uncaptured", "interrupted"],
        '`"conflict"`: an undo left some of its files as they were. `"uncaptured"`: files changed that no snapshot '
        'has. `"interrupted"`: nobody reported that it ended.',
    ]


@attrs.frozen(kw_only=True)
class SessionActivity:
    """What one session did."""

    session: Annotated[Session, "The session, as it is now."]
    messages: Annotated[list[Message], "Its prompts, latest first."]
    steps: Annotated[int, "The number of steps that began."]
    files: Annotated[int, "The number of files that these steps changed."]
    pending_files: Annotated[int, "The number of files with pending changes of the session, from whatever time."]
    problems: Annotated[list[StepProblem], "What to look at, latest step first."]


@attrs.frozen(kw_only=True)
class ActivityResult:
    """The result of `session/activity`."""

    sessions: Annotated[list[SessionActivity], "The sessions with a prompt or a step, most recent first."]
