"""The journal: what a step stores becomes durable by one append and one `fdatasync`.

A small batch waits in memory until a snapshot is recorded. Then one frame with its objects and the moving references is
appended to the journal file. From then on they are recorded. A thread *publishes* them once the journal rests: it
writes them as files of the repository, without a sync. Until then, and on a full disk, they are read from memory. After
a crash all is written again, so every object is either synced or in a journal. From time to time a new journal file is
begun; a thread syncs the files that the old one covers, and removes it.

A frame may also have the *intent* of an operation: what it is about to do to the folder, until another frame records
the operation. A file is kept while its intent is in force.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import IoError, SnapdError, os_errors
from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import (
    PRIVATE_FILE,
    NewerFormat,
    make_directories,
    names_if_there,
    read_if_there,
    remove_if_there,
    sync_data,
    sync_directory,
    sync_if_there,
    write_all,
)
from snapd.store.files.quarantine import Quarantine
from snapd.store.objects.loose import expand_loose, kind_of, loose_files, object_path, write_loose
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_writer import PackWriter
from snapd.store.refs.database import ReferenceDatabase

from .frames import FORMAT_BYTES, Frame, decode_frames, encode_frame, file_start, has_gap, newer_format, without_intents

Before = Callable[[ObjectId], ObjectId | None]
"""Returns the parent of a commit; None if there is none, or it cannot be read."""


logger = logging.getLogger(__name__)

JOURNAL = "journal"
"""The directory of the journal files, in the store."""

FILE_FRAMES = 256
FILE_BYTES = 8 << 20
"""From this many frames or bytes on, a new file is begun: this is the most that an opening after a crash replays."""

WAITING_BYTES = 8 << 20
"""The most bytes that wait in memory for a record, so that steps that fail before it do not add up.

