"""Keeps damaged files in the store's `quarantine` directory, with a manifest; a repair never deletes them.

A file is put there before the repair changes anything, after its line in the manifest is durable. So at worst, a killed
repair has kept a file twice.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable

from snapd.model.errors import os_errors
from snapd.store.files.durable import (
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    make_directories,
    remove_any,
    sync_directory,
    sync_if_there,
    write_all,
)

QUARANTINE = "quarantine"
"""The directory of the store with the quarantines of all repairs."""

MANIFEST = "manifest.jsonl"
"""A file in each of them: one line of JSON for each file, with its old path and the reason."""


class Quarantine:
    """The quarantine of one repair; `path` is None before the first file is put there."""

    def __init__(self, store: str) -> None:
        self._store = store
        self.path: str | None = None
        self._count = 0

    def keep(self, path: str, reason: str, objects: Iterable[str] = ()) -> None:
        """Puts a link or a copy of a file, if it exists, into quarantine; `objects` are its damaged objects, in hex."""
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
        """Moves a file into quarantine; raises as `keep`."""
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
    """Gives a file a second name, or copies a file that cannot have one, or a directory."""
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
    """Removes a file or a directory, durably; raises `IoError`."""
    with os_errors(path):
        remove_any(path)
        sync_directory(os.path.dirname(path))


def remove_quarantine(path: str) -> None:
    """Removes all quarantines of a store, whose contents are unknown. Raises `IoError`."""
    quarantine = os.path.join(path, QUARANTINE)
    with os_errors(quarantine):
        remove_any(quarantine)
