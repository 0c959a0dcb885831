"""Puts loose objects and packs of ours into one pack with deltas, and drops the files that it replaces.

Another process writes the pack (`packing.py`): it frees the memory that libgit2 takes, and does not hold our
interpreter lock. This module adds it to the repository, unless its token was revoked.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import IoError, StorageFull, os_errors
from snapd.store.files.durable import (
    PRIVATE_FILE,
    make_directories,
    remove_if_there,
    status_if_there,
    sync_directory,
    sync_if_there,
)
from snapd.store.files.space import ensure_space, free_bytes
from snapd.store.objects.loose import loose_files, object_path
from snapd.store.repository import ShadowRepository
from snapd.workers.processes import Report, WorkerEnded, can_start, run_job, serve

from . import packing
from .packing import PackResult, RepackNeed
from .sweep import CHEAP_BYTES, PACK_ENDINGS, RESERVE_BYTES, drop_summaries, pack_names

_BUS_ERROR = getattr(signal, "SIGBUS", None)
"""libgit2 writes through maps: if the disk is full, it gets this signal and no error."""

PACKING = "packing"
"""The directory of the store in which new packs are written."""

_NEW_SECONDS = 60.0

_LOOSE_COPIES = 2.25
"""A copy in the new pack, and a larger one in the pack that libgit2 reads, which is compressed for speed."""


class TokenRevoked(Exception):
    """The token was revoked; nothing was dropped."""


class CancelToken:
    """Lets a repack drop files until the token is revoked. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._lock = threading.Lock()
        self._on_cancel: Callable[[], None] | None = None
        self.revoked = False

    def revoke(self) -> None:
        """Revokes the token, and waits for a change under way: afterwards the job changes nothing any more."""
        self.cancel()
        with self._changing:
            pass

    def cancel(self) -> None:
        """Revokes the token without waiting."""
        with self._lock:
            self.revoked = True
            if self._on_cancel is not None:
                self._on_cancel()

    def check(self) -> None:
        """Raises `TokenRevoked` if the token was revoked."""
        if self.revoked:
            raise TokenRevoked

    @contextlib.contextmanager
    def on_cancel(self, end: Callable[[], None]) -> Iterator[None]:
        """Calls `end` if the token is revoked while the block runs; raises `TokenRevoked` if it was revoked before."""
        with self._lock:
            self.check()
            self._on_cancel = end
        try:
            yield
        finally:
            with self._lock:
                self._on_cancel = None

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Surrounds a change of the repository, for which `revoke` waits; raises `TokenRevoked`."""
        with self._changing:
            self.check()
            yield


def pack(store: str, directory: str, due: RepackNeed, token: CancelToken) -> PackResult:
    """Runs `packing.pack` in another process if possible; revoking the token ends it and raises `TokenRevoked`."""
    if not can_start():
        return packing.pack(store, directory, due, token.check)
    with os_errors(sys.executable):
        failpoint("packer.start")
    try:
        question = {"store": store, "directory": directory, "due": attrs.asdict(due)}
        packed = run_job(__name__, question, in_background=due.in_background, check=token.check)
    except WorkerEnded as error:
        if -error.status == _BUS_ERROR and free_bytes(directory) < RESERVE_BYTES:
            raise StorageFull(f"no space left to pack {store}", path=store, errno="ENOSPC") from error
        message = f"the process that packs {store} ended with {error.status}"
        raise IoError(message, hint="try again", path=store) from error
    return PackResult(**{**packed, "loose": [bytes.fromhex(oid) for oid in packed["loose"]]})


def main(_: str) -> None:
    """Runs in the other process."""
    serve(_pack)


def _pack(question: dict[str, Any], _: Report) -> PackResult:
    # a cancelled job ends the process
    return packing.pack(question["store"], question["directory"], RepackNeed(**question["due"]), lambda: None)


def repack(repository: ShadowRepository, due: RepackNeed, token: CancelToken) -> PackResult:
    """Writes one pack of the loose objects and of some packs, and drops those.

    Other threads may read and write meanwhile. Whenever it ends, even by a crash, each object is in a durable file;
    after `StoreCorrupt`, nothing was dropped.
    """
    directory = os.path.join(repository.path, PACKING, secrets.token_hex(8))
    with token.changing():
        drop_packing(repository)
        with os_errors(directory):
            failpoint("repack.directory")
            make_directories(directory)
    try:
        result = pack(repository.path, directory, due, token)
        if result.name:
            _replace(repository, result, directory, token)
    finally:
        # the next repack removes what cannot be removed now
        shutil.rmtree(directory, ignore_errors=True)
    return result


def ensure_space_to_pack(repository: ShadowRepository) -> None:
    """Raises `StorageFull` without space for a second copy of what would be packed, and a third of loose objects."""
    needed = RESERVE_BYTES
    for path, copies in _packable(repository):
        status = status_if_there(path)
        # as in `packing.survey`
        if status is not None and status.st_nlink == 1 and status.st_size <= CHEAP_BYTES:
            needed += int(copies * status.st_size)
    ensure_space(repository.path, needed, f"pack {repository.path}")


def _packable(repository: ShadowRepository) -> Iterator[tuple[str, float]]:
    """Yields the files that could be packed, each with the number of additional copies that exist meanwhile."""
    for _, entry in loose_files(repository.objects):
        yield entry.path, _LOOSE_COPIES
    for name in pack_names(repository.pack_directory):
        yield os.path.join(repository.pack_directory, f"{name}.pack"), 1


def tidy(repository: ShadowRepository) -> None:
    """Removes empty directories of loose objects, and packs without an index. Nothing else may write meanwhile."""
    drop_unindexed(repository)
    with os_errors(repository.objects):
        failpoint("repack.tidy")
        for entry in list(os.scandir(repository.objects)):
            # a git command run by hand removes empty directories, too
            with contextlib.suppress(FileNotFoundError):
                if len(entry.name) == 2 and entry.is_dir(follow_symlinks=False) and not os.listdir(entry.path):
                    os.rmdir(entry.path)


def drop_unindexed(repository: ShadowRepository) -> bool:
    """Removes unreadable packs: those without an index. Returns whether none is left; nothing else may write meanwhile.

    A git command run on the store renames a pack just before its index, and then drops its objects, so new ones stay.
    """
    indexed = set(pack_names(repository.pack_directory))
    is_done = True
    with os_errors(repository.pack_directory):
        for entry in list(os.scandir(repository.pack_directory)):
            if entry.name.startswith("pack-") and entry.name.endswith(".pack") and entry.name[:-5] not in indexed:
                with contextlib.suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime > time.time() - _NEW_SECONDS:
                        is_done = False
                    else:
                        os.unlink(entry.path)
    return is_done


def _replace(repository: ShadowRepository, result: PackResult, directory: str, token: CancelToken) -> None:
    try:
        with token.changing(), os_errors(repository.pack_directory):
            _move_in(repository, result.name, directory)
            # before anything is dropped: a thread that misses an object from now on looks into the new pack
            repository.forget_packs()
            failpoint("repack.drop")
            _drop(repository, result)
    finally:
        repository.forget_packs()


def _move_in(repository: ShadowRepository, name: str, directory: str) -> None:
    for ending in ("pack", "idx"):
        path = os.path.join(directory, f"{name}.{ending}")
        failpoint("repack.sync")
        os.chmod(path, PRIVATE_FILE)
        sync_if_there(path)
    # git reads a pack as soon as its index exists, so the pack is renamed first
    for ending in ("pack", "idx"):
        failpoint("repack.rename")
        os.rename(
            os.path.join(directory, f"{name}.{ending}"), os.path.join(repository.pack_directory, f"{name}.{ending}")
        )
    sync_directory(repository.pack_directory)


def _drop(repository: ShadowRepository, result: PackResult) -> None:
    drop_summaries(repository)
    for name in result.packs:
        if name != result.name:
            for ending in PACK_ENDINGS:
                failpoint("repack.drop_pack")
                remove_if_there(os.path.join(repository.pack_directory, f"{name}.{ending}"))
    for oid in result.loose:
        failpoint("repack.drop_loose")
        remove_if_there(object_path(repository.objects, oid))


def drop_packing(repository: ShadowRepository) -> None:
    """Removes the files of a repack that was killed; none may run now. Raises `IoError`."""
    path = os.path.join(repository.path, PACKING)
    with os_errors(path), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)
