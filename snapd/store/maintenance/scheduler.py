"""Keeps the number of files in a store small, beside its work: decides when to consolidate, and runs it behind."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from typing import TYPE_CHECKING

from snapd.core.errors import SnapdError
from snapd.heap import give_back

from .cancel_token import CancelToken, Revoked
from .repack import Due, check_room, repack, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.store.repository import ShadowRepository

logger = logging.getLogger(__name__)

LOOSE_LIMIT = 6700
"""So many loose objects, beyond those that the last consolidation left, make the next one due: as `git gc --auto`."""

PACK_LIMIT = 40
"""So many packs, beyond those that the last consolidation left, make the next one due."""

IDLE_LOOSE_LIMIT = 500
IDLE_PACK_LIMIT = 10
"""Likewise, where nobody has anything else to do."""

_SAMPLE = "17"
_DIRECTORIES = 256


class _OneAtATime:
    """Consolidations of all repositories, one after the other: together they would take the whole machine."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False

    @contextlib.contextmanager
    def turn(self, permission: CancelToken) -> Iterator[None]:
        """Waits for a turn; raises `Revoked` where the permission is withdrawn meanwhile."""
        with permission.on_cancel(self._look_again), self._changed:
            self._changed.wait_for(lambda: permission.revoked or not self._busy)
            permission.check()
            self._busy = True
        try:
            yield
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _look_again(self) -> None:
        with self._changed:
            self._changed.notify_all()


_queue = _OneAtATime()


class MaintenanceScheduler:
    """Consolidates one repository when it is due. Safe to use from several threads.

    Args:
        repository: it; whoever made this says when snapshots were stored.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._permission: CancelToken | None = None
        self._thread: threading.Thread | None = None
        # ids are spread evenly: one directory tells how many there are in all of them, as `git gc --auto` has it
        self._loose = _DIRECTORIES * _count(os.path.join(repository.objects, _SAMPLE))
        self._placed = repository.journal.placed
        self._packs_left = 0

    def consider(self) -> None:
        """Begins a consolidation where one is due and none runs; costs no system call else."""
        if self._thread is None and self._is_due(LOOSE_LIMIT, PACK_LIMIT):
            self._start(Due(LOOSE_LIMIT, PACK_LIMIT))

    def catch_up(self, *, all_of_it: bool) -> bool:
        """Begins a consolidation behind, for which less has to have come together than for `consider`.

        Args:
            all_of_it: whether everything is to be packed anew, because objects went.

        Returns:
            Whether one runs now.
        """
        if all_of_it:
            self._start(Due(-1, -1, everything=True))
        elif self._is_due(IDLE_LOOSE_LIMIT, IDLE_PACK_LIMIT):
            self._start(Due(IDLE_LOOSE_LIMIT, IDLE_PACK_LIMIT))
        return self.is_running

    @property
    def is_running(self) -> bool:
        """Whether a consolidation is under way."""
        return self._thread is not None

    def _start(self, due: Due) -> None:
        with self._lock:
            if self._thread is None:
                self._permission = CancelToken()
                self._thread = threading.Thread(
                    target=self._run, args=(self._permission, due), name="snapd upkeep", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Ends a consolidation that runs: it changes nothing any more, and no process and no file is left of it."""
        with self._lock:
            permission, self._permission = self._permission, None
            thread, self._thread = self._thread, None
        if permission is not None and thread is not None:
            permission.revoke()
            thread.join()

    def consolidate_all(self, call: Call) -> None:
        """Packs all that is ours, at once; nobody may write to the repository meanwhile.

        Args:
            call: the request; where it is cancelled, all stays as it is, whatever was committed before.

        Raises:
            Revoked: it was cancelled.
            StoreCorrupt, StorageFull, IoError: see `repack`; `StorageFull` before it begins, too.
        """
        self.stop()
        check_room(self._repository)
        placed = self._repository.journal.placed
        permission = CancelToken()
        with call.ended_by(permission.withdraw):
            done = repack(self._repository, None, permission)
        tidy(self._repository)
        self._settle(placed, 0, done.packs)
        give_back()

    def _is_due(self, loose_limit: int, pack_limit: int) -> bool:
        repository = self._repository
        loose = self._loose + repository.journal.placed - self._placed
        return loose > loose_limit or repository.packs.known - self._packs_left > pack_limit

    def _run(self, permission: CancelToken, due: Due) -> None:
        placed = self._repository.journal.placed
        packs = self._repository.packs.known
        loose = 0
        try:
            with contextlib.suppress(Revoked), _queue.turn(permission):
                check_room(self._repository)
                done = repack(self._repository, due, permission)
                loose, packs = done.loose, done.packs
        except SnapdError as error:
            # nothing is at stake; what there is now is let be, and the next try comes when as much was added
            if not permission.revoked:
                logger.warning("%s could not be consolidated: %s", self._repository.path, error.message)
        finally:
            # as good a time as any for what thousands of objects left between others
            give_back()
            with self._lock:
                if self._permission is permission:
                    self._settle(placed, loose, packs)
                    self._thread = self._permission = None

    def _settle(self, placed: int, loose: int, packs: int) -> None:
        self._placed, self._loose, self._packs_left = placed, loose, packs


def _count(directory: str) -> int:
    try:
        return len(os.listdir(directory))
    except OSError:
        return 0
