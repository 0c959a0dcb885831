"""The params and results of the `snapshot/*` requests."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from .git import GitReason
from .values import (
    Days,
    Decision,
    Detail,
    FileDiff,
    FormerHistory,
    FullLook,
    HashPrefix,
    Limit,
    OnConflict,
    Patch,
    Plan,
    RequestParams,
    RevertKind,
    SettingSource,
    Skipped,
    StoreInfo,
    TakenKind,
    TreeHash,
)

_FILE = "The file: a relative path, an absolute path, or a `file:` URI."
_FILES = "Only these files: relative paths, absolute paths, or `file:` URIs."
_TO = "The snapshot to compare with. Default: the working tree."
CURSOR = (
    "The `nextCursor` of the page before. The other params must be the same, except `limit`; otherwise the request "
    "fails with `invalidParams`."
)
NEXT_CURSOR = "The `cursor` of the next page. Absent on the last page."
EXACT = "Return the exact bytes, whatever the encoding of the files."
BINARY = "Write binary files as patches that `git apply` takes, as `git diff --binary` does."
DRY_RUN = "Report what the request would do, without doing it."
EXPECT = "The `plan` that was confirmed: if another one would be carried out, nothing is. See [Plans](#plans)."
DETAILS = (
    'Have `details` in the result: `"counts"`, how many lines change, and who changed the files of steps that are in '
    'conflict; `"diff"`, the same and a unified diff. Default: none.'
)
DECISIONS = (
    'What to do with single files instead, by name: `"merge"` or `"overwrite"`, or `"keep"` to leave a file as it is '
    "and count it as done. See [Conflicts](#conflicts)."
)
_ON_CONFLICT = 'What to do with a file that changed since. Default: `"overwrite"`. See [Conflicts](#conflicts).'


@attrs.frozen(kw_only=True)
class TrackParams(RequestParams):
    """Takes a snapshot of the working tree. It holds every write that was complete when the request was sent."""

    force: Annotated[
        list[str] | None, "Ignored files to capture anyway: relative paths, absolute paths, or `file:` URIs."
    ] = None


@attrs.frozen(kw_only=True)
class TrackResult:
    """The result of `snapshot/track`."""

    hash: Annotated[TreeHash | None, "The snapshot, or null if snapshots are turned off."]
    reason: Annotated[Literal["disabled"] | None, "Why `hash` is null."] = None
    skipped: Annotated[list[Skipped], "Files that are not ignored but could not be captured."]


@attrs.frozen(kw_only=True)
class ListParams(RequestParams):
    """Lists the snapshots as they were taken, or finds some of them. Give `prefix` or `before`, not both.

    A row says what the snapshot was taken for, and nothing that happens later changes that. Rows and the entries of
    `session/history` have one order: that in which the daemon recorded them.
    """

    prefix: Annotated[
        str | None,
        "Only snapshots whose hash begins with these lower-case hexadecimal digits, at least 6. Each hash is then "
        "listed once: as it was last taken.",
    ] = None
    before: Annotated[
        str | None, "Only snapshots taken at this time or before, as RFC 3339. Fractions of a second do not count."
    ] = None
    counts: Annotated[bool, "Whether to fill in `files`."] = True
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of snapshots in one response, at least 1. Default: 100."] = None


@attrs.frozen(kw_only=True)
class TakenSnapshot:
    """A snapshot as it was taken. A hash is listed each time that it was recorded, with the reason for that."""

    hash: Annotated[TreeHash, "The snapshot."]
    at: Annotated[str, "When it was taken, as RFC 3339 in UTC, to the second."]
    kind: Annotated[
        TakenKind,
        'Why it was taken. `"track"`: a client asked for it. `"begin"`, `"end"`: a step began on it, or ended with it. '
        '`"message"`: a message was sent to an agent. `"before"`, `"after"`: an operation was about to change the '
        'folder, or left it so. `"look"`: the folder was only looked at, such as to compare it with a snapshot.',
    ]
    operation: Annotated[
        RevertKind | None, "What the operation was. Absent if there was none, and if it was broken off."
    ] = None
    files: Annotated[
        int | None, "How many files differ from the snapshot that was taken before it. Absent for the first snapshot."
    ] = None
    session_id: Annotated[str | None, "The session of the step, the message or the operation."] = None
    step_id: Annotated[str | None, "The step that ended with it or began on it."] = None
    message_id: Annotated[str | None, "The message."] = None
    operation_id: Annotated[str | None, "The operation."] = None
    agent: Annotated[str | None, "The agent of the session."] = None


@attrs.frozen(kw_only=True)
class ListResult:
    """The result of `snapshot/list`."""

    snapshots: Annotated[list[TakenSnapshot], "The snapshots, latest first."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class PatchParams(RequestParams):
    """Lists the files that differ between a snapshot and the working tree, or another snapshot."""

    hash: Annotated[HashPrefix, "The snapshot."]
    to: Annotated[HashPrefix | None, _TO] = None


@attrs.frozen(kw_only=True)
class DiffParams(RequestParams):
    """Returns the difference from a snapshot as one unified diff."""

    hash: Annotated[HashPrefix, "The snapshot."]
    to: Annotated[HashPrefix | None, _TO] = None
    files: Annotated[list[str] | None, _FILES] = None
    renames: Annotated[bool, "Whether to show a moved file as one, as `git diff --find-renames` does."] = False
    exact: Annotated[bool, EXACT] = False
    binary: Annotated[bool, BINARY] = False


@attrs.frozen(kw_only=True)
class DiffResult:
    """A unified diff: the result of `snapshot/diff` and `step/diff`.

    Without `exact`, a file that is not UTF-8 is shown byte by byte as Latin-1. With it, `git apply` makes the new files
    of the old ones, except files over 10 MB, and binary files unless `binary` asks for them.
    """

    diff: Annotated[str, "A unified diff as `git diff` writes it; without `renames`, as with `--no-renames`."]
    encoding: Annotated[
        Literal["base64"] | None, "How `diff` encodes the bytes, if `exact` was asked for and they are not UTF-8."
    ] = None


@attrs.frozen(kw_only=True)
class DiffFullParams(RequestParams):
    """Returns the difference from a snapshot file by file, with the texts of both sides.

    One response has at most 32 MiB of contents, whatever `limit` says; the rest follows under `nextCursor`.
    """

    from_: Annotated[HashPrefix, "The snapshot."]
    to: Annotated[HashPrefix | None, _TO] = None
    files: Annotated[list[str] | None, _FILES] = None
    contents: Annotated[bool, "Whether to fill in `before` and `after`."] = True
    renames: Annotated[bool, "Whether to detect renames."] = False
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of files in one response, at least 1."] = None


@attrs.frozen(kw_only=True)
class DiffFullResult:
    """The result of `snapshot/diffFull`."""

    diffs: Annotated[list[FileDiff], "The files that differ, ordered by file."]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class FileAtParams(RequestParams):
    """Returns the bytes of one file in a snapshot."""

    hash: Annotated[HashPrefix, "The snapshot."]
    file: Annotated[str, _FILE]


@attrs.frozen(kw_only=True)
class FileAtResult:
    """The result of `snapshot/fileAt`."""

    file: Annotated[str, "Relative to the workspace root, with `/` between its parts."]
    size: Annotated[int, "The size in bytes."]
    mode: Annotated[str, '`"100644"`, `"100755"` (executable) or `"120000"` (symlink).']
    binary: Annotated[bool, "Whether it is binary."]
    encoding: Annotated[Literal["utf-8", "base64"], "How `content` encodes the bytes."]
    content: Annotated[str, "The bytes of the file; for a symlink, its target."]


@attrs.frozen(kw_only=True)
class ListFilesParams(RequestParams):
    """Lists the files of a snapshot."""

    hash: Annotated[HashPrefix, "The snapshot."]
    prefix: Annotated[
        str | None, "Only files whose name starts with this. The names are compared as strings, not part by part."
    ] = None
    cursor: Annotated[str | None, CURSOR] = None
    limit: Annotated[Limit | None, "The maximum number of files in one response, at least 1."] = None


@attrs.frozen(kw_only=True)
class ListFilesResult:
    """The result of `snapshot/listFiles`."""

    files: Annotated[
        list[str],
        "The names, relative to the workspace root. A name that is not valid UTF-8 is given as its `file:` URI.",
    ]
    next_cursor: Annotated[str | None, NEXT_CURSOR] = None


@attrs.frozen(kw_only=True)
class FileExistsParams(RequestParams):
    """Says whether a snapshot has a file."""

    hash: Annotated[HashPrefix, "The snapshot."]
    file: Annotated[str, _FILE]


@attrs.frozen(kw_only=True)
class FileExistsResult:
    """The result of `snapshot/fileExists`."""

    exists: Annotated[bool, "Whether the snapshot has the file."]


@attrs.frozen(kw_only=True)
class ExportParams(RequestParams):
    """Writes the files of a snapshot to another folder, as plain files that have nothing to do with the store.

    Contents, modes, symlinks and empty folders are as in the snapshot; files that it skipped are missing. No file that
    exists is written to or replaced. If the request fails or is cancelled, whatever it made is removed, or the error
    says what is left.
    """

    hash: Annotated[HashPrefix, "The snapshot."]
    directory: Annotated[
        str,
        "Where to write: an absolute path or a `file:` URI. A folder that is empty, or that does not exist while the "
        "one above it does. Symlinks that lead there are followed. It may lie neither in a store or a git repository "
        "(a `.git`, or a bare one), nor in the workspace itself, except in a folder there that is ignored.",
    ]
    files: Annotated[
        list[str] | None,
        "Only these files and what is in these folders: relative paths, absolute paths, or `file:` URIs. Those that "
        "the snapshot does not have are passed over. The directory may then hold other files, for example from an "
        "earlier export. Missing empty folders are made in any case.",
    ] = None


@attrs.frozen(kw_only=True)
class ExportResult:
    """The result of `snapshot/export`."""

    files: Annotated[int, "The number of files and symlinks that were written."]
    bytes: Annotated[int, "The size of their contents; for a symlink, of its target."]


@attrs.frozen(kw_only=True)
class RestoreParams(RequestParams):
    """Makes the working tree exactly the snapshot.

    It deletes files that were created since, within the limits of [What may be deleted](#what-may-be-deleted).
    """

    hash: Annotated[HashPrefix, "The snapshot."]
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class RevertParams(RequestParams):
    """Restores files from snapshots.

    A file that its snapshot does not have is deleted. Each file is treated once: the first patch that names it
    wins. If the names of two patches clash (`a` and `a/b`), the first one wins and the other is `skipped`.
    """

    patches: Annotated[list[Patch], "The files to revert. If several patches name the same file, the first one wins."]
    dry_run: Annotated[bool, DRY_RUN] = False
    expect: Annotated[Plan | None, EXPECT] = None
    on_conflict: Annotated[OnConflict | None, _ON_CONFLICT] = None
    decisions: Annotated[dict[str, Decision] | None, DECISIONS] = None
    details: Annotated[Detail | None, DETAILS] = None


@attrs.frozen(kw_only=True)
class StatusParams(RequestParams):
    """Describes the state of a workspace. For a folder that snapd refused, it fails like every other request."""

    file: Annotated[str | None, "Say whether this file, which need not exist, is ignored."] = None


@attrs.frozen(kw_only=True)
class Setting:
    """A setting in effect for the workspace."""

    name: Annotated[str, "The name, as in `config.toml`."]
    value: Annotated[bool | int | float | str | list[str] | None, "The value, or null if nothing sets it."]
    source: Annotated[
        SettingSource,
        'Where the value comes from: `"file"` is the user\'s `config.toml`, `"environment"` the environment of '
        'the process that answers, `"client"` the client that asks, `"otherClient"` another connected client, '
        'and `"folder"` the folder\'s own `.snapd.toml`, whose patterns apply in addition to those of the other '
        "entry.",
    ]


@attrs.frozen(kw_only=True)
class OpenStep:
    """A step that goes on: what changes now is its own."""

    session_id: Annotated[str, "Its session."]
    step_id: Annotated[str, "The step."]
    agent: Annotated[str | None, "The agent of the session."] = None
    tool: Annotated[str | None, "The tool that the agent uses in it."] = None
    description: Annotated[str | None, "What it does, for people."] = None
    started_at: Annotated[str, "When it began, as RFC 3339 in UTC with milliseconds."]


@attrs.frozen(kw_only=True)
class StatusResult:
    """The result of `snapshot/status`."""

    enabled: Annotated[bool, "Whether snapshots are turned on for this workspace."]
    workspace_uri: Annotated[str, "The workspace."]
    within: Annotated[
        str | None,
        "The folder that the client opened, relative to the workspace, if it lies in it: see `findRoot`.",
    ] = None
    ignored: Annotated[
        bool | None, "Whether `file` is ignored, or a folder above it, as of the last snapshot: no snapshot has it."
    ] = None
    project_id: Annotated[str, "The name of the workspace's store."]
    files: Annotated[int, "The number of captured files."]
    watcher: Annotated[
        str,
        'How snapd notices changes in the working tree. `"inotify"` reports each of them. `"watchdog"` only '
        'hints at when to look, and `"none"` does not even do that: each request looks at every file.',
    ]
    watcher_reason: Annotated[
        str | None, "Why it is not the best watcher of the system, unless the settings ask for it."
    ] = None
    full_look: Annotated[FullLook | None, "This daemon's latest scan of all files, and the reason for it."] = None
    last_hash: Annotated[TreeHash | None, "The last snapshot, if there is one."] = None
    git_reason: Annotated[
        GitReason | None,
        'Why the state of git is not recorded: `"reftable"` and `"sha256"` are formats that snapd does not know, '
        '`"subfolder"` is a folder below the root of the repository. Absent if it is recorded, or there is no git.',
    ] = None
    store: Annotated[StoreInfo, "Where the snapshots are stored."]
    open_steps: Annotated[list[OpenStep], "The steps that are open, of all sessions, in the order in which they began."]
    settings: Annotated[list[Setting] | None, "The settings in effect, each with its source."] = None
    settings_problems: Annotated[
        list[str] | None,
        "What is wrong with `config.toml`, or with the folder's `.snapd.toml`, whose last good values stay in effect; "
        "and files of git that had no effect on the last "
        "snapshot: they are too large, or their patterns have too many wildcards.",
    ] = None
    former_histories: Annotated[
        list[FormerHistory] | None, "The histories that the folder may adopt, if it was renamed or replaced another."
    ] = None


@attrs.frozen(kw_only=True)
class CleanupParams(RequestParams):
    """Removes what the retention does not keep, frees the space that only this used, and packs the rest.

    It removes old snapshots, old sessions that have ended, and what exceeds a configured number or size. It keeps
    everything that the remaining sessions refer to. The daemon also does this every hour while it is idle.
    """

    older_than_days: Annotated[
        Days | None, "Remove snapshots that are at least this many days old, 0 or more. Default: as configured."
    ] = None
    dry_run: Annotated[bool, "Whether only to report what would be removed, without what packing would free."] = False


@attrs.frozen(kw_only=True)
class CleanupResult:
    """The result of `snapshot/cleanup`."""

    removed: Annotated[int, "The number of removed snapshots."]
    freed_bytes: Annotated[int, "By how many bytes the store shrank."]


@attrs.frozen(kw_only=True)
class PurgeParams(RequestParams):
    """Removes the contents of files, prompts or comments from everything that was ever stored, for example a secret.

    It removes all contents that these files ever had, wherever else they occur; only the empty file is left alone.
    A snapshot that had any of them becomes a new snapshot with the hash of what is left, and its old hash is
    unknown. Restoring it leaves these files alone, since it lists them as `skipped`. Sessions and their steps
    continue with the new snapshots; undoing a step undoes what else it changed. Fails with `invalidParams` while a
    captured file in the folder has any of the contents, since the next snapshot would capture them again.
    Fetched sessions and handovers with any of it are dropped; what was sent elsewhere stays there, see `remotes`.
    """

    files: Annotated[
        list[str] | None,
        "The files and folders to purge: relative paths, absolute paths, or `file:` URIs.",
    ] = None
    messages: Annotated[
        list[str] | None,
        "The ids of messages, of any session: their texts go, and the descriptions and commands of their steps.",
    ] = None
    comments: Annotated[list[str] | None, "The ids of comments: they go, and with them the texts of their replies."] = (
        None
    )
    everything: Annotated[
        bool, "Purge every snapshot, session and operation of the workspace, instead of what the other fields name."
    ] = False
    dry_run: Annotated[bool, DRY_RUN] = False


@attrs.frozen(kw_only=True)
class PurgedFile:
    """A file whose contents are purged."""

    file: Annotated[str, "Relative to the workspace root, with `/` between its parts."]
    uri: Annotated[str | None, "The exact, percent-encoded `file:` URI. Present if the name is not valid UTF-8."] = None
    versions: Annotated[int, "How many of the purged contents the file had."]
    bytes: Annotated[int, "The total size of these contents, in bytes."]
    in_folder: Annotated[
        bool, "Whether the file in the folder has one of these contents now. Nothing is purged until none has."
    ]


@attrs.frozen(kw_only=True)
class PurgeResult:
    """The result of `snapshot/purge`."""

    applied: Annotated[bool, "False for a dry run."]
    files: Annotated[
        list[PurgedFile], "Every file that had any of the contents: the named ones, and others. Empty for `everything`."
    ]
    snapshots: Annotated[int, "The number of snapshots that had any of the contents."]
    sessions: Annotated[int, "The number of removed sessions; 0 without `everything`."]
    messages: Annotated[int, "The number of messages whose texts are removed; 0 with `everything`."]
    comments: Annotated[int, "The number of comments that are removed; 0 with `everything`."]
    freed_bytes: Annotated[int, "By how many bytes the store shrank; 0 for a dry run."]
    still_in_git: Annotated[
        bool,
        "Whether the project's own git still has any of the contents in a file that the store linked to. They stay "
        "there.",
    ]
    fetched: Annotated[int, "How many fetched sessions and handovers with any of it are dropped; 0 with `everything`."]
    remotes: Annotated[
        list[str],
        "The git repositories and files that any of it was sent to from this folder, or came from: it is still there. "
        "With `everything`, all that anything was sent to.",
    ]