Also the most that wait there to be published, while that fails.
"""

REST_SECONDS = 0.05
"""What was recorded is published after this time without another record, so that writing files delays no step."""

_in_turn = threading.Lock()
"""One journal at a time is settled in the background: requests of all folders share the interpreter with it."""

LOOSE_MOST = 32
"""More objects than this are published as a pack: it costs a few files and syncs, however many objects it has."""


def replayed(present: Mapping[str, ObjectId], moving: Mapping[str, ObjectId], before: Before) -> dict[str, ObjectId]:
    """Returns the targets of the references in the repository (`present`) after a journal's moves (`moving`).

    A reference moves after its frame is on the disk. So if one is newer than the journal, a damaged frame moved it, and
    its target was acknowledged.
    """
    return {
        name: present[name] if name in present and _leads(present[name], target, before) else target
        for name, target in moving.items()
    }


def _leads(newer: ObjectId, older: ObjectId, before: Before) -> bool:
    down: ObjectId | None = newer
    # walked from both ends, so that the cost is the distance between them, whichever is newer
    other: ObjectId | None = older
    while down is not None or other is not None:
        if down == older:
            return True
        if other == newer:
            return False
        down = before(down) if down is not None else None
        other = before(other) if other is not None else None
    return False


@attrs.define(eq=False)
class _File:
    """A journal file."""

    path: str
    start: bytes = b""  # its first bytes
    descriptor: int | None = None  # open for writing; None if it is complete
    objects: set[ObjectId] = attrs.field(factory=set)
    references: set[str] = attrs.field(factory=set)  # the names of those that its frames move
    frames: int = 0
    size: int = 0  # of the frames, in bytes
    is_synced: bool = True  # whether all of its frames were
    # whether a sync failed once: a later success proves nothing then, so everything is written to the repository again
    doubted: bool = False


class Journal:
    """Makes small steps durable, in a store that the caller owns. Safe to use from several threads."""

    def __init__(self, path: str, references: ReferenceDatabase) -> None:
        self.intent = b""  # of an operation that is not recorded yet
        self._with_intent: _File | None = None
        self._is_closed = False
        self._references = references
        self._objects = os.path.join(path, "objects")
        self._store = path
        self._directory = os.path.join(path, JOURNAL)
        self._lock = threading.RLock()
        self._settle_lock = threading.Lock()
        self._publish_lock = threading.Lock()
        self._waiting: dict[ObjectId, bytes] = {}
        self.waiting_bytes = 0
        # in a journal file, and not published yet
        self._recorded: dict[ObjectId, bytes] = {}
        self.recorded_bytes = 0
        self.moving: dict[str, ObjectId] = {}  # new targets of references; replaced, never changed
        self._file: _File | None = None
        self._old: list[_File] = []
        self._number = 0
        self.was_replayed = False  # whether there was a journal at the opening: the last process was killed
        self.loose_written = 0  # loose objects since the opening

    def __contains__(self, oid: ObjectId) -> bool:
        """Whether the object is in memory and may not be in a file of the repository yet."""
        return oid in self._waiting or oid in self._recorded

    def waiting(self, oid: ObjectId) -> bytes | None:
        """Returns the bytes of the loose file of an object that is in memory, else None."""
        return self._waiting.get(oid) or self._recorded.get(oid)

    def __bool__(self) -> bool:
        """Whether any object is in memory."""
        return bool(self._waiting or self._recorded)

    def add(self, objects: Mapping[ObjectId, bytes]) -> None:
        """Adds objects, as loose files by id, for the next `flush`.

        Raises `StorageFull` or `IoError`, and adds nothing, if too much waits already and cannot be written.
        """
        if self.waiting_bytes > WAITING_BYTES:
            self.flush()
        with self._lock:
            self._waiting.update(objects)
            self.waiting_bytes += sum(map(len, objects.values()))

    def flush(
        self, references: Mapping[str, ObjectId] | None = None, intent: bytes | None = None, *, durable: bool = True
    ) -> None:
        """Makes the added objects durable, moves references, and sets the intent (empty for none, None for no change).

        Unless `durable`, this frame may be lost when the power fails before the next one that is. After `StorageFull`
        or `IoError`, the references did not move, and their new commits are dropped; the intent is unchanged; the other
        objects wait for the next flush. (If the disk fails more than once here, some of this may be done when the store
        is next opened after a crash.)
        """
        if self.recorded_bytes > WAITING_BYTES:
            self.publish()
        if any(not file.is_synced for file in self._old):
            # a later frame must not be on the disk without the earlier ones
            self._settle_old()
        with self._lock:
            frame = Frame(self._waiting, references or {}, intent)
            if not frame.objects and not frame.references and intent is None:
                return
            try:
                with os_errors(self._directory):
                    file = self._append(frame, durable=durable)
            except BaseException:
                self._give_up(_heads(frame))
                raise
            # before it leaves the other dict, where others look first
            self._recorded |= frame.objects
            self.recorded_bytes += self.waiting_bytes
            self.moving = {**self.moving, **frame.references}
            self._waiting = {}
            self.waiting_bytes = 0
            self._done(file, frame)
        publish_later(self)

    def publish_in_background(self) -> None:
        """Publishes what was recorded; a failure is logged, and the next record tries again."""
        try:
            self.publish()
        except (SnapdError, MemoryError) as error:
            # nothing is lost: all of it is in the journal
            logger.warning("%s: what was recorded last is in the journal only: %s", self._store, error)

    def publish(self) -> None:
        """Writes what was recorded as files of the repository, where git finds it, without a sync.

        After `StorageFull` or `IoError`, the rest stays in memory and in the journal.
        """
        with self._publish_lock:
            with self._lock:
                objects, moving = dict(self._recorded), self.moving
                if self._is_closed or not (objects or moving):
                    return
                # else a power cut could leave what git sees newer than the journal
                self._sync_earlier()
            with os_errors(self._store):
                failpoint("journal.publish")
            if len(objects) > LOOSE_MOST:
                self._pack(objects)
            else:
                for oid, compressed in objects.items():
                    write_loose(self._objects, oid, compressed)
                self.loose_written += len(objects)
            self._references.move(moving)
            with self._lock:
                self._recorded = {oid: data for oid, data in self._recorded.items() if oid not in objects}
                self.recorded_bytes -= sum(map(len, objects.values()))
                self.moving = {name: to for name, to in self.moving.items() if moving.get(name) != to}

    def _pack(self, objects: Mapping[ObjectId, bytes]) -> None:
        pack = PackWriter(os.path.join(self._objects, "pack"))
        try:
            for oid, compressed in objects.items():
                expanded = expand_loose(compressed, oid)
                assert expanded is not None
                pack.add(oid, pack_object(*expanded))
            pack.finish()
        except BaseException:
            pack.discard()
            raise

    def give_intent_up(self) -> None:
        """Drops the intent durably, undone; raises `StorageFull`, `IoError` if it may still be carried out."""
        frame = Frame(intent=b"")
        with self._lock, os_errors(self._directory):
            kept_in = self._with_intent
            try:
                file = self._append(frame)
            except OSError as error:
                if error.errno != errno.ENOSPC or kept_in is None:
                    raise
                # needs no space
                with open(kept_in.path, "r+b") as written:
                    data = without_intents(written.read())
                    written.seek(0)
                    written.write(data)
                    written.truncate()
                    written.flush()
                    sync_data(written.fileno())
                self.intent, self._with_intent = b"", None
            else:
                self._done(file, frame)

    def _done(self, file: _File, frame: Frame) -> None:
        if frame.intent is not None:
            self.intent, self._with_intent = frame.intent, file if frame.intent else None
        if file.frames >= FILE_FRAMES or file.size >= FILE_BYTES:
            self._retire()
            # a second such thread would have nothing to do; without one, the next file or the close does it
            with contextlib.suppress(RuntimeError):
                threading.Thread(target=self.settle_in_background, name="snapd journal", daemon=True).start()

    def discard(self) -> frozenset[ObjectId]:
        """Drops the waiting objects; returns their ids. Some may be in the repository nevertheless."""
        with self._lock:
            waiting, self._waiting, self.waiting_bytes = self._waiting, {}, 0
        return frozenset(waiting)

    def checkpoint(self) -> None:
        """Makes everything durable in the repository itself, and removes the journal, except for an intent."""
        self.flush()
        with self._lock, os_errors(self._directory):
            self._retire()
            if self.intent:
                frame = Frame(intent=self.intent)
                self._done(self._append(frame), frame)
        self._settle_old()

    def close(self) -> None:
        """Stops all writing, in the background too: from now on, another process may own the files."""
        with self._settle_lock, self._publish_lock, self._lock:
            self._retire()
            self._old.clear()
            self._is_closed = True

    # -- writing

    def _append(self, frame: Frame, *, durable: bool = True) -> _File:
        file = self._file or self._begin()
        assert file.descriptor is not None
        data = encode_frame(file.start, frame)
        try:
            failpoint("journal.append")
            write_all(file.descriptor, data if file.frames else file.start + data)
            if durable:
                self._sync(file)
            file.is_synced = durable
        except BaseException:
            # it is unknown which part is on the disk, and a second sync would prove nothing; a part of a frame must not
            # go on taking space on a full disk
            with contextlib.suppress(OSError):
                os.ftruncate(file.descriptor, len(file.start) + file.size if file.frames else 0)
            self._retire()
            raise
        file.objects |= frame.objects.keys()
        file.references |= frame.references.keys()
        file.frames += 1
        file.size += len(data)
        return file

    def _sync(self, file: _File) -> None:
        """Syncs the frames of an open file."""
        assert file.descriptor is not None
        try:
            failpoint("journal.sync")
            sync_data(file.descriptor)
        except BaseException:
            # earlier frames are in doubt too, if they were not synced
            file.doubted = not file.is_synced
            raise
        file.is_synced = True

    def _sync_earlier(self) -> None:
        """Makes all frames durable that `flush` left to a later sync."""
        file = self._file
        if file is not None and not file.is_synced:
            with os_errors(file.path):
                try:
                    self._sync(file)
                except BaseException:
                    self._retire()
                    raise

    def _give_up(self, heads: Collection[ObjectId]) -> None:
        """Drops waiting commits: the next attempt makes others."""
        for oid in heads:
            self.waiting_bytes -= len(self._waiting.pop(oid))

    def _begin(self) -> _File:
        if self._is_closed:
            raise IoError(f"{self._store} is closed", hint="open the folder again", errno="EBADF", path=self._store)
        make_directories(self._directory)
        path = os.path.join(self._directory, str(self._number + 1))
        failpoint("journal.begin")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        self._number += 1
        self._file = _File(path, file_start(), descriptor)
        try:
            sync_directory(self._directory)
        except BaseException:
            self._retire()
            raise
        return self._file

    def _retire(self) -> None:
        """Lets the next frame begin a new file."""
        file, self._file = self._file, None
        if file is not None:
            self._old.append(file)
            if file.descriptor is not None:
                if not (file.is_synced or file.doubted):
                    # a failure is noted: the next flush writes the file again
                    with contextlib.suppress(OSError):
                        self._sync(file)
                # the sync has reported every error that a close could report
                with contextlib.suppress(OSError):
                    os.close(file.descriptor)
                file.descriptor = None

    # -- settling

    def settle_in_background(self) -> None:
        """Settles old journals; a failure is logged, and the next checkpoint tries again."""
        try:
            with _in_turn:
                self._settle_old()
        except SnapdError as error:
            # nothing is lost: the journal stays, and the next checkpoint or opening tries again
            logger.warning("a journal could not be written to the repository yet: %s", error.message)

    def _settle_old(self) -> None:
        # in order, each removed durably before the next: an older one alone would set references back
        with self._settle_lock:
            while self._old and self._old[0] is not self._with_intent:
                file = self._old[0]
                with os_errors(file.path):
                    try:
                        self._settle(file)
                    except BaseException:
                        file.doubted = True
                        raise
                    failpoint("journal.remove")
                    remove_if_there(file.path)
                    sync_directory(self._directory)
                with self._lock:
                    self._old.pop(0)

    def _settle(self, file: _File) -> None:
        failpoint("journal.settle")
        self.publish()
        if file.doubted:
            self._write_again(file)
        # a missing object was packed or swept, durably; but a git that packed it has synced its pack and not the name
        directories = {self._objects, os.path.join(self._objects, "pack")}
        for oid in file.objects:
            path = object_path(self._objects, oid)
            if sync_if_there(path):
                directories.add(os.path.dirname(path))
        for directory in sorted(directories):
            with os_errors(directory):
                sync_if_there(directory)
        self._references.settle(file.references)

    def _write_again(self, file: _File) -> None:
        for frame in decode_frames(read_if_there(file.path) or b""):
            for oid, compressed in frame.objects.items():
                write_loose(self._objects, oid, compressed, durable=True)
        self._references.rewrite(file.references)

    # -- opening

    def replay(self, before: Before) -> None:
        """Writes the journal that a crash left into the repository; called once, before anything else.

        Raises `WrittenByNewer`, and does nothing, if a newer snapd wrote a part of it. After other errors the journal
        remains.
        """
        refuse_newer_journal(self._store)
        with os_errors(self._directory):
            moving: dict[str, ObjectId] = {}
            for number in journal_numbers(self._store):
                failpoint("journal.replay")
                file = _File(os.path.join(self._directory, str(number)))
                data = read_if_there(file.path) or b""
                # a file with a second name is in quarantine already: a repair opens the store
                if has_gap(data) and os.stat(file.path).st_nlink == 1:
                    logger.warning(
                        "%s is damaged: its readable frames are replayed, and the file is kept in quarantine", file.path
                    )
                    Quarantine(self._store).keep(file.path, "a part of the journal is damaged")
                for frame in decode_frames(data):
                    file.objects |= frame.objects.keys()
                    file.references |= frame.references.keys()
                    moving.update(frame.references)
                    # the files of the repository may be in the page cache only, so all objects are written again
                    for oid, compressed in frame.objects.items():
                        write_loose(self._objects, oid, compressed, durable=True)
                    if frame.intent is not None:
                        self.intent, self._with_intent = frame.intent, file if frame.intent else None
                self._old.append(file)
                self._number = number
                self.was_replayed = True
            if moving:
                self._move(moving, before)
        self._settle_old()

    def _move(self, moving: Mapping[str, ObjectId], before: Before) -> None:
        present = self._references.read().targets
        targets = replayed(present, moving, before)
        if targets != moving:
            logger.warning(
                "a part of the journal %s is damaged: some references are newer than it, and stay", self._directory
            )
            # what else was in it is unknown, and may be in the page cache only
            targets = {**present, **targets}
            self._old[-1].references |= targets.keys()
            self._old[-1].objects |= {oid for oid, _ in loose_files(self._objects)}
        self._references.move(targets)


class Publisher:
    """Publishes what journals recorded, each once it rests, in one thread for all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._due: set[Journal] = set()
        self._busy: set[Journal] = set()  # those that recorded since the thread looked last
        self._thread: threading.Thread | None = None

    def add(self, journal: Journal) -> None:
        """Publishes what a journal has recorded, soon."""
        with self._lock:
            self._due.add(journal)
            self._busy.add(journal)
            # the process may be a fork of the one with the thread
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="snapd publisher", daemon=True)
                # without a thread, the next record tries again, or the close publishes
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            time.sleep(REST_SECONDS)
            with self._lock:
                resting = self._due - self._busy
                self._due, self._busy = self._busy, set()
                if not self._due:
                    self._wake.clear()
            for journal in resting:
                journal.publish_in_background()


