"""Which folders an event is about: where the agent works, or where the files are that a call names."""

from __future__ import annotations

import os

from .tools import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .event import Event, ToolCall


def places(event: Event) -> list[tuple[str, list[ToolCall]]]:
    """The folders of an event, absolute, each with the calls that are about it.

    A folder need not be the root of a workspace: the daemon finds that. A call whose files, or whose own directory, all
    lie outside of the git work tree in which the agent works is about the git work tree that has the first of them.
    """
    if not event.calls:
        return [(event.folder, [])]
    found: dict[str, list[ToolCall]] = {}
    for call in event.calls:
        found.setdefault(_place(event.folder, event.directory(call), call.files), []).append(call)
    return list(found.items())


def root_of(folder: str) -> str:
    """The nearest folder around a folder, itself included, that is the root of a git work tree; the folder if none."""
    return _git_root(folder) or folder


def _place(folder: str, directory: str, files: list[str] | None) -> str:
    paths = [os.path.join(directory, path_of(file)) for file in files or () if "\0" not in file]
    above = [os.path.dirname(os.path.realpath(path)) for path in paths] or [os.path.realpath(directory)]
    own = _git_root(os.path.realpath(folder))
    roots = [_git_root(path) or own for path in above]
    return folder if own in roots else roots[0] or folder


def _git_root(folder: str) -> str | None:
    """The nearest folder around a folder, itself included, that is the root of a git work tree."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder
