"""The references of a shadow repository: files of their own, and those that a git run there by hand has packed.

They move as git moves them, by a file `<name>.lock` that replaces the reference: `git pack-refs` removes the file of a
reference only while it has that lock, and so never one that moved after it was packed (gitrepository-layout and
git-pack-refs in git's documentation). In `packed-refs`, a line is an id and a name; the next may be the target of a
tag, after `^`. The first line may state what git can assume about the others.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.handover import HANDOVER_NAME
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import (
    PRIVATE_FILE,
    files_below,
    make_directories,
    read_if_there,
    remove_if_there,
    status_if_there,
    sync_directory,
    sync_if_there,
    walked,
    write_all,
)

OURS = "refs/snapd/"
PACKED = "packed-refs"

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NAME = re.compile(
    rf"refs/snapd/(coverage/[0-9a-f]{{40}}|(snapshots|operations)/{_DAY}|"
    rf"(signatures/)?(sessions/[0-9a-f]{{1,16}}|handovers/{HANDOVER_NAME}))"
)

_HEADER = b"# pack-refs with:"
_ENTRY = re.compile(rb"([0-9a-f]{40}) (refs/[^\x00-\x20\x7f]+)")
_BELOW = re.compile(rb"\^[0-9a-f]{40}")

logger = logging.getLogger(__name__)

LOCK = ".lock"

LOCK_PATIENCE = 1.0
"""Seconds after which the lock of a reference counts as left by a dead process: it is held for a few system calls."""

PACKED_PATIENCE = 10.0
"""The same in seconds for packed references, which git rewrites as a whole."""

_LOCK_EVERY = 0.005
_LINE = re.compile(rb"([0-9a-f]{40})\n?")


@attrs.frozen
class PackedReferences:
    """The contents of `packed-refs`."""

    targets: dict[str, ObjectId]  # of snapd's own references, by name
    legible: tuple[bytes, ...]  # the readable lines, of others' references too
    is_damaged: bool  # whether other lines are unreadable


def is_ours(name: str) -> bool:
    """Whether this is the name of a reference of snapd; other files below `refs/snapd` belong to other programs."""
    return _NAME.fullmatch(name) is not None


def read_packed(store: str) -> PackedReferences:
    """Reads the `packed-refs` of a store, which need not exist; raises `IoError`."""
    data = read_if_there(os.path.join(store, PACKED))
    if data is None:
        return PackedReferences({}, (), is_damaged=False)
    targets: dict[str, ObjectId] = {}
    legible: list[bytes] = []
    *lines, rest = data.split(b"\n")
    # git always writes the first line, and ends every line
    is_damaged = bool(rest) or not lines
    is_below_one = False
    for at, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        # names of snapd's own references are ASCII
        if entry is not None and (entry[2].isascii() or not entry[2].startswith(OURS.encode())):
            name = os.fsdecode(entry[2])
            if is_ours(name):
                targets[name] = bytes.fromhex(entry[1].decode())
            legible.append(line + b"\n")
            is_below_one = True
        elif is_below_one and _BELOW.fullmatch(line):
            legible.append(line + b"\n")
            is_below_one = False
        elif at > 0 or not line.startswith(_HEADER):
            is_damaged = True
            is_below_one = False
    return PackedReferences(targets, tuple(legible), is_damaged)


def encode_packed(legible: Iterable[bytes]) -> bytes:
    """Encodes a `packed-refs` with these lines, about which git assumes nothing."""
    return b"%b \n%b" % (_HEADER, b"".join(legible))


def without(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yields the lines of a `packed-refs` without those of one reference."""
    is_dropped = False
    for line in lines:
        is_dropped = line[41:].rstrip(b"\n") == os.fsencode(name) or (is_dropped and line.startswith(b"^"))
        if not is_dropped:
            yield line


@attrs.frozen
class References:
    """The references of a store that belong to snapd."""

    targets: dict[str, ObjectId]
    damaged: tuple[str, ...]  # the names of unreadable references; `packed-refs` if that has unreadable lines

    def whole(self) -> dict[str, ObjectId]:
        """Returns the targets; raises `StoreCorrupt` if a reference is damaged: all that it keeps would be dropped."""
        for name in self.damaged:
            raise StoreCorrupt(f"{name} is damaged", object=name)
        return self.targets


def read_references(store: str) -> References:
    """Reads all references of snapd; raises `IoError`."""
    return references_below(store, OURS)