publish_later = Publisher().add


def _heads(frame: Frame) -> frozenset[ObjectId]:
    """Returns the commits to which a frame moves references; no other commit of ours has one of them as its parent."""
    targets = frame.objects.keys() & frame.references.values()
    return frozenset(oid for oid in targets if kind_of(frame.objects[oid]) == "commit")


def journal_numbers(store: str) -> Collection[int]:
    """Returns the numbers of the journal files of a store, ascending; raises `IoError`."""
    names = names_if_there(os.path.join(store, JOURNAL))
    return sorted(int(name) for name in names if name.isdecimal())


def waiting(files: Iterable[bytes]) -> tuple[dict[ObjectId, bytes], dict[str, ObjectId]]:
    """Returns what journal files have, oldest first: loose files by object id, and targets of references."""
    objects: dict[ObjectId, bytes] = {}
    references: dict[str, ObjectId] = {}
    for data in files:
        for frame in decode_frames(data):
            objects.update(frame.objects)
            references.update(frame.references)
    return objects, references


def refuse_newer_journal(store: str) -> None:
    """Raises `NewerFormat` if a newer snapd wrote a part of the journal of a store, and `IoError`."""
    directory = os.path.join(store, JOURNAL)
    if os.path.lexists(directory) and not os.path.isdir(directory):
        # this damage is detected later
        return
    with os_errors(directory):
        for number in journal_numbers(store):
            name = os.path.join(JOURNAL, str(number))
            try:
                with open(os.path.join(store, name), "rb") as file:
                    newer = newer_format(file.read(FORMAT_BYTES))
            except (FileNotFoundError, IsADirectoryError):
                continue
            if newer is not None:
                raise NewerFormat(
                    f"{name} in {store} was written by a newer snapd (journal format {newer}): use that one",
                    object=name,
                )
