"""The table of methods: the requests that clients send, and the notifications that the daemon sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import attrs

from . import agent, changes, check, message, notifications, review, session, sharing, snapshot
from .values import Outcome, Patch, RequestParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = TypeVar("P", bound=RequestParams)
R = TypeVar("R", bound=attrs.AttrsInstance)

Access = Literal["reads", "looks", "writes"]
"""What a request does: it reads the store, also looks at the files of the folder, or changes something."""

PROTOCOL_VERSION = 1

COMMON_ERRORS = (
    "invalidParams",
    "workspaceNotOpen",
    "workspaceRefused",
    "workspaceGone",
    "storeLocked",
    "storeCorrupt",
    "storageFull",
    "ioError",
)
"""The kinds of `errors.ERRORS` that every request may fail with."""


@attrs.frozen(eq=False)
class Method(Generic[P, R]):
    """A request and its answer. The docstring of its params says what it does, in Markdown."""

    name: str
    params: type[P]
    result: type[R]
    access: Access | Callable[[P], Access]  # what it does to the workspace; a function where that depends on the params
    own_errors: tuple[str, ...] = ()  # the kinds of `errors.ERRORS` that it may fail with, besides `COMMON_ERRORS`
    # whether a client may send it again after it lost the connection: sent twice, the request has the same effect and
    # the same answer as sent once. The name of a param if it holds only with that param. By default, it is true unless
    # the method always writes.
    idempotent: bool | str = attrs.field(kw_only=True)
    # whether it reads no objects, so that it need not wait for the requests that do
    quick: bool = attrs.field(kw_only=True, default=False)

    @idempotent.default
    def _unless_it_writes(self) -> bool:
        return self.access != "writes"

    @property
    def errors(self) -> tuple[str, ...]:
        """All kinds of `errors.ERRORS` that it may fail with."""
        return (*COMMON_ERRORS, *self.own_errors)

    def access_of(self, params: P) -> Access:
        """Returns what a request with these params does to the workspace."""
        return self.access if isinstance(self.access, str) else self.access(params)

    @property
    def changes(self) -> bool | None:
        """Whether it changes something, here or elsewhere; None if `access_of` decides.

        A snapshot by itself does not count as a change.
        """
        if callable(self.access):
            return None
        if self.params is snapshot.TrackParams:
            return False
        return self.access == "writes" or self.idempotent is False or "dry_run" in attrs.fields_dict(self.params)

    def may_repeat(self, params: Mapping[str, Any]) -> bool:
        """Whether a client may send it again with these params (JSON values); see `idempotent`."""
        if isinstance(self.idempotent, str):
            return params.get(self.idempotent) is not None
        return self.idempotent


@attrs.frozen
class Notification:
    """A message that the daemon sends unasked. The docstring of its params says when, in Markdown."""

    name: str
    params: type[notifications.NotificationParams]


def _compares(params: snapshot.PatchParams | snapshot.DiffParams | snapshot.DiffFullParams) -> Access:
    return "looks" if params.to is None else "reads"


def _blames(params: review.BlameParams) -> Access:
    return "looks" if params.hash is None else "reads"


def _checks(params: check.CheckParams) -> Access:
    return "writes" if params.repair else "reads"


_SNAPSHOT = ("unknownSnapshot",)
_SNAPSHOT_FILES = ("unknownSnapshot", "pathOutsideWorkspace")
_SESSION = ("unknownSession",)
_SESSION_STEP = ("unknownSession", "unknownStep")
_COMMENT = ("unknownSession", "unknownComment")
_STEP_FILES = ("unknownStep", "pathOutsideWorkspace")

TRACK = Method(
    "snapshot/track", snapshot.TrackParams, snapshot.TrackResult, "writes", ("pathOutsideWorkspace",), idempotent=True
)
LIST = Method("snapshot/list", snapshot.ListParams, snapshot.ListResult, "reads")
PATCH = Method("snapshot/patch", snapshot.PatchParams, Patch, _compares, _SNAPSHOT)
DIFF = Method("snapshot/diff", snapshot.DiffParams, snapshot.DiffResult, _compares, _SNAPSHOT_FILES)
DIFF_FULL = Method("snapshot/diffFull", snapshot.DiffFullParams, snapshot.DiffFullResult, _compares, _SNAPSHOT_FILES)
FILE_AT = Method(
    "snapshot/fileAt",
    snapshot.FileAtParams,
    snapshot.FileAtResult,
    "reads",
    ("unknownSnapshot", "pathOutsideWorkspace", "fileNotInSnapshot"),
)
LIST_FILES = Method("snapshot/listFiles", snapshot.ListFilesParams, snapshot.ListFilesResult, "reads", _SNAPSHOT)
FILE_EXISTS = Method(
    "snapshot/fileExists", snapshot.FileExistsParams, snapshot.FileExistsResult, "reads", _SNAPSHOT_FILES
)
EXPORT = Method(
    "snapshot/export",
    snapshot.ExportParams,
    snapshot.ExportResult,
    "reads",
    _SNAPSHOT_FILES,
    # the second time, the directory is not empty
    idempotent=False,
)
RESTORE = Method("snapshot/restore", snapshot.RestoreParams, Outcome, "writes", (*_SNAPSHOT_FILES, "planChanged"))
REVERT = Method("snapshot/revert", snapshot.RevertParams, Outcome, "writes", (*_SNAPSHOT_FILES, "planChanged"))
STATUS = Method(
    "snapshot/status", snapshot.StatusParams, snapshot.StatusResult, "reads", ("pathOutsideWorkspace",), quick=True
)
CLEANUP = Method("snapshot/cleanup", snapshot.CleanupParams, snapshot.CleanupResult, "writes")
PURGE = Method(
    "snapshot/purge",
    snapshot.PurgeParams,
    snapshot.PurgeResult,
    "writes",
    ("fileNotInSnapshot", "pathOutsideWorkspace", "unknownComment"),
)
CHECK = Method("snapshot/check", check.CheckParams, check.CheckResult, _checks, idempotent=False)
EVENTS = Method("snapshot/events", notifications.EventsParams, notifications.EventsResult, "reads")
SESSION_START = Method(
    "session/start", session.SessionStartParams, session.SessionStartResult, "writes", idempotent="sessionId"
)
SESSION_REWIND_CHAT = Method(
    "session/rewindChat", session.RewindChatParams, session.RewindChatResult, "reads", _SESSION_STEP, idempotent=False
)
SESSION_END = Method(
    "session/end", session.SessionEndParams, session.SessionEndResult, "writes", _SESSION, idempotent=True
)
SESSION_LIST = Method("session/list", session.SessionListParams, session.SessionListResult, "reads")
SESSION_STEPS = Method("session/steps", session.SessionStepsParams, session.SessionStepsResult, "reads", _SESSION)
SESSION_MESSAGE = Method(
    "session/message",
    message.SessionMessageParams,
    message.SessionMessageResult,
    "writes",
    _SESSION,
    idempotent=True,
)
SESSION_MESSAGES = Method(
    "session/messages", message.SessionMessagesParams, message.SessionMessagesResult, "reads", _SESSION
)
SESSION_NEWS = Method("session/news", message.SessionNewsParams, message.SessionNewsResult, "writes", _SESSION)
SESSION_TOLD = Method(
    "session/told", message.SessionToldParams, message.SessionToldResult, "writes", _SESSION, idempotent=True
)
SESSION_DIFF = Method("session/diff", session.SessionDiffParams, session.SessionDiffResult, "reads", _SESSION_STEP)
SESSION_UNDO = Method(
    "session/undo",
    session.SessionUndoParams,
    session.StepsOutcome,
    "writes",
    (*_SESSION_STEP, "nothingToUndo", "planChanged"),
)
SESSION_REDO = Method(
    "session/redo",
    session.SessionRedoParams,
    session.StepsOutcome,
    "writes",
    ("unknownSession", "nothingToRedo", "planChanged"),
)
SESSION_REVERT = Method(
    "session/revert",
    session.SessionRevertParams,
    session.RevertOutcome,
    "writes",
    (*_SESSION_STEP, "planChanged"),
)
SESSION_UNREVERT = Method(
    "session/unrevert",
    session.SessionUnrevertParams,
    Outcome,
    "writes",
    ("unknownSession", "nothingToRedo", "planChanged"),
)
SESSION_HISTORY = Method(
    "session/history", message.HistoryParams, message.HistoryResult, "reads", ("unknownSession", "pathOutsideWorkspace")
)
SESSION_ACTIVITY = Method("session/activity", message.ActivityParams, message.ActivityResult, "looks")
SESSION_PUSH = Method(
    "session/push",
    sharing.SessionPushParams,
    sharing.SessionPushResult,
    "reads",
    ("unknownSession", "remoteFailed", "remoteChanged", "untrusted", "signingFailed"),
)
SESSION_FETCH = Method(
    "session/fetch",
    sharing.SessionFetchParams,
    sharing.SessionFetchResult,
    "reads",
    ("unknownSession", "remoteFailed", "untrusted"),
)
SESSION_EXPORT = Method(
    "session/export",
    sharing.SessionExportParams,
    sharing.SessionExportResult,
    "reads",
    ("unknownSession", "signingFailed"),
    idempotent=False,
)
SESSION_IMPORT = Method(
    "session/import", sharing.SessionImportParams, sharing.SessionFetchResult, "reads", ("remoteFailed", "untrusted")
)
SESSION_APPLY = Method(
    "session/apply",
    sharing.SessionApplyParams,
    sharing.SessionApplyResult,
    "writes",
    (*_SESSION_STEP, "nothingToRedo", "untrusted", "planChanged"),
)
# the remote may be slow: these two wait for their turn to write only once they need it
SESSION_HANDOVER = Method(
    "session/handover",
    sharing.SessionHandoverParams,
    sharing.SessionHandoverResult,
    "looks",
    ("remoteFailed", "remoteChanged", "pathOutsideWorkspace", "signingFailed"),
    idempotent=False,
)
SESSION_TAKEOVER = Method(
    "session/takeover",
    sharing.SessionTakeoverParams,
    sharing.SessionTakeoverResult,
    "looks",
    ("remoteFailed", "remoteChanged", "untrusted", "planChanged"),
    idempotent=False,
)
AGENT_REPORT = Method("agent/report", agent.AgentReportParams, agent.AgentReportResult, "writes", ("unknownStep",))
STEP_BEGIN = Method("step/begin", session.StepBeginParams, session.StepBeginResult, "writes", _SESSION_STEP)
STEP_END = Method("step/end", session.StepEndParams, session.StepEndResult, "writes", ("unknownStep",), idempotent=True)
STEP_FIND = Method("step/find", session.StepFindParams, session.StepFindResult, "reads", _SESSION_STEP)
SESSION_PREFIXES = Method("session/prefixes", changes.PrefixesParams, changes.PrefixesResult, "reads")
STEP_DIFF = Method("step/diff", session.StepDiffParams, snapshot.DiffResult, "reads", _STEP_FILES)
STEP_CHANGES = Method("step/changes", changes.StepChangesParams, changes.StepChangesResult, "reads", _SESSION_STEP)
STEP_HUNKS = Method("step/hunks", session.StepHunksParams, session.StepHunksResult, "reads", _STEP_FILES)
STEP_REVERT_HUNKS = Method(
    "step/revertHunks", session.StepRevertHunksParams, Outcome, "writes", (*_STEP_FILES, "planChanged")
)
STEP_REVERT_FILES = Method(
    "step/revertFiles", session.StepRevertFilesParams, Outcome, "writes", (*_STEP_FILES, "planChanged")
)
REVIEW_LIST = Method("review/list", review.ReviewListParams, review.ReviewListResult, "looks", _SESSION)
REVIEW_FILE = Method(
    "review/file", review.ReviewFileParams, review.ReviewFileResult, "looks", ("pathOutsideWorkspace",)
)
REVIEW_KEEP = Method(
    "review/keep",
    review.ReviewKeepParams,
    review.ReviewListResult,
    "writes",
    (*_SESSION_STEP, "pathOutsideWorkspace", "fileChanged"),
)
REVIEW_REVERT = Method(
    "review/revert",
    review.ReviewRevertParams,
    Outcome,
    "writes",
    (*_SESSION_STEP, "pathOutsideWorkspace", "fileChanged", "planChanged"),
)
REVIEW_COMMENT = Method(
    "review/comment",
    review.ReviewCommentParams,
    review.Comment,
    "writes",
    (*_COMMENT, "pathOutsideWorkspace", "fileNotInSnapshot", "fileChanged"),
    idempotent=False,
)
REVIEW_COMMENTS = Method(
    "review/comments",
    review.ReviewCommentsParams,
    review.ReviewCommentsResult,
    "looks",
    ("unknownSession", "pathOutsideWorkspace"),
)
REVIEW_RESOLVE = Method(
    "review/resolve", review.ReviewResolveParams, review.Comment, "writes", _COMMENT, idempotent=True
)
BLAME = Method(
    "snapshot/blame",
    review.BlameParams,
    review.BlameResult,
    _blames,
    ("unknownSnapshot", "pathOutsideWorkspace", "fileNotInSnapshot"),
)

METHODS: dict[str, Method[Any, Any]] = {
    method.name: method for method in tuple(globals().values()) if isinstance(method, Method)
}
"""Every method above, by its name and in their order."""

NOTIFICATIONS: dict[str, Notification] = {
    notification.name: notification
    for notification in (
        Notification("snapshot/didTrack", notifications.DidTrackParams),
        Notification("snapshot/didChange", notifications.DidChangeParams),
        Notification("snapshot/didRevert", notifications.DidRevertParams),
        Notification("session/didChange", notifications.SessionDidChangeParams),
        Notification("review/didChange", notifications.ReviewDidChangeParams),
    )
}
