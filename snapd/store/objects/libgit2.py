"""Sets up libgit2 so that it reads only checked objects, caches little and ignores the user's configuration.

libgit2 never returns from a loose object that is cut short, nor from circular deltas, and it holds the interpreter lock
meanwhile. So its own object database is never opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

import pygit2
from pygit2.enums import ConfigLevel

from snapd.model.errors import SnapdError, StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import make_directories

from .codec import NUMBERS, ObjectKind

WINDOW_BYTES = 1 << 20
MAPPED_BYTES = 16 << 20
"""How much of packs is mapped at once, and in total: else every page ever read would count as our memory."""
CACHED_BYTES = 8 << 20
"""The cache of small trees and commits that were read."""

pygit2.settings.mwindow_size = WINDOW_BYTES
pygit2.settings.mwindow_mapped_limit = MAPPED_BYTES
pygit2.settings.cache_max_size(CACHED_BYTES)
# a broken configuration of the user must not make a store unusable
for _level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
    pygit2.settings.search_path[_level] = ""


class Objects(Protocol):
    """Reads objects with our own code."""

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes]:
        """Reads an object with its type; raises if it cannot be read."""

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int]:
        """Returns the type and the size in bytes of an object; raises if it cannot be read."""


class SuppliedObjects(pygit2.OdbBackend):
    """Objects in memory, and others that our own code reads when libgit2 asks for them."""

    def __init__(self, others: Objects | None = None) -> None:
        super().__init__()
        self._others = others
        self.objects: dict[ObjectId, tuple[int, bytes]] = {}  # the number of the type, and the bytes
        self.error: SnapdError | None = None  # of `others`; libgit2 raises one of its own for it

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Returns type and bytes. This method and the following ones implement `git_odb_backend`."""
        key = bytes(oid.raw)
        if self._others is None or key in self.objects:
            return self.objects[key]
        with self._noting(key):
            kind, data = self._others.read(key)
        return NUMBERS[kind], data

    def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
        """Returns type and size."""
        key = bytes(oid.raw)
        if self._others is None or key in self.objects:
            kind, data = self.objects[key]
            return kind, len(data)
        with self._noting(key):
            named, size = self._others.describe(key)
        return NUMBERS[named], size

    @contextmanager
    def _noting(self, oid: ObjectId) -> Iterator[None]:
        try:
            yield
        except SnapdError as error:
            self.error = error
            raise KeyError(oid) from error

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        """Whether an object is in memory: libgit2 asks before it writes."""
        return bytes(oid.raw) in self.objects

    def write_cb(self, oid: pygit2.Oid, data: bytes, kind: int) -> None:
        """Keeps an object in memory."""
        self.objects[bytes(oid.raw)] = (kind, data)

    def refresh_cb(self) -> None:
        """Does nothing: objects are always read on demand."""


def supplied(backend: SuppliedObjects) -> pygit2.Repository:
    """Creates a repository in memory, with the objects that a backend supplies."""
    database = pygit2.Odb()
    database.add_backend(backend, 1)
    handle = pygit2.Repository()
    handle.set_odb(database)
    return handle


def with_packs(store: str, packs: Iterable[str], directory: str) -> pygit2.Repository:
    """Creates a repository with the configuration of a store, and only the objects of some packs.

    `packs` are paths without an ending; each must have passed `PackIndex.check_deltas`. `directory` is empty and must
    stay as long as the repository is used.
    """
    above = os.path.join(directory, "pack")
    with os_errors(above):
        make_directories(above)
        for path in packs:
            for ending in ("pack", "idx"):
                os.symlink(f"{path}.{ending}", os.path.join(above, f"{os.path.basename(path)}.{ending}"))
    try:
        handle = pygit2.Repository(store)
        database = pygit2.Odb()
        database.add_backend(pygit2.OdbBackendPack(directory), 1)
        handle.set_odb(database)
    except pygit2.GitError as error:
        raise StoreCorrupt(f"{store} is not a git repository: {error}", object=store) from error
    return handle