def references_below(store: str, prefix: str) -> References:
    """Reads the references of snapd whose names begin with a prefix, up to a slash; raises `IoError`."""
    targets = {}
    damaged = set()
    # files first: one that is removed meanwhile was packed before
    files = (os.path.join(above, file) for above, _, files in walked(os.path.join(store, prefix)) for file in files)
    for path in files:
        name = os.path.relpath(path, store)
        data = read_if_there(path) if is_ours(name) else None
        if data is None:
            continue
        match = _LINE.fullmatch(data)
        if match is None:
            damaged.add(name)
        else:
            targets[name] = bytes.fromhex(match[1].decode())
    packed = read_packed(store)
    # a file hides the packed reference, even a damaged file
    below = {name: target for name, target in packed.targets.items() if name.startswith(prefix)}
    shown = {name: target for name, target in below.items() if name not in damaged}
    if packed.is_damaged:
        damaged.add(PACKED)
    return References(dict(sorted({**shown, **targets}.items())), tuple(sorted(damaged)))


class ReferenceDatabase:
    """Moves the references of a store that the caller owns. Safe to use from several threads."""

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._expected: dict[str, ObjectId] = {}

    def read(self) -> References:
        """Reads all references; raises `IoError`."""
        return read_references(self._store)

    def move(self, targets: Mapping[str, ObjectId], *, durable: bool = False) -> None:
        """Moves references to new targets: all or, unless a rename fails, none.

        `durable` syncs them, so that each has its old or its new target after a crash; if not, a journal has the moves
        until `settle`.
        """
        held: list[tuple[str, str]] = []
        with self._lock:
            try:
                for name, target in targets.items():
                    path = os.path.join(self._store, name)
                    with os_errors(path):
                        failpoint("refs.write")
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
                        failpoint("refs.move")
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
        """Removes a reference, if it exists; `sync` makes that durable. Raises `StorageFull`, `IoError`."""
        path = os.path.join(self._store, name)
        with self._lock, os_errors(path):
            failpoint("refs.delete")
            self._expected.pop(name, None)
            os.close(_take_lock(path, LOCK_PATIENCE))
            try:
                # the packed one first, as in git: without its file, the reference would have the packed target for a
                # moment
                self._drop_packed(name)
                remove_if_there(path)
            finally:
                remove_if_there(path + LOCK)

    def sync(self) -> None:
        """Makes all removals durable, those of a killed process too; raises `IoError`."""
        for directory, _, _ in walked(os.path.join(self._store, OURS)):
            with os_errors(directory):
                sync_if_there(directory)

    def settle(self, names: Collection[str]) -> None:
        """Syncs references, packed or not, and restores those that another program changed."""
        directories = set()
        for name in names:
            path = os.path.join(self._store, name)
            with self._lock:
                target = self._expected.get(name)
                if target is not None and self._get(name) != target:
                    logger.warning("another process set the reference %s back or removed it; it is moved again", name)
                    self.move({name: target})
            with os_errors(path):
                if not sync_if_there(path):
                    sync_if_there(os.path.join(self._store, PACKED))
            parts = name.split("/")[:-1]
            # up to the store itself, which has the name `packed-refs`
            directories |= {os.path.join(self._store, *parts[:depth]) for depth in range(len(parts) + 1)}
        for directory in sorted(directories):
            with os_errors(directory):
                sync_if_there(directory)

    def rewrite(self, names: Collection[str]) -> None:
        """Writes references again, unchanged, to other blocks of the disk; raises `StorageFull`, `IoError`."""
        for name in names:
            # a reference that moves meanwhile must not be set back
            with self._lock:
                target = self._get(name)
                if target is not None:
                    self.move({name: target})

    def clear_locks(self) -> None:
        """Removes the locks that a dead process of snapd left; raises `IoError`."""
        for path, status in files_below(os.path.join(self._store, OURS)):
            # git's own are empty
            if path.endswith(LOCK) and status.st_size:
                with os_errors(path):
                    remove_if_there(path)

    def mend_packed(self) -> None:
        """Rewrites `packed-refs` with its readable lines, durably. It is unchanged after `StorageFull`, `IoError`."""
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
        data = read_if_there(os.path.join(self._store, name))
        if data is None:
            return read_packed(self._store).targets.get(name)
        match = _LINE.fullmatch(data)
        return None if match is None else bytes.fromhex(match[1].decode())


def _take_lock(path: str, patience: float) -> int:
    """Locks a file; returns the lock, open for writing. Breaks a lock that is older than `patience` seconds."""
    lock = path + LOCK
    seen: tuple[int, int] | None = None
    until = 0.0
    while True:
        try:
            return os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        except FileNotFoundError:
            # the directory does not exist yet, or git removed it when it became empty
            make_directories(os.path.dirname(path))
        except FileExistsError:
            held = _identity(lock)
            if held is not None and held == seen and time.monotonic() > until:
                logger.warning("%s is removed: a dead process left it", lock)
                remove_if_there(lock)
                continue
            if held != seen:
                seen, until = held, time.monotonic() + patience
            time.sleep(_LOCK_EVERY)


def _identity(lock: str) -> tuple[int, int] | None:
    status = status_if_there(lock)
    return (status.st_ino, status.st_ctime_ns) if status is not None else None
