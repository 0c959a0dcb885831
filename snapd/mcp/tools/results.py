"""The results of the tools, declared like wire classes.

They go into a model's context, so their size is limited; `MAX_DIFF`, `MAX_TEXT` and `MAX_LINE` are in characters.
"""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from snapd.wire.review import Comment
from snapd.wire.values import FileChange, FileOutcome, Skipped, TreeHash

MAX_FILES = 50
MAX_DIFF = 20_000
MAX_RANGES = 200
MAX_TEXT = 20_000
MAX_LINE = 1000

Status = Literal["planned", "done", "unchanged", "blocked", "refused", "declined"]

_NOTE = f"Present if the diff is longer than {MAX_DIFF} characters: how much of it `diff` contains."


@attrs.frozen(kw_only=True)
class Changes:
    """What changed."""

    files: Annotated[list[FileChange], f"The files, at most {MAX_FILES}, ordered by name."]
    file_count: Annotated[int, "How many files there are."]
    additions: Annotated[int, "Lines added, in all files."]
    deletions: Annotated[int, "Lines deleted, in all files."]


@attrs.frozen(kw_only=True)
class Entry(Changes):
    """Something that happened in the folder."""

    kind: Annotated[
        str, "`step`; `user` for changes while no step was open; or `undo`, `redo`, `restore`, `revert`, `hunks`, ..."
    ]
    at: Annotated[str, "When it began, as RFC 3339 in UTC."]
    step_id: Annotated[str | None, "The id of the step, if it is one."] = None
    parent_step_id: Annotated[str | None, "The step that contains it."] = None
    session_id: Annotated[str | None, "The session."] = None
    mine: Annotated[Literal[True] | None, "It belongs to this agent's session."] = None
    message_id: Annotated[str | None, "The message of the user that the step belongs to."] = None
    agent: Annotated[str | None, "The agent."] = None
    tool: Annotated[str | None, "The tool that was used."] = None
    description: Annotated[str | None, "What it did, for people."] = None
    state: Annotated[str | None, "`open`, `applied`, `partly` (undone) or `undone`."] = None
    before: Annotated[TreeHash | None, "The snapshot before it."] = None
    after: Annotated[TreeHash | None, "The snapshot after it."] = None
    steps: Annotated[list[str] | None, "The steps that it undid or redid."] = None
    unknown: Annotated[Literal[True] | None, "Maybe not the user: another history records the author."] = None
    git: Annotated[str | None, "How the folder's own git changed. Absent if it did not."] = None


@attrs.frozen(kw_only=True)
class Comments:
    """The comments."""

    comments: Annotated[list[Comment], "The open comments, oldest first."]


@attrs.frozen(kw_only=True)
class RepliedComment:
    """The comment with the reply."""

    comment: Annotated[Comment, "The comment as it is now."]


@attrs.frozen(kw_only=True)
class History:
    """What happened in the folder."""

    entries: Annotated[list[Entry], "Latest first."]
    next_cursor: Annotated[str | None, "Present if there are more entries: the `cursor` for them."] = None


@attrs.frozen(kw_only=True)
class ShownStep:
    """A step."""

    step: Annotated[Entry, "The step."]
    diff: Annotated[str, "What it changed, as a unified diff."]
    note: Annotated[str | None, _NOTE] = None


@attrs.frozen(kw_only=True)
class Difference(Changes):
    """What changed between a snapshot and now."""

    since: Annotated[TreeHash, "The snapshot."]
    now: Annotated[TreeHash, "The snapshot of the current files."]
    diff: Annotated[str, "The changes, as a unified diff."]
    note: Annotated[str | None, _NOTE] = None


