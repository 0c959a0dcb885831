"""The error table is the contract's."""

from __future__ import annotations

from snapd.wire import errors
from snapd.wire.methods import METHODS

CONTRACT = {
    "invalidParams": -32602,
    "unknownSnapshot": 1001,
    "workspaceNotOpen": 1002,
    "workspaceRefused": 1003,
    "workspaceGone": 1004,
    "pathOutsideWorkspace": 1005,
    "storeLocked": 1006,
    "storeCorrupt": 1007,
    "storageFull": 1008,
    "unknownSession": 1009,
    "unknownStep": 1009,
    "nothingToUndo": 1010,
    "nothingToRedo": 1010,
    "ioError": 1011,
    "unauthorized": 1012,
    "fileNotInSnapshot": 1013,
    "remoteFailed": 1014,
    "remoteChanged": 1015,
    "untrusted": 1016,
    "fileChanged": 1017,
    "signingFailed": 1018,
    "planChanged": 1019,
}


def test_a_kind_keeps_its_code() -> None:
    assert CONTRACT.items() <= {kind: error.code for kind, error in errors.ERRORS.items()}.items()


def test_every_kind_says_when() -> None:
    assert all(error.kind == kind and error.when.endswith(".") for kind, error in errors.ERRORS.items())


def test_methods_name_only_kinds_of_the_table() -> None:
    named = [kind for method in METHODS.values() for kind in method.errors]

    assert set(named) <= set(errors.ERRORS)
    assert all(len(set(method.errors)) == len(method.errors) for method in METHODS.values())
    assert [name for name, method in METHODS.items() if "fileNotInSnapshot" in method.errors] == [
        "snapshot/fileAt",
        "snapshot/purge",
        "review/comment",
        "snapshot/blame",
    ]
