"""The shapes of the values that requests take and give and notifications tell, as the wire contract names them."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = [
    "Check",
    "Cleanup",
    "DidChange",
    "DidRevert",
    "DidTrack",
    "Diff",
    "DiffPage",
    "Entry",
    "Events",
    "FileChange",
    "FileContent",
    "FileDiff",
    "FileOutcome",
    "FilesPage",
    "HistoryPage",
    "Hunk",
    "Hunks",
    "InitializeResult",
    "Leftovers",
    "OnConflict",
    "Outcome",
    "Patch",
    "Problem",
    "Purge",
    "PurgedFile",
    "RevertKind",
    "RevertOutcome",
    "Session",
    "SessionDidChange",
    "SessionId",
    "Sessions",
    "Setting",
    "Skipped",
    "Status",
    "Step",
    "StepBegun",
    "StepEnded",
    "Steps",
    "StepsOutcome",
    "Store",
    "Told",
    "TouchedFile",
    "TouchedStep",
    "Track",
]

OnConflict = Literal["merge", "fail", "overwrite"]
"""What happens to a file that is no longer what the agent left."""

RevertKind = Literal["restore", "revert", "undo", "redo", "unrevert", "hunks"]
"""An operation that writes the working tree."""


class _SkippedRequired(TypedDict):
    file: str
    reason: Literal["tooLarge", "unreadable", "special", "unstable", "unsupportedName", "purged"]


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
    encoding: str
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


class FullLook(TypedDict):
    """A look at all files, and why it was not enough to look at what had changed."""

    at: str
    reason: str


class Store(TypedDict):
    """Where the snapshots lie, and how much they take."""

    path: str
    bytes: int


class Setting(TypedDict):
    """A setting that holds for the workspace, and where it comes from."""

    name: str
    value: bool | int | float | str | list[str] | None
    source: Literal["default", "file", "environment", "client", "otherClient", "folder"]


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
    fullLook: FullLook
    lastHash: str
    settings: list[Setting]
    settingsProblems: list[str]


class Cleanup(TypedDict):
    """The answer of `snapshot/cleanup`."""

    removed: int
    freedBytes: int


class _PurgedFileRequired(TypedDict):
    file: str
    versions: int
    bytes: int
    inFolder: bool


class PurgedFile(_PurgedFileRequired, total=False):
    """A file whose contents are purged."""

    uri: str


class Purge(TypedDict):
    """The answer of `snapshot/purge`."""

    applied: bool
    files: list[PurgedFile]
    snapshots: int
    sessions: int
    freedBytes: int
    stillInGit: bool


class _TouchedFileRequired(TypedDict):
    file: str
    snapshots: list[str]


class TouchedFile(_TouchedFileRequired, total=False):
    """A file of snapshots that a damaged object is a part of."""

    uri: str


class TouchedStep(TypedDict, total=False):
    """What of the history names a damaged snapshot."""

    sessionId: str
    stepId: str
    operationId: str


class Problem(TypedDict):
    """Something that is wrong with a store."""

    kind: str
    subject: str
    message: str
    files: list[TouchedFile]
    snapshots: list[str]
    steps: list[TouchedStep]


class Leftovers(TypedDict):
    """What crashes left in a store."""

    files: int
    bytes: int


class _CheckRequired(TypedDict):
    store: str
    quick: bool
    objects: int
    bytes: int
    snapshots: int
    events: int
    problems: list[Problem]
    repaired: list[Problem]
    brokenSnapshots: list[str]
    leftovers: Leftovers


class Check(_CheckRequired, total=False):
    """The answer of `snapshot/check`."""

    truncated: Literal[True]
    quarantine: str


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


class _SessionRequired(TypedDict):
    sessionId: str
    startedAt: str
    stepCount: int
    undoable: int
    redoable: int


class Session(_SessionRequired, total=False):
    """A session: `endedAt` is there once it has ended."""

    agent: str
    title: str
    endedAt: str


_From = TypedDict("_From", {"from": str})


class _StepRequired(_From, TypedDict):
    stepId: str
    sessionId: str
    index: int
    startedAt: str
    state: Literal["open", "applied", "partly", "undone"]


class Step(_StepRequired, TypedDict, total=False):
    """A step of a session; `endedAt`, `to` and `files` are there once it has ended."""

    parentStepId: str
    messageId: str
    partId: str
    agent: str
    tool: str
    description: str
    endedAt: str
    to: str
    files: list[FileChange]


class SessionId(TypedDict):
    """The answer of `session/start`."""

    sessionId: str


class _SessionsRequired(TypedDict):
    sessions: list[Session]


class Sessions(_SessionsRequired, total=False):
    """The answer of `session/list`, in the order in which they were first started."""

    nextCursor: str


class _StepsRequired(TypedDict):
    steps: list[Step]


class Steps(_StepsRequired, total=False):
    """The answer of `session/steps`, oldest first; those undone are among them."""

    nextCursor: str


class FoundSteps(TypedDict):
    """The answer of `step/find`, the one that was begun last first."""

    steps: list[Step]


class StepsOutcome(Outcome):
    """The answer of `session/undo` and `session/redo`: the steps, in the order in which they were taken."""

    steps: list[Step]


class _RevertOutcomeRequired(Outcome):
    messageId: str
    snapshot: str
    diff: str


class RevertOutcome(_RevertOutcomeRequired, total=False):
    """The answer of `session/revert`; `snapshot` is what `session/unrevert` leads back to."""

    partId: str


class StepBegun(TypedDict):
    """The answer of `step/begin`."""

    stepId: str
    hash: str


class StepEnded(_From, TypedDict):
    """The answer of `step/end`: the snapshots before and after, and what changed while it was open."""

    stepId: str
    to: str
    files: list[FileChange]


class Hunk(TypedDict):
    """A hunk of what a step changed in a file; each line has its sign in front."""

    index: int
    header: str
    lines: list[str]


class Hunks(TypedDict):
    """The answer of `step/hunks`."""

    hunks: list[Hunk]


class _EntryRequired(TypedDict):
    kind: Literal["step", "user", "restore", "revert", "undo", "redo", "unrevert", "hunks"]
    at: str
    before: str
    files: list[FileChange]


class Entry(_EntryRequired, total=False):
    """An entry of the history: a step, an operation with the `steps` that it turned, or the user's own changes."""

    step: Step
    sessionId: str
    steps: list[str]
    after: str


