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

_FILE = "The file: a relative path, an absolute one, or a `file:` URI."
_FILES = "These files alone: relative paths, absolute ones, or `file:` URIs."
_TO = "The snapshot to compare with; without it, the working tree."
CURSOR = "The `nextCursor` of the page before, with the same params but for `limit`; any other is `invalidParams`."
NEXT_CURSOR = "There where more follows: the `cursor` of the next page."
DRY_RUN = "Say what would be done, and do nothing."
_ON_CONFLICT = 'What happens to a file that was changed since, by default `"overwrite"`: see [Conflicts](#conflicts).'


@attrs.frozen(kw_only=True)
class TrackParams(RequestParams):
    """The params of `snapshot/track`."""

    force: list[str] | None = field(
        default=None,
        metadata=says("Ignored files to capture all the same: relative paths, absolute ones, or `file:` URIs."),
    )


@attrs.frozen(kw_only=True)
class TrackResult:
    """The result of `snapshot/track`."""

    hash: TreeHash | None = field(metadata=says("The snapshot, or null where snapshots are off."))
    reason: Literal["disabled"] | None = field(default=None, metadata=says("Why there is no hash."))
    skipped: list[Skipped] = field(metadata=says("What is not ignored and could not be captured."))


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
    contents: bool = field(default=True, metadata=says("Whether `before` and `after` are filled in."))
    renames: bool = field(default=False, metadata=says("Whether renames are looked for."))
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The most files in one answer, at least 1."))


@attrs.frozen(kw_only=True)
class DiffFullResult:
    """The result of `snapshot/diffFull`."""

    diffs: list[FileDiff] = field(metadata=says("What differs, ordered by file."))
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
    size: int = field(metadata=says("Bytes."))
    mode: str = field(metadata=says('`"100644"`, `"100755"` (executable) or `"120000"` (symlink).'))
    binary: bool = field(metadata=says("Whether it is binary."))
    encoding: Literal["utf-8", "base64"] = field(metadata=says("How `content` holds the bytes."))
    content: str = field(metadata=says("The bytes; of a symlink, its target."))


@attrs.frozen(kw_only=True)
class ListFilesParams(RequestParams):
    """The params of `snapshot/listFiles`."""

    hash: TreeHash = field(metadata=says("The snapshot."))
    prefix: str | None = field(
        default=None, metadata=says("Only files that start with this, compared as a string and not part by part.")
    )
    cursor: str | None = field(default=None, metadata=says(CURSOR))
    limit: Limit | None = field(default=None, metadata=says("The most files in one answer, at least 1."))


@attrs.frozen(kw_only=True)
class ListFilesResult:
    """The result of `snapshot/listFiles`."""

    files: list[str] = field(
        metadata=says("Relative to the workspace root; a name that is not valid UTF-8 stands as its `file:` URI.")
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
        metadata=says("What to take back; of patches that name the same file, the first one wins.")
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))
    on_conflict: OnConflict | None = field(default=None, metadata=says(_ON_CONFLICT))


@attrs.frozen(kw_only=True)
class StatusParams(RequestParams):
    """The params of `snapshot/status`."""


@attrs.frozen(kw_only=True)
class Setting:
    """A setting that holds for the workspace."""

    name: str = field(metadata=says("As in `config.toml`."))
    value: bool | int | float | str | list[str] | None = field(metadata=says("What it is; null: nobody said anything."))
    source: SettingSource = field(
        metadata=says(
            'Where the value comes from: `"file"` is the user\'s `config.toml`, `"environment"` that of the process '
            'that answers, `"client"` the one that asks, `"otherClient"` another one that is connected, `"folder"` the '
            "folder's own `.snapd.toml`, whose patterns count besides those of the other row."
        )
    )


@attrs.frozen(kw_only=True)
class StatusResult:
    """The result of `snapshot/status`."""

    enabled: bool = field(metadata=says("Whether snapshots are on for this workspace."))
    workspace_uri: str = field(metadata=says("The workspace."))
    project_id: str = field(metadata=says("The name of the workspace's store."))
    files: int = field(metadata=says("How many files are captured."))
    watcher: str = field(
        metadata=says(
            'How changes in the working tree are noticed: `"inotify"` tells of each; `"watchdog"` is a hint of when to '
            'look, and with `"none"` there is not even that: each request looks at every file.'
        )
    )
    watcher_reason: str | None = field(
        default=None, metadata=says("Why it is not the best there is, where that was not asked for.")
    )
    full_look: FullLook | None = field(
        default=None, metadata=says("The latest look at all files, of this daemon, and why it was one.")
    )
    last_hash: TreeHash | None = field(default=None, metadata=says("The last snapshot, where there is one."))
    store: StoreInfo = field(metadata=says("Where the snapshots are kept."))
    settings: list[Setting] | None = field(default=None, metadata=says("The settings that hold, each with its source."))
    settings_problems: list[str] | None = field(
        default=None,
        metadata=says(
            "What is wrong with `config.toml`, whose last good values hold meanwhile, or with the folder's "
            "`.snapd.toml`, without which no snapshot is taken."
        ),
    )


@attrs.frozen(kw_only=True)
class CleanupParams(RequestParams):
    """The params of `snapshot/cleanup`."""

    older_than_days: Days | None = field(
        default=None, metadata=says("How old a snapshot must be to be removed, 0 or more; else as configured.")
    )


@attrs.frozen(kw_only=True)
class CleanupResult:
    """The result of `snapshot/cleanup`."""

    removed: int = field(metadata=says("How many snapshots were removed."))
    freed_bytes: int = field(metadata=says("By how many bytes the store shrank."))


@attrs.frozen(kw_only=True)
class PurgeParams(RequestParams):
    """The params of `snapshot/purge`."""

    files: list[str] | None = field(
        default=None,
        metadata=says("Files and folders to purge: relative paths, absolute ones, or `file:` URIs. At least one."),
    )
    everything: bool = field(
        default=False, metadata=says("Instead of `files`: every snapshot, session and operation of the workspace.")
    )
    dry_run: bool = field(default=False, metadata=says(DRY_RUN))


@attrs.frozen(kw_only=True)
class PurgedFile:
    """A file whose contents are purged."""

    file: str = field(metadata=says("Relative to the workspace root, with `/` between its parts."))
    uri: str | None = field(
        default=None,
        metadata=says("The exact, percent-encoded `file:` URI, where the name is not valid UTF-8."),
    )
    versions: int = field(metadata=says("How many of the contents stood there."))
    bytes: int = field(metadata=says("Their size, all together."))
    in_folder: bool = field(
        metadata=says("Whether one of them is captured there now: then nothing is purged before it is gone.")
    )


@attrs.frozen(kw_only=True)
class PurgeResult:
    """The result of `snapshot/purge`."""

    applied: bool = field(metadata=says("False for a dry run."))
    files: list[PurgedFile] = field(
        metadata=says("Where the contents stood: at the paths that were named, and elsewhere; empty for everything.")
    )
    snapshots: int = field(metadata=says("How many snapshots had any of it."))
    sessions: int = field(metadata=says("How many sessions went; 0 where files were named."))
    freed_bytes: int = field(metadata=says("By how many bytes the store shrank; 0 for a dry run."))
    still_in_git: bool = field(
        metadata=says(
            "Whether the project's own git has any of it in a file that the store had a link to. There it stays."
        )
    )
