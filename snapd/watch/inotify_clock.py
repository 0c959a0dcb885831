"""The clock of Linux: an inotify watch on each directory that is not ignored."""

from __future__ import annotations

import errno
import logging
import os
import re
import select
import threading
from collections.abc import Callable
from time import monotonic

from snapd.watch.clock import ITSELF, Marks, WatchedDirectory
from snapd.watch.queues import (
    CREATE,
    DELETE,
    DIRECTORY,
    IGNORED,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    UNMOUNT,
    Event,
    Fanotify,
    Inotify,
    Overflow,
    Unsupported,
    layout_of,
)

logger = logging.getLogger(__name__)

_WATCHES_USED_UP = (errno.ENOSPC, errno.ENOMEM)
_NONE_LEFT = "no inotify watches are left (fs.inotify.max_user_watches)"
SHORTEST_PAUSE = 30.0  # seconds from a failure to the next attempt; doubled after each further one
LONGEST_PAUSE = 600.0
_CAME_AND_WENT = "a name came and went, and may have been a name of any file"
_HEAD_START_SECONDS = 0.01
"""How long the listener's thread leaves a change to a request, which may follow at once and reads the queue itself."""
_GATHER_SECONDS = 0.05  # the listener's thread wakes up twenty times a second at most
POLL_SECONDS = 2.0  # between calls of a listener while there are no watches


class TransientNames:
    """Tracks names that come and go between scans, until `end`.

    It errs on the safe side: a name that came once counts as new until the end, because two renames may have swapped
    names. `is_own` is whether a name is that of a file of snapd's own.
    """

    def __init__(self, is_own: Callable[[bytes], object]) -> None:
        self._is_own = is_own
        self._came: dict[int, set[bytes]] = {}
        self._leaving: dict[int, bool] = {}

    def follow(self, event: Event) -> bool:
        """Handles one event; returns whether a name that came since the last scan is gone."""
        came = self._came.setdefault(event.watch, set())
        if event.mask & MOVED_FROM:
            self._leaving[event.cookie] = event.name in came
            return False
        was_there = event.name in came
        if event.mask & MOVED_TO:
            if self._leaving.pop(event.cookie, True):
                came.add(event.name)
            return was_there
        if event.mask & CREATE and not self._is_own(event.name):
            came.add(event.name)
        return bool(event.mask & DELETE) and was_there

    def moved_out(self) -> bool:
        """Returns whether a new name was moved to an unwatched place; call it when the queue is empty."""
        leaving, self._leaving = self._leaving, {}
        return any(leaving.values())

    def has_new_names(self, watch: int) -> bool:
        """Returns whether a directory has, or had, a new name."""
        return bool(self._came.get(watch))

    def end(self) -> None:
        """Starts over: a scan has seen all current names."""
        self._came.clear()


