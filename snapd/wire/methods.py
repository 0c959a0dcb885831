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
    "Names the files that differ from a snapshot, in the working tree or in another snapshot.",
    own_errors=("unknownSnapshot",),
    access=_compares,
    idempotent=True,
)

DIFF = Method(
    "snapshot/diff",
    snapshot.DiffParams,
    snapshot.DiffResult,
    "Gives what differs from a snapshot as one unified diff.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access=_compares,
    idempotent=True,
)

DIFF_FULL = Method(
    "snapshot/diffFull",
    snapshot.DiffFullParams,
    snapshot.DiffFullResult,
    "Gives what differs from a snapshot file by file, with the texts of both sides. One answer holds at most "
    "32 MiB of contents, whatever `limit` says; the rest follows under `nextCursor`.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access=_compares,
    idempotent=True,
)

FILE_AT = Method(
    "snapshot/fileAt",
    snapshot.FileAtParams,
    snapshot.FileAtResult,
    "Gives the bytes of one file as a snapshot has it.",
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
    "Tells whether a snapshot has a file.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access="reads",
    idempotent=True,
)

RESTORE = Method(
    "snapshot/restore",
    snapshot.RestoreParams,
    Outcome,
    "Makes the working tree exactly the snapshot: files made since then are deleted, within the limits that "
    "[What may be deleted](#what-may-be-deleted) sets.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

REVERT = Method(
    "snapshot/revert",
    snapshot.RevertParams,
    Outcome,
    "Brings files back to what snapshots hold of them; a file that its snapshot did not have is deleted. "
    "Each file is treated once: the first patch that names it wins. Where the names of two patches clash "
    "(`a` and `a/b`), the first wins and the other is `skipped`.",
    own_errors=("unknownSnapshot", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

STATUS = Method(
    "snapshot/status",
    snapshot.StatusParams,
    snapshot.StatusResult,
    "Tells how a workspace is kept. A folder that was refused fails this like every other request.",
    access="reads",
    idempotent=True,
    quick=True,
)

CLEANUP = Method(
    "snapshot/cleanup",
    snapshot.CleanupParams,
    snapshot.CleanupResult,
    "Removes what retention does not keep (old snapshots, old sessions that have ended, what is beyond a "
    "configured number or size), frees what that alone held, and packs the rest. What the sessions that stay "
    "name, stays. Likewise every hour, while nobody asks for anything.",
    access="writes",
    idempotent=False,
)

PURGE = Method(
    "snapshot/purge",
    snapshot.PurgeParams,
    snapshot.PurgeResult,
    "Takes files out of all that was ever stored: for a secret that was captured. All contents that they ever "
    "had go, wherever else these stand too; only the empty file is left alone. A snapshot that had any becomes "
    "another one, under the hash of what is left, and its old hash is unknown; a restore of it leaves these "
    "files alone, since it tells them as `skipped`. Sessions and their steps go on with that; to undo a step "
    "takes back what else it changed. Refused with `invalidParams` while any of the contents is captured in "
    "the folder, since the next snapshot would have it again.",
    own_errors=("fileNotInSnapshot", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

CHECK = Method(
    "snapshot/check",
    check.CheckParams,
    check.CheckResult,
    "Reads every object of the store, compares it with its id, and finds out what of all that is named is "
    "missing. A repair gets back what the store itself, the project's git and the working tree still have; "
    "what is damaged goes to the store's `quarantine`, and nothing is deleted. Others may go on meanwhile; a "
    "repair, and a check that finds something, hold them up. `storeCorrupt` means that the store is gone.",
    access=_checks,
    idempotent=False,
)

EVENTS = Method(
    "snapshot/events",
    events.EventsParams,
    events.EventsResult,
    "Gives the notifications that a client missed. The latest 1,000 are kept, and none across a restart of the "
    "daemon: then, and for a number that was never given out, the answer is `reset`.",
    access="reads",
    idempotent=True,
)

SESSION_START = Method(
    "session/start",
    session.SessionStartParams,
    session.SessionStartResult,
    "Starts a session, or takes up one that was started before; ended or not, it goes on.",
    access="writes",
    idempotent="sessionId",
)

SESSION_END = Method(
    "session/end",
    session.SessionEndParams,
    session.SessionEndResult,
    "Ends a session and the steps that are open in it. What it did can be undone as before.",
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
    "Gives what the session's own applied steps changed, all together: not what the user or another session "
    "changed between them.",
    own_errors=("unknownSession", "unknownStep"),
    access="reads",
    idempotent=True,
)

SESSION_UNDO = Method(
    "session/undo",
    session.SessionUndoParams,
    session.StepsOutcome,
    "Takes back the last steps of a session that changed something, or one step alone, with its parts and "
    "wherever it is in the history. What others changed since stays: see [Conflicts](#conflicts). A step is "
    "undone as far as its files do not conflict: one of which some files were taken back is `partly` undone, "
    "and one of which none was stays `applied`. Asked again, the rest is tried again: with `overwrite`, say, "
    "once the user has chosen.",
    own_errors=("unknownSession", "unknownStep", "nothingToUndo"),
    access="writes",
    idempotent=False,
)

SESSION_REDO = Method(
    "session/redo",
    session.SessionRedoParams,
    session.StepsOutcome,
    "Takes back the undo of steps, the last one first, also where a step was undone in several goes with "
    "others between. A step of which a file conflicts is `partly` undone still, and the rest is what the next "
    "redo does. Not after a later step of the session has changed something: the undone ones are reached by "
    "their hashes then.",
    own_errors=("unknownSession", "nothingToRedo"),
    access="writes",
    idempotent=False,
)

SESSION_REVERT = Method(
    "session/revert",
    session.SessionRevertParams,
    session.RevertOutcome,
    "Goes back to before a message, or a part of it: takes back all steps of the session from the first one "
    "that belongs to it.",
    own_errors=("unknownSession", "unknownStep"),
    access="writes",
    idempotent=False,
)

SESSION_UNREVERT = Method(
    "session/unrevert",
    session.SessionUnrevertParams,
    Outcome,
    "Takes back `session/revert`; what others changed since stays.",
    own_errors=("unknownSession", "nothingToRedo"),
    access="writes",
    idempotent=False,
)

SESSION_HISTORY = Method(
    "session/history",
    session.HistoryParams,
    session.HistoryResult,
    "Tells what happened in the workspace: the steps of all sessions, the operations, and what changed while "
    "no step was open.",
    access="reads",
    idempotent=True,
)

STEP_BEGIN = Method(
    "step/begin",
    session.StepBeginParams,
    session.StepBeginResult,
    "Begins a step, on a snapshot of the working tree. What changes until it ends is its own. With `ends`, "
    "another step ends with that snapshot.",
    own_errors=("unknownSession", "unknownStep"),
    access="writes",
    idempotent=False,
)

STEP_END = Method(
    "step/end",
    session.StepEndParams,
    session.StepEndResult,
    "Ends a step, with a snapshot of the working tree. One that has ended is told as it is.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="writes",
    idempotent=True,
)

STEP_FIND = Method(
    "step/find",
    session.StepFindParams,
    session.StepFindResult,
    "Finds steps by the beginning of their names, in all sessions.",
    own_errors=("unknownSession", "unknownStep"),
    access="reads",
    idempotent=True,
)

STEP_HUNKS = Method(
    "step/hunks",
    session.StepHunksParams,
    session.StepHunksResult,
    "Gives what a step changed in a file, hunk by hunk, as `git diff --no-renames` shows it.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="reads",
    idempotent=True,
)

STEP_REVERT_HUNKS = Method(
    "step/revertHunks",
    session.StepRevertHunksParams,
    Outcome,
    "Takes some of these hunks back. The step stays applied.",
    own_errors=("unknownStep", "pathOutsideWorkspace"),
    access="writes",
    idempotent=False,
)

STEP_REVERT_FILES = Method(
    "step/revertFiles",
    session.StepRevertFilesParams,
    Outcome,
    "Takes back what a step and its parts changed in some files, of whatever kind; a moved file by either of "
    "its names. An applied step stays so. Of one that was undone, in part or as a whole, it takes back what "
    "conflicted then; where nothing of it is left, the step is `undone`.",
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
            "The working tree moved away from the last snapshot, or came back to it by itself. It tells the whole "
            "difference from `base` and not what is new of it, so that a client has to remember nothing. Changes that "
            "come close together are told once, at most four times a second. Nothing is told before the first "
            "snapshot; after `snapshot/didTrack` and `snapshot/didRevert` nothing differs until the next "
            "`snapshot/didChange`. Up to 500 files are told, and as many as can be compared by reading 8 MiB of the "
            "working tree and 32 MiB of snapshots; beyond that, `truncated` says that there is more. It is told while "
            "at least one of the clients that have the folder open has snapshots on.",
        ),
        Notification("snapshot/didRevert", notifications.DidRevertParams, "An operation changed the working tree."),
        Notification(
            "session/didChange",
            notifications.SessionDidChangeParams,
            "A session was started or has ended, or one of its steps was begun, has ended, or was undone or redone.",
        ),
    )
}