@attrs.frozen(kw_only=True)
class BlamedRange:
    """Consecutive lines that one step or person wrote."""

    first: Annotated[int, "The first line, from 1."]
    last: Annotated[int, "The last line."]
    author: Annotated[
        Literal["step", "user", "before", "unknown"],
        "`step`; `user`; `before`: from before snapd started recording; `unknown`: another history records the author.",
    ]
    agent: Annotated[str | None, "The agent."] = None
    step_id: Annotated[str | None, "The step."] = None
    session_id: Annotated[str | None, "The session of the step."] = None
    mine: Annotated[Literal[True] | None, "It belongs to this agent's session."] = None
    message_id: Annotated[str | None, "The message of the user that the step belongs to."] = None
    at: Annotated[str | None, "When they were written, as RFC 3339 in UTC; absent if unknown."] = None
    commit: Annotated[
        str | None, "For `before`: the commit that added the lines, its author and its message, according to git."
    ] = None
    noted: Annotated[
        str | None, "For `before`: the commit that added the lines, and who wrote them according to its git-ai note."
    ] = None
    text: Annotated[
        str | None, f"The lines, if `first` or `last` was given. A line is cut after {MAX_LINE} characters."
    ] = None


@attrs.frozen(kw_only=True)
class Blame:
    """Who wrote the lines of a file."""

    path: Annotated[str, "The file, as given in the call."]
    line_count: Annotated[int, "How many lines the file has."]
    ranges: Annotated[list[BlamedRange], f"All lines in order, without gaps, at most {MAX_RANGES} ranges."]
    note: Annotated[str | None, "Present if there are more lines: how to get them."] = None


@attrs.frozen(kw_only=True)
class Checkpoint:
    """A snapshot with a name."""

    name: Annotated[str, "The name."]
    snapshot: Annotated[TreeHash, "Its hash."]
    moved: Annotated[Literal[True] | None, "The name referred to an older snapshot before."] = None
    skipped: Annotated[list[Skipped], f"Files that could not be captured, at most {MAX_FILES}."]


@attrs.frozen(kw_only=True)
class ReversedStep:
    """A step that is undone or redone."""

    step_id: Annotated[str, "The step."]
    session_id: Annotated[str, "Its session."]
    agent: Annotated[str | None, "The agent."] = None
    tool: Annotated[str | None, "The tool that was used."] = None
    description: Annotated[str | None, "What it did, for people."] = None
    state: Annotated[str, "Its current state, also in a plan: `applied`, `partly` (undone) or `undone`."]


@attrs.frozen(kw_only=True)
class ChangeResult:
    """A plan, or what was done."""

    status: Annotated[
        Status,
        "`planned`: nothing has changed yet; call again with the `token` to carry it out. `done`. `unchanged`: there "
        "is nothing to do. `blocked`: nothing was changed, because every file is blocked, for example by a conflict. "
        "`refused`: nothing was changed, because the token belongs to another plan; this is the current plan and its "
        "`token`. `declined`: nothing was changed, because the user did not agree.",
    ]
    note: Annotated[str, "What the status means here, and what to do next."]
    token: Annotated[str | None, "Pass it in the call that carries out this plan."] = None
    files: Annotated[list[FileOutcome], f"What happens to each file, at most {MAX_FILES}; the `left` ones come first."]
    file_count: Annotated[int, "How many files there are."]
    left: Annotated[int, "How many of them stay unchanged, because of a conflict or another `reason`."]
    additions: Annotated[int, "Lines added, in all files."]
    deletions: Annotated[int, "Lines deleted, in all files."]
    diff: Annotated[str, "The changes as a unified diff."]
    steps: Annotated[list[ReversedStep] | None, "The steps that are undone or redone."] = None
    before: Annotated[TreeHash | None, "The snapshot of the folder before the change. Present if `done`."] = None
    git: Annotated[
        list[str] | None,
        "What becomes of the folder's own git, and what of it stays and why. Absent if the steps did nothing to it.",
    ] = None
    unanswered: Annotated[Literal[True] | None, "The user dismissed the question, or the client could not ask."] = None
    differs: Annotated[
        Literal[True] | None,
        "The folder changed while the plan was carried out, so the result differs from the plan.",
    ] = None


@attrs.frozen(kw_only=True)
class Failure:
    """Why a call failed."""

    kind: Annotated[str, "A stable name of the error."]
    message: Annotated[str, "What is wrong."]
    hint: Annotated[str, "What to do next."]
