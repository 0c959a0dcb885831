"""Which folders an event is about: where the agent works, or where the files are that a call names."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .event import Event, ToolCall


def places(event: Event) -> list[tuple[str, list[ToolCall]]]:
    """The folders of an event, absolute, each with the calls that are about it.

    A folder need not be the root of a workspace: the daemon finds that. A call whose files all lie outside of the git
    work tree in which the agent works is about the git work tree that has the first of them.
    """
    if not event.calls:
        return [(event.folder, [])]
    found: dict[str, list[ToolCall]] = {}
    for call in event.calls:
        found.setdefault(_place(event.folder, call), []).append(call)
    return list(found.items())


def _place(folder: str, call: ToolCall) -> str:
    files = [os.path.normpath(os.path.join(folder, file)) for file in call.files or () if "\0" not in file]
    root = (_git_root(folder) or folder).rstrip("/")
    if not files or any(file.startswith(f"{root}/") for file in files):
        return folder
    return _git_root(os.path.dirname(files[0])) or folder


def _git_root(folder: str) -> str | None:
    """The nearest folder around a folder, itself included, that is the root of a git work tree."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder
