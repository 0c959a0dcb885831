"""Recognizes a folder that was moved or renamed, and another one that took its path.

A folder is the same if its inode number and birth time are the same, because a number may be used again. If the file
system has no birth time, the device must be the same, too. A copy has another inode. A copy of a git work tree is
recognized by what git wrote once, when it made the work tree: the first entry of its reflog, and the time of a file
that `cp -a`, `rsync -a` and backups preserve. A clone and another work tree of the same repository have their own.
Nothing is written into the project for this.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from snapd.core.answers import FormerHistory
from snapd.folders.root import has_history, read_root_note
from snapd.model.errors import InvalidParams, os_errors
from snapd.store.files.durable import sync_directory, write_file
from snapd.store.files.lock import Ownership
from snapd.store.usage.usage import remove
from snapd.worktree.fs.stable_read import read_bounded
from snapd.worktree.fs.system import birth_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_AT_ONCE = -100
"""`AT_FDCWD`, which an absolute path ignores."""
_ENTRY_BYTES = 4096
_BESIDE = 10_000
"""Maximum number of folders near the old path that are tried."""


class Identity(NamedTuple):
    """What distinguishes a folder from others.

    Attributes:
        device: may be another number for the same disk after a restart.
        born: birth time, nanoseconds since 1970; None if unknown.
        git: for the root of a git work tree: a digest of the first entry of its reflog (empty without one), a colon,
            and the time of a file of git. Empty for other folders; None if unknown.
    """

    device: int
    inode: int
    born: int | None = None
    git: str | None = None

    def is_now(self, now: Identity) -> bool | None:
        """Returns whether `now` is a later identity of the same folder; None if unknown."""
        is_born = None not in (self.born, now.born)
        if self.inode == now.inode and (self.born == now.born if is_born else self.device == now.device):
            return True
        if self.git is None or not now.git:
            return None
        (first, at), (first_now, at_now) = (self.git or ":").split(":"), now.git.split(":")
        # some copies preserve only whole seconds
        if at != at_now and not ("000000000" in (at[-9:], at_now[-9:]) and at[:-9] == at_now[:-9]):
            return False
        # entries of a reflog expire
        return True if first == first_now or not first or not first_now else None


def identity_of(folder: str) -> Identity:
    """Returns the current identity of a folder; raises `OSError` if there is none."""
    status = os.stat(folder)
    return Identity(status.st_dev, status.st_ino, birth_ns(_AT_ONCE, os.fsencode(folder)), _git(folder))


def _git(folder: str) -> str:
    path = os.path.join(folder, ".git")
    first = ""
    # not our data: may be anything
    with suppress(OSError, ValueError):
        if os.path.isfile(path):
            named = os.fsdecode(read_bounded(path, _ENTRY_BYTES)).removeprefix("gitdir: ").rstrip("\r\n")
            path = os.path.join(folder, named)
        with suppress(OSError):
            entry = read_bounded(os.path.join(path, "logs", "HEAD"), _ENTRY_BYTES, cut=True).partition(b"\n")[0]
            first = hashlib.sha256(entry).hexdigest()[:16]
        for name in ("commondir", "description"):
            with suppress(FileNotFoundError):
                return f"{first}:{os.stat(os.path.join(path, name)).st_mtime_ns}"
    return ""


def is_another(store: str, folder: str) -> bool:
    """Returns whether a store belongs to a folder that was at this path before and is certainly another one."""
    known = _store_folder(store)
    with os_errors(folder):
        return known is not None and known[0] == folder and known[1].is_now(identity_of(folder)) is False


def former_histories(store: str, folder: str) -> list[FormerHistory]:
    """Lists a folder's histories at former paths, and those of other folders that had its path; `store` is its own."""
    with suppress(OSError):
        now = identity_of(folder)
        return [
            FormerHistory(root, path, "replaced" if root == folder else "moved")
            for path, root, then in _other_stores(store)
            if root == folder or (then.is_now(now) and not _is_at(root, then))
        ]
    return []


