"""The one table of what clients may ask and what they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from .check import CheckParams, CheckResult
from .events import EventsParams, EventsResult
from .notifications import DidChangeParams, DidRevertParams, DidTrackParams, NotificationParams, SessionDidChangeParams
from .session import (
    HistoryParams,
    HistoryResult,
    RevertOutcome,
    SessionDiffParams,
    SessionDiffResult,
    SessionEndParams,
    SessionEndResult,
    SessionListParams,
    SessionListResult,
    SessionRedoParams,
    SessionRevertParams,
    SessionStartParams,
    SessionStartResult,
    SessionStepsParams,
    SessionStepsResult,
    SessionUndoParams,
    SessionUnrevertParams,
    StepBeginParams,
    StepBeginResult,
    StepEndParams,
    StepEndResult,
    StepFindParams,
    StepFindResult,
    StepHunksParams,
    StepHunksResult,
    StepRevertFilesParams,
    StepRevertHunksParams,
    StepsOutcome,
)
from .snapshot import (
    CleanupParams,
    CleanupResult,
    DiffFullParams,
    DiffFullResult,
    DiffParams,
    DiffResult,
    FileAtParams,
    FileAtResult,
    FileExistsParams,
    FileExistsResult,
    ListFilesParams,
    ListFilesResult,
    PatchParams,
    PurgeParams,
    PurgeResult,
    RestoreParams,
    RevertParams,
    StatusParams,
    StatusResult,
    TrackParams,
    TrackResult,
)
from .values import Outcome, Patch, RequestParams

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL_VERSION = 1


@attrs.frozen
class Method:
    """A request and its answer.

    Attributes:
        name: the method, as in the request.
        params: the class of its params.
        result: the class of its result.
        doc: what it does, in Markdown.
        errors: the kinds of `errors.ERRORS` that it may be answered with.
        access: what it does to the workspace: `reads` what is stored; `compares` two snapshots, or one with the folder
            where `to` is absent; `checks` the store, and changes it where `repair` is set; `writes`.
        idempotent: whether a client may send it again when the connection broke before the answer came: sent twice, it
            does what it does when sent once, and answers the same. Or the name of the param with which it may.
        quick: whether it reads no objects, so that it need not wait for those that do.
    """

    name: str
    params: type[RequestParams]
    result: type[attrs.AttrsInstance]
    doc: str
    errors: tuple[str, ...]
    access: Literal["reads", "compares", "checks", "writes"] = attrs.field(kw_only=True)
    idempotent: bool | str = attrs.field(kw_only=True)
    quick: bool = attrs.field(kw_only=True, default=False)

    def may_repeat(self, params: Mapping[str, Any]) -> bool:
        """Whether a client may send it again with these params (JSON values); see `idempotent`."""
        if isinstance(self.idempotent, str):
            return params.get(self.idempotent) is not None
        return self.idempotent


@attrs.frozen
class Notification:
    """What the daemon says by itself.

    Attributes:
        name: the method, as in the notification.
        params: the class of its params.
        doc: when it is sent, in Markdown.
    """

    name: str
    params: type[NotificationParams]
    doc: str


_ALWAYS = (
    "invalidParams",
    "workspaceNotOpen",
    "workspaceRefused",
    "workspaceGone",
    "storeLocked",
    "storeCorrupt",
    "storageFull",
    "ioError",
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "snapshot/track",
            TrackParams,
            TrackResult,
            "Takes a snapshot of the working tree. It holds every write that was complete when the request was sent.",
            (*_ALWAYS, "pathOutsideWorkspace"),
            access="writes",
            idempotent=True,
        ),
        Method(
            "snapshot/patch",
            PatchParams,
            Patch,
            "Names the files that differ from a snapshot, in the working tree or in another snapshot.",
            (*_ALWAYS, "unknownSnapshot"),
            access="compares",
            idempotent=True,
        ),
        Method(
            "snapshot/diff",
            DiffParams,
            DiffResult,
            "Gives what differs from a snapshot as one unified diff.",
            (*_ALWAYS, "unknownSnapshot", "pathOutsideWorkspace"),
            access="compares",
            idempotent=True,
        ),
        Method(
            "snapshot/diffFull",
            DiffFullParams,
            DiffFullResult,
            "Gives what differs from a snapshot file by file, with the texts of both sides. One answer holds at most "
            "32 MiB of contents, whatever `limit` says; the rest follows under `nextCursor`.",
            (*_ALWAYS, "unknownSnapshot", "pathOutsideWorkspace"),
            access="compares",
            idempotent=True,
        ),
        Method(
            "snapshot/fileAt",
            FileAtParams,
            FileAtResult,
            "Gives the bytes of one file as a snapshot has it.",
            (*_ALWAYS, "unknownSnapshot", "pathOutsideWorkspace", "fileNotInSnapshot"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "snapshot/listFiles",
            ListFilesParams,
            ListFilesResult,
            "Lists the files of a snapshot.",
            (*_ALWAYS, "unknownSnapshot"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "snapshot/fileExists",
            FileExistsParams,
            FileExistsResult,
            "Tells whether a snapshot has a file.",
            (*_ALWAYS, "unknownSnapshot", "pathOutsideWorkspace"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "snapshot/restore",
            RestoreParams,
            Outcome,
            "Makes the working tree exactly the snapshot: files made since then are deleted, within the limits that "
            "[What may be deleted](#what-may-be-deleted) sets.",
            (*_ALWAYS, "unknownSnapshot", "pathOutsideWorkspace"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "snapshot/revert",
            RevertParams,
            Outcome,
            "Brings files back to what snapshots hold of them; a file that its snapshot did not have is deleted. "
            "Each file is treated once: the first patch that names it wins. Where the names of two patches clash "
            "(`a` and `a/b`), the first wins and the other is `skipped`.",
            (*_ALWAYS, "unknownSnapshot", "pathOutsideWorkspace"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "snapshot/status",
            StatusParams,
            StatusResult,
            "Tells how a workspace is kept. A folder that was refused fails this like every other request.",
            _ALWAYS,
            access="reads",
            idempotent=True,
            quick=True,
        ),
        Method(
            "snapshot/cleanup",
            CleanupParams,
            CleanupResult,
            "Removes what retention does not keep (old snapshots, old sessions that have ended, what is beyond a "
            "configured number or size), frees what that alone held, and packs the rest. What the sessions that stay "
            "name, stays. Likewise every hour, while nobody asks for anything.",
            _ALWAYS,
            access="writes",
            idempotent=False,
        ),
        Method(
            "snapshot/purge",
            PurgeParams,
            PurgeResult,
            "Takes files out of all that was ever stored: for a secret that was captured. All contents that they ever "
            "had go, wherever else these stand too; only the empty file is left alone. A snapshot that had any becomes "
            "another one, under the hash of what is left, and its old hash is unknown; a restore of it leaves these "
            "files alone, since it tells them as `skipped`. Sessions and their steps go on with that; to undo a step "
            "takes back what else it changed. Refused with `invalidParams` while any of the contents is captured in "
            "the folder, since the next snapshot would have it again.",
            (*_ALWAYS, "fileNotInSnapshot", "pathOutsideWorkspace"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "snapshot/check",
            CheckParams,
            CheckResult,
            "Reads every object of the store, compares it with its id, and finds out what of all that is named is "
            "missing. A repair gets back what the store itself, the project's git and the working tree still have; "
            "what is damaged goes to the store's `quarantine`, and nothing is deleted. Others may go on meanwhile; a "
            "repair, and a check that finds something, hold them up. `storeCorrupt` means that the store is gone.",
            _ALWAYS,
            access="checks",
            idempotent=False,
        ),
        Method(
            "snapshot/events",
            EventsParams,
            EventsResult,
            "Gives the notifications that a client missed. The latest 1,000 are kept, and none across a restart of the "
            "daemon: then, and for a number that was never given out, the answer is `reset`.",
            _ALWAYS,
            access="reads",
            idempotent=True,
        ),
        Method(
            "session/start",
            SessionStartParams,
            SessionStartResult,
            "Starts a session, or takes up one that was started before; ended or not, it goes on.",
            _ALWAYS,
            access="writes",
            idempotent="sessionId",
        ),
        Method(
            "session/end",
            SessionEndParams,
            SessionEndResult,
            "Ends a session and the steps that are open in it. What it did can be undone as before.",
            (*_ALWAYS, "unknownSession"),
            access="writes",
            idempotent=True,
        ),
        Method(
            "session/list",
            SessionListParams,
            SessionListResult,
            "Lists the sessions of the workspace.",
            _ALWAYS,
            access="reads",
            idempotent=True,
        ),
        Method(
            "session/steps",
            SessionStepsParams,
            SessionStepsResult,
            "Lists the steps of a session.",
            (*_ALWAYS, "unknownSession"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "session/diff",
            SessionDiffParams,
            SessionDiffResult,
            "Gives what the session's own applied steps changed, all together: not what the user or another session "
            "changed between them.",
            (*_ALWAYS, "unknownSession", "unknownStep"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "session/undo",
            SessionUndoParams,
            StepsOutcome,
            "Takes back the last steps of a session that changed something, or one step alone, with its parts and "
            "wherever it is in the history. What others changed since stays: see [Conflicts](#conflicts). A step is "
            "undone as far as its files do not conflict: one of which some files were taken back is `partly` undone, "
            "and one of which none was stays `applied`. Asked again, the rest is tried again: with `overwrite`, say, "
            "once the user has chosen.",
            (*_ALWAYS, "unknownSession", "unknownStep", "nothingToUndo"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "session/redo",
            SessionRedoParams,
            StepsOutcome,
            "Takes back the undo of steps, the last one first, also where a step was undone in several goes with "
            "others between. A step of which a file conflicts is `partly` undone still, and the rest is what the next "
            "redo does. Not after a later step of the session has changed something: the undone ones are reached by "
            "their hashes then.",
            (*_ALWAYS, "unknownSession", "nothingToRedo"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "session/revert",
            SessionRevertParams,
            RevertOutcome,
            "Goes back to before a message, or a part of it: takes back all steps of the session from the first one "
            "that belongs to it.",
            (*_ALWAYS, "unknownSession", "unknownStep"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "session/unrevert",
            SessionUnrevertParams,
            Outcome,
            "Takes back `session/revert`; what others changed since stays.",
            (*_ALWAYS, "unknownSession", "nothingToRedo"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "session/history",
            HistoryParams,
            HistoryResult,
            "Tells what happened in the workspace: the steps of all sessions, the operations, and what changed while "
            "no step was open.",
            _ALWAYS,
            access="reads",
            idempotent=True,
        ),
        Method(
            "step/begin",
            StepBeginParams,
            StepBeginResult,
            "Begins a step, on a snapshot of the working tree. What changes until it ends is its own. With `ends`, "
            "another step ends with that snapshot.",
            (*_ALWAYS, "unknownSession", "unknownStep"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "step/end",
            StepEndParams,
            StepEndResult,
            "Ends a step, with a snapshot of the working tree. One that has ended is told as it is.",
            (*_ALWAYS, "unknownStep", "pathOutsideWorkspace"),
            access="writes",
            idempotent=True,
        ),
        Method(
            "step/find",
            StepFindParams,
            StepFindResult,
            "Finds steps by the beginning of their names, in all sessions.",
            (*_ALWAYS, "unknownSession", "unknownStep"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "step/hunks",
            StepHunksParams,
            StepHunksResult,
            "Gives what a step changed in a file, hunk by hunk, as `git diff --no-renames` shows it.",
            (*_ALWAYS, "unknownStep", "pathOutsideWorkspace"),
            access="reads",
            idempotent=True,
        ),
        Method(
            "step/revertHunks",
            StepRevertHunksParams,
            Outcome,
            "Takes some of these hunks back. The step stays applied.",
            (*_ALWAYS, "unknownStep", "pathOutsideWorkspace"),
            access="writes",
            idempotent=False,
        ),
        Method(
            "step/revertFiles",
            StepRevertFilesParams,
            Outcome,
            "Takes back what a step and its parts changed in some files, of whatever kind; a moved file by either of "
            "its names. An applied step stays so. Of one that was undone, in part or as a whole, it takes back what "
            "conflicted then; where nothing of it is left, the step is `undone`.",
            (*_ALWAYS, "unknownStep", "pathOutsideWorkspace"),
            access="writes",
            idempotent=False,
        ),
    )
}

NOTIFICATIONS: dict[str, Notification] = {
    notification.name: notification
    for notification in (
        Notification("snapshot/didTrack", DidTrackParams, "A snapshot was taken."),
        Notification(
            "snapshot/didChange",
            DidChangeParams,
            "The working tree moved away from the last snapshot, or came back to it by itself. It tells the whole "
            "difference from `base` and not what is new of it, so that a client has to remember nothing. Changes that "
            "come close together are told once, at most four times a second. Nothing is told before the first "
            "snapshot; after `snapshot/didTrack` and `snapshot/didRevert` nothing differs until the next "
            "`snapshot/didChange`. Up to 500 files are told, and as many as can be compared by reading 8 MiB of the "
            "working tree and 32 MiB of snapshots; beyond that, `truncated` says that there is more. It is told while "
            "at least one of the clients that have the folder open has snapshots on.",
        ),
        Notification("snapshot/didRevert", DidRevertParams, "An operation changed the working tree."),
        Notification(
            "session/didChange",
            SessionDidChangeParams,
            "A session was started or has ended, or one of its steps was begun, has ended, or was undone or redone.",
        ),
    )
}
