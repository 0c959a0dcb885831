"""Formats errors from all sources for the command line."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

from snapd.model.errors import FULL, IoError, SnapdError, StorageFull, WorkspaceGone, error_from_os_error

_OPTIONS = {
    "sessionId": "--session",
    "agent": "--agent",
    "title": "--title",
    "tool": "--tool",
    "description": "--description",
    "messageId": "--message",
    "partId": "--part",
    "parentStepId": "--parent",
    "stepId": "STEP",
    "hash": "HASH",
    "prefix": "PREFIX",
    "file": "FILE",
    "files": "FILE",
    "hunks": "HUNK",
    "olderThanDays": "--older-than",
}
"""The command line's names for fields of requests that a user can get wrong."""
_SAID_ANYWAY = frozenset({"file", "files", "hunks"})
"""Fields whose errors already name the cause: a FILE before its name would add nothing."""
_COMMANDS = {"`step/revertFiles`": "'snapd undo STEP FILE'", "`step/revertHunks`": "'snapd revert-hunk'"}
_CODE = re.compile(r"`([^`]+)`")


def readable(error: Exception) -> SnapdError:
    """Returns an error of snapd, the system or the connection for users: with a hint, without names of fields."""
    if isinstance(error, FileNotFoundError) and _directory_is_gone():
        return WorkspaceGone(
            "the directory that this command runs in was deleted",
            hint="go to one that exists and run the command again; if it was created again, 'cd .' is enough",
        )
    if isinstance(error, OSError):
        return _of_system(error)
    if not isinstance(error, SnapdError):
        return IoError(str(error))
    field = error.data.get("field")
    if field not in _OPTIONS:
        return error
    option = _OPTIONS[field]
    problem = type(error)(
        _without_field(error.message, field, option), hint=_in_commands(error.hint), **{**error.data, "field": option}
    )
    problem.__cause__ = error
    return problem


def as_json(error: SnapdError) -> dict[str, Any]:
    """Returns what `--json` prints of an error: its kind, its message, and what a program needs to act on it."""
    return {"error": {"kind": error.kind, "message": error.message, "hint": error.hint, **error.data}}


def _directory_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _of_system(error: OSError) -> SnapdError:
    if isinstance(error.filename, (str, bytes)):
        return error_from_os_error(error, error.filename)
    text = os.strerror(error.errno) if error.errno else str(error)
    kind = StorageFull if error.errno in FULL else IoError
    return kind(text, errno=errno.errorcode.get(error.errno or 0, "unknown"))


def _without_field(message: str, field: str, option: str) -> str:
    for start in (f"{field}: ", f"{field} "):
        if message.startswith(start):
            rest = message.removeprefix(start)
            return rest if field in _SAID_ANYWAY and start.endswith(": ") else f"{option}{start[len(field) :]}{rest}"
    return message


def _in_commands(hint: str) -> str:
    for method, command in _COMMANDS.items():
        hint = hint.replace(method, command)
    return _CODE.sub(r"'\1'", hint)
