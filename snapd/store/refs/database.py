"""The references of a shadow repository: files of their own, and those that a git run there by hand has packed.

They move as git moves them, by a file `<name>.lock` that takes the place of the reference: `git pack-refs` removes the
file of a reference only while it has that lock, and so never one that moved after it was packed (gitrepository-layout
and git-pack-refs in git's documentation).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.failpoints import failpoint
from snapd.store.files.durable import (
    PRIVATE_FILE,
    make_directories,
    remove_if_there,
    sync_directory,
    sync_if_there,
    write_all,
)
from snapd.store.files.walking import walked

from .packed import OURS, PACKED, encode_packed, is_ours, read_packed, without

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from snapd.core.model import ObjectId

logger = logging.getLogger(__name__)

LOCK = ".lock"

LOCK_PATIENCE = 1.0
"""Seconds. Who holds a reference does a few calls to the system; one that is held for so long is held by the dead."""

PACKED_PATIENCE = 10.0
"""Likewise for all that are packed, which git writes again as a whole."""

_LOCK_EVERY = 0.005
_LINE = re.compile(rb"([0-9a-f]{40})\n?")


@attrs.frozen
class References:
    """What they say.

    Attributes:
        targets: what each points to, by name; snapd's own alone.
        damaged: the names of those that point to nothing legible; `packed-refs` where lines in there are illegible.
    """

    targets: dict[str, ObjectId]
    damaged: tuple[str, ...]

    def whole(self) -> dict[str, ObjectId]:
        """What each points to: to go on without one would drop all that hangs on it.

        Raises:
            StoreCorrupt: one is damaged.
        """
        for name in self.damaged:
            raise StoreCorrupt(f"{name} is damaged", object=name)
        return self.targets


def read_references(store: str) -> References:
    """Reads all references of snapd's own; raises `IoError`.

    Args:
        store: its directory.
    """
    targets = {}
    damaged = set()
    # files first: one that goes meanwhile was packed before it went
    for name in _files(store):
        data = _read_file(os.path.join(store, name))
        if data is None:
            continue
        found = _LINE.fullmatch(data)
        if found is None:
            damaged.add(name)
        else:
            targets[name] = bytes.fromhex(found[1].decode())
    packed = read_packed(store)
    # a file hides what was packed, also where it is damaged
    shown = {name: target for name, target in packed.targets.items() if name not in damaged}
    if packed.is_damaged:
        damaged.add(PACKED)
    return References(dict(sorted({**shown, **targets}.items())), tuple(sorted(damaged)))


class ReferenceDatabase:
    """Moves the references of a shadow repository. Safe to use from several threads.

    Args:
        store: its directory, which the caller owns.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._expected: dict[str, ObjectId] = {}

    def read(self) -> References:
        """All of them; raises `IoError`."""
        return read_references(self._store)

    def move(self, targets: Mapping[str, ObjectId], *, durable: bool = False) -> None:
        """Moves references: all of them, unless a rename itself fails.

        Args:
            targets: by name, what each is to point to.
            durable: whether all of it is to be on the disk, each reference the old or the new one at any time; else a
                journal has it until `settle`.

        Raises:
            StorageFull, IoError: none moved; or, where a rename failed, some.
        """
        held: list[tuple[str, str]] = []
        with self._lock:
            try:
                for name, target in targets.items():
                    path = os.path.join(self._store, name)
                    with os_errors(path):
                        failpoint("refdb.write")
                        descriptor = _take_lock(path, LOCK_PATIENCE)
                        held.append((name, path))
                        try:
                            write_all(descriptor, target.hex().encode() + b"\n")
                            if durable:
                                os.fsync(descriptor)
                        finally:
                            os.close(descriptor)
                while held:
                    name, path = held[0]
                    with os_errors(path):
                        failpoint("refdb.move")
                        os.rename(path + LOCK, path)
                    self._expected[name] = targets[name]
                    held.pop(0)
            except BaseException:
                for _, path in held:
                    remove_if_there(path + LOCK)
                raise
        if durable:
            self.settle(targets)

    def delete(self, name: str) -> None:
        """Removes a reference; what an attempt before this one removed is gone already.

        To sync the directory that it was in is left to the caller, who removes many.

        Raises:
            StorageFull, IoError: it may be there still.
        """
        path = os.path.join(self._store, name)
        with self._lock, os_errors(path):
            failpoint("refdb.delete")
            self._expected.pop(name, None)
            os.close(_take_lock(path, LOCK_PATIENCE))
            try:
                # first, as git has it: else it would be what was packed for a moment
                self._drop_packed(name)
                remove_if_there(path)
            finally:
                remove_if_there(path + LOCK)

    def settle(self, names: Collection[str]) -> None:
        """Makes durable what references point to, also where git packed them; sees that they are as they were moved.

        Raises:
            StorageFull, IoError: it is not done.
        """
        directories = set()
        for name in names:
            path = os.path.join(self._store, name)
            with self._lock:
                target = self._expected.get(name)
                if target is not None and self._get(name) != target:
                    logger.warning("somebody else set the reference %s back, or removed it", name)
                    self.move({name: target})
            with os_errors(path):
                if not sync_if_there(path):
                    sync_if_there(os.path.join(self._store, PACKED))
            parts = name.split("/")[:-1]
            # with the store's own, which has the name of what is packed
            directories |= {os.path.join(self._store, *parts[:depth]) for depth in range(len(parts) + 1)}
        for directory in sorted(directories):
            with os_errors(directory):
                sync_if_there(directory)

    def write_anew(self, names: Collection[str]) -> None:
        """Writes references again as they are, on other blocks of the disk; raises `StorageFull`, `IoError`."""
        for name in names:
            # one that moves meanwhile must not be set back
            with self._lock:
                target = self._get(name)
                if target is not None:
                    self.move({name: target})

    def clear_locks(self) -> None:
        """Removes what a process before this one left as it moved references; raises `IoError`."""
        for path in _locks(self._store):
            with os_errors(path), contextlib.suppress(FileNotFoundError):
                # git's own are empty
                if os.stat(path).st_size:
                    remove_if_there(path)

    def mend_packed(self) -> None:
        """Writes again what can be read of the packed references, durably.

        Raises:
            StorageFull, IoError: they are as they were.
        """
        with self._lock, os_errors(os.path.join(self._store, PACKED)):
            self._write_packed(lambda: encode_packed(read_packed(self._store).legible))

    def _drop_packed(self, name: str) -> None:
        if name not in read_packed(self._store).targets:
            return

        def others() -> bytes:
            with open(os.path.join(self._store, PACKED), "rb") as file:
                return b"".join(without(file, name))

        self._write_packed(others)

    def _write_packed(self, content: Callable[[], bytes]) -> None:
        """Writes them again; what with is asked while nobody else writes them."""
        path = os.path.join(self._store, PACKED)
        descriptor = _take_lock(path, PACKED_PATIENCE)
        try:
            try:
                write_all(descriptor, content())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.rename(path + LOCK, path)
        except BaseException:
            remove_if_there(path + LOCK)
            raise
        sync_directory(self._store)

    def _get(self, name: str) -> ObjectId | None:
        data = _read_file(os.path.join(self._store, name))
        if data is None:
            return read_packed(self._store).targets.get(name)
        found = _LINE.fullmatch(data)
        return None if found is None else bytes.fromhex(found[1].decode())


