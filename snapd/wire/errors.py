"""The error table of the contract, and the codes of JSON-RPC and LSP."""

from __future__ import annotations

from typing import NamedTuple

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800


class ErrorKind(NamedTuple):
    """One kind of error that a request can fail with.

    Attributes:
        code: `error.code`.
        kind: `error.data.kind`, which is stable.
        title: a heading for people.
        when: when a request fails with it, in Markdown.
        status: of an answer of `snapd web`; by default, something behind this server failed.
    """

    code: int
    kind: str
    title: str
    when: str
    status: int = 502


ERRORS: dict[str, ErrorKind] = {
    error.kind: error
    for error in (
        ErrorKind(
            INVALID_PARAMS,
            "invalidParams",
            "invalid request",
            "A field is missing, malformed or of the wrong type, or a hash is not a hash. `data.field` names the "
            "field.",
            status=400,
        ),
        ErrorKind(
            1001,
            "unknownSnapshot",
            "no such snapshot",
            "The workspace's store does not have this snapshot, or it has expired. `data.hash` names it. If several "
            "hashes begin with `data.hash`, `data.candidates` lists up to 10 of them.",
            status=404,
        ),
        ErrorKind(
            1002,
            "workspaceNotOpen",
            "folder not open",
            "No folder is open on this connection; several are open and the request names none; or the named one is "
            "not open.",
            status=404,
        ),
        ErrorKind(
            1003,
            "workspaceRefused",
            "folder not allowed",
            "The folder is the root of a file system, the home directory, or the store itself or a folder around it; "
            "it is not a directory; or it belongs to another user.",
            status=403,
        ),
        ErrorKind(
            1004,
            "workspaceGone",
            "folder is gone",
            "The folder was moved, replaced or deleted since it was opened.",
            status=410,
        ),
        ErrorKind(
            1005,
            "pathOutsideWorkspace",
            "outside of the folder",
            "A path is absolute and outside the workspace, contains `..`, leads through a symlink, or leads into a "
            "`.git`.",
            status=400,
        ),
        ErrorKind(
            1006,
            "storeLocked",
            "history in use",
            "Another process owns this store. `data.socket` is the socket on which it listens, or null if it does not "
            "listen.",
            status=423,
        ),
        ErrorKind(
            1007,
            "storeCorrupt",
            "history damaged",
            "An object of the store is missing or damaged; the error names it. Nothing was written.",
            status=500,
        ),
        ErrorKind(
            1008,
            "storageFull",
            "disk full",
            "The disk or the quota is full. The state before the request is intact.",
            status=507,
        ),
        ErrorKind(1009, "unknownSession", "no such session", "The workspace does not have this session.", status=404),
        ErrorKind(1009, "unknownStep", "no such step", "The workspace does not have this step.", status=404),
        ErrorKind(1009, "unknownComment", "no such comment", "The workspace does not have this comment.", status=404),
        ErrorKind(
            1010,
            "nothingToUndo",
            "nothing to undo",
            "The session, step, message or workspace has nothing left to undo.",
            status=409,
        ),
        ErrorKind(
            1010,
            "nothingToRedo",
            "nothing to redo",
            "The session or workspace has nothing undone that can be redone.",
            status=409,
        ),
        ErrorKind(
            1011,
            "ioError",
            "system error",
            "The system reported an error. `data.errno` and the file say which.",
            status=500,
        ),
        ErrorKind(1012, "unauthorized", "not authorized", "A connection over TCP did not bring the right token."),
        ErrorKind(
            1013,
            "fileNotInSnapshot",
            "file not in the snapshot",
            "The snapshot does not have the file. `data.skipped` says whether it was skipped.",
            status=404,
        ),
        ErrorKind(
            1014,
            "remoteFailed",
            "other machine failed",
            "Another machine could not be reached, refused the login, or refused the request. `data.remote` names it; "
            "`data.reason` is `unreachable`, `auth`, `refused` or `interrupted`. Where a file builds on a commit "
            "of the project that is missing here, `data.commit` names it. Nothing is half done.",
        ),
        ErrorKind(
            1015,
            "remoteChanged",
            "remote has newer steps",
            "The remote has steps of a session that this machine does not have. `data.remote` names it. Nothing was "
            "pushed.",
        ),
        ErrorKind(
            1016,
            "untrusted",
            "not trusted",
            "Data from another machine is not what it claims to be, or is over a limit. Nothing of it was kept.",
        ),
        ErrorKind(
            1017,
            "fileChanged",
            "file changed meanwhile",
            "A file differs from what the client was shown (`data.reason` is `changedSince`), or has unsaved text in "
            "an editor (`unsavedInEditor`). `data.file` names it. Nothing was done.",
            status=409,
        ),
        ErrorKind(
            1018,
            "signingFailed",
            "signing failed",
            "The data to send could not be signed. `data.reason` is `noKey` (the key cannot be used), "
            "`passphrase` (the key has one, and snapd cannot ask for it) or `noProgram`. Nothing left the machine.",
        ),
        ErrorKind(
            1019,
            "planChanged",
            "plan changed meanwhile",
            "The request would do something else than the plan that it expects. `data.outcome` is the result of a dry "
            "run as of now. Nothing was done.",
            status=409,
        ),
    )
}
"""Every kind of error, by its name."""
