"""The reasons of the wire contract for leaving a file as it is, as people say them."""

from __future__ import annotations

import errno
import os

ELSEWHERE = ("onBranch", "stashed")
"""Reasons of files of which a step stays in force, although they are as wanted here."""
_WORDS = {
    "already": "it is so already",
    "changedMeanwhile": "it changed while this ran",
    "changedSince": "changed since",
    "clash": "another of the files is in its way",
    "conflictsElsewhere": "because of the conflicts",
    "deletedSince": "deleted since",
    "directoryNotEmpty": "the folder has other files",
    "ignored": "it is ignored",
    "inTheWay": "something is in its way",
    "onBranch": "the change is on another branch",
    "occupied": "something else has its name",
    "onlyCopy": "it is the only copy of a file that was not captured before",
    "permissions": "its permissions cannot be set",
    "purged": "it was purged",
    "renamedSince": "moved since",
    "shared": "another agent may have written it too",
    "special": "it is neither a file nor a link",
    "stashed": "the change is in a stash",
    "storeCorrupt": "its contents in the store are damaged",
    "tooLarge": "too large",
    "unreadable": "it cannot be read",
    "unsavedInEditor": "it has unsaved text in an editor",
    "unstable": "it changes all the time",
    "unsupportedName": "its name cannot be stored",
}


def in_words(reason: str, branch: str | None = None) -> str:
    """Says a reason in words: also the name of an error of the system. One that only a newer daemon knows stays.

    Args:
        reason: as the wire has it.
        branch: the branch that it is about, if it is about one.
    """
    if branch is not None:
        return f"the change is on branch {branch}"
    return system_error(reason) or _WORDS.get(reason, reason)


def system_error(reason: str | None) -> str | None:
    """The words for the name of an error of the system, such as "EACCES"; None for another reason."""
    number = getattr(errno, reason or "", None)
    return os.strerror(number).lower() if isinstance(number, int) else None
