"""The clock of Linux: an inotify watch on each directory that is not ignored."""

from __future__ import annotations

import errno
import logging
import os
import select
import threading
from time import monotonic
from typing import TYPE_CHECKING

from .clock import ITSELF, Marks
from .fanotify import Fanotify, Overflow
from .handles import layout_of
from .inotify import DIRECTORY, IGNORED, OVERFLOW, UNMOUNT, Inotify, Unsupported
from .mounts import Mounts, file_system
from .transient_names import TransientNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from .clock import WatchedDirectory

logger = logging.getLogger(__name__)

_WATCHES_USED_UP = (errno.ENOSPC, errno.ENOMEM)
_NONE_LEFT = "no inotify watches are left (fs.inotify.max_user_watches)"
_SHORTEST_PAUSE = 30.0
"""Seconds until it is tried again, after the first time that it failed; each time that it fails, twice as long."""
_LONGEST_PAUSE = 600.0
_CAME_AND_WENT = "a name came and is gone again, and may have been one of any file"
_GATHER_SECONDS = 0.05
"""How long the listener's thread lets changes gather: twenty wake-ups a second at most."""
_POLL_SECONDS = 2.0
"""How often a listener is told where there is no watch any more."""


class _Queues:
    """What the kernel tells by: names that change, files that are written to, mounts that come and go.

    Args:
        root: the work tree, absolute.

    Attributes:
        inotify: names the names that change, in each watched directory.
        written: names the files that were written to there; None where the system does not let us ask.

    Raises:
        OSError: there is no inotify, or no queue left.
    """

    def __init__(self, root: bytes) -> None:
        self.inotify = Inotify()
        try:
            self._mounts = Mounts(root)
        except OSError:
            self.inotify.close()
            raise
        self.written = _what_is_written(root)
        self._poll = select.poll()
        self._poll.register(self.inotify.descriptor, select.POLLIN)
        self._mounts_descriptor = self._mounts.register(self._poll)
        if self.written is not None:
            self._poll.register(self.written.descriptor, select.POLLIN)

    def share_queues(self) -> tuple[int, ...]:
        """See `Clock.share_queues`."""
        own = self.inotify.descriptor
        return (own,) if self.written is None else (own, self.written.descriptor)

    def poll(self) -> tuple[bool, bool]:
        """Whether there is anything to read, and whether something below the root was mounted or unmounted."""
        ready = self._poll.poll(0)
        return bool(ready), any(at == self._mounts_descriptor for at, _ in ready) and self._mounts.changed()

    def do_without_written(self) -> None:
        """Asks no more which files were written to."""
        if self.written is not None:
            self._poll.unregister(self.written.descriptor)
            self.written.close()
            self.written = None

    def close(self) -> None:
        """Lets go of everything."""
        self.do_without_written()
        self.inotify.close()
        self._mounts.close()


def _what_is_written(root: bytes) -> Fanotify | None:
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return Fanotify(layout_of(descriptor, file_system(descriptor)))
        finally:
            os.close(descriptor)
    except OSError as error:
        logger.info("no fanotify, all files are looked at when a new name is gone again: %s", error)
        return None


