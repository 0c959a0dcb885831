"""Repairs a store: moves damaged files to quarantine, recovers lost objects from elsewhere, and rebuilds chains.

A kill at any point leaves the store no worse: first the replacement is made durable and the damaged file is kept in
quarantine; only then is it removed, or replaced by a rename.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence

import attrs

from snapd.model.call import Call
from snapd.model.check_report import Problem
from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId, RelPath
from snapd.store.files.durable import make_directories, write_file
from snapd.store.files.quarantine import Quarantine, remove
from snapd.store.journal.journal import JOURNAL
from snapd.store.objects.codec import ObjectKind, decode_tree, object_id
from snapd.store.objects.loose import object_path
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_writer import PackWriter, encode_index
from snapd.store.refs.database import PACKED, ReferenceDatabase
from snapd.store.repository import write_config

from .examine import ROOT, Examination, is_needed, is_only_in_flawed
from .inventory import ObjectInventory, Pack, RebuiltIndex
from .rebuild import rebuild
from .walk import flaw_of

_MODES = 0o077


def repair_files(store: str, problems: Iterable[Problem], quarantine: Quarantine) -> None:
    """Repairs the files in `problems` that are neither objects nor references; after an error, some may be repaired."""
    for problem in problems:
        path = os.path.join(store, problem.subject)
        if problem.kind == "permissions":
            _make_private(path)
        elif problem.kind == "damagedConfig":
            _make_way(path, problem.message, quarantine)
        elif problem.kind == "damagedNumbers" or problem.subject == ROOT:
            quarantine.move(path, problem.message)
        elif problem.kind == "damagedJournal":
            quarantine.keep(path, problem.message)
            if problem.subject == JOURNAL or os.path.isdir(path):
                # nothing in it can be replayed
                remove(path)
            # otherwise its undamaged frames are replayed next, and it is removed
    if any(problem.kind == "damagedConfig" for problem in problems):
        make_directories(os.path.join(store, "info"))
        write_config(store)


def _make_way(path: str, reason: str, quarantine: Quarantine) -> None:
    """Moves what is at the path of a new file to quarantine, and removes a directory there."""
    quarantine.keep(path, reason)
    if os.path.isdir(path):
        remove(path)


def repair_chains(examination: Examination, quarantine: Quarantine) -> list[Problem]:
    """Rebuilds broken chains and those without a reference, one by one; returns the events that had to be left out."""
    rebuilt = rebuild(examination.named, examination.scan.commits, examination.holdings, examination.broken_chains)
    with _NewPack(examination.holdings) as writing:
        for oid, data in rebuilt.commits.items():
            writing.add(oid, ("commit", data))
        writing.finish()
    database = ReferenceDatabase(examination.store)
    packed = os.path.join(examination.store, PACKED)
    if PACKED in examination.references.damaged:
        quarantine.keep(packed, "lines of it are unreadable")
        database.mend_packed()
    for name, target in rebuilt.targets.items():
        path = os.path.join(examination.store, name)
        before = examination.references.targets.get(name)
        if target == before and target is not None:
            continue
        if target is None:
            quarantine.keep(path if os.path.lexists(path) else packed, "nothing is left of its chain")
            database.delete(name)
            database.sync()
        else:
            quarantine.keep(path, "its chain is rebuilt")
            database.move({name: target}, durable=True)
    return [
        Problem("lostEvent", event, f"event {event} is left out: it depends on an event that is lost")
        for event in (link.commit.hex() for link in rebuilt.left_out)
    ]


@attrs.frozen
class RepairSources:
    """The sources for lost objects, which are only read; everything read is compared with its id."""

    sources: Sequence[ObjectInventory]  # the project's own git
    work_tree: Callable[[RelPath], bytes | None]  # the bytes of a file; None if there is no such file


def repair_objects(examination: Examination, elsewhere: RepairSources, quarantine: Quarantine, call: Call) -> None:
    """Recovers lost objects from elsewhere, and moves damaged files to quarantine; what is readable stays readable."""
    holdings = examination.holdings
    flawed = [pack for pack in holdings.packs.values() if pack.flaw is not None]
    reindexed = [pack for pack in flawed if _can_be_indexed(pack, call)]
    going = [pack for pack in flawed if pack not in reindexed and _is_to_repair(examination, pack)]
    with _NewPack(holdings) as writing:
        for pack in going:
            for oid in examination.named.needed:
                if pack.has(oid) and is_only_in_flawed(holdings, oid):
                    writing.add(oid, pack.read(oid))
                    call.progress("saving objects", len(writing.written))
        _fetch(examination, elsewhere, writing, call)
        for pack in (*going, *reindexed):
            _keep_pack(examination, pack, quarantine)
        for oid, reason in holdings.damaged_loose.items():
            quarantine.keep(object_path(holdings.directory, oid), reason, [oid.hex()])
        new = writing.finish()
    for pack in reindexed:
        assert isinstance(pack.index, RebuiltIndex)
        write_file(f"{pack.path}.idx", encode_index(pack.index.lines(), pack.index.checksum))
    for pack in going:
        if pack.path != new:
            for ending in ("idx", "pack"):
                _remove_if_there(f"{pack.path}.{ending}")
    for name, (path, _) in holdings.unindexed.items():
        if name not in holdings.packs:
            quarantine.move(f"{path}.idx", "it is damaged, and its pack is missing")
    for oid in holdings.damaged_loose:
        _remove_if_there(object_path(holdings.directory, oid))


def _fetch(examination: Examination, elsewhere: RepairSources, writing: _NewPack, call: Call) -> None:
    """Recovers missing objects, then the objects missing in recovered trees, which the check could not detect."""
    holdings = examination.holdings
    pending: dict[ObjectId, tuple[RelPath, ...]] = {
        oid: tuple(touches.files) for oid, touches in examination.touched.objects.items()
    }
    seen: set[ObjectId] = set()
    while pending:
        oid, paths = pending.popitem()
        seen.add(oid)
        call.progress("looking for lost objects", len(writing.written))
        whole = holdings.read(oid)
        if whole is None or is_only_in_flawed(holdings, oid):
            implied = examination.named.implied.get(oid)
            whole = whole or (("tree", implied) if implied is not None else None)
            whole = whole or next(filter(None, (source.read(oid) for source in elsewhere.sources)), None)
            whole = whole or _in_work_tree(elsewhere, oid, paths)
            writing.add(oid, whole)
        if whole is not None and whole[0] == "tree":
            for name, child in _below(oid, whole[1]):
                if child not in seen:
                    pending[child] = tuple(path + b"/" + name if path else name for path in paths)


def _below(oid: ObjectId, data: bytes) -> list[tuple[bytes, ObjectId]]:
    try:
        return [(entry.name, entry.oid) for entry in decode_tree(data, oid)]
    except StoreCorrupt:
        return []


def _in_work_tree(elsewhere: RepairSources, oid: ObjectId, paths: Iterable[RelPath]) -> tuple[ObjectKind, bytes] | None:
    for path in paths:
        data = elsewhere.work_tree(path)
        if data is not None and object_id("blob", data) == oid:
            return "blob", data
    return None


class _NewPack:
    """A new pack for recovered objects, created with the first of them; removed after the block unless finished."""

    def __init__(self, holdings: ObjectInventory) -> None:
        self._directory = os.path.join(holdings.directory, "pack")
        self._writer: PackWriter | None = None
        self.written: set[ObjectId] = set()

    def __enter__(self) -> _NewPack:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.discard()

    def add(self, oid: ObjectId, whole: tuple[ObjectKind, bytes] | None) -> None:
        """Adds an object, unless it is None, a tag, or already in the pack."""
        if whole is None or oid in self.written or whole[0] == "tag":
            return
        if self._writer is None:
            make_directories(self._directory)
            self._writer = PackWriter(self._directory)
        self._writer.add(oid, pack_object(*whole))
        self.written.add(oid)

    def finish(self) -> str | None:
        """Adds the pack to the store, durably; returns its path without an ending, or None if it has no objects."""
        return self._writer.finish() if self._writer is not None else None


def _can_be_indexed(pack: Pack, call: Call) -> bool:
    if not _is_only_its_index(pack):
        return False
    return flaw_of(f"{pack.path}.pack", call, count=pack.index.count, checksum=pack.index.checksum) is None


def _is_to_repair(examination: Examination, pack: Pack) -> bool:
    """Whether to repair a pack: not one that a crash left without an index, if nothing in it is needed."""
    unindexed = examination.holdings.unindexed.get(pack.name)
    return unindexed is None or unindexed[1] or is_needed(examination.holdings, examination.named, pack)


def _keep_pack(examination: Examination, pack: Pack, quarantine: Quarantine) -> None:
    damaged = [oid.hex() for oid in pack.damaged]
    if pack.name not in examination.holdings.unindexed or examination.holdings.unindexed[pack.name][1]:
        quarantine.keep(f"{pack.path}.idx", pack.flaw or "", damaged)
    if not _is_only_its_index(pack):
        quarantine.keep(f"{pack.path}.pack", pack.flaw or "", damaged)


def _is_only_its_index(pack: Pack) -> bool:
    return isinstance(pack.index, RebuiltIndex) and pack.index.is_whole and not pack.damaged


def _remove_if_there(path: str) -> None:
    if os.path.lexists(path):
        remove(path)


def _make_private(path: str) -> None:
    """Removes the permissions of other users; leaves a file of another user alone."""
    with os_errors(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            is_ours = status.st_uid == os.geteuid() and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1)
            if is_ours:
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~_MODES)
        finally:
            os.close(descriptor)