class _HistoryPageRequired(TypedDict):
    entries: list[Entry]


class HistoryPage(_HistoryPageRequired, total=False):
    """One page of `session/history`, the latest first; more follow where there is a `nextCursor`."""

    nextCursor: str


class _Notified(TypedDict):
    workspaceUri: str
    seq: int


class _DidTrackRequired(_Notified):
    hash: str


class DidTrack(_DidTrackRequired, total=False):
    """The params of `snapshot/didTrack`."""

    previous: str


class _DidChangeRequired(_Notified):
    base: str
    files: list[FileChange]


class DidChange(_DidChangeRequired, total=False):
    """The params of `snapshot/didChange`: the whole difference from `base`, and whether there is more than it tells."""

    truncated: bool


class DidRevert(_Notified):
    """The params of `snapshot/didRevert`: what an operation did."""

    kind: RevertKind
    before: str
    after: str
    files: list[FileOutcome]


class _SessionDidChangeRequired(_Notified):
    session: Session


class SessionDidChange(_SessionDidChangeRequired, total=False):
    """The params of `session/didChange`: the session as it is now, and the step that it is about."""

    step: Step


class Told(TypedDict):
    """A notification as it was sent."""

    method: str
    params: DidTrack | DidChange | DidRevert | SessionDidChange


class _EventsRequired(TypedDict):
    latest: int


class Events(_EventsRequired, total=False):
    """The answer of `snapshot/events`: whole notifications, or `reset` where they are no longer kept."""

    events: list[Told]
    reset: bool


class InitializeResult(TypedDict):
    """The part of LSP's `InitializeResult` that snapd always gives."""

    serverInfo: dict[str, Any]
    capabilities: dict[str, Any]
