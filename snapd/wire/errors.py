"""The error table of the contract, and the codes of JSON-RPC and LSP."""

from __future__ import annotations

import attrs

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800


@attrs.frozen
class ErrorKind:
    """One kind of error that a request can be answered with.

    Attributes:
        code: `error.code`.
        kind: `error.data.kind`, which is stable.
        when: when it is answered, in Markdown.
    """

    code: int
    kind: str
    when: str


ERRORS: dict[str, ErrorKind] = {
    error.kind: error
    for error in (
        ErrorKind(
            INVALID_PARAMS,
            "invalidParams",
            "A field is missing, malformed or of the wrong type; a hash is no hash. `data.field` names it.",
        ),
        ErrorKind(
            1001, "unknownSnapshot", "This workspace's store has no such snapshot, or it has expired. `data.hash`."
        ),
        ErrorKind(
            1002,
            "workspaceNotOpen",
            "No folder is open, several are and none was named, or the named one is not open on this connection.",
        ),
        ErrorKind(
            1003,
            "workspaceRefused",
            "The folder is the root of a file system, the home directory, the store itself or a folder around it, "
            "no directory, or somebody else's.",
        ),
        ErrorKind(1004, "workspaceGone", "The folder was moved, replaced or deleted since it was opened."),
        ErrorKind(
            1005,
            "pathOutsideWorkspace",
            "A path is absolute and elsewhere, has `..` in it, leads through a symlink, or leads into a `.git`.",
        ),
        ErrorKind(
            1006,
            "storeLocked",
            "Another daemon owns this store; `data.socket` says where it listens, null where it does not.",
        ),
        ErrorKind(
            1007, "storeCorrupt", "An object of the store is missing or damaged; it is named. Nothing was written."
        ),
        ErrorKind(1008, "storageFull", "No space or quota is left. The state before is intact."),
        ErrorKind(1009, "unknownSession", "There is no such session in this workspace."),
        ErrorKind(1009, "unknownStep", "There is no such step in this workspace."),
        ErrorKind(1010, "nothingToUndo", "No applied step of the session is left to undo."),
        ErrorKind(1010, "nothingToRedo", "No undone step of the session is left to redo."),
        ErrorKind(1011, "ioError", "The system's own error, with `data.errno` and the file."),
        ErrorKind(1012, "unauthorized", "A connection over TCP came without the right token."),
        ErrorKind(
            1013,
            "fileNotInSnapshot",
            "The snapshot does not have the file; `data.skipped` tells whether it was skipped.",
        ),
    )
}
"""Every kind of the contract, by its name."""