def whereabouts(store: str, others: Iterable[str]) -> str | None:
    """Finds where the folder of a store is now: one of `others`, or near its old path; None if not found."""
    known = _store_folder(store)
    if known is None:
        return None
    root, then = known
    candidates = itertools.chain(others, itertools.islice(_renamed_candidates(root), _BESIDE))
    return next((folder for folder in candidates if folder != root and _is_at(folder, then)), None)


def adopt(store: str, folder: str, old: str | None) -> tuple[FormerHistory, bool]:
    """Makes a former history that of a folder, and keeps the folder's current one as another former history.

    `old` is the former path, or the directory of the former store; None for the only one. Returns the history, and
    whether the folder had another one. Raises `InvalidParams` unless exactly one matches, and `StoreLocked` if another
    process owns one of the stores.
    """
    if is_another(store, folder):
        set_aside(store)
    matches = former_histories(store, folder)
    if old is not None:
        named = [
            each for each in _other_stores(store) if old in each[:2] and (each[1] == folder or not _is_at(*each[1:]))
        ]
        matches = [FormerHistory(root, path, "moved") for path, root, _ in named]
    if len(matches) != 1:
        which = "several former histories" if matches else "no former history, or its folder is still there"
        hint = "give the former path; 'snapd du --all' lists all folders"
        if matches:
            hint = f"name one by its directory: {', '.join(each.store for each in matches)}"
        raise InvalidParams(f"{old or folder}: {which}", hint=hint, field="old")
    (taken,) = matches
    had = has_history(store)
    lock = Ownership(taken.store, None)
    try:
        if had:
            set_aside(store)
        elif os.path.lexists(store):
            remove(store)
        # before the rename: a store that does not name its folder would be set aside
        remember(taken.store, folder)
        with os_errors(store):
            os.rename(taken.store, store)
            sync_directory(os.path.dirname(store))
    finally:
        lock.release()
    return taken, had


def set_aside(store: str) -> None:
    """Renames a store, so that it becomes a former history; raises `StoreLocked`, `IoError`."""
    lock = Ownership(store, None)
    try:
        with os_errors(store):
            os.rename(store, f"{store}-{time.time_ns():x}")
            sync_directory(os.path.dirname(store))
    finally:
        lock.release()


def remember(store: str, folder: str) -> None:
    """Records which folder a store belongs to; raises `IoError`, `StorageFull`."""
    path = os.path.join(store, "root.json")
    with os_errors(folder):
        now = {"path": folder, **identity_of(folder)._asdict()}
    with os_errors(path), suppress(FileNotFoundError, ValueError), open(path, "rb") as file:
        if json.load(file) == now:
            return
    write_file(path, json.dumps(now).encode("ascii"))


def _store_folder(store: str) -> tuple[str, Identity] | None:
    """Returns the path and identity of a store's folder; None if the store does not have them."""
    result = read_root_note(store)
    try:
        return result["path"], Identity(result["device"], result["inode"], result.get("born"), result.get("git"))
    except KeyError:
        return None


def _other_stores(store: str) -> Iterator[tuple[str, str, Identity]]:
    """Yields the other stores with a history, each with the path and identity of its folder."""
    above = os.path.dirname(store)
    for name in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        path = os.path.join(above, name)
        if path != store and (known := _store_folder(path)) is not None and has_history(path):
            yield path, *known


def _is_at(folder: str, then: Identity) -> bool:
    try:
        return then.is_now(identity_of(folder)) is True
    except OSError:
        return False


def _renamed_candidates(path: str) -> Iterator[str]:
    """Yields what the path would be if its last missing parent had been renamed in place."""
    above, rest = os.path.split(path)
    while not os.path.isdir(above):
        above, name = os.path.split(above)
        rest = os.path.join(name, rest)
    below = rest.partition(os.sep)[2]
    with suppress(OSError):
        yield from (os.path.join(above, name, below).rstrip(os.sep) for name in os.listdir(above))
