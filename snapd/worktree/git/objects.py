"""The objects of the user's own git: where they lie, and what branches and stash have; read as data, and bounded."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from snapd.model.errors import os_errors
from snapd.model.snapshot import Entry, RelPath
from snapd.store.adopt import OpenBlobs
from snapd.worktree.fs.stable_read import read_small, resolved

from .repository import Repository, find_repository

_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_CONTROLS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def unquoted(line: bytes) -> bytes:
    """The path that a line begins with, if that is quoted; else the line itself."""
    quoted = _QUOTED.match(line)
    return _ESCAPE.sub(_unescaped, quoted[1]) if quoted else line


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes((int(text, 8) if len(text) == 3 else _CONTROLS.get(text[0], text[0]),))


_DEPTH = 5
_MOST = 256
"""Directories; those beyond are not looked at."""


def object_directories(objects: bytes) -> tuple[bytes, ...]:
    """The directories that hold the objects of a repository: its own first, then those that it borrows from.

    Args:
        objects: the repository's own, absolute.

    Returns:
        Each once, without symlinks. They follow `info/alternates` as deep as git does, see gitrepository-layout(5).
    """
    found: dict[bytes, None] = {}
    level = [os.path.realpath(objects)]
    for _ in range(_DEPTH + 2):
        fresh = [directory for directory in dict.fromkeys(level) if directory not in found and os.path.isdir(directory)]
        found.update(dict.fromkeys(fresh[: _MOST - len(found)]))
        borrowed = (each for directory in fresh for each in _alternates(directory))
        level = list(islice(borrowed, _MOST))
    return tuple(found)


def own_object_directories(root: bytes) -> tuple[bytes, ...]:
    """The `objects` directories of the repository around a folder, and those that it borrows from; none without one.

    Args:
        root: absolute and canonical.

    Raises:
        IoError: the folder cannot be looked at.
    """
    repository = _found(root)
    return () if repository is None else object_directories(os.path.join(repository.common_dir, b"objects"))


def _found(root: bytes) -> Repository | None:
    with os_errors(root):
        repository = find_repository(root)
    return None if repository is None or repository.hash_size != 20 else repository


def _alternates(objects: bytes) -> Iterator[bytes]:
    text = read_small(os.path.join(objects, b"info", b"alternates")) or b""
    lines = (line for line in text.split(b"\n") if line and not line.startswith(b"#") and b"\0" not in line)
    named = (resolved(os.path.join(objects, unquoted(line))) for line in islice(lines, _MOST))
    return (path for path in named if path is not None)


_PACKED = re.compile(rb"^([0-9a-f]{40}) (refs/heads/.+)$", re.MULTILINE)
_STASHED = re.compile(rb"^[0-9a-f]{40} ([0-9a-f]{40}) ", re.MULTILINE)
_ID = re.compile(rb"[0-9a-f]{40}")
_HEADS = b"refs/heads/"
_MOST_TIPS = 50
"""Branches, and entries of the stash, that are looked at: the latest."""


def elsewhere(
    root: bytes, paths: Collection[RelPath], open_blobs: OpenBlobs
) -> Iterator[tuple[bytes | None, Mapping[RelPath, Entry]]]:
    """What the entries of the stash, and the branches that are not checked out here, have at some paths.

    Args:
        root: a folder in a repository, of which nothing is run; absolute and canonical.
        paths: relative to it.
        open_blobs: reads objects.

    Yields:
        The name of the branch, None for the stash, with the files there.

    Raises:
        IoError: the disk or the process is in trouble.
    """
    repository = _found(root)
    if repository is None:
        return
    prefix = os.path.relpath(root, repository.root)
    names = {os.path.normpath(os.path.join(prefix, path)): path for path in paths}
    blobs = open_blobs(object_directories(os.path.join(repository.common_dir, b"objects")))
    for branch, name in _tips(repository):
        if _ID.fullmatch(name):
            found = blobs.files_at(bytes.fromhex(name.decode()), names, is_stash=branch is None)
            yield branch, {names[path]: entry for path, entry in found.items()}


def _tips(repository: Repository) -> list[tuple[bytes | None, bytes]]:
    """The latest entries of the stash, then the branches that git wrote last; each with the id of its commit."""
    shared = repository.common_dir
    stash = _STASHED.findall(read_small(os.path.join(shared, b"logs", b"refs", b"stash")) or b"")
    packed = {name: oid for oid, name in _PACKED.findall(read_small(os.path.join(shared, b"packed-refs")) or b"")}
    heads = [os.path.join(at, name) for at, _, names in os.walk(os.path.join(shared, _HEADS)) for name in names]
    heads = sorted(heads, key=lambda path: os.lstat(path).st_mtime_ns)[-_MOST_TIPS:]
    loose = {os.path.relpath(path, shared): (read_small(path) or b"").strip() for path in heads}
    here = (read_small(os.path.join(repository.git_dir, b"HEAD")) or b"").removeprefix(b"ref:").strip()
    branches = [(name.removeprefix(_HEADS), oid) for name, oid in {**packed, **loose}.items() if name != here]
    return [*((None, oid) for oid in stash[: -_MOST_TIPS - 1 : -1]), *branches[::-1][:_MOST_TIPS]]
