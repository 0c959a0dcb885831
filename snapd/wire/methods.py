"""The table of methods: the requests that clients send, and the notifications that the daemon sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import attrs

from . import check, events, notifications, session, snapshot
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
    """A request and its answer.

    Attributes:
        name: the method name of the request.
        params: the class of its params.
        result: the class of its result.
        doc: what it does, in Markdown.
        own_errors: the kinds of `errors.ERRORS` that it may fail with, besides `COMMON_ERRORS`.
        access: what it does to the workspace; a function where that depends on the params.
        idempotent: whether a client may send it again after it lost the connection: sent twice, the request has the
            same effect and the same answer as sent once. The name of a param if it holds only with that param.
        quick: whether it reads no objects, so that it need not wait for the requests that do.
    """

    name: str
    params: type[P]
    result: type[R]
    doc: str
    own_errors: tuple[str, ...] = attrs.field(kw_only=True, default=())
    access: Access | Callable[[P], Access] = attrs.field(kw_only=True)
    idempotent: bool | str = attrs.field(kw_only=True)
    quick: bool = attrs.field(kw_only=True, default=False)

    @property
    def errors(self) -> tuple[str, ...]:
        """All kinds of `errors.ERRORS` that it may fail with."""
        return (*COMMON_ERRORS, *self.own_errors)

    def access_of(self, params: P) -> Access:
        """What a request with these params does to the workspace."""
        return self.access if isinstance(self.access, str) else self.access(params)

    def may_repeat(self, params: Mapping[str, Any]) -> bool:
        """Whether a client may send it again with these params (JSON values); see `idempotent`."""
        if isinstance(self.idempotent, str):
            return params.get(self.idempotent) is not None
        return self.idempotent


@attrs.frozen
class Notification:
    """A message that the daemon sends without being asked.

    Attributes:
        name: the method name of the notification.
        params: the class of its params.
        doc: when it is sent, in Markdown.
    """

    name: str
    params: type[notifications.NotificationParams]
    doc: str


def _compares(params: snapshot.PatchParams | snapshot.DiffParams | snapshot.DiffFullParams) -> Access:
    return "looks" if params.to is None else "reads"


def _checks(params: check.CheckParams) -> Access:
    return "writes" if params.repair else "reads"


TRACK = Method(
    "snapshot/track",
    snapshot.TrackParams,
    snapshot.TrackResult,
    "Takes a snapshot of the working tree. It holds every write that was complete when the request was sent.",
    own_errors=("pathOutsideWorkspace",),
    access="writes",
    idempotent=True,
)

PATCH = Method(
    "snapshot/patch",
    snapshot.PatchParams,
    Patch,
    "Lists the files that differ between a snapshot and the working tree, or another snapshot.",
    own_errors=("unknownSnapshot",),
    access=_compares,
    idempotent=True,
)

DIFF = Method(
    "snapshot/diff",
    snapshot.DiffParams,
    snapshot.DiffResult,
    "Returns the difference from a snapshot as one unified diff.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access=_compares,
    idempotent=True,
)

DIFF_FULL = Method(
    "snapshot/diffFull",
    snapshot.DiffFullParams,
    snapshot.DiffFullResult,
    "Returns the difference from a snapshot file by file, with the texts of both sides. One response has at most "
    "32 MiB of contents, whatever `limit` says; the rest follows under `nextCursor`.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access=_compares,
    idempotent=True,
)

FILE_AT = Method(
    "snapshot/fileAt",
    snapshot.FileAtParams,
    snapshot.FileAtResult,
    "Returns the bytes of one file in a snapshot.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace", "fileNotInSnapshot"),
    access="reads",
    idempotent=True,
)

LIST_FILES = Method(
    "snapshot/listFiles",
    snapshot.ListFilesParams,
    snapshot.ListFilesResult,
    "Lists the files of a snapshot.",
    own_errors=("unknownSnapshot",),
    access="reads",
    idempotent=True,
)

FILE_EXISTS = Method(
    "snapshot/fileExists",
    snapshot.FileExistsParams,
    snapshot.FileExistsResult,
    "Says whether a snapshot has a file.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access="reads",
    idempotent=True,
)

RESTORE = Method(
    "snapshot/restore",
    snapshot.RestoreParams,
    Outcome,
    "Makes the working tree exactly the snapshot. It deletes files that were created since, within the limits of "
    "[What may be deleted](#what-may-be-deleted).",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

REVERT = Method(
    "snapshot/revert",
    snapshot.RevertParams,
    Outcome,
    "Restores files from snapshots. A file that its snapshot does not have is deleted. Each file is treated once: "
    "the first patch that names it wins. If the names of two patches clash (`a` and `a/b`), the first one wins and "
    "the other is `skipped`.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

STATUS = Method(
    "snapshot/status",
    snapshot.StatusParams,
    snapshot.StatusResult,
    "Describes the state of a workspace. For a folder that snapd refused, it fails like every other request.",
    access="reads",
    idempotent=True,
    quick=True,
)

CLEANUP = Method(
    "snapshot/cleanup",
    snapshot.CleanupParams,
    snapshot.CleanupResult,
    "Removes what the retention does not keep (old snapshots, old sessions that have ended, and what exceeds a "
    "configured number or size), frees the space that only these used, and packs the rest. Whatever the remaining "
    "sessions name, stays. The daemon also does this every hour while it is idle.",
    access="writes",
    idempotent=False,
)

PURGE = Method(
    "snapshot/purge",
    snapshot.PurgeParams,
    snapshot.PurgeResult,
    "Removes the contents of files from everything that was ever stored, for example a secret that was captured. "
    "It removes all contents that these files ever had, wherever else they occur; only the empty file is left "
    "alone. A snapshot that had any of them becomes a new snapshot with the hash of what is left, and its old hash "
    "is unknown. Restoring it leaves these files alone, since it lists them as `skipped`. Sessions and their steps "
    "continue with the new snapshots; undoing a step undoes what else it changed. Fails with `invalidParams` while "
    "a captured file in the folder has any of the contents, since the next snapshot would capture them again.",
    own_errors=("fileNotInSnapshot", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

CHECK = Method(
    "snapshot/check",
    check.CheckParams,
    check.CheckResult,
    "Reads every object of the store, compares it with its id, and finds what is named but missing. A repair "
    "recovers what the store itself, the project's git and the working tree still have. It moves damaged data to "
    "the store's `quarantine` and deletes nothing. Other requests go on meanwhile, but a repair, and a check that "
    "finds something, delay them. `storeCorrupt` means that the store is gone.",
    access=_checks,
    idempotent=False,
)

EVENTS = Method(
    "snapshot/events",
    events.EventsParams,
    events.EventsResult,
    "Returns the notifications that a client missed. The daemon keeps the latest 1,000, and none across a restart. "
    "If it no longer has all of them, or never gave out `since`, the response is `reset`.",
    access="reads",
    idempotent=True,
)

SESSION_START = Method(
    "session/start",
    session.SessionStartParams,
    session.SessionStartResult,
    "Starts a session, or resumes an existing one, whether it has ended or not.",
    access="writes",
    idempotent="sessionId",
)

SESSION_END = Method(
    "session/end",
    session.SessionEndParams,
    session.SessionEndResult,
    "Ends a session and its open steps. Its steps can still be undone.",
    own_errors=("unknownSession",),
    access="writes",
    idempotent=True,
)

SESSION_LIST = Method(
    "session/list",
    session.SessionListParams,
    session.SessionListResult,
    "Lists the sessions of the workspace.",
    access="reads",
    idempotent=True,
)

SESSION_STEPS = Method(
    "session/steps",
    session.SessionStepsParams,
    session.SessionStepsResult,
    "Lists the steps of a session.",
    own_errors=("unknownSession",),
    access="reads",
    idempotent=True,
)

SESSION_DIFF = Method(
    "session/diff",
    session.SessionDiffParams,
    session.SessionDiffResult,
    "Returns the net changes of the session's own applied steps, without what the user or other sessions changed "
    "between them.",
    own_errors=("unknownSession", "unknownStep"),
    access="reads",
    idempotent=True,
)

SESSION_UNDO = Method(
    "session/undo",
    session.SessionUndoParams,
    session.StepsOutcome,
    "Undoes the last steps of a session that changed something, or one step with its parts, wherever it is in the "
    "history. What others changed since stays: see [Conflicts](#conflicts). A step is undone as far as its files "
    "do not conflict. If only some of its files could be undone, it is `partly` undone; if none could, it stays "
    "`applied`. Sending the request again tries the rest again, for example with `overwrite` once the user has "
    "decided.",
    own_errors=("unknownSession", "unknownStep", "nothingToUndo"),
    access="writes",
    idempotent=False,
)

SESSION_REDO = Method(
    "session/redo",
    session.SessionRedoParams,
    session.StepsOutcome,
    "Reverses the undo of steps, the last undo first, even if a step was undone in several parts with others "
    "between them. If a file of a step conflicts, the step stays `partly` undone, and the next redo continues with "
    "the rest. This works until a later step of the session changes something; from then on, undone steps can only "
    "be restored by their hashes.",
    own_errors=("unknownSession", "nothingToRedo"),
    access="writes",
    idempotent=False,
)

SESSION_REVERT = Method(
    "session/revert",
    session.SessionRevertParams,
    session.RevertOutcome,
    "Goes back to before a message, or a part of it: undoes all steps of the session from the first one that "
    "belongs to it.",
    own_errors=("unknownSession", "unknownStep"),
    access="writes",
    idempotent=False,
)

SESSION_UNREVERT = Method(
    "session/unrevert",
    session.SessionUnrevertParams,
    Outcome,
    "Reverses `session/revert`. What others changed since stays.",
    own_errors=("unknownSession", "nothingToRedo"),
    access="writes",
    idempotent=False,
)

SESSION_HISTORY = Method(
    "session/history",
    session.HistoryParams,
    session.HistoryResult,
    "Lists what happened in the workspace: the steps of all sessions, the operations, and what changed while no "
    "step was open.",
    access="reads",
    idempotent=True,
)

STEP_BEGIN = Method(
    "step/begin",
    session.StepBeginParams,
    session.StepBeginResult,
    "Begins a step on a snapshot of the working tree. The step owns what changes until it ends. With `ends`, "
    "another step ends on the same snapshot.",
    own_errors=("unknownSession", "unknownStep"),
    access="writes",
    idempotent=False,
)

STEP_END = Method(
    "step/end",
    session.StepEndParams,
    session.StepEndResult,
    "Ends a step with a snapshot of the working tree. Ending a step again returns the same result.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="writes",
    idempotent=True,
)

STEP_FIND = Method(
    "step/find",
    session.StepFindParams,
    session.StepFindResult,
    "Finds steps by the beginning of their ids, in all sessions.",
    own_errors=("unknownSession", "unknownStep"),
    access="reads",
    idempotent=True,
)

STEP_HUNKS = Method(
    "step/hunks",
    session.StepHunksParams,
    session.StepHunksResult,
    "Returns the changes of a step to a file, hunk by hunk, as `git diff --no-renames` shows them.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="reads",
    idempotent=True,
)

STEP_REVERT_HUNKS = Method(
    "step/revertHunks",
    session.StepRevertHunksParams,
    Outcome,
    "Reverts some of the hunks of a step. The step stays applied.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

STEP_REVERT_FILES = Method(
    "step/revertFiles",
    session.StepRevertFilesParams,
    Outcome,
    "Reverts the changes of a step and its parts to some files of any kind. A moved file can be given by either "
    "name. An applied step stays applied. For a step that was undone, completely or in part, this reverts what "
    "conflicted then; once nothing of it is left, the step is `undone`.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

METHODS: dict[str, Method[Any, Any]] = {
    method.name: method for method in tuple(globals().values()) if isinstance(method, Method)
}
"""Every method above, by its name and in their order."""

NOTIFICATIONS: dict[str, Notification] = {
    notification.name: notification
    for notification in (
        Notification("snapshot/didTrack", notifications.DidTrackParams, "A snapshot was taken."),
        Notification(
            "snapshot/didChange",
            notifications.DidChangeParams,
            "The working tree changed from the last snapshot, or became equal to it again. It has the whole difference "
            "from `base`, not only what is new, so that a client need not remember anything. Changes in quick "
            "succession are combined, with at most four notifications a second. There are none before the first "
            "snapshot. After `snapshot/didTrack` and `snapshot/didRevert`, nothing differs until the next "
            "`snapshot/didChange`. It lists up to 500 files, and only as many as can be compared by reading 8 MiB of "
            "the working tree and 32 MiB of snapshots; beyond that, `truncated` is set. The daemon sends it while at "
            "least one client that has the folder open has snapshots turned on.",
        ),
        Notification("snapshot/didRevert", notifications.DidRevertParams, "An operation changed the working tree."),
        Notification(
            "session/didChange",
            notifications.SessionDidChangeParams,
            "A session started or ended, or one of its steps began, ended, or was undone or redone.",
        ),
    )
}
