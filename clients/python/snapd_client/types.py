"""The shapes of the values that the snapshot requests take and give, as the wire contract names them."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = [
    "Cleanup",
    "DidChange",
    "Diff",
    "DiffPage",
    "Events",
    "FileChange",
    "FileContent",
    "FileDiff",
    "FileOutcome",
    "FilesPage",
    "InitializeResult",
    "OnConflict",
    "Outcome",
    "Patch",
    "Skipped",
    "Status",
    "Store",
    "Track",
]

OnConflict = Literal["merge", "fail", "overwrite"]
"""What happens to a file that is no longer what the agent left."""


class _SkippedRequired(TypedDict):
    file: str
    reason: Literal["tooLarge", "unreadable", "special", "unstable", "unsupportedName"]


class Skipped(_SkippedRequired, total=False):
    """A file that a snapshot could not take."""

    uri: str


class _TrackRequired(TypedDict):
    hash: str | None
    skipped: list[Skipped]


class Track(_TrackRequired, total=False):
    """The answer of `snapshot/track`; without a hash, `reason` says why."""

    reason: str


class Patch(TypedDict):
    """The answer of `snapshot/patch`, and what `snapshot/revert` takes."""

    hash: str
    files: list[str]


class Diff(TypedDict):
    """The answer of `snapshot/diff`."""

    diff: str


class _FileDiffRequired(TypedDict):
    file: str
    status: Literal["added", "deleted", "modified"]
    before: str
    after: str
    additions: int
    deletions: int
    binary: bool


class FileDiff(_FileDiffRequired, total=False):
    """One file that differs; `before` and `after` are empty for binary and for very large files."""

    uri: str
    tooLarge: bool
    renamedFrom: str
    oldMode: str
    newMode: str


class _DiffPageRequired(TypedDict):
    diffs: list[FileDiff]


class DiffPage(_DiffPageRequired, total=False):
    """One page of `snapshot/diffFull`; more follow where there is a `nextCursor`."""

    nextCursor: str


class FileContent(TypedDict):
    """The answer of `snapshot/fileAt`."""

    file: str
    size: int
    mode: str
    binary: bool
    encoding: Literal["utf-8", "base64"]
    content: str


class _FilesPageRequired(TypedDict):
    files: list[str]


class FilesPage(_FilesPageRequired, total=False):
    """One page of `snapshot/listFiles`; more follow where there is a `nextCursor`."""

    nextCursor: str


class _FileOutcomeRequired(TypedDict):
    file: str
    outcome: Literal["restored", "deleted", "merged", "unchanged", "conflict", "kept", "skipped", "failed"]


class FileOutcome(_FileOutcomeRequired, total=False):
    """What became of one file."""

    uri: str
    reason: str


class Outcome(TypedDict):
    """What an operation that writes the working tree did; `before` names the state it found."""

    applied: bool
    before: str
    after: str
    files: list[FileOutcome]


class Store(TypedDict):
    """Where the snapshots lie, and how much they take."""

    path: str
    bytes: int


class _StatusRequired(TypedDict):
    enabled: bool
    workspaceUri: str
    projectId: str
    files: int
    watcher: str
    store: Store


class Status(_StatusRequired, total=False):
    """The answer of `snapshot/status`."""

    watcherReason: str
    lastHash: str


class Cleanup(TypedDict):
    """The answer of `snapshot/cleanup`."""

    removed: int
    freedBytes: int


class _FileChangeRequired(TypedDict):
    file: str
    status: Literal["added", "deleted", "modified"]
    additions: int
    deletions: int
    binary: bool


class FileChange(_FileChangeRequired, total=False):
    """One file that changed, without its contents."""

    uri: str
    shared: bool


class _DidChangeRequired(TypedDict):
    workspaceUri: str
    seq: int
    base: str
    files: list[FileChange]


class DidChange(_DidChangeRequired, total=False):
    """The params of `snapshot/didChange`: the whole difference from `base`, and whether there is more than it tells."""

    truncated: bool


class _EventsRequired(TypedDict):
    latest: int


class Events(_EventsRequired, total=False):
    """The answer of `snapshot/events`: whole notifications, or `reset` where they are no longer kept."""

    events: list[dict[str, Any]]
    reset: bool


class InitializeResult(TypedDict):
    """The part of LSP's `InitializeResult` that snapd always gives."""

    capabilities: dict[str, Any]
