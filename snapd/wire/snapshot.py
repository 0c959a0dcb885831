"""The params and results of the `snapshot/*` requests."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import field

from .values import (
    Days,
    FileDiff,
    FullLook,
    Limit,
    OnConflict,
    Patch,
    RequestParams,
    SettingSource,
    Skipped,
    StoreInfo,
    TreeHash,
    says,
)

_FILE = "The file: a relative path, an absolute path, or a `file:` URI."
_FILES = "Only these files: relative paths, absolute paths, or `file:` URIs."
_TO = "The snapshot to compare with. Default: the working tree."
CURSOR = (
    "The `nextCursor` of the page before. The other params must be the same, except `limit`; otherwise the request "
    "fails with `invalidParams`."
)
NEXT_CURSOR = "The `cursor` of the next page. Absent on the last page."
DRY_RUN = "Report what the request would do, without doing it."
_ON_CONFLICT = 'What to do with a file that changed since. Default: `"overwrite"`. See [Conflicts](#conflicts).'


@attrs.frozen(kw_only=True)
class TrackParams(RequestParams):
    """The params of `snapshot/track`."""

    force: list[str] | None = field(
        default=None,
        metadata=says("Ignored files to capture anyway: relative paths, absolute paths, or `file:` URIs."),
    )


@attrs.frozen(kw_only=True)
class TrackResult:
    """The result of `snapshot/track`."""

    hash: TreeHash | None = field(metadata=says("The snapshot, or null if snapshots are turned off."))
    reason: Literal["disabled"] | None = field(default=None, metadata=says("Why `hash` is null."))
    skipped: list[Skipped] = field(metadata=says("Files that are not ignored but could not be captured."))


@attrs.frozen(kw_only=True)
class PatchParams(RequestParams):
    """The params of `snapshot/patch`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    to: TreeHash | None = field(default=None, metadata=says(_TO))


@attrs.frozen(kw_only=True)
class DiffParams(RequestParams):
    """The params of `snapshot/diff`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    to: TreeHash | None = field(default=None, metadata=says(_TO))
    files: list[str] | None = field(default=None, metadata=says(_FILES))


@attrs.frozen(kw_only=True)
class DiffResult:
    """The result of `snapshot/diff`."""

    diff: str = field(metadata=says("A unified diff as `git diff --no-renames` writes it."))


@attrs.frozen(kw_only=True)
class DiffFullParams(RequestParams):
    """The params of `snapshot/diffFull`."""

    from_: TreeHash = field(metadata=says("The snapshot."))
    to: TreeHash | None = field(default=None, metadata=says(_TO))
    files: list[str] | None = field(default=None, metadata=says(_FILES))
    contents: bool = field(default=True, metadata=says("Whether to fill in `before` and `after`."))
    renames: bool = field(default=False, metadata=says("Whether to detect renames."))
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The maximum number of files in one response, at least 1."))


@attrs.frozen(kw_only=True)
class DiffFullResult:
    """The result of `snapshot/diffFull`."""

    diffs: list[FileDiff] = field(metadata=says("The files that differ, ordered by file."))
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class FileAtParams(RequestParams):
    """The params of `snapshot/fileAt`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    file: str = field(metadata=says(_FILE))


@attrs.frozen(kw_only=True)
class FileAtResult:
    """The result of `snapshot/fileAt`."""

    file: str = field(metadata=says("Relative to the workspace root, with `/` between its parts."))
    size: int = field(metadata=says("The size in bytes."))
    mode: str = field(metadata=says('`"100644"`, `"100755"` (executable) or `"120000"` (symlink).'))
    binary: bool = field(metadata=says("Whether it is binary."))
    encoding: Literal["utf-8", "base64"] = field(metadata=says("How `content` encodes the bytes."))
    content: str = field(metadata=says("The bytes of the file; for a symlink, its target."))


@attrs.frozen(kw_only=True)
class ListFilesParams(RequestParams):
    """The params of `snapshot/listFiles`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    prefix: str | None = field(
        default=None,
        metadata=says("Only files whose name starts with this. The names are compared as strings, not part by part."),
    )
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The maximum number of files in one response, at least 1."))


@attrs.frozen(kw_only=True)
class ListFilesResult:
    """The result of `snapshot/listFiles`."""

    files: list[str] = field(
        metadata=says(
            "The names, relative to the workspace root. A name that is not valid UTF-8 is given as its `file:` URI."
        )
    )
    next_cursor: str | None = field(default=None, metadata=says(NEXT_CURSOR))


@attrs.frozen(kw_only=True)
class FileExistsParams(RequestParams):
    """The params of `snapshot/fileExists`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    file: str = field(metadata=says(_FILE))


@attrs.frozen(kw_only=True)
class FileExistsResult:
    """The result of `snapshot/fileExists`."""

    exists: bool = field(metadata=says("Whether the snapshot has the file."))


