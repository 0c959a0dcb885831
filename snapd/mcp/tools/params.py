"""The arguments of the tools, declared like wire classes; models read the docstrings of these classes."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from snapd.wire.values import AtLeast, Limit

_SESSION = '"mine" for the session of this agent, "all" for the whole folder, or the id of a session.'
_WHOSE = f'{_SESSION} Default: "mine" if snapd knows of this session, otherwise "all".'
_STEP = (
    'The id of the step or the beginning of it, as `history` gives it, or "last" for the last step that changed '
    "something: of this agent's session if snapd knows of it, otherwise of all."
)
_SNAPSHOT = 'The hash of a snapshot or its first 6 digits or more, the name of a checkpoint, or "last".'
_PLANNED = (
    "The token of the plan, if the call before gave one. Leave it out in the first call. The other arguments must be "
    "the same in both calls."
)
LineNumber = Annotated[int, AtLeast(1)]
_FILES = "Only these files or folders: relative to the directory that you work in, or absolute."


@attrs.frozen(kw_only=True)
class HistoryParams:
    """Lists what happened in this folder, latest first.

    Entries are the steps of agents (one for each use of a tool), what the user changed in between, and what was undone,
    redone or restored. Use it to find the step to look at or to undo, or to find out who changed a file.
    """

    session: Annotated[str | None, f'{_SESSION} Default: "all".'] = None
    files: Annotated[list[str] | None, _FILES] = None
    limit: Annotated[Limit, "How many entries to list, at most 100."] = 10
    cursor: Annotated[str | None, "The `nextCursor` of the call before, for the entries that follow."] = None


@attrs.frozen(kw_only=True)
class ShowParams:
    """Shows one step: who did what, the files that it changed, and its changes as a unified diff.

    What others changed in the same files is left out.
    """

    step: Annotated[str, _STEP]
    files: Annotated[list[str] | None, _FILES] = None


@attrs.frozen(kw_only=True)
class DiffParams:
    """Shows what has changed in the folder since a step, a session or a snapshot, by anybody, as a unified diff.

    Give one of `step`, `session` and `snapshot`. Without any, it is what changed since this agent's session began.
    """

    step: Annotated[str | None, f"Since before this step. {_STEP}"] = None
    session: Annotated[str | None, 'Since this session began: its id, or "mine" for that of this agent.'] = None
    snapshot: Annotated[str | None, f"Since this snapshot. {_SNAPSHOT}"] = None
    files: Annotated[list[str] | None, _FILES] = None


@attrs.frozen(kw_only=True)
class BlameParams:
    """Says who wrote each line of a file: which step of which agent and when, the user, or somebody before snapd.

    Without `first` and `last`, it covers the whole file and leaves out the text. `show` has all of a step.
    """

    path: Annotated[str, "The file: relative to the directory that you work in, or absolute."]
    first: Annotated[
        LineNumber | None, "The first line to look at, from 1. The answer then has the text of the lines, too."
    ] = None
    last: Annotated[
        LineNumber | None,
        "The last line to look at, with the text, too. It may be beyond the end of the file. Default: the end.",
    ] = None
    snapshot: Annotated[str | None, f"The file as it is in this snapshot. {_SNAPSHOT} Default: as it is now."] = None


@attrs.frozen(kw_only=True)
class CheckpointParams:
    """Takes a snapshot of all files as they are now, and gives it a name.

    `diff` and `restore_file` take the name later. Use it before something risky. No checkpoint is needed before each
    edit: snapd takes snapshots around the steps of agents by itself.
    """

    name: Annotated[str, 'A name of up to 100 characters, such as "before the refactoring".']


@attrs.frozen(kw_only=True)
class UndoParams:
    """Takes back what steps changed, and keeps what others changed since, also in the same files.

    Without `step` and `message`, it takes back the last steps that changed something. Files that cannot be taken back
    without losing what others wrote stay as they are, and are listed as conflicts. `redo` reverses it.

    Where the client can ask the user, they are asked first. Otherwise the first call changes nothing: it answers with a
    plan and a token, and a second call with the token carries out the plan.
    """

    step: Annotated[str | None, f"Take back this step alone, with its parts; later steps stay. {_STEP}"] = None
    message: Annotated[str | None, "Take back all steps of this message (a prompt of the user), by its id."] = None
    count: Annotated[Limit, "How many of the last steps to take back; not with `step` or `message`."] = 1
    session: Annotated[str | None, f"Whose last steps. {_WHOSE}"] = None
    files: Annotated[list[str] | None, "Only with `step`: take back its changes to these files alone."] = None
    token: Annotated[str | None, _PLANNED] = None


@attrs.frozen(kw_only=True)
class RedoParams:
    """Does again what `undo` took back last, unless later steps have changed something since.

    Where the client can ask the user, they are asked first. Otherwise the first call changes nothing: it answers with a
    plan and a token, and a second call with the token carries out the plan.
    """

    count: Annotated[Limit, "How many steps to do again."] = 1
    session: Annotated[str | None, f"Whose steps. {_WHOSE}"] = None
    token: Annotated[str | None, _PLANNED] = None


@attrs.frozen(kw_only=True)
class RestoreFileParams:
    """Brings a file or a folder back as it was at a step or in a snapshot, whoever changed it since.

    Give `step` or `snapshot`. What the snapshot does not have is deleted. To take back only what one step did, use
    `undo` with `step` and `files`. `undo` with `session` "all" reverses it.

    Where the client can ask the user, they are asked first. Otherwise the first call changes nothing: it answers with a
    plan and a token, and a second call with the token carries out the plan.
    """

    path: Annotated[str, "The file or folder: relative to the directory that you work in, or absolute."]
    step: Annotated[str | None, _STEP] = None
    when: Annotated[Literal["before", "after"], "As it was before the step, or after it; only with `step`."] = "before"
    snapshot: Annotated[str | None, _SNAPSHOT] = None
    token: Annotated[str | None, _PLANNED] = None
