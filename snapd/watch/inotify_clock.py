"""The clock of Linux: an inotify watch on each directory that is not ignored."""

from __future__ import annotations

import errno
import logging
import os
import select
import threading
from typing import TYPE_CHECKING

from .clock import ITSELF, Marks
from .inotify import IGNORED, OVERFLOW, UNMOUNT, Inotify
from .mounts import Mounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import Place

logger = logging.getLogger(__name__)

_EXHAUSTED = (errno.ENOSPC, errno.ENOMEM)
_NONE_LEFT = "no inotify watches are left (fs.inotify.max_user_watches)"
_GATHER_SECONDS = 0.05
"""How long the listener's thread lets changes gather: twenty wake-ups a second at most."""
_POLL_SECONDS = 2.0
"""How often a listener is told where there is no watch any more."""


class InotifyClock:
    """See `Clock`. Where the user's watches run out it gives its own back and says that everything may have changed.

    Args:
        root: the work tree, absolute.

    Raises:
        OSError: there is no inotify, or no queue left.
    """

    def __init__(self, root: bytes) -> None:
        self._mounts = Mounts(root)
        try:
            self._inotify: Inotify | None = Inotify()
        except OSError:
            self._mounts.close()
            raise
        self._lock = threading.Lock()
        self._places: dict[int, Place] = {}
        self._doubted: dict[int, Place] = {}
        self._lent = False
        self._unclaimed: dict[int, list[tuple[int, bytes]]] = {}
        self._orphans: set[int] = set()
        self._marks = Marks(everything=True)
        self._listener: _Listener | None = None
        self._poll = select.poll()
        self._poll.register(self._inotify.descriptor, select.POLLIN)
        self._mounts_descriptor = self._mounts.register(self._poll)

    @property
    def kind(self) -> str:
        """`inotify`; `none` where the watches ran out: every request looks at the whole work tree then."""
        return "inotify" if self._inotify is not None else "none"

    @property
    def reason(self) -> str | None:
        """See `Clock.reason`."""
        return None if self._inotify is not None else _NONE_LEFT

    @property
    def exact(self) -> bool:
        """See `Clock.exact`."""
        return self._inotify is not None

    def watch(self, directory: int, place: Place) -> None:
        """See `Clock.watch`."""
        with self._lock:
            if self._inotify is None:
                return
            try:
                watch = self._inotify.add(directory)
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                logger.warning("%s: each request looks at every file", _NONE_LEFT)
                self._give_up()
                return
            self._put(watch, place)

    def forget(self, place: Place) -> None:
        """See `Clock.forget`."""
        with self._lock:
            watch, place.watch = place.watch, -1
            # the directory may be known by another place by now
            if self._inotify is not None and self._places.get(watch) is place:
                del self._places[watch]
                if self._lent:
                    # another process may just have found the directory elsewhere: the same directory has the same watch
                    self._orphans.add(watch)
                else:
                    self._inotify.remove(watch)

    def lend(self) -> int | None:
        """See `Clock.lend`."""
        with self._lock:
            if self._inotify is None:
                return None
            self._lent = True
            return self._inotify.descriptor

    def claim(self, watch: int, place: Place) -> None:
        """See `Clock.claim`."""
        with self._lock:
            if self._inotify is None:
                return
            was_known = watch in self._orphans or self._places.get(watch, place) is not place
            self._put(watch, place)
            if was_known:
                # what happened since it was listed may have been told of the other place
                self._marks.add(place, ITSELF)

    def disclaim(self, watch: int) -> None:
        """See `Clock.disclaim`."""
        with self._lock:
            self._orphans.add(watch)

    def settle(self) -> None:
        """See `Clock.settle`."""
        with self._lock:
            self._lent = False
            self._unclaimed.clear()
            orphans, self._orphans = self._orphans, set()
            for watch in orphans:
                if self._inotify is not None and watch not in self._places:
                    self._inotify.remove(watch)

    def take(self) -> Marks:
        """See `Clock.take`."""
        with self._lock:
            self._let_go_of_doubted()
            self._collect()
            taken, self._marks = self._marks, Marks(everything=self._inotify is None)
        return taken

    def put_back(self, marks: Marks) -> None:
        """See `Clock.put_back`."""
        with self._lock:
            self._marks.join(marks)

    def listen(self, told: Callable[[], None]) -> None:
        """See `Clock.listen`."""
        with self._lock:
            descriptor = self._inotify.descriptor if self._inotify is not None else None
            self._listener = _Listener(descriptor, self._gather, told)

    def stop_listening(self) -> None:
        """See `Clock.stop_listening`."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    def close(self) -> None:
        """See `Clock.close`."""
        self.stop_listening()
        with self._lock:
            if self._inotify is not None:
                self._give_up()

    def _gather(self) -> bool:
        """Takes what the kernel has queued, so that its queue does not overflow; says whether anything is marked."""
        with self._lock:
            self._collect()
            return bool(self._marks)

    def _put(self, watch: int, place: Place) -> None:
        before = self._places.get(watch)
        if before is not None and before is not place:
            # where that one is not forgotten, the directory may have been moved back to it meanwhile
            before.watch = -1
            self._marks.add(before, ITSELF)
        place.watch = watch
        self._places[watch] = place
        for mask, name in self._unclaimed.pop(watch, ()):
            self._tell(watch, place, mask, name)

    def _tell(self, watch: int, place: Place, mask: int, name: bytes) -> None:
        if mask & IGNORED:
            # the directory went away; what is above it is told by an event of its own
            del self._places[watch]
            place.watch = -1
            self._marks.add(place, ITSELF)
        else:
            self._marks.add(place, name)

    def _collect(self) -> None:
        if self._inotify is None:
            return
        ready = self._poll.poll(0)
        if not ready:
            return
        marks = self._marks
        if any(descriptor == self._mounts_descriptor for descriptor, _ in ready) and self._mounts.changed():
            marks.everything = True
        for watch, mask, name in self._inotify.read():
            place = self._places.get(watch)
            if mask & OVERFLOW or mask & UNMOUNT:
                marks.everything = True
                self._doubt_watches()
            elif place is not None:
                self._tell(watch, place, mask, name)
            elif self._lent:
                self._unclaimed.setdefault(watch, []).append((mask, name))

    def _doubt_watches(self) -> None:
        """Has every directory watched anew: that a watch ended with its directory may be among what was not told."""
        self._doubted.update(self._places)
        for place in self._places.values():
            place.watch = -1

    def _let_go_of_doubted(self) -> None:
        """Ends the doubted watches that the look at everything, which is over, did not ask for again."""
        doubted, self._doubted = self._doubted, {}
        for watch, place in doubted.items():
            if self._inotify is not None and self._places.get(watch) is place and place.watch != watch:
                del self._places[watch]
                self._inotify.remove(watch)

    def _give_up(self) -> None:
        assert self._inotify is not None
        if self._listener is not None:
            self._listener.lose()
        self._inotify.close()
        self._mounts.close()
        self._inotify = None
        for place in self._places.values():
            place.watch = -1
        self._places.clear()
        self._marks = Marks(everything=True)


class _Listener:
    """A thread that sleeps until the queue has something; where there is none, it tells every now and then.

    Args:
        descriptor: of the queue, if there is one.
        gather: empties the queue, says whether anything is marked.
        told: called then.
    """

    def __init__(self, descriptor: int | None, gather: Callable[[], bool], told: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gather = gather
        self._told = told
        self._stopped = threading.Event()
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="snapd-watch", daemon=True)
        self._thread.start()

    def lose(self) -> None:
        """The queue is about to be closed."""
        self._descriptor = None
        os.write(self._waker, b".")

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        os.write(self._waker, b".")
        self._thread.join()
        os.close(self._wake)
        os.close(self._waker)

    def _run(self) -> None:
        while not self._stopped.is_set():
            poll = select.poll()
            poll.register(self._wake, select.POLLIN)
            descriptor = self._descriptor
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
            ready = poll.poll(None if descriptor is not None else _POLL_SECONDS * 1000)
            if any(found == self._wake for found, _ in ready):
                os.read(self._wake, 1)
                continue
            if self._gather():
                self._told()
            self._stopped.wait(_GATHER_SECONDS)