@attrs.frozen(kw_only=True)
class RestoreParams(RequestParams):
    """The params of `snapshot/restore`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class RevertParams(RequestParams):
    """The params of `snapshot/revert`."""

    patches: list[Patch] = field(
        metadata=says("The files to revert. If several patches name the same file, the first one wins.")
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class StatusParams(RequestParams):
    """The params of `snapshot/status`."""


@attrs.frozen(kw_only=True)
class Setting:
    """A setting in effect for the workspace."""

    name: str = field(metadata=says("The name, as in `config.toml`."))
    value: bool | int | float | str | list[str] | None = field(metadata=says("The value, or null if nothing sets it."))
    source: SettingSource = field(
        metadata=says(
            'Where the value comes from: `"file"` is the user\'s `config.toml`, `"environment"` the environment of '
            'the process that answers, `"client"` the client that asks, `"otherClient"` another connected client, '
            'and `"folder"` the folder\'s own `.snapd.toml`, whose patterns apply in addition to those of the other '
            "entry."
        )
    )


@attrs.frozen(kw_only=True)
class OpenStep:
    """A step that goes on: what changes now is its own."""

    session_id: str = field(metadata=says("Its session."))
    step_id: str = field(metadata=says("The step."))
    agent: str | None = field(default=None, metadata=says("The agent of the session."))
    tool: str | None = field(default=None, metadata=says("The tool that the agent uses in it."))
    description: str | None = field(default=None, metadata=says("What it does, for people."))
    started_at: str = field(metadata=says("When it began, as RFC 3339 in UTC with milliseconds."))


@attrs.frozen(kw_only=True)
class StatusResult:
    """The result of `snapshot/status`."""

    enabled: bool = field(metadata=says("Whether snapshots are turned on for this workspace."))
    workspace_uri: str = field(metadata=says("The workspace."))
    project_id: str = field(metadata=says("The name of the workspace's store."))
    files: int = field(metadata=says("The number of captured files."))
    watcher: str = field(
        metadata=says(
            'How snapd notices changes in the working tree. `"inotify"` reports each of them. `"watchdog"` only '
            'hints at when to look, and `"none"` does not even do that: each request looks at every file.'
        )
    )
    watcher_reason: str | None = field(
        default=None, metadata=says("Why it is not the best watcher of the system, unless the settings ask for it.")
    )
    full_look: FullLook | None = field(
        default=None, metadata=says("This daemon's latest scan of all files, and the reason for it.")
    )
    last_hash: TreeHash | None = field(default=None, metadata=says("The last snapshot, if there is one."))
    store: StoreInfo = field(metadata=says("Where the snapshots are stored."))
    open_steps: list[OpenStep] = field(
        metadata=says("The steps that are open, of all sessions, in the order in which they began.")
    )
    settings: list[Setting] | None = field(default=None, metadata=says("The settings in effect, each with its source."))
    settings_problems: list[str] | None = field(
        default=None,
        metadata=says(
            "What is wrong with `config.toml` (its last good values stay in effect), or with the folder's "
            "`.snapd.toml` (no snapshot is taken until it is right)."
        ),
    )


@attrs.frozen(kw_only=True)
class CleanupParams(RequestParams):
    """The params of `snapshot/cleanup`."""

    older_than_days: Days | None = field(
        default=None,
        metadata=says("Remove snapshots that are at least this many days old, 0 or more. Default: as configured."),
    )


@attrs.frozen(kw_only=True)
class CleanupResult:
    """The result of `snapshot/cleanup`."""

    removed: int = field(metadata=says("The number of removed snapshots."))
    freed_bytes: int = field(metadata=says("By how many bytes the store shrank."))


@attrs.frozen(kw_only=True)
class PurgeParams(RequestParams):
    """The params of `snapshot/purge`."""

    files: list[str] | None = field(
        default=None,
        metadata=says("The files and folders to purge, at least one: relative paths, absolute paths, or `file:` URIs."),
    )
    everything: bool = field(
        default=False,
        metadata=says("Purge every snapshot, session and operation of the workspace, instead of `files`."),
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))


@attrs.frozen(kw_only=True)
class PurgedFile:
    """A file whose contents are purged."""

    file: str = field(metadata=says("Relative to the workspace root, with `/` between its parts."))
    uri: str | None = field(
        default=None,
        metadata=says("The exact, percent-encoded `file:` URI. Present if the name is not valid UTF-8."),
    )
    versions: int = field(metadata=says("How many of the purged contents the file had."))
    bytes: int = field(metadata=says("The total size of these contents, in bytes."))
    in_folder: bool = field(
        metadata=says("Whether the file in the folder has one of these contents now. Nothing is purged until none has.")
    )


@attrs.frozen(kw_only=True)
class PurgeResult:
    """The result of `snapshot/purge`."""

    applied: bool = field(metadata=says("False for a dry run."))
    files: list[PurgedFile] = field(
        metadata=says("Every file that had any of the contents: the named ones, and others. Empty for `everything`.")
    )
    snapshots: int = field(metadata=says("The number of snapshots that had any of the contents."))
    sessions: int = field(metadata=says("The number of removed sessions; 0 if `files` were named."))
    freed_bytes: int = field(metadata=says("By how many bytes the store shrank; 0 for a dry run."))
    still_in_git: bool = field(
        metadata=says(
            "Whether the project's own git still has any of the contents in a file that the store linked to. They stay "
            "there."
        )
    )
