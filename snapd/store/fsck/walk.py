"""Reads every object of a store and the checksums of packs, and walks everything reachable from the references.

A tree is read once however many snapshots share it; one bit for each object of a pack marks those already visited.
"""

from __future__ import annotations

import hashlib
import os
import struct
from array import array
from collections.abc import Iterator
from operator import itemgetter

import attrs

from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.model.paths import is_restorable_name
from snapd.model.snapshot import EMPTY_TREE, TREE, ObjectId, TreeEntry
from snapd.model.timeline import SessionId
from snapd.store.coverage import decode as decode_coverage
from snapd.store.files.durable import DamagedData, NewerFormat, read_with_retry, reading
from snapd.store.objects.codec import ID_BYTES, ObjectKind, decode_commit, decode_tree
from snapd.store.objects.compression import CHUNK_BYTES
from snapd.store.objects.loose import loose_files
from snapd.store.refs.database import References
from snapd.store.timeline.chain import CHAINS, ChainLink, decode_link, pins, snapshots

from .inventory import WITHOUT_PACK, ObjectInventory, Pack

WINDOW_BYTES = 64 << 20
"""The bytes of a pack whose objects are sorted by offset at once."""
_PACK_HEADER = struct.Struct(">4sII")
_OURS = b"\ncommitter snapd <snapd@localhost> "


@attrs.define
class Scan:
    """The result of a scan."""

    objects: int = 0  # every copy counts
    size: int = 0  # of all of them, expanded, in bytes
    commits: dict[ObjectId, bytes] = attrs.field(factory=dict)  # the bytes of the commits that snapd wrote, by id

    def took(self, oid: ObjectId, object_kinds: tuple[ObjectKind, int, bytes]) -> None:
        """Adds an object."""
        kind, size, data = object_kinds
        self.objects += 1
        self.size += size
        if kind == "commit" and _OURS in data:
            self.commits[oid] = data


def scan(holdings: ObjectInventory, call: Call) -> Scan:
    """Reads all objects, and makes the holdings remember the damaged ones; raises `IoError`, `Cancelled`."""
    result = Scan()
    total = sum(pack.index.count for pack in holdings.packs.values())
    total += sum(1 for _ in loose_files(holdings.directory))
    for oid, entry in loose_files(holdings.directory):
        checked = holdings.check_loose(oid, entry.path)
        if checked is not None:
            result.took(oid, checked)
        call.progress("reading objects", result.objects, total)
    for pack in holdings.packs.values():
        _scan_pack(pack, result, call, total)
    return result


def _scan_pack(pack: Pack, result: Scan, call: Call, total: int) -> None:
    if pack.file is None:
        pack.damaged.update(oid for oid, _ in pack.index.entries())
        return
    flaw = flaw_of(f"{pack.path}.pack", call, count=pack.index.count, checksum=pack.index.checksum)
    pack.flaw = flaw or pack.flaw
    for oid, offset in in_order(pack):
        checked = pack.check(oid, offset)
        if checked is not None:
            result.took(oid, checked)
        call.progress("reading objects", result.objects, total)
    if pack.damaged and pack.flaw is None:
        pack.flaw = "objects in it are damaged"