def _take_lock(path: str, patience: float) -> int:
    """Returns the lock of a file, open for writing; one that was held for so many seconds is taken away."""
    lock = path + LOCK
    seen: tuple[int, int] | None = None
    until = 0.0
    while True:
        try:
            return os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        except FileNotFoundError:
            # not made yet; or git removed it as it became empty
            make_directories(os.path.dirname(path))
        except FileExistsError:
            held = _identity(lock)
            if held is not None and held == seen and time.monotonic() > until:
                logger.warning("%s is removed: nobody holds it for so long", lock)
                remove_if_there(lock)
                continue
            if held != seen:
                seen, until = held, time.monotonic() + patience
            time.sleep(_LOCK_EVERY)


def _identity(lock: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(lock)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_ctime_ns


def _files(store: str) -> Iterator[str]:
    """The names of the references of snapd's own that have a file."""
    for above, _, files in walked(os.path.join(store, OURS)):
        for file in files:
            name = os.path.relpath(os.path.join(above, file), store)
            if is_ours(name):
                yield name


def _locks(store: str) -> Iterator[str]:
    for above, _, files in walked(os.path.join(store, OURS)):
        yield from (os.path.join(above, file) for file in files if file.endswith(LOCK))


def _read_file(path: str) -> bytes | None:
    with os_errors(path):
        try:
            with open(path, "rb") as reference:
                return reference.read(64)
        except FileNotFoundError:
            return None
