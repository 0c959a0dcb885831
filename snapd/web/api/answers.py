"""Params and results of the routes that have no wire method, declared like wire classes."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from snapd.wire.git import GitOutcome
from snapd.wire.session import Session
from snapd.wire.snapshot import StatusResult
from snapd.wire.values import FileOutcome, Limit, TreeHash


@attrs.frozen(kw_only=True)
class StateParams:
    """Reports whether snapd is active in the folder, and if not, why. It answers even if the daemon does not."""


@attrs.frozen(kw_only=True)
class EventsSince:
    """Streams the notifications of the daemon as server-sent events, from now on or since an event.

    The event name is the method of the notification, its data are the params, and its id is their `seq`. A browser that
    reconnects sends the id of the last event as `Last-Event-ID`, which takes precedence over `since`. If the daemon no
    longer has all later events, the first event is `reset` with `latest`: reload everything. When the daemon ends, the
    stream sends `disconnected` with a `reason`, and `reconnected` once a daemon answers again. The server closes a
    stream that the client does not read.
    """

    since: Annotated[int | None, "The id of the last event that the client has. Default: only new events."] = None


@attrs.frozen(kw_only=True)
class Status:
    """Whether snapd is active in the folder, and if not, why."""

    state: Annotated[
        Literal["on", "off", "degraded"],
        '`"off"` if snapshots are turned off, `"degraded"` if something keeps snapd from taking them.',
    ]
    why: Annotated[str | None, "Why it is not `on`, as text for people."] = None
    root: Annotated[str, "The folder, as an absolute path."]
    read_only: Annotated[bool, "Whether this server refuses to change anything."]
    status: Annotated[StatusResult | None, "The result of `snapshot/status`. Absent if the daemon does not answer."] = (
        None
    )


@attrs.frozen(kw_only=True)
class Revert:
    """What a session was reverted to."""

    message_id: Annotated[str, "The session was reverted to before this message. Also present as `messageID`."]
    part_id: Annotated[str | None, "The part of the message. Also present as `partID`."] = None
    snapshot: Annotated[TreeHash, "The folder before, to which `unrevert` returns."]
    diff: Annotated[str, "What the revert changed, as a unified diff."]
    applied: Annotated[bool, "As in the result of `session/revert`."]
    files: Annotated[list[FileOutcome], "The outcome for each file, including conflicts."]
    git: Annotated[GitOutcome | None, "As in the result of `session/revert`."] = None


@attrs.frozen(kw_only=True)
class RevertedSession(Session):
    """A session, and what it was just reverted to."""

    revert: Annotated[Revert, "What was done."]


@attrs.frozen(kw_only=True)
class ContentParams:
    """Returns the bytes of a file.

    The content type of a PNG, JPEG, GIF, WebP, AVIF, BMP, ICO or SVG image follows from its name. Everything else is
    `application/octet-stream`, including a symlink, whose bytes are its target.
    """

    file: Annotated[str, "The file: a relative path, an absolute path, or a `file:` URI."]
    hash: Annotated[TreeHash | None, "The snapshot to read from. Default: the current folder."] = None


@attrs.frozen(kw_only=True)
class SearchParams:
    """Searches prompts, file names, and the lines that steps changed, newest first.

    The search ignores case. Each request searches for about a second. If the answer has a `nextCursor`, there may be
    more hits, even if it has none. A step with very many files may be in two answers, each with a part of its lines.
    """

    q: Annotated[str, "The text to search for, at most 200 characters."]
    in_: Annotated[list[Literal["prompts", "files", "texts"]] | None, "Where to search. Default: everywhere."] = None
    cursor: Annotated[str | None, "The `nextCursor` of the previous answer; `q` and `in` must be the same."] = None
    limit: Annotated[Limit | None, "Stop after this many hits, at least 1. Default: 50."] = None


@attrs.frozen(kw_only=True)
class MatchedFile:
    """A file with the text in its name."""

    file: Annotated[str, "Relative to the workspace root, with `/` between its parts."]
    uri: Annotated[str | None, "The exact `file:` URI. Present if the name is not valid UTF-8."] = None


@attrs.frozen(kw_only=True)
class MatchedLine(MatchedFile):
    """A line that a step added or deleted and that contains the text."""

    change: Annotated[Literal["added", "deleted"], "What the step did."]
    line: Annotated[int, "The line number, from 1: of an added line after the step, of a deleted line before it."]
    text: Annotated[str, "The line; if it is long, the part with the text."]


@attrs.frozen(kw_only=True)
class Hit:
    """A step or a message that contains the text."""

    kind: Annotated[Literal["step", "message"], "Whether it is a step or a message."]
    session_id: Annotated[str, "The session."]
    step_id: Annotated[str | None, "The step, if it is one."] = None
    message_id: Annotated[str | None, "The message, or the one that the step belongs to."] = None
    agent: Annotated[str | None, "The agent of the session, for a step."] = None
    tool: Annotated[str | None, "The tool that the step used."] = None
    description: Annotated[str | None, "The description of the step."] = None
    at: Annotated[str, "When it began, as RFC 3339 in UTC with milliseconds."]
    prompt: Annotated[
        str | None, "The prompt or the description of the step, if it contains the text; a part of it if it is long."
    ] = None
    files: Annotated[list[MatchedFile] | None, "Files with the text in their names, at most 20."] = None
    lines: Annotated[list[MatchedLine] | None, "Changed lines with the text, at most 20."] = None
    more: Annotated[Literal[True] | None, "There are more files or lines than listed."] = None


@attrs.frozen(kw_only=True)
class SearchResult:
    """The hits of a search."""

    hits: Annotated[list[Hit], "The hits, newest first."]
    until: Annotated[str | None, "When the last searched entry began. Absent if there is none."] = None
    next_cursor: Annotated[
        str | None, "The `cursor` for the next request. Absent if the whole history was searched."
    ] = None
