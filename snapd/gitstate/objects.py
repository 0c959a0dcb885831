"""Keeps the objects of the project's git: a second directory of objects in the store, with links to the files of git's.

So whatever a recorded state names outlasts `git gc --prune=now` and `rm -rf .git`, and nothing has to be parsed for
that. Where links are impossible, files are copied, large packs excepted.

What git has dropped stays until no event is left that is older than that: no later state can name it. This keeps more
than the states reach, such as what was added to the index and never committed, but no history has to be walked.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial

from snapd.model.call import Call
from snapd.model.check_report import Problem
from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId, file_clock_ns
from snapd.store.adopt import COPY_BYTES, own_file
from snapd.store.files.durable import (
    PRIVATE_DIRECTORY,
    DamagedData,
    make_directories,
    read_if_there,
    read_with_retry,
    remove_any,
    remove_if_there,
    status_if_there,
    sync_directory,
    sync_if_there,
    write_file,
)
from snapd.store.files.quarantine import Quarantine
from snapd.store.files.space import PROJECT
from snapd.store.maintenance.sweep import PackRewrite, pack_names, remove_tempfiles
from snapd.store.objects.codec import ObjectKind
from snapd.store.objects.loose import check_loose, describe, loose_files, object_path, read_whole
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_index import TICK_NS, PackIndex, PackIndexes, directory_stamp
from snapd.store.objects.pack_writer import PackWriter
from snapd.worktree.fs.system import can_sync_together, sync_together

_PURGED = "purged"
"""The file with the ids of purged contents, which are not stored again though git has them."""
_DROPPED = "dropped"
"""The ending of a file beside a pack that git has no more; its time is when that was noticed."""
_PARTS = ("rev", "mtimes", "promisor", "pack", "idx")
"""The files of a pack, in the order in which they are made: a pack counts once it has its index."""
_ATTEMPTS = 3
_WHOLE_FROM = 50_000
"""A dropped pack with more objects that are nowhere else stays as it is."""
_LOOSE = re.compile("[0-9a-f]{38}")


class ProjectObjects:
    """The objects kept for one store. Only one thread at a time may change them."""

    def __init__(self, store: str) -> None:
        self._directory = os.path.join(store, PROJECT)
        self.objects = os.path.join(self._directory, "objects")
        self.pack_directory = os.path.join(self.objects, "pack")
        self._packs = PackIndexes(self.pack_directory)
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self._purged: frozenset[ObjectId] | None = None
        self.lacks_some = False

    def add(self, source: bytes) -> None:
        """Adds what an `objects` directory of git has, durably; sets `lacks_some` if a file cannot be kept.

        Raises `StorageFull` and `IoError`.
        """
        theirs = os.fsdecode(source)
        with os_errors(self.objects):
            if not os.path.isdir(self.pack_directory):
                make_directories(self.pack_directory)
                self._stamps.clear()
            made: list[str] = []
            self.lacks_some = False
            for _ in range(_ATTEMPTS):
                # git packs loose objects and unpacks others at any time, always before it removes the old files
                before = directory_stamp(os.path.join(theirs, "pack"))
                made += self._add_loose(theirs)
                made += self._add_packs(os.path.join(theirs, "pack"))
                if before == directory_stamp(os.path.join(theirs, "pack")):
                    break
            self._sync(made)

    def _add_loose(self, theirs: str) -> Iterator[str]:
        for name in _names(theirs):
            directory = os.path.join(theirs, name)
            if len(name) != 2 or (stamp := directory_stamp(directory)) is None or self._stamps.get(name) == stamp:
                continue
            settled = file_clock_ns() - max(stamp) > TICK_NS
            ours = os.path.join(self.objects, name)
            with suppress(FileExistsError):
                os.mkdir(ours, PRIVATE_DIRECTORY)
            known = set(os.listdir(ours))
            for file in _names(directory):
                if file not in known and _LOOSE.fullmatch(file) and bytes.fromhex(name + file) not in self.purged:
                    yield from self._own(os.path.join(directory, file), os.path.join(ours, file))
            self._stamps[name] = stamp if settled else None

    def _add_packs(self, theirs: str) -> Iterator[str]:
        for name in _names(theirs):
            base, ours = os.path.join(theirs, name[:-4]), os.path.join(self.pack_directory, name[:-4])
            if not (name.startswith("pack-") and name.endswith(".idx")) or os.path.exists(f"{ours}.idx"):
                continue
            if self.purged:
                index = PackIndex.load(f"{base}.idx", f"{base}.pack")
                if index is None or index.among(self.purged):
                    self.lacks_some = True
                    continue
            for part in _PARTS:
                if os.path.exists(f"{base}.{part}") and not os.path.exists(f"{ours}.{part}"):
                    yield from self._own(f"{base}.{part}", f"{ours}.{part}")
                if part == "pack" and not os.path.exists(f"{ours}.pack"):
                    break

    def _own(self, source: str, target: str) -> Iterator[str]:
        temporary = os.path.join(self.objects, f"tmp_own_{secrets.token_hex(8)}")
        try:
            if own_file(source, temporary, COPY_BYTES):
                os.rename(temporary, target)
                yield target
            elif os.path.exists(source):
                self.lacks_some = True
        finally:
            # a rename onto another name of the same file leaves both
            remove_if_there(temporary)

    def _sync(self, made: Collection[str]) -> None:
        if not made:
            return
        descriptor = os.open(self.objects, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # git does not sync loose objects itself
            if can_sync_together(descriptor) and sync_together(descriptor):
                return
        finally:
            os.close(descriptor)
        for path in made:
            sync_if_there(path)
        for directory in {os.path.dirname(path) for path in made} | {self.objects}:
            sync_directory(directory)

    # -- reading

    def read(self, oid: ObjectId) -> tuple[ObjectKind, bytes]:
        """Reads an object; raises `StoreCorrupt` if it is missing or damaged."""
        result = self._packs.read(oid) or read_whole(object_path(self.objects, oid), oid)
        if result is None:
            raise StoreCorrupt(f"object {oid.hex()} of the project is missing", object=oid.hex())
        return result

    def describe(self, oid: ObjectId) -> tuple[ObjectKind, int]:
        """Returns the type and the size of an object; raises as `read`."""
        result = self._packs.describe(oid) or describe(object_path(self.objects, oid), oid)
        return result or (self.read(oid)[0], 0)

    def has_any(self, wanted: Collection[ObjectId]) -> bool:
        """Whether any of these objects is here."""
        return bool(self._among(wanted))

    # -- what goes

    def clean(self, source: bytes | None, since: int | None, call: Call) -> None:
        """Removes what neither git has nor any event can name.

        `source` is git's `objects` directory, None if there is none; `since`, when the first event with a git state was
        recorded, in milliseconds since 1970, None if there is none. May be cancelled at any time.
        """
        if not os.path.isdir(self.objects):
            return
        if since is None:
            self._stamps.clear()
            remove_any(self._directory)
            return
        remove_tempfiles(self._directory)
        if source is not None:
            self.add(source)
        theirs = os.fsdecode(source) if source is not None else ""
        with os_errors(self.objects):
            present: dict[str, PackIndex] = {}
            gone: dict[str, PackIndex] = {}
            for name in pack_names(self.pack_directory):
                dropped = status_if_there(self._path(name, _DROPPED))
                index = self._index(name)
                if index is None:
                    # `check` reports it
                    continue
                if theirs and os.path.exists(os.path.join(theirs, "pack", f"{name}.pack")):
                    remove_if_there(self._path(name, _DROPPED))
                    present[name] = index
                elif dropped is None:
                    gone[name] = index
                elif dropped.st_mtime_ns < since * 1_000_000:
                    self._remove(name)
                else:
                    present[name] = index
            rest: set[ObjectId] = set()
            for name, index in gone.items():
                rest |= self._reduced(name, index, present, call)
            damaged = self._pack_rest(theirs, rest, present, call)
            for name in gone.keys() - present.keys():
                # what is damaged stays for `check`
                if not gone[name].among(damaged):
                    self._remove(name)
            self._packs.forget()

    def _reduced(self, name: str, index: PackIndex, present: dict[str, PackIndex], call: Call) -> set[ObjectId]:
        """Returns the objects of a dropped pack that no pack in `present` has; adds the pack there if it stays."""
        needed = set[ObjectId]()
        for first in range(256):
            call.check()
            bucket = index.ids_in(first)
            for other in present.values():
                bucket -= other.ids_in(first)
            needed |= bucket
        if len(needed) > min(index.count // 2, _WHOLE_FROM):
            write_file(self._path(name, _DROPPED), b"")
            present[name] = index
            return set()
        return needed

    def _pack_rest(
        self, theirs: str, rest: set[ObjectId], present: Mapping[str, PackIndex], call: Call
    ) -> set[ObjectId]:
        """Makes one pack of the `rest` of dropped packs and of dropped loose objects; removes these loose files.

        Returns the objects that cannot be read.
        """
        loose = {
            oid for oid, _ in loose_files(self.objects) if not (theirs and os.path.exists(object_path(theirs, oid)))
        }
        missing = loose | rest
        for index in present.values():
            missing -= index.among(missing)
        damaged: set[ObjectId] = set()
        if missing:
            self._pack(self._read_sound(missing, damaged), call)
        for oid in loose - damaged:
            remove_if_there(object_path(self.objects, oid))
        return damaged

    def _read_sound(
        self, wanted: Iterable[ObjectId], damaged: set[ObjectId]
    ) -> Iterator[tuple[ObjectId, tuple[ObjectKind, bytes]]]:
        """Reads objects, and adds those that cannot be read to `damaged`."""
        for oid in sorted(wanted):
            try:
                yield oid, self.read(oid)
            except StoreCorrupt:
                damaged.add(oid)

    def _index(self, name: str) -> PackIndex | None:
        return PackIndex.load(self._path(name, "idx"), self._path(name, "pack"))

    def _path(self, name: str, part: str) -> str:
        return os.path.join(self.pack_directory, f"{name}.{part}")

    def _remove(self, name: str) -> None:
        for part in (*reversed(_PARTS), _DROPPED):
            remove_if_there(self._path(name, part))

    # -- purge

    @property
    def purged(self) -> frozenset[ObjectId]:
        """The contents that were purged."""
        if self._purged is None:
            lines = (read_if_there(os.path.join(self._directory, _PURGED)) or b"").split()
            self._purged = frozenset(bytes.fromhex(line.decode()) for line in lines)
        return self._purged

    def purge(self, contents: Collection[ObjectId], call: Call) -> None:
        """Removes contents, and notes those that were here, which are not to be stored again; repeat it after an error.

        Nothing in the store names contents that git never had.
        """
        if not (purged := self._among(contents)):
            return
        self._purged = self.purged | purged
        lines = b"".join(oid.hex().encode() + b"\n" for oid in sorted(self._purged))
        write_file(os.path.join(self._directory, _PURGED), lines)
        remove_tempfiles(self._directory, at_once=True)
        for name in pack_names(self.pack_directory):
            path = os.path.join(self.pack_directory, name)
            index = PackIndex.load_checked(path)
            if not index.among(purged):
                continue
            if staying := index.ids() - self._purged:
                with closing(PackRewrite(self, path, index, staying)) as rewrite:
                    rewrite.write(call)
            self._remove(name)
        for oid in purged:
            remove_if_there(object_path(self.objects, oid))
        self._packs.forget()

    def _among(self, wanted: Collection[ObjectId]) -> set[ObjectId]:
        return self._packs.among(wanted) | {oid for oid in wanted if os.path.exists(object_path(self.objects, oid))}

    # -- checking

    def check(self, call: Call, quarantine: Quarantine | None = None, source: bytes | None = None) -> Iterator[Problem]:
        """Reads the files that git does not have, and yields those that are damaged, which a repair moves.

        `source` is git's `objects` directory; None if there is none, or it is unknown.
        """
        # imported late, as fsck itself is
        from snapd.store.fsck.walk import flaw_of

        if not os.path.isdir(self.pack_directory):
            return
        theirs = None if source is None else os.fsdecode(source)
        flaws: dict[str, str] = {}
        for name in pack_names(self.pack_directory):
            path = self._path(name, "pack")
            if theirs is not None and _are_same(path, os.path.join(theirs, "pack", f"{name}.pack")):
                continue
            index = self._index(name)
            flaw = "its index does not fit" if index is None else flaw_of(path, call, count=index.count)
            if flaw is not None:
                flaws[name] = flaw
        if quarantine is not None and flaws:
            self._pack_readable(flaws.keys(), call)
            self._packs.forget()
        for name, flaw in flaws.items():
            if quarantine is not None:
                quarantine.move(self._path(name, "pack"), flaw)
                self._remove(name)
            subject = os.path.join(PROJECT, "objects", "pack", f"{name}.pack")
            yield Problem("damagedPack", subject, f"objects of the project's git: {flaw}")
        for oid, entry in loose_files(self.objects):
            call.check()
            try:
                if theirs is None or not _are_same(entry.path, object_path(theirs, oid)):
                    read_with_retry(partial(check_loose, entry.path, oid))
            except DamagedData as error:
                if quarantine is not None:
                    quarantine.move(entry.path, str(error))
                message = f"an object of the project's git: {error}"
                yield Problem("damagedObject", oid.hex(), message)

    def _pack_readable(self, flawed: Collection[str], call: Call) -> None:
        """Makes one pack of the sound objects that only flawed packs have."""
        from snapd.store.fsck.inventory import ObjectInventory

        with ObjectInventory(self.objects) as inventory:
            inventory.rebuild_indexes(call)
            flawed_packs = [inventory.packs.pop(name) for name in flawed if name in inventory.packs]
            oids = {oid for pack in flawed_packs for oid in pack.index.ids() if not inventory.has(oid)}
            read = ((oid, next(filter(None, (pack.read(oid) for pack in flawed_packs)), None)) for oid in sorted(oids))
            self._pack(((oid, whole) for oid, whole in read if whole is not None), call)

    def _pack(self, objects: Iterable[tuple[ObjectId, tuple[ObjectKind, bytes]]], call: Call) -> None:
        """Makes a pack, which git does not have; none of no objects."""
        pack, is_empty = PackWriter(self.pack_directory), True
        try:
            for oid, whole in objects:
                call.check()
                pack.add(oid, pack_object(*whole))
                is_empty = False
            if not is_empty:
                write_file(f"{pack.finish()}.{_DROPPED}", b"")
        finally:
            pack.discard()


def _are_same(path: str, other: str) -> bool:
    """Whether two paths are names of one file."""
    one, two = status_if_there(path), status_if_there(other)
    return one is not None and two is not None and os.path.samestat(one, two)


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
