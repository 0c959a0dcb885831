"""The results of the tools, declared like wire classes.

They go into a model's context, so their size is limited; `MAX_DIFF`, `MAX_TEXT` and `MAX_LINE` are in characters.
"""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from snapd.wire.values import FileChange, FileOutcome, Skipped, TreeHash

MAX_FILES = 50
MAX_DIFF = 20_000
MAX_RANGES = 200
MAX_TEXT = 20_000
MAX_LINE = 1000

Status = Literal["planned", "done", "unchanged", "blocked", "refused", "declined"]

_NOTE = f"Present if the diff has more than {MAX_DIFF} characters: how much of it `diff` has."


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
    step_id: Annotated[str | None, "The step, if it is one."] = None
    parent_step_id: Annotated[str | None, "The step that it is a part of."] = None
    session_id: Annotated[str | None, "The session."] = None
    mine: Annotated[Literal[True] | None, "It is of this agent's session."] = None
    message_id: Annotated[str | None, "The message of the user that the step belongs to."] = None
    agent: Annotated[str | None, "The agent."] = None
    tool: Annotated[str | None, "The tool that was used."] = None
    description: Annotated[str | None, "What it did, for people."] = None
    state: Annotated[str | None, "`open`, `applied`, `partly` (undone) or `undone`."] = None
    before: Annotated[TreeHash | None, "The snapshot before it."] = None
    after: Annotated[TreeHash | None, "The snapshot after it."] = None
    steps: Annotated[list[str] | None, "The steps that it undid or did again."] = None
    unknown: Annotated[Literal[True] | None, "It may not have been the user: another history knows who."] = None


@attrs.frozen(kw_only=True)
class History:
    """What happened in the folder."""

    entries: Annotated[list[Entry], "Latest first."]
    next_cursor: Annotated[str | None, "Present if there is more: the `cursor` for it."] = None


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
    now: Annotated[TreeHash, "The snapshot of the files as they are."]
    diff: Annotated[str, "The changes, as a unified diff."]
    note: Annotated[str | None, _NOTE] = None


@attrs.frozen(kw_only=True)
class BlamedRange:
    """Lines that one step or person wrote, one after the other."""

    first: Annotated[int, "The first line, from 1."]
    last: Annotated[int, "The last line."]
    author: Annotated[
        Literal["step", "user", "before", "unknown"],
        "`step`; `user`; `before`, if they were there before snapd watched; or `unknown`: another history knows who.",
    ]
    agent: Annotated[str | None, "The agent."] = None
    step_id: Annotated[str | None, "The step."] = None
    session_id: Annotated[str | None, "The session of the step."] = None
    mine: Annotated[Literal[True] | None, "It is of this agent's session."] = None
    message_id: Annotated[str | None, "The message of the user that the step belongs to."] = None
    at: Annotated[str | None, "When they were written, as RFC 3339 in UTC; absent if nobody knows."] = None
    commit: Annotated[
        str | None, "Of lines from before: the commit that brought them, its author and its message, as git has them."
    ] = None
    noted: Annotated[
        str | None, "Of lines from before: the commit that brought them, and who wrote them by its git-ai note."
    ] = None
    text: Annotated[
        str | None, f"The lines, if `first` or `last` was given. A line is cut after {MAX_LINE} characters."
    ] = None


@attrs.frozen(kw_only=True)
class Blame:
    """Who wrote the lines of a file."""

    path: Annotated[str, "The file, as the call named it."]
    line_count: Annotated[int, "How many lines the file has."]
    ranges: Annotated[list[BlamedRange], f"The lines without gaps, at most {MAX_RANGES} ranges."]
    note: Annotated[str | None, "Present if there is more: how to see it."] = None


@attrs.frozen(kw_only=True)
class Checkpoint:
    """A snapshot with a name."""

    name: Annotated[str, "The name."]
    snapshot: Annotated[TreeHash, "Its hash."]
    moved: Annotated[Literal[True] | None, "The name stood for an older snapshot until now."] = None
    skipped: Annotated[list[Skipped], f"Files that could not be captured, at most {MAX_FILES}."]


@attrs.frozen(kw_only=True)
class ReversedStep:
    """A step that is undone or done again."""

    step_id: Annotated[str, "The step."]
    session_id: Annotated[str, "Its session."]
    agent: Annotated[str | None, "The agent."] = None
    tool: Annotated[str | None, "The tool that was used."] = None
    description: Annotated[str | None, "What it did, for people."] = None
    state: Annotated[str, "`applied`, `partly` (undone) or `undone`: what it is now, also in a plan."]


@attrs.frozen(kw_only=True)
class ChangeResult:
    """A plan, or what was done."""

    status: Annotated[
        Status,
        "`planned`: nothing was changed yet; call again with the `token` to carry it out. `done`. `unchanged`: there "
        "is nothing to do. `blocked`: nothing was changed, because something is in the way of every file, such as a "
        "conflict. `refused`: nothing was changed, because the token is of another plan than this one, whose `token` "
        "is here. `declined`: nothing was changed, because the user did not agree.",
    ]
    note: Annotated[str, "What that means here, and what to do next."]
    token: Annotated[str | None, "What the call that carries out this plan has to bring."] = None
    files: Annotated[list[FileOutcome], f"What happens to the files, at most {MAX_FILES}; those that are left first."]
    file_count: Annotated[int, "How many files there are."]
    left: Annotated[int, "How many of them are left as they are, because of a conflict or another `reason`."]
    additions: Annotated[int, "Lines added, in all files."]
    deletions: Annotated[int, "Lines deleted, in all files."]
    diff: Annotated[str, "The changes that it makes, as a unified diff."]
    steps: Annotated[list[ReversedStep] | None, "The steps that are undone or done again."] = None
    before: Annotated[TreeHash | None, "The snapshot of the folder before; present if it was done."] = None
    unanswered: Annotated[
        Literal[True] | None, "The user was asked, but dismissed the question, or nobody was there."
    ] = None
    differs: Annotated[
        Literal[True] | None,
        "The folder changed while the plan was carried out, so that what was done is not quite what was planned.",
    ] = None


@attrs.frozen(kw_only=True)
class Failure:
    """Why a call failed."""

    kind: Annotated[str, "A stable name of the error."]
    message: Annotated[str, "What is wrong."]
    hint: Annotated[str, "What to do next."]
