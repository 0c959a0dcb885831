"""Files, directories and programs of this machine, as candidates."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Candidate = tuple[str, str]
"""A word, which ends with a blank if it is whole, and its description, which may be empty."""


def files(word: str, folder: str) -> Iterator[Candidate]:
    """The files and directories whose names begin like a word, relative to a folder; a directory ends with a slash."""
    above, _, name = word.rpartition("/")
    base = f"{above}/" if "/" in word else ""
    try:
        entries = sorted(os.scandir(os.path.join(folder, os.path.expanduser(base))), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(name) and (name.startswith(".") or not entry.name.startswith(".")):
            yield (f"{base}{entry.name}/" if entry.is_dir() else f"{base}{entry.name} "), ""


def directories(word: str, folder: str) -> Iterator[Candidate]:
    """Those of `files` that are directories."""
    return (found for found in files(word, folder) if found[0].endswith("/"))


def programs(word: str) -> Iterator[Candidate]:
    """The programs of `PATH`; files where a word has a slash."""
    if "/" in word:
        yield from files(word, ".")
        return
    for directory in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for name, _ in files(f"{directory}/{word}", "."):
            if not name.endswith("/") and os.access(name[:-1], os.X_OK):
                yield os.path.basename(name), ""


def next_parts(names: list[str], word: str) -> Iterator[Candidate]:
    """Names of files cut after the directory that follows a word, as a user goes down from Tab to Tab."""
    seen = set()
    for name in names:
        slash = name.find("/", len(word))
        part = f"{name} " if slash < 0 else name[: slash + 1]
        if name.startswith(word) and part not in seen:
            seen.add(part)
            yield part, ""
