"""The params and results of the `review/*` requests and of `snapshot/blame`."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .session import Hunk
from .snapshot import CURSOR, DECISIONS, DETAILS, DRY_RUN, NEXT_CURSOR
from .values import (
    URI,
    AtLeast,
    Decision,
    Detail,
    FileChange,
    FileDiff,
    HashPrefix,
    Limit,
    OnConflict,
    Plan,
    RequestParams,
)

_FILE = "The file: a relative path, an absolute path, or a `file:` URI. A renamed file can be given by either name."


@attrs.frozen(kw_only=True)
class Owner:
    """A step that has a part in a pending change."""

    session_id: Annotated[str, "The session of the step."]
    step_id: Annotated[str, "The step."]


@attrs.frozen(kw_only=True)
class PendingFile(FileChange):
    """A file with pending changes: how it differs from its baseline."""

    id: Annotated[str, "An opaque name of what is shown, for `expect`. It changes with the file and with its baseline."]
    hunks: Annotated[int, "The number of hunks. 0 for a file that is not text, and if only mode or name changed."]
    owners: Annotated[list[Owner], "The steps whose changes are pending."]


@attrs.frozen(kw_only=True)
class PendingHunk(Hunk):
    """One hunk of the pending changes of a file."""

    old_start: Annotated[int, "Its first line in the baseline, from 1; the line before it if it has none there."]
    old_lines: Annotated[int, "The number of its lines in the baseline."]
    new_start: Annotated[int, "Its first line in the file, from 1; the line before it if it has none there."]
    new_lines: Annotated[int, "The number of its lines in the file."]
    owners: Annotated[list[Owner], "The steps that wrote or removed its lines."]


@attrs.frozen(kw_only=True)
class ReviewListParams(RequestParams):
    """Lists the files with pending changes: what agents changed, and nobody has kept yet.

    See [Review](#review).
    """

    session_id: Annotated[
        str | None, "Only files in which a step of this session, or a part of such a step, has pending changes."
    ] = None
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of files in one response, at least 1. Default: all."] = None


@attrs.frozen(kw_only=True)
class ReviewListResult:
    """The files with pending changes, and their totals."""

    files: Annotated[list[PendingFile], "The files, ordered by name."]
    pending_files: Annotated[int, "The number of files, those on other pages included."]
    additions: Annotated[int, "Lines added, in all of them."]
    deletions: Annotated[int, "Lines deleted, in all of them."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class ReviewFileParams(RequestParams):
    """Returns the pending changes of a file, hunk by hunk, as `git diff` shows them."""

    file: Annotated[str, _FILE]


@attrs.frozen(kw_only=True)
class ReviewFileResult(FileDiff):
    """A file with pending changes: `before` is its baseline, `after` the file as it is."""

    id: Annotated[str, "An opaque name of what is shown, for `expect`."]
    hunks: Annotated[list[PendingHunk], "The hunks. Empty for a file that is not text."]
    owners: Annotated[list[Owner], "The steps whose changes are pending."]


@attrs.frozen(kw_only=True)
class ReviewParams(RequestParams):
    """Which pending changes a request is about."""

    files: Annotated[
        list[str] | None,
        "These files, or all files in these folders: relative paths, absolute paths, or `file:` URIs. A renamed file "
        "can be given by either name.",
    ] = None
    file: Annotated[str | None, "One file, of which `hunks` gives the hunks."] = None
    hunks: Annotated[list[int] | None, "The indexes of hunks of `file`, as `review/file` gives them."] = None
    step_id: Annotated[str | None, "The changes in which this step, or one of its parts, has a part."] = None
    session_id: Annotated[
        str | None, "The changes in which a step of this session, or a part of such a step, has a part."
    ] = None
    all: Annotated[bool, "All pending changes."] = False


@attrs.frozen(kw_only=True)
class ReviewKeepParams(ReviewParams):
    """Keeps pending changes: they become part of the baseline.

    Give exactly one of `files`, `file` with `hunks`, `stepId`, `sessionId` and `all`. Keeping hunks of a renamed file
    keeps the rename too. A file with unsaved text in an editor makes the request fail with `fileChanged`. The result
    lists what is still pending of what the request named.
    """

    expect: Annotated[
        dict[str, str] | None,
        "What the person was shown: the `id` of each file, by its name. If one of them is another by now, the request "
        "fails with `fileChanged`.",
    ] = None


@attrs.frozen(kw_only=True)
class ReviewRevertParams(ReviewParams):
    """Reverts pending changes: files, or hunks of them, become what their baseline is.

    Give exactly one of `files`, `file` with `hunks`, `stepId`, `sessionId` and `all`. With `stepId` or `sessionId`, a
    file stays as it is, with the outcome `conflict` and the reason `shared`, if others have a part in the same changes.
    `session/undo` without a session undoes the revert.
    """

    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[
        dict[str, str] | Plan | None,
        "What the person was shown: the `plan` of a dry run, as of [Plans](#plans); or the `id` of each file, by its "
        "name. If one of these is another by now, the request fails with `fileChanged`.",
    ] = None
    on_conflict: Annotated[
        OnConflict | None,
        'What to do with a file that cannot be reverted alone. `"overwrite"` also reverts changes that are shared. '
        'Default: `"merge"`.',
    ] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


_COMMENT = "The id of the comment."
_BY = "The session whose agent writes it. Default: the person."


@attrs.frozen(kw_only=True)
class Reply:
    """A reply to a comment."""

    text: Annotated[str, "What it says."]
    at: Annotated[str, "When it was written, as RFC 3339 in UTC with milliseconds."]
    author: Annotated[Literal["user", "agent"], "Who wrote it."]
    session_id: Annotated[str | None, "The session of the agent that wrote it."] = None


@attrs.frozen(kw_only=True)
class Comment:
    """A comment on lines of a file. See [Comments](#comments)."""

    comment_id: Annotated[str, "Its id."]
    file: Annotated[str, "The file as it is called now: relative to the workspace root, with `/` between its parts."]
    uri: Annotated[str | None, URI] = None
    start: Annotated[int, "The first of its lines that is left, from 1."]
    count: Annotated[int, "The number of lines from that one to the last one that is left."]
    outdated: Annotated[
        Literal[True] | None,
        "True if none of its lines is left; `start` and `count` then say where the last ones were.",
    ] = None
    lines: Annotated[str, "The lines that were commented on, as they were. Empty if they were purged."]
    text: Annotated[str, "What it says."]
    at: Annotated[str, "When it was made, as RFC 3339 in UTC with milliseconds."]
    author: Annotated[Literal["user", "agent"], "Who made it."]
    session_id: Annotated[str | None, "The session whose agent is to hear of it. Absent if it is for no agent."] = None
    step_id: Annotated[str | None, "The step of that session that wrote most of the lines, if any."] = None
    state: Annotated[Literal["open", "resolved"], "Whether it is resolved."]
    delivered_at: Annotated[
        str | None, "When the agent was told of it last, as RFC 3339 in UTC with milliseconds. Absent before."
    ] = None
    replies: Annotated[list[Reply], "The replies, oldest first."]


@attrs.frozen(kw_only=True)
class ReviewCommentParams(RequestParams):
    """Comments on lines of a file, for the agent that wrote them, or replies to a comment.

    Give `file`, `start` and `text`, or `replyTo` and `text`. See [Comments](#comments).
    """

    file: Annotated[str | None, "The file: a relative path, an absolute path, or a `file:` URI."] = None
    start: Annotated[Limit | None, "The first line, from 1."] = None
    count: Annotated[Limit | None, "The number of lines. Default: 1."] = None
    text: Annotated[str, "What to say: at most 10,000 characters."]
    session_id: Annotated[
        str | None, "The session whose agent is to hear of it. Default: the one that wrote most of the lines, if any."
    ] = None
    reply_to: Annotated[str | None, "The id of a comment to reply to."] = None
    by: Annotated[str | None, _BY] = None


@attrs.frozen(kw_only=True)
class ReviewCommentsParams(RequestParams):
    """Lists comments, oldest first. See [Comments](#comments)."""

    file: Annotated[str | None, "Only comments on this file, under its name now or when it was commented on."] = None
    session_id: Annotated[str | None, "Only comments for the agent of this session."] = None
    state: Annotated[Literal["open", "resolved", "all"], "Only comments in this state."] = "open"
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of comments in one response, at least 1. Default: all."] = None


@attrs.frozen(kw_only=True)
class ReviewCommentsResult:
    """The result of `review/comments`."""

    comments: Annotated[list[Comment], "The comments, oldest first."]
    news_id: Annotated[
        str | None, "With `sessionId`: for `session/told`, once the agent of that session heard of these comments."
    ] = None
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class ReviewResolveParams(RequestParams):
    """Resolves a comment, or opens it again. One that is in this state already stays so."""

    comment_id: Annotated[str, _COMMENT]
    state: Annotated[Literal["open", "resolved"], "What it is to be."] = "resolved"
    by: Annotated[str | None, _BY] = None


@attrs.frozen(kw_only=True)
class LineRange:
    """Some lines of a file."""

    start: Annotated[int, AtLeast(1), "The first line, from 1."]
    count: Annotated[int, AtLeast(1), "The number of lines."]


@attrs.frozen(kw_only=True)
class BlameParams(RequestParams):
    """Says who wrote each line of a file.

    A line that an undo, a redo, a restore or git brought back keeps its author. These count as there before: what
    changed before the first step, or while snapd did not watch; other lines that git brought in a step, as by a
    checkout; and a line that a restore brought back and that was never there when a step began or ended.

    For lines that were there before, `commit` is the commit that `git blame` names, if any. The
    project's git may also have notes of git-ai (`refs/notes/ai`). They say who wrote lines of a commit, and the result
    has that as `noted` where a line was there before and comes from that commit, in the history of the one that is
    checked out. A note is a claim by its writer. With `content`, snapd does not ask git.

    With `content`, it answers for a text that the file had, such as that of a commit; the file need not be there any
    more. snapd compares the text with all versions of the file that it knows. If one is identical, that one
    counts. Otherwise, each line has the author from the version that contains it and has the most lines in common
    with the text. If several versions qualify, the one from the time `at` counts. Differences in line ends do not
    count.
    """

    file: Annotated[str, "The file: a relative path, an absolute path, or a `file:` URI."]
    hash: Annotated[HashPrefix | None, "The snapshot that has the file. Default: the working tree as it is."] = None
    range: Annotated[LineRange | None, "Only these lines. Default: all."] = None
    content: Annotated[str | None, "A text that the file had, up to 10 MB. Cannot be used with `hash`."] = None
    encoding: Annotated[Literal["base64"] | None, "How `content` encodes the bytes. Default: as UTF-8."] = None
    at: Annotated[
        str | None, "With `content`: when the file had this text, as RFC 3339. Fractions of a second do not count."
    ] = None


@attrs.frozen(kw_only=True)
class GitCommit:
    """The commit that brought some lines, as `git blame` shows it."""

    id: Annotated[str, "Its hash."]
    author: Annotated[str, "The name of its author."]
    email: Annotated[str | None, "The address of its author. Absent if the commit has none."] = None
    at: Annotated[str, "When its author made it, as RFC 3339 in UTC."]
    summary: Annotated[str, "The first line of its message."]


@attrs.frozen(kw_only=True)
class NotedCommit:
    """The commit that brought some lines, and who wrote them by its git-ai note: an agent, or a person."""

    commit: Annotated[str, "The hash of the commit."]
    at: Annotated[str, "When its author made it, as RFC 3339 in UTC."]
    agent: Annotated[str | None, "The agent, as its tool is called. Absent for a person."] = None
    session_id: Annotated[str | None, "The session, as the agent names it; it need not be one that snapd knows."] = None
    model: Annotated[str | None, "The model that the agent used, if that is known."] = None
    person: Annotated[str | None, "Name and address of a person whom an editor saw typing the lines."] = None


@attrs.frozen(kw_only=True)
class NoteProblem:
    """Why information from the project's git or a git-ai note is missing from the answer."""

    commit: Annotated[str | None, "The commit whose note it is. Absent if it is about git, or several notes."] = None
    reason: Annotated[str, "What is wrong, for people to read."]


@attrs.frozen(kw_only=True)
class BlamedLines:
    """Lines with one author, one after the other."""

    start: Annotated[int, "The first line, from 1."]
    count: Annotated[int, "The number of lines."]
    author: Annotated[
        Literal["step", "user", "before", "unknown"],
        'Who wrote them: a step, the user, or somebody `"before"` the first event that snapd knows. `"unknown"`: '
        "lines of `content` that no version of the file has.",
    ]
    session_id: Annotated[str | None, "The session of the step."] = None
    step_id: Annotated[str | None, "The step. If several were open together, the first of them."] = None
    agent: Annotated[str | None, "The agent of the session."] = None
    message_id: Annotated[str | None, "The message that the step belongs to."] = None
    at: Annotated[
        str | None, "When snapd noticed the lines, as RFC 3339 in UTC with milliseconds. Absent if it is not known."
    ] = None
    commit: Annotated[
        GitCommit | None,
        'Of lines that were there `"before"`: the commit that brought them. Absent if they are not committed, or the '
        "folder is in no git repository.",
    ] = None
    noted: Annotated[
        NotedCommit | None,
        'Of lines that were there `"before"`: the commit that brought them, and who wrote them, where a note says so.',
    ] = None


@attrs.frozen(kw_only=True)
class BlameResult:
    """The result of `snapshot/blame`."""

    lines: Annotated[list[BlamedLines], "The lines in their order, without gaps."]
    note_problems: Annotated[
        list[NoteProblem] | None,
        "What git could not answer, and the notes that snapd cannot read, with the reason. Absent if there are none.",
    ] = None
