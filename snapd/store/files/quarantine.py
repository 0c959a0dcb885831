"""Where damaged files go: never deleted, each with what it was, in the store's `quarantine` directory.

A file is kept aside before anything is done about it, under a second name where the file system has hard links, and
the line in the manifest is durable before that. So a repair that is killed has at worst kept a file twice.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import time
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.store.files.durable import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    make_directories,
    remove_any,
    sync_directory,
    sync_if_there,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

QUARANTINE = "quarantine"
"""The directory in the store."""

MANIFEST = "manifest.jsonl"
"""In each of its directories: one JSON object a line, for each file what it was and why it is there."""


class Quarantine:
    """What one repair puts aside.

    Args:
        store: its directory, which the caller owns.

    Attributes:
        path: where it puts things; made with the first of them, None before.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self.path: str | None = None
        self._count = 0

    def keep(self, path: str, reason: str, objects: Iterable[str] = ()) -> None:
        """Keeps a file of the store aside; it is still where it was.

        Args:
            path: the file; nothing is done where it is not there.
            reason: why.
            objects: the ids, in hex, of the objects that are damaged in it.

        Raises:
            StorageFull, IoError: it may not be kept.
        """
        if not os.path.lexists(path):
            return
        directory = self._directory()
        self._count += 1
        target = os.path.join(directory, f"{self._count:04d}-{os.path.basename(path)}")
        line = {
            "file": os.path.relpath(path, self._store),
            "keptAs": os.path.basename(target),
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "reason": reason,
            "objects": sorted(objects),
        }
        with os_errors(path):
            self._note(directory, json.dumps(line).encode("ascii") + b"\n")
            _keep_also(path, target)
            sync_directory(directory)

    def move(self, path: str, reason: str, objects: Iterable[str] = ()) -> None:
        """Keeps a file aside, and takes it out of where it was; raises as `keep`."""
        self.keep(path, reason, objects)
        remove(path)

    def _directory(self) -> str:
        if self.path is None:
            name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(4)}"
            path = os.path.join(self._store, QUARANTINE, name)
            make_directories(path)
            self.path = path
        return self.path

    def _note(self, directory: str, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(os.path.join(directory, MANIFEST), flags, PRIVATE_FILE)
        try:
            write_all(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _keep_also(path: str, target: str) -> None:
    """Gives a file a second name; copies it where it cannot have one, and a directory with all in it."""
    try:
        os.link(path, target, follow_symlinks=False)
        return
    except OSError:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.mkdir(target, PRIVATE_DIRECTORY)
            for name in os.listdir(path):
                _keep_also(os.path.join(path, name), os.path.join(target, name))
            sync_directory(target)
            return
    # a file system without hard links
    shutil.copyfile(path, target, follow_symlinks=False)
    os.chmod(target, PRIVATE_FILE, follow_symlinks=False)
    sync_if_there(target)


def remove(path: str) -> None:
    """Takes what is kept aside out of where it was, durably; raises `IoError`."""
    with os_errors(path):
        remove_any(path)
        sync_directory(os.path.dirname(path))


def remove_quarantine(path: str) -> None:
    """Removes damaged files that were put aside in a store: nobody can tell what is in them; raises `IoError`."""
    quarantine = os.path.join(path, QUARANTINE)
    with os_errors(quarantine):
        remove_any(quarantine)