ESCAPE = re.compile(rb"\\([0-7]{3})")
# network file systems, and those served by a program (fuse, 9p, virtiofs, vboxsf), can change without this kernel
_LOCAL = {"bcachefs", "btrfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "hfsplus", "jfs", "nilfs2"}
_LOCAL |= {"ntfs", "ntfs3", "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "udf", "ufs", "vfat", "xfs", "zfs"}


def file_system(descriptor: int) -> str | None:
    """Returns the type of a descriptor's file system (proc_pid_mountinfo(5)); None if it cannot be read."""
    try:
        mount = field(f"/proc/self/fdinfo/{descriptor}", "mnt_id:")
        with open("/proc/self/mountinfo", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        before, _, after = line.partition(b" - ")
        if before.split(b" ", 1)[0] == mount:
            return os.fsdecode(after.split(b" ", 1)[0])
    return None


def reports_all_changes(file_system: str | None) -> bool:
    """Returns whether every change of a file there raises an event."""
    return file_system in _LOCAL


class Mounts:
    """Detects mounts and unmounts below an absolute path; raises `OSError` without `/proc`."""

    def __init__(self, root: bytes) -> None:
        self._below = (root.rstrip(b"/") or b"") + b"/"
        # poll(2) reports it whenever a mount comes or goes, anywhere
        self._descriptor = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._known = self._read()

    def register(self, poll: select.poll) -> int:
        """Adds itself to a poll; returns the descriptor that the poll will report."""
        poll.register(self._descriptor, select.POLLPRI | select.POLLERR)
        return self._descriptor

    def changed(self) -> bool:
        """Returns whether the mounts below the folder have changed since the last call."""
        before, self._known = self._known, self._read()
        return self._known != before

    def close(self) -> None:
        """Closes the descriptor."""
        os.close(self._descriptor)

    def _read(self) -> frozenset[tuple[bytes, bytes]]:
        with open("/proc/self/mountinfo", "rb") as file:
            mounts = [line.split(b" ", 5) for line in file]
        points = ((mount[0], ESCAPE.sub(unescaped, mount[4])) for mount in mounts)
        return frozenset((number, point) for number, point in points if (point + b"/").startswith(self._below))


def unescaped(match: re.Match[bytes]) -> bytes:
    """Returns the byte of an octal escape in `/proc/self/mountinfo`."""
    return bytes((int(match[1], 8),))


def field(path: str, name: str) -> bytes:
    """Returns a value in a file of `/proc`; empty if there is none."""
    with open(path, "rb") as file:
        for line in file:
            if line.startswith(name.encode()):
                return line.split()[1]
    return b""


class _Queues:
    """The kernel's queues: changed names, written files (None without fanotify), mounts; raises `OSError`."""

    def __init__(self, root: bytes) -> None:
        self.inotify = Inotify()
        try:
            self._mounts = Mounts(root)
        except OSError:
            self.inotify.close()
            raise
        self.written = what_is_written(root)
        self._poll = select.poll()
        self._poll.register(self.inotify.descriptor, select.POLLIN)
        self._mounts_descriptor = self._mounts.register(self._poll)
        if self.written is not None:
            self._poll.register(self.written.descriptor, select.POLLIN)

    def share_queues(self) -> tuple[int, ...]:
        own = self.inotify.descriptor
        return (own,) if self.written is None else (own, self.written.descriptor)

    def poll(self) -> tuple[bool, bool]:
        """Returns whether there are events, and whether something below the root was mounted or unmounted."""
        ready = self._poll.poll(0)
        return bool(ready), any(at == self._mounts_descriptor for at, _ in ready) and self._mounts.changed()

    def stop_writes(self) -> None:
        if self.written is not None:
            self._poll.unregister(self.written.descriptor)
            self.written.close()
            self.written = None

    def close(self) -> None:
        self.stop_writes()
        self.inotify.close()
        self._mounts.close()


def what_is_written(root: bytes) -> Fanotify | None:
    """Returns the queue of written files; None if the system has none."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return Fanotify(layout_of(descriptor, file_system(descriptor)))
        finally:
            os.close(descriptor)
    except OSError as error:
        logger.info("no fanotify, a new name that goes again causes a look at all files: %s", error)
        return None


class InotifyClock:
    """A `Clock` of inotify watches. Without a queue or enough watches, it marks everything.

    It then releases its watches, and tries again after a pause, at the next scan. A file may have been written to by a
    name (a hard link) that is gone by the time of the scan: if fanotify does not report the file (`Marks.inodes`), any
    name that came and went marks everything, and so does a directory, since nothing watched its contents.

    `root` is absolute; `is_own` is as in `TransientNames`. Raises `Unsupported` if there is no inotify.
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
        self._pause = SHORTEST_PAUSE
        self._try_at = 0.0
        self.queues: _Queues | None = None
        self._marks.doubt("the folder was opened")
        self._open_queues()

    @property
    def kind(self) -> str:
        """`inotify`; `none` while nothing is watched, and every scan is a full one."""
        return "inotify" if self.queues is not None else "none"

    @property
    def reason(self) -> str | None:
        """See `Clock.reason`."""
        return self._trouble

    @property
    def exact(self) -> bool:
        """See `Clock.exact`."""
        return self.queues is not None

    def watch(self, descriptor: int, directory: WatchedDirectory) -> None:
        """See `Clock.watch`."""
        with self._lock:
            if self.queues is None:
                return
            try:
                watch = self.queues.inotify.add(descriptor)
            except OSError as error:
                if error.errno not in _WATCHES_USED_UP:
                    raise
                self._give_up(_NONE_LEFT)
                return
            if self.queues.written is not None:
                try:
                    self.queues.written.add(descriptor)
                except OSError as error:
                    logger.info("fanotify ended, a new name that goes again causes a look at all files: %s", error)
                    self.queues.stop_writes()
                    self._marks.doubt("fanotify no longer reports which files were written to")
            self._put(watch, directory)

    def forget(self, directory: WatchedDirectory) -> None:
        """See `Clock.forget`."""
        with self._lock:
            watch, directory.watch = directory.watch, -1
            # the directory may have moved: another node may have its watch
            if self.queues is not None and self._directories.get(watch) is directory:
                del self._directories[watch]
                if self._transient_names.has_new_names(watch):
                    self._marks.doubt("a directory with names that came since the last look is gone")
                if self._is_shared:
                    # the lister process may just have found the directory elsewhere, with the same watch
                    self._dropped.add(watch)
                else:
                    self.queues.inotify.remove(watch)

    def share_queues(self) -> tuple[int, ...]:
        """See `Clock.share_queues`."""
        with self._lock:
            if self.queues is None:
                return ()
            self._is_shared = True
            return self.queues.share_queues()

    def adopt_watch(self, watch: int, directory: WatchedDirectory) -> None:
        """See `Clock.adopt_watch`."""
        with self._lock:
            if self.queues is None:
                return
            was_another = watch in self._dropped or self._directories.get(watch, directory) is not directory
            self._put(watch, directory)
            if was_another:
                # changes since the listing may have marked the other node
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
                if self.queues is not None and watch not in self._directories:
                    self.queues.inotify.remove(watch)

    def take(self) -> Marks:
        """See `Clock.take`."""
        with self._lock:
            if self.queues is None and not self._closed and monotonic() >= self._try_at:
                self._open_queues()
            self._remove_doubtful()
            self._collect()
            if self._transient_names.moved_out():
                self._marks.doubt(_CAME_AND_WENT)
            taken, self._marks = self._marks, Marks()
            if self.queues is None:
                self._marks.doubt(self._trouble or "")
            elif not taken:
                # the scan has seen everything, and watches all of it
                self._transient_names.end()
                self._pause = SHORTEST_PAUSE
        return taken

    def put_back(self, marks: Marks) -> None:
        """See `Clock.put_back`."""
        with self._lock:
            self._marks.join(marks)

    def listen(self, on_change: Callable[[], None]) -> None:
        """See `Clock.listen`."""
        with self._lock:
            descriptor = self.queues.inotify.descriptor if self.queues is not None else None
            self._listener = _Listener(descriptor, self.gather, on_change)

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
            self._close_queues()

    def gather(self) -> bool:
        """Empties the kernel's queue before it overflows; returns whether anything is marked."""
        with self._lock:
            self._collect()
            return bool(self._marks)

    def _put(self, watch: int, directory: WatchedDirectory) -> None:
        before = self._directories.get(watch)
        if before is not None and before is not directory:
            # unless that node is forgotten, the directory may have moved back to it meanwhile
            before.watch = -1
            self._marks.add(before, ITSELF)
        directory.watch = watch
        self._directories[watch] = directory
        for mask, name in self._unadopted.pop(watch, ()):
            self._mark(watch, directory, mask, name)

    def _mark(self, watch: int, directory: WatchedDirectory, mask: int, name: bytes) -> None:
        if mask & IGNORED:
            # the directory is gone; the one above it gets an event of its own
            del self._directories[watch]
            directory.watch = -1
            self._marks.add(directory, ITSELF)
        else:
            self._marks.add(directory, name)

    def _collect(self) -> None:
        if self.queues is None:
            return
        is_ready, is_mounted = self.queues.poll()
        if not is_ready:
            return
        marks = self._marks
        if is_mounted:
            marks.doubt("something was mounted or unmounted")
        for event in self.queues.inotify.read():
            watch, mask, name, _ = event
            directory = self._directories.get(watch)
            if mask & OVERFLOW or mask & UNMOUNT:
                marks.doubt("the kernel's queue overflowed" if mask & OVERFLOW else "something was unmounted")
                self._mark_watches_doubtful()
                continue
            if directory is not None:
                self._mark(watch, directory, mask, name)
            elif self._is_shared:
                self._unadopted.setdefault(watch, []).append((mask, name))
            if (self.queues.written is None or mask & DIRECTORY) and self._transient_names.follow(event):
                marks.doubt(_CAME_AND_WENT)
        if self.queues.written is not None:
            try:
                marks.inodes |= self.queues.written.read()
            except Overflow:
                marks.doubt("the kernel's queue overflowed")

    def _mark_watches_doubtful(self) -> None:
        """Makes the next scan watch every directory again: the lost events may include the end of a watch."""
        self._doubted.update(self._directories)
        for directory in self._directories.values():
            directory.watch = -1

    def _remove_doubtful(self) -> None:
        """Ends the doubtful watches that the full scan did not renew."""
        doubted, self._doubted = self._doubted, {}
        for watch, directory in doubted.items():
            if self.queues is not None and self._directories.get(watch) is directory and directory.watch != watch:
                del self._directories[watch]
                self.queues.inotify.remove(watch)

    def _open_queues(self) -> None:
        try:
            self.queues = _Queues(self._root)
        except Unsupported:
            raise
        except OSError as error:
            self._give_up(f"no inotify: {error}")
            return
        if self._trouble is not None:
            logger.info("%s: watching again", os.fsdecode(self._root))
            self._marks = Marks()
            self._marks.doubt("watching again after a pause")
        self._trouble = None
        if self._listener is not None:
            self._listener.follow(self.queues.inotify.descriptor)

    def _give_up(self, why: str) -> None:
        """Releases the watches, and sets the time of the next attempt."""
        root = os.fsdecode(self._root)
        logger.warning("%s: %s: each request looks at every file; watching again in %.0f s", root, why, self._pause)
        self._try_at = monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._trouble = why
        self._close_queues()
        self._marks = Marks()
        self._marks.doubt(why)

    def _close_queues(self) -> None:
        if self.queues is None:
            return
        if self._listener is not None:
            self._listener.follow(None)
        self.queues.close()
        self.queues = None
        for directory in self._directories.values():
            directory.watch = -1
        self._directories.clear()
        self._doubted.clear()
        self._transient_names.end()


class _Listener:
    """A thread that sleeps until the queue has events; without a queue, for `POLL_SECONDS`.

    `gather` empties the queue, and returns whether anything is marked; then `on_change` is called.
    """

    def __init__(self, descriptor: int | None, gather: Callable[[], bool], on_change: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self.gather = gather
        self._on_change = on_change
        self._stopped = threading.Event()
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._run, name="snapd-watch", daemon=True)
        self._thread.start()

    def follow(self, descriptor: int | None) -> None:
        """Switches to another queue; to None before the current one is closed."""
        self._descriptor = descriptor
        os.write(self._waker, b".")

    def stop(self) -> None:
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
            ready = poll.poll(None if descriptor is not None else POLL_SECONDS * 1000)
            if any(result == self._wake for result, _ in ready):
                os.read(self._wake, 1)
                continue
            self._stopped.wait(_HEAD_START_SECONDS)
            if self.gather():
                self._on_change()
            self._stopped.wait(_GATHER_SECONDS)