def in_order(pack: Pack) -> Iterator[tuple[ObjectId, int]]:
    """Yields the objects of a pack by offset, so that deltas come soon after their bases."""
    # the index is read once, and only the positions of the objects of each window are kept
    windows: dict[int, array[int]] = {}
    for position, (_, offset) in enumerate(pack.index.entries()):
        windows.setdefault(offset // WINDOW_BYTES, array("L")).append(position)
    for window in sorted(windows):
        yield from sorted(map(pack.index.entry, windows[window]), key=itemgetter(1))


def flaw_of(path: str, call: Call, *, count: int | None = None, checksum: bytes | None = None) -> str | None:
    """Returns the defect of a `.pack` file as a whole, if any; `count` and `checksum` are those of its index."""
    try:
        read_with_retry(lambda: _check_whole(path, call, count, checksum))
    except FileNotFoundError:
        return WITHOUT_PACK
    except DamagedData as error:
        return str(error)
    return None


def _check_whole(path: str, call: Call, count: int | None, checksum: bytes | None) -> None:
    digest = hashlib.sha1()
    with reading(path), open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - ID_BYTES
        start = file.read(_PACK_HEADER.size)
        if len(start) < _PACK_HEADER.size or left < _PACK_HEADER.size:
            raise DamagedData("it is cut short")
        magic, version, stated = _PACK_HEADER.unpack(start)
        if magic != b"PACK" or version != 2 or (count is not None and stated != count):
            raise DamagedData("its header does not match its index")
        digest.update(start)
        left -= len(start)
        while left and (data := file.read(min(CHUNK_BYTES, left))):
            digest.update(data)
            left -= len(data)
            call.check()
        end = file.read(ID_BYTES)
    if digest.digest() != end:
        raise DamagedData("its checksum does not match")
    if checksum is not None and checksum != end:
        raise DamagedData("its index belongs to another pack")


@attrs.define
class Chain:
    """The commits that a reference reaches, newest first; the chain breaks off at `lost`, an unreadable commit."""

    name: str
    target: ObjectId
    commits: list[ObjectId] = attrs.field(factory=list)
    lost: ObjectId | None = None


@attrs.define
class Reachable:
    """Everything that is reachable."""

    chains: list[Chain] = attrs.field(factory=list)
    links: dict[ObjectId, ChainLink] = attrs.field(factory=dict)  # the events, by commit
    sessions: dict[str, SessionId | None] = attrs.field(factory=dict)  # by chain; None if it has none
    missing: set[ObjectId] = attrs.field(factory=set)  # the trees, blobs and coverages without a sound copy
    # the entries that lead to a missing object, by tree
    tainted: dict[ObjectId, list[tuple[bytes, ObjectId]]] = attrs.field(factory=dict)
    needed: set[ObjectId] = attrs.field(factory=set)  # the reachable objects in damaged packs
    loosely: list[ObjectId] = attrs.field(factory=list)  # the events whose tree does not keep all their objects
    # the bytes of missing trees that follow from their event
    implied: dict[ObjectId, bytes] = attrs.field(factory=dict)
    newer: dict[ObjectId, str] = attrs.field(factory=dict)  # the chain of each event of a newer snapd, by commit

    def is_broken(self, tree: ObjectId) -> bool:
        """Whether a walked tree, or anything in it, is missing."""
        return tree in self.missing or tree in self.tainted

    def lacking(self, tree: ObjectId) -> Iterator[tuple[bytes, ObjectId]]:
        """Yields the missing objects in a tree, with their paths."""
        pending = [(b"", tree)]
        while pending:
            path, oid = pending.pop()
            if oid in self.missing:
                yield path, oid
            else:
                above = path + b"/" if path else b""
                pending += [(above + name, child) for name, child in self.tainted.get(oid, ())]


def walk(holdings: ObjectInventory, references: References, call: Call, *, deep: bool) -> Reachable:
    """Walks everything that is reachable; unless `deep`, trees are not read. Raises `Cancelled`."""
    walker = _Walker(holdings, call, deep)
    for name, target in references.targets.items():
        walker.follow(name, target)
    return walker.named


class _Frame:
    """A tree that is being read."""

    def __init__(self, oid: ObjectId, entries: tuple[TreeEntry, ...]) -> None:
        self.oid = oid
        self.entries = iter(entries)
        self.name = b""
        self.lacking: list[tuple[bytes, ObjectId]] = []


class _Walker:
    def __init__(self, holdings: ObjectInventory, call: Call, deep: bool) -> None:
        self.named = Reachable()
        self._holdings = holdings
        self._call = call
        self._deep = deep
        self._marks = _Marks(holdings)
        self._flawed = [pack for pack in holdings.packs.values() if pack.flaw is not None]
        self._trees = 0

    def follow(self, name: str, target: ObjectId) -> None:
        """Walks everything that a reference reaches."""
        if not name.startswith(CHAINS):
            return
        chain = Chain(name, target)
        self.named.sessions[name] = None
        self.named.chains.append(chain)
        commit: ObjectId | None = chain.target
        while commit is not None:
            data = self._commit(commit)
            try:
                above = self._event(chain.name, commit, data)
            except NewerFormat:
                # its tree is walked, as git would
                self.named.newer[commit] = chain.name
                tree, above = decode_commit(data, commit)
                self._tree(tree)
            except StoreCorrupt:
                chain.lost = commit
                return
            chain.commits.append(commit)
            commit = above

    def _event(self, chain: str, commit: ObjectId, data: bytes) -> ObjectId | None:
        link, above = decode_link(chain, commit, data)
        self.named.links[commit] = link
        self.named.sessions[chain] = getattr(link.event.what, "session_id", None) or self.named.sessions[chain]
        kept = pins(link.event)
        if kept.tree != link.tree:
            self.named.loosely.append(commit)
            for oid in kept.named:
                self._either(oid)
        else:
            self.named.implied |= {oid: tree for oid, tree in kept.trees.items() if not self._holdings.has(oid)}
        self._tree(link.tree)
        for snapshot in snapshots(link.event).values():
            self._tree(snapshot.tree)
            self._coverage(snapshot.coverage)
        return above

    def _commit(self, oid: ObjectId) -> bytes:
        self._call.check()
        self._need(oid)
        return self._holdings.commit(oid)

    def _coverage(self, oid: ObjectId) -> None:
        if oid in self.named.missing or self._marks.seen(oid):
            return
        self._need(oid)
        result = self._holdings.read(oid)
        try:
            decode_coverage(result[1] if result is not None else b"")
        except (ValueError, KeyError, TypeError):
            self.named.missing.add(oid)

    def _either(self, oid: ObjectId) -> None:
        """Walks an object that an event names, a tree or a blob."""
        result = self._holdings.read(oid)
        if result is not None and result[0] == "tree":
            self._tree(oid)
        else:
            self._is_blob_there(oid)

    def _tree(self, root: ObjectId) -> None:
        if not self._deep:
            if root != EMPTY_TREE and not self._holdings.has(root):
                self.named.missing.add(root)
            return
        first = self._open(root) if self._known(root) is None else None
        stack = [first] if first is not None else []
        while stack:
            frame = stack[-1]
            below = self._step(frame)
            if below is not None:
                stack.append(below)
                continue
            stack.pop()
            if frame.lacking:
                self.named.tainted[frame.oid] = frame.lacking
                if stack:
                    stack[-1].lacking.append((stack[-1].name, frame.oid))

    def _step(self, frame: _Frame) -> _Frame | None:
        """Continues with the entries of a tree, up to a subtree that must be read first."""
        for entry in frame.entries:
            self._call.check()
            if entry.mode != TREE:
                is_broken = not self._is_blob_there(entry.oid)
            else:
                known = self._known(entry.oid)
                if known is None:
                    frame.name = entry.name
                    below = self._open(entry.oid)
                    if below is not None:
                        return below
                is_broken = known is not False
            if is_broken:
                frame.lacking.append((entry.name, entry.oid))
        return None

    def _known(self, tree: ObjectId) -> bool | None:
        """Whether something in a tree is missing; None if it has not been read."""
        if tree == EMPTY_TREE:
            return False
        if self.named.is_broken(tree):
            return True
        return False if self._marks.seen(tree) else None

    def _open(self, tree: ObjectId) -> _Frame | None:
        self._trees += 1
        self._call.progress("walking snapshots", self._trees)
        self._need(tree)
        result = self._holdings.read(tree)
        try:
            if result is not None and result[0] == "tree" and _is_sound(entries := decode_tree(result[1], tree)):
                return _Frame(tree, entries)
        except StoreCorrupt:
            # the bytes match the id but are not a tree, so it cannot be restored
            pass
        self.named.missing.add(tree)
        return None

    def _is_blob_there(self, oid: ObjectId) -> bool:
        if oid in self.named.missing:
            return False
        self._need(oid)
        if self._holdings.has(oid):
            return True
        self.named.missing.add(oid)
        return False

    def _need(self, oid: ObjectId) -> None:
        if self._flawed and any(pack.has(oid) for pack in self._flawed):
            self.named.needed.add(oid)


def _is_sound(entries: tuple[TreeEntry, ...]) -> bool:
    """Whether each entry can be in a work tree, the names are unique, and the order is git's."""
    keys = [entry.sort_key for entry in entries]
    names = {entry.name for entry in entries}
    return len(names) == len(keys) and keys == sorted(keys) and all(map(is_restorable_name, names))


class _Marks:
    """The objects already visited: a bit for each in a pack, and the ids of the others."""

    def __init__(self, holdings: ObjectInventory) -> None:
        self._packs = [(pack.index, bytearray((pack.index.count + 7) // 8)) for pack in holdings.packs.values()]
        self._others: set[ObjectId] = set()

    def seen(self, oid: ObjectId) -> bool:
        """Whether an object was visited before; marks it as visited."""
        for index, bits in self._packs:
            position = index.position(oid)
            if position >= 0:
                at, bit = position >> 3, 1 << (position & 7)
                if bits[at] & bit:
                    return True
                bits[at] |= bit
                return False
        if oid in self._others:
            return True
        self._others.add(oid)
        return False
