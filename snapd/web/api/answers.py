"""Params and results of the routes that have no wire method, declared like wire classes."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from snapd.wire.session import Session
from snapd.wire.snapshot import StatusResult
from snapd.wire.values import FileOutcome, Limit, TreeHash


@attrs.frozen(kw_only=True)
class StateParams:
    """Says whether snapd is at work in the folder, and if not, why. It answers even if the daemon does not."""


@attrs.frozen(kw_only=True)
class EventsSince:
    """Passes on what the daemon tells, as server-sent events, from now on or since an event.

    The event is the method of the notification, its data are the params, and its id is their `seq`. A browser that
    comes again sends the id of the last event as `Last-Event-ID`, which wins over `since`. If the daemon does not keep
    what came after that event, `reset` with `latest` is the first event: load everything anew. When the daemon
    ends, `disconnected` tells with `reason`, and `reconnected` when the next one answers. A stream that is
    not read ends.
    """

    since: Annotated[
        int | None, "The id of the last event that the client knows. Default: only what happens from now on."
    ] = None


@attrs.frozen(kw_only=True)
class Status:
    """Whether snapd is at work in the folder, and if not, why."""

    state: Annotated[
        Literal["on", "off", "degraded"],
        '`"off"` if snapshots are turned off, `"degraded"` if something keeps snapd from taking them.',
    ]
    why: Annotated[str | None, "Why it is not on, for people."] = None
    root: Annotated[str, "The folder, as an absolute path."]
    read_only: Annotated[bool, "Whether this server refuses to change anything."]
    status: Annotated[
        StatusResult | None, "What the daemon says, as `snapshot/status`. Absent if it cannot be asked."
    ] = None


@attrs.frozen(kw_only=True)
class Revert:
    """What a session was reverted to."""

    message_id: Annotated[str, "The session went back to before this message. It is there as `messageID`, too."]
    part_id: Annotated[str | None, "The part of the message; as `partID`, too."] = None
    snapshot: Annotated[TreeHash, "The folder before, to which `unrevert` returns."]
    diff: Annotated[str, "What the revert changed, as a unified diff."]
    applied: Annotated[bool, "As in the result of `session/revert`."]
    files: Annotated[list[FileOutcome], "What became of each file, conflicts included."]


@attrs.frozen(kw_only=True)
class RevertedSession(Session):
    """A session, and what it was just reverted to."""

    revert: Annotated[Revert, "What was done."]


@attrs.frozen(kw_only=True)
class ContentParams:
    """Returns the bytes of a file.

    The name of a PNG, JPEG, GIF, WebP, AVIF, BMP, ICO or SVG image gives its type; all else is
    `application/octet-stream`, and so is a symlink, whose bytes are its target.
    """

    file: Annotated[str, "The file: a relative path, an absolute path, or a `file:` URI."]
    hash: Annotated[TreeHash | None, "The snapshot that has the file. Default: the folder as it is."] = None


@attrs.frozen(kw_only=True)
class SearchParams:
    """Looks for a text in prompts, in names of files, and in the lines that steps changed, newest first.

    Case does not matter. One answer looks for about a second; if it has a `nextCursor`, there may be more, even if it
    has no hits. A step with very many files may be in two answers, each with a part of its lines.
    """

    q: Annotated[str, "The text, at most 200 characters of it."]
    in_: Annotated[list[Literal["prompts", "files", "texts"]] | None, "Where to look. Default: everywhere."] = None
    cursor: Annotated[str | None, "The `nextCursor` of the answer before, with the same `q` and `in`."] = None
    limit: Annotated[Limit | None, "The number of hits after which to stop, at least 1. Default: 50."] = None


@attrs.frozen(kw_only=True)
class MatchedFile:
    """A file with the text in its name."""

    file: Annotated[str, "Relative to the workspace root, with `/` between its parts."]
    uri: Annotated[str | None, "The exact `file:` URI. Present if the name is not valid UTF-8."] = None


@attrs.frozen(kw_only=True)
class MatchedLine(MatchedFile):
    """A line with the text in it that a step added or deleted."""

    change: Annotated[Literal["added", "deleted"], "What the step did."]
    line: Annotated[int, "The number of the line, from 1, in the file as the diff of the step has it after or before."]
    text: Annotated[str, "The line: of a long one, the part with the text."]


@attrs.frozen(kw_only=True)
class Hit:
    """A step or a message that holds the text."""

    kind: Annotated[Literal["step", "message"], "Which of them it is."]
    session_id: Annotated[str, "The session."]
    step_id: Annotated[str | None, "The step, if it is one."] = None
    message_id: Annotated[str | None, "The message, or the one that the step belongs to."] = None
    agent: Annotated[str | None, "The agent of the session, for a step."] = None
    tool: Annotated[str | None, "The tool that the step used."] = None
    description: Annotated[str | None, "The description of the step."] = None
    at: Annotated[str, "When it began, as RFC 3339 in UTC with milliseconds."]
    prompt: Annotated[
        str | None, "The prompt, or the description of the step, if that holds the text: of a long one, a part."
    ] = None
    files: Annotated[list[MatchedFile] | None, "Files with the text in their names, at most 20."] = None
    lines: Annotated[list[MatchedLine] | None, "Changed lines with the text, at most 20."] = None
    more: Annotated[Literal[True] | None, "There are more files or lines than are listed."] = None


@attrs.frozen(kw_only=True)
class SearchResult:
    """What was found."""

    hits: Annotated[list[Hit], "The hits, newest first."]
    until: Annotated[str | None, "When the last entry began that was looked at. Absent if there is none."] = None
    next_cursor: Annotated[
        str | None, "The `cursor` to go on with. Absent if all of the history was looked through."
    ] = None
