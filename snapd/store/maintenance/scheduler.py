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
from .repack import Due, ensure_space, repack, tidy

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
    def turn(self, token: CancelToken) -> Iterator[None]:
        """Waits for a turn; raises `Revoked` where the permission is withdrawn meanwhile."""
        with token.on_cancel(self._look_again), self._changed:
            self._changed.wait_for(lambda: token.revoked or not self._busy)
            token.check()
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
        self._token: CancelToken | None = None
        self._thread: threading.Thread | None = None
        # ids are spread evenly: one directory tells how many there are in all of them, as `git gc --auto` has it
        self._loose = _DIRECTORIES * _count(os.path.join(repository.objects, _SAMPLE))
        self._loose_written = repository.journal.loose_written
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
                self._token = CancelToken()
                self._thread = threading.Thread(
                    target=self._run, args=(self._token, due), name="snapd maintenance", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Ends a consolidation that runs: it changes nothing any more, and no process and no file is left of it."""
        with self._lock:
            token, self._token = self._token, None
            thread, self._thread = self._thread, None
        if token is not None and thread is not None:
            token.revoke()
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
        ensure_space(self._repository)
        loose_written = self._repository.journal.loose_written
        token = CancelToken()
        with call.ended_by(token.withdraw):
            done = repack(self._repository, None, token)
        tidy(self._repository)
        self._settle(loose_written, 0, done.packs)
        give_back()

    def _is_due(self, loose_limit: int, pack_limit: int) -> bool:
        repository = self._repository
        loose = self._loose + repository.journal.loose_written - self._loose_written
        return loose > loose_limit or repository.packs.known - self._packs_left > pack_limit

    def _run(self, token: CancelToken, due: Due) -> None:
        loose_written = self._repository.journal.loose_written
        packs = self._repository.packs.known
        loose = 0
        try:
            with contextlib.suppress(Revoked), _queue.turn(token):
                ensure_space(self._repository)
                done = repack(self._repository, due, token)
                loose, packs = done.loose, done.packs
        except SnapdError as error:
            # nothing is at stake; what there is now is let be, and the next try comes when as much was added
            if not token.revoked:
                logger.warning("%s could not be consolidated: %s", self._repository.path, error.message)
        finally:
            # as good a time as any for what thousands of objects left between others
            give_back()
            with self._lock:
                if self._token is token:
                    self._settle(loose_written, loose, packs)
                    self._thread = self._token = None

    def _settle(self, loose_written: int, loose: int, packs: int) -> None:
        self._loose_written, self._loose, self._packs_left = loose_written, loose, packs


def _count(directory: str) -> int:
    try:
        return len(os.listdir(directory))
    except OSError:
        return 0
