"""The arguments of the tools, declared like wire classes; models read the docstrings of these classes."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from snapd.wire.values import AtLeast, Limit

_SESSION = '"mine" for the session of this agent, "all" for the whole folder, or a session id.'
_WHOSE = f'{_SESSION} Default: "mine" if snapd has recorded this session, otherwise "all".'
_STEP = (
    'The step id or a prefix of it, as `history` lists it, or "last" for the last step that changed something: in '
    "this agent's session if snapd has recorded it, otherwise in any session."
)
_SNAPSHOT = 'A snapshot hash or at least its first 6 digits, the name of a checkpoint, or "last".'
_PLANNED = (
    "The token of the plan, if the previous call returned one. Omit it in the first call. The other arguments must be "
    "the same in both calls."
)
LineNumber = Annotated[int, AtLeast(1)]
_GIT = (
    "Also take back what the steps did to git: branches, tags, HEAD, the stash, what is staged, an operation in "
    "progress, or `.git` itself. Without it, git stays as it is."
)
_FILES = "Only these files or folders: absolute, or relative to your working directory."


@attrs.frozen(kw_only=True)
class HistoryParams:
    """Lists what happened in this folder, latest first.

    Entries are the steps of agents (one for each tool call), what the user changed in between, and what was undone,
    redone or restored. Use it to find a step to show or to undo, or to find out who changed a file.
    """

    session: Annotated[str | None, f'{_SESSION} Default: "all".'] = None
    files: Annotated[list[str] | None, _FILES] = None
    limit: Annotated[Limit, "How many entries to list, at most 100."] = 10
    cursor: Annotated[str | None, "The `nextCursor` of the previous call, for the entries that follow."] = None


@attrs.frozen(kw_only=True)
class CommentsParams:
    """Lists the open comments of the user on lines that this agent wrote, with their replies.

    Do what a comment asks for, then use `reply`.
    """

    session: Annotated[str | None, _WHOSE] = None


@attrs.frozen(kw_only=True)
class ReplyParams:
    """Replies to a comment, and resolves it if it is dealt with."""

    comment: Annotated[str, "The id of the comment or a prefix of it, as `comments` lists it."]
    text: Annotated[str | None, "What to reply, as plain text. Needed unless `resolve` is true."] = None
    resolve: Annotated[bool, "Whether the comment is dealt with."] = False


@attrs.frozen(kw_only=True)
class ShowParams:
    """Shows one step: who did what, the files that it changed, and its changes as a unified diff.

    Changes that others made to the same files are left out.
    """

    step: Annotated[str, _STEP]
    files: Annotated[list[str] | None, _FILES] = None


@attrs.frozen(kw_only=True)
class DiffParams:
    """Shows all changes in the folder since a step, a session or a snapshot, by any author, as a unified diff.

    Give one of `step`, `session` and `snapshot`. Without any, it shows what changed since this agent's session began.
    """

    step: Annotated[str | None, f"Since before this step. {_STEP}"] = None
    session: Annotated[str | None, 'Since this session began: its id, or "mine" for the session of this agent.'] = None
    snapshot: Annotated[str | None, f"Since this snapshot. {_SNAPSHOT}"] = None
    files: Annotated[list[str] | None, _FILES] = None


@attrs.frozen(kw_only=True)
class BlameParams:
    """Shows who wrote each line of a file, and when: a step of an agent, the user, or someone before snapd recorded.

    Without `first` and `last`, it covers the whole file and omits the text. `show` shows a whole step.
    """

    path: Annotated[str, "The file: absolute, or relative to your working directory."]
    first: Annotated[
        LineNumber | None, "The first line, counted from 1. The result then includes the text of the lines."
    ] = None
    last: Annotated[
        LineNumber | None,
        "The last line. The result then includes the text. It may be beyond the end of the file. Default: the end.",
    ] = None
    snapshot: Annotated[str | None, f"The file as it is in this snapshot. {_SNAPSHOT} Default: as it is now."] = None


@attrs.frozen(kw_only=True)
class CheckpointParams:
    """Takes a snapshot of all files and names it.

    `diff` and `restore_file` accept the name. Use it before something risky. You need no checkpoint before each edit:
    snapd takes snapshots before and after each step by itself.
    """

    name: Annotated[str, 'A name of up to 100 characters, such as "before the refactoring".']


@attrs.frozen(kw_only=True)
class UndoParams:
    """Undoes steps, and keeps what others changed since, even in the same files.

    Without `step` and `message`, it undoes the last steps that changed something. A file whose changes cannot be undone
    without losing what others wrote stays as it is and is listed as a conflict. `redo` reverses it.

    Where the client can ask the user, they are asked first. Otherwise the first call changes nothing: it answers with a
    plan and a token, and a second call with the token carries out the plan.
    """

    step: Annotated[str | None, f"Undo only this step, with its parts; later steps stay. {_STEP}"] = None
    message: Annotated[str | None, "Undo all steps of this message (a prompt of the user), by its id."] = None
    count: Annotated[Limit, "How many of the last steps to undo; not with `step` or `message`."] = 1
    session: Annotated[str | None, f"Whose last steps. {_WHOSE}"] = None
    files: Annotated[list[str] | None, "Only with `step`: undo its changes to these files only."] = None
    git: Annotated[bool, f"{_GIT} Not with `files`."] = False
    token: Annotated[str | None, _PLANNED] = None


@attrs.frozen(kw_only=True)
class RedoParams:
    """Redoes what `undo` undid last, unless later steps have changed something since.

    Where the client can ask the user, they are asked first. Otherwise the first call changes nothing: it answers with a
    plan and a token, and a second call with the token carries out the plan.
    """

    count: Annotated[Limit | None, "How many steps to redo. Default: everything that the last undo took back."] = None
    session: Annotated[str | None, f"Whose steps. {_WHOSE}"] = None
    git: Annotated[bool, "Also redo what `undo` with `git` took back."] = False
    token: Annotated[str | None, _PLANNED] = None


@attrs.frozen(kw_only=True)
class RestoreFileParams:
    """Restores a file or a folder as it was at a step or in a snapshot. This overwrites all later changes to it.

    Give `step` or `snapshot`. Files that the snapshot does not have are deleted. To undo only what one step changed,
    use `undo` with `step` and `files`. `undo` with `session` "all" reverses a restore.

    Where the client can ask the user, they are asked first. Otherwise the first call changes nothing: it answers with a
    plan and a token, and a second call with the token carries out the plan.
    """

    path: Annotated[str, "The file or folder: absolute, or relative to your working directory."]
    step: Annotated[str | None, _STEP] = None
    when: Annotated[Literal["before", "after"], "The state before or after the step; only with `step`."] = "before"
    snapshot: Annotated[str | None, _SNAPSHOT] = None
    token: Annotated[str | None, _PLANNED] = None