class InotifyClock:
    """See `Clock`. Where the system has no queue or no watches left, it says that everything may have changed.

    It gives its own watches back then, and tries again after a pause, with the next look.

    A file may have been written to by a name (a hard link) that is gone when we look. Where fanotify names the file
    (`Marks.inodes`), that is all there is to know. Else everything may have changed when a name came and went; and also
    when a directory did, for nobody watched what was in it.

    Args:
        root: the work tree, absolute.
        is_own: whether a name is that of a file which whoever asks makes for itself, and which is no name of another.

    Raises:
        Unsupported: there is no inotify here.
    """

    def __init__(self, root: bytes, is_own: Callable[[bytes], object] = lambda _: False) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._directories: dict[int, WatchedDirectory] = {}
        self._doubted: dict[int, WatchedDirectory] = {}
        self._is_shared = False
        self._unadopted: dict[int, list[tuple[int, bytes]]] = {}
        self._dropped: set[int] = set()
        self._marks = Marks()
        self._transient_names = TransientNames(is_own)
        self._listener: _Listener | None = None
        self._closed = False
        self._trouble: str | None = None
        self._pause = _SHORTEST_PAUSE
        self._try_at = 0.0
        self._queues: _Queues | None = None
        self._marks.doubt("the folder was opened")
        self._begin()

    @property
    def kind(self) -> str:
        """`inotify`; `none` where nothing is watched for now: every request looks at the whole work tree then."""
        return "inotify" if self._queues is not None else "none"

    @property
    def reason(self) -> str | None:
        """See `Clock.reason`."""
        return self._trouble

    @property
    def exact(self) -> bool:
        """See `Clock.exact`."""
        return self._queues is not None

    def watch(self, descriptor: int, directory: WatchedDirectory) -> None:
        """See `Clock.watch`."""
        with self._lock:
            if self._queues is None:
                return
            try:
                watch = self._queues.inotify.add(descriptor)
            except OSError as error:
                if error.errno not in _WATCHES_USED_UP:
                    raise
                self._give_up(_NONE_LEFT)
                return
            if self._queues.written is not None:
                try:
                    self._queues.written.add(descriptor)
                except OSError as error:
                    logger.info(
                        "no fanotify any more, all files are looked at when a new name is gone again: %s", error
                    )
                    self._queues.do_without_written()
                    self._marks.doubt("nothing tells any more which files were written to")
            self._put(watch, directory)

    def forget(self, directory: WatchedDirectory) -> None:
        """See `Clock.forget`."""
        with self._lock:
            watch, directory.watch = directory.watch, -1
            # the directory may be known by another place by now
            if self._queues is not None and self._directories.get(watch) is directory:
                del self._directories[watch]
                if self._transient_names.has_new_names(watch):
                    self._marks.doubt("a directory went away with names that had come since the last look")
                if self._is_shared:
                    # another process may just have found the directory elsewhere: the same directory has the same watch
                    self._dropped.add(watch)
                else:
                    self._queues.inotify.remove(watch)

    def share_queues(self) -> tuple[int, ...]:
        """See `Clock.share_queues`."""
        with self._lock:
            if self._queues is None:
                return ()
            self._is_shared = True
            return self._queues.share_queues()

    def adopt_watch(self, watch: int, directory: WatchedDirectory) -> None:
        """See `Clock.adopt_watch`."""
        with self._lock:
            if self._queues is None:
                return
            was_known = watch in self._dropped or self._directories.get(watch, directory) is not directory
            self._put(watch, directory)
            if was_known:
                # what happened since it was listed may have been told of the other place
                self._marks.add(directory, ITSELF)

    def drop_watch(self, watch: int) -> None:
        """See `Clock.drop_watch`."""
        with self._lock:
            self._dropped.add(watch)

    def end_sharing(self) -> None:
        """See `Clock.end_sharing`."""
        with self._lock:
            self._is_shared = False
            self._unadopted.clear()
            orphans, self._dropped = self._dropped, set()
            for watch in orphans:
                if self._queues is not None and watch not in self._directories:
                    self._queues.inotify.remove(watch)

    def take(self) -> Marks:
        """See `Clock.take`."""
        with self._lock:
            if self._queues is None and not self._closed and monotonic() >= self._try_at:
                self._begin()
            self._let_go_of_doubted()
            self._collect()
            if self._transient_names.moved_out():
                self._marks.doubt(_CAME_AND_WENT)
            taken, self._marks = self._marks, Marks()
            if self._queues is None:
                self._marks.doubt(self._trouble or "")
            elif not taken:
                # whoever looks has seen everything, and is watching all of it
                self._transient_names.end()
                self._pause = _SHORTEST_PAUSE
        return taken

    def put_back(self, marks: Marks) -> None:
        """See `Clock.put_back`."""
        with self._lock:
            self._marks.join(marks)

    def listen(self, on_change: Callable[[], None]) -> None:
        """See `Clock.listen`."""
        with self._lock:
            descriptor = self._queues.inotify.descriptor if self._queues is not None else None
            self._listener = _Listener(descriptor, self._gather, on_change)

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
            self._closed = True
            self._let_go()

    def _gather(self) -> bool:
        """Takes what the kernel has queued, so that its queue does not overflow; says whether anything is marked."""
        with self._lock:
            self._collect()
            return bool(self._marks)

    def _put(self, watch: int, directory: WatchedDirectory) -> None:
        before = self._directories.get(watch)
        if before is not None and before is not directory:
            # where that one is not forgotten, the directory may have been moved back to it meanwhile
            before.watch = -1
            self._marks.add(before, ITSELF)
        directory.watch = watch
        self._directories[watch] = directory
        for mask, name in self._unadopted.pop(watch, ()):
            self._mark(watch, directory, mask, name)

    def _mark(self, watch: int, directory: WatchedDirectory, mask: int, name: bytes) -> None:
        if mask & IGNORED:
            # the directory went away; what is above it is told by an event of its own
            del self._directories[watch]
            directory.watch = -1
            self._marks.add(directory, ITSELF)
        else:
            self._marks.add(directory, name)

    def _collect(self) -> None:
        if self._queues is None:
            return
        is_ready, is_mounted = self._queues.poll()
        if not is_ready:
            return
        marks = self._marks
        if is_mounted:
            marks.doubt("something was mounted or unmounted")
        for event in self._queues.inotify.read():
            watch, mask, name, _ = event
            directory = self._directories.get(watch)
            if mask & OVERFLOW or mask & UNMOUNT:
                marks.doubt("the kernel's queue overflowed" if mask & OVERFLOW else "something was unmounted")
                self._doubt_watches()
                continue
            if directory is not None:
                self._mark(watch, directory, mask, name)
            elif self._is_shared:
                self._unadopted.setdefault(watch, []).append((mask, name))
            if (self._queues.written is None or mask & DIRECTORY) and self._transient_names.follow(event):
                marks.doubt(_CAME_AND_WENT)
        if self._queues.written is not None:
            try:
                marks.inodes |= self._queues.written.read()
            except Overflow:
                marks.doubt("the kernel's queue overflowed")

    def _doubt_watches(self) -> None:
        """Has every directory watched anew: that a watch ended with its directory may be among what was not told."""
        self._doubted.update(self._directories)
        for directory in self._directories.values():
            directory.watch = -1

    def _let_go_of_doubted(self) -> None:
        """Ends the doubted watches that the look at everything, which is over, did not ask for again."""
        doubted, self._doubted = self._doubted, {}
        for watch, directory in doubted.items():
            if self._queues is not None and self._directories.get(watch) is directory and directory.watch != watch:
                del self._directories[watch]
                self._queues.inotify.remove(watch)

    def _begin(self) -> None:
        """Tries to be told again."""
        try:
            self._queues = _Queues(self._root)
        except Unsupported:
            raise
        except OSError as error:
            self._give_up(f"no inotify: {error}")
            return
        if self._trouble is not None:
            logger.info("%s: watching is tried again", os.fsdecode(self._root))
            self._marks = Marks()
            self._marks.doubt("watching is tried again")
        self._trouble = None
        if self._listener is not None:
            self._listener.follow(self._queues.inotify.descriptor)

    def _give_up(self, why: str) -> None:
        """Does without watches, and sets when to try again."""
        root = os.fsdecode(self._root)
        logger.warning(
            "%s: %s: each request looks at every file, watching is tried again in %.0f s", root, why, self._pause
        )
        self._try_at = monotonic() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._trouble = why
        self._let_go()
        self._marks = Marks()
        self._marks.doubt(why)

    def _let_go(self) -> None:
        if self._queues is None:
            return
        if self._listener is not None:
            self._listener.follow(None)
        self._queues.close()
        self._queues = None
        for directory in self._directories.values():
            directory.watch = -1
        self._directories.clear()
        self._doubted.clear()
        self._transient_names.end()


class _Listener:
    """A thread that sleeps until the queue has something; where there is none, it tells every now and then.

    Args:
        descriptor: of the queue, if there is one.
        gather: empties the queue, says whether anything is marked.
        told: called then.
    """

    def __init__(self, descriptor: int | None, gather: Callable[[], bool], on_change: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._gather = gather
        self._on_change = on_change
        self._stopped = threading.Event()
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="snapd-watch", daemon=True)
        self._thread.start()

    def follow(self, descriptor: int | None) -> None:
        """From now on it is this queue; with None, the one there was is about to be closed."""
        self._descriptor = descriptor
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
                self._on_change()
            self._stopped.wait(_GATHER_SECONDS)
