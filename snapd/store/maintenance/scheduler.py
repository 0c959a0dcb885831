"""Keeps the number of files in a store small: decides when a repack is due, and runs it in the background."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator

from snapd.heap import release_pages
from snapd.model.call import Call
from snapd.model.errors import SnapdError, StorageFull
from snapd.store.repository import ShadowRepository

from .packing import NOW, RepackNeed
from .repack import CancelToken, TokenRevoked, ensure_space_to_pack, repack, tidy

logger = logging.getLogger(__name__)

LOOSE_LIMIT = 6700
"""A repack is due when there are more new loose objects than this since the last one, as for `git gc --auto`."""

PACK_LIMIT = 40
"""A repack is due when there are more new packs than this since the last one."""

IDLE_LOOSE_LIMIT = 500
IDLE_PACK_LIMIT = 10
"""The limits for a repack while the daemon is idle."""

_SAMPLE = "17"
_DIRECTORIES = 256


class OneAtATime:
    """Repacks of all repositories run one after the other: together they would take the whole machine."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy = False

    @contextlib.contextmanager
    def turn(self, token: CancelToken) -> Iterator[None]:
        """Waits for a turn; raises `TokenRevoked` if the token is revoked meanwhile."""
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


_queue = OneAtATime()


class MaintenanceScheduler:
    """Repacks one repository when that is due; call `consider` after storing. Safe to use from several threads."""

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._lock = threading.Lock()
        self._token: CancelToken | None = None
        self.thread: threading.Thread | None = None
        # ids are spread evenly, so one directory is enough to estimate the number: `git gc --auto` does the same
        self._loose = _DIRECTORIES * _count(os.path.join(repository.objects, _SAMPLE))
        self._loose_written = repository.journal.loose_written
        self._packs_left = 0

    def consider(self) -> None:
        """Starts a repack if one is due and none runs; costs no system call otherwise."""
        if self.thread is None and self._is_due(LOOSE_LIMIT, PACK_LIMIT):
            self._start(RepackNeed(LOOSE_LIMIT, PACK_LIMIT))

    def catch_up(self, *, all_of_it: bool) -> bool:
        """Starts a background repack, with lower limits than `consider`; returns whether one runs now.

        `all_of_it` repacks everything, because objects were removed.
        """
        if all_of_it:
            self._start(RepackNeed(everything=True))
        elif self._is_due(IDLE_LOOSE_LIMIT, IDLE_PACK_LIMIT):
            self._start(RepackNeed(IDLE_LOOSE_LIMIT, IDLE_PACK_LIMIT))
        return self.is_running

    @property
    def is_running(self) -> bool:
        """Whether a repack runs."""
        return self.thread is not None

    def _start(self, due: RepackNeed) -> None:
        with self._lock:
            if self.thread is None:
                self._token = CancelToken()
                self.thread = threading.Thread(
                    target=self._run, args=(self._token, due), name="snapd maintenance", daemon=True
                )
                self.thread.start()

    def stop(self) -> None:
        """Ends a running repack. Afterwards it changes nothing any more, and its process and its files are gone."""
        with self._lock:
            token, self._token = self._token, None
            thread, self.thread = self.thread, None
        if token is not None and thread is not None:
            token.revoke()
            thread.join()

    def repack_all(self, call: Call) -> None:
        """Repacks everything now, if there is space. Nothing else may write meanwhile; raises as `repack`.

        Cancelling ends the repack even after `Call.commit`; before that it raises `Cancelled`, and nothing was dropped.
        """
        self.stop()
        loose_written = self._repository.journal.loose_written
        token = CancelToken()
        try:
            ensure_space_to_pack(self._repository)
            with call.ended_by(token.cancel):
                done = repack(self._repository, NOW, token)
            tidy(self._repository)
            self._settle(loose_written, 0, done.packs_left)
            release_pages()
        except TokenRevoked:
            call.check()
            # the request is done; the rest is packed later
            logger.info("%s: packing was interrupted", self._repository.path)
        except StorageFull as error:
            # nothing is lost, and the next repack may have space, because objects were dropped
            logger.warning("%s could not be packed: %s", self._repository.path, error.message)

    def _is_due(self, loose_limit: int, pack_limit: int) -> bool:
        repository = self._repository
        loose = self._loose + repository.journal.loose_written - self._loose_written
        return loose > loose_limit or repository.packs.known - self._packs_left > pack_limit

    def _run(self, token: CancelToken, due: RepackNeed) -> None:
        loose_written = self._repository.journal.loose_written
        packs = self._repository.packs.known
        loose = 0
        try:
            with contextlib.suppress(TokenRevoked), _queue.turn(token):
                ensure_space_to_pack(self._repository)
                done = repack(self._repository, due, token)
                loose, packs = done.loose_left, done.packs_left
        except SnapdError as error:
            # nothing is lost: the next repack is due when as much was added again
            if not token.revoked:
                logger.warning(
                    "%s could not be repacked: %s; it is tried again later", self._repository.path, error.message
                )
        finally:
            # thousands of objects were freed: give their memory back to the system
            release_pages()
            with self._lock:
                if self._token is token:
                    self._settle(loose_written, loose, packs)
                    self.thread = self._token = None

    def _settle(self, loose_written: int, loose: int, packs: int) -> None:
        self._loose_written, self._loose, self._packs_left = loose_written, loose, packs


def _count(directory: str) -> int:
    try:
        return len(os.listdir(directory))
    except OSError:
        return 0
