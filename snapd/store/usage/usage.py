"""The disk usage of a store; works without owning the store, and changes nothing.

Each object counts once, with all its copies. An object that only one session reaches belongs to it; one that several
sessions reach, or a session and snapshots without one, is shared.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping

import attrs

from snapd.model.errors import StoreCorrupt, os_errors
from snapd.model.snapshot import EMPTY_TREE, ObjectId
from snapd.model.timeline import MessageSent, SessionStarted
from snapd.store.files.durable import files_below, names_if_there, read_if_there
from snapd.store.files.lock import Ownership
from snapd.store.files.space import PROJECT
from snapd.store.journal.journal import JOURNAL, journal_numbers, waiting
from snapd.store.maintenance.erase import finish_erasing_if_noted, note_erasing
from snapd.store.maintenance.sweep import sizes
from snapd.store.objects.codec import tree_entries
from snapd.store.objects.loose import expand_loose, object_path, read_whole
from snapd.store.objects.pack_index import PackIndexes
from snapd.store.refs.database import read_references
from snapd.store.timeline.chain import CHAINS, SNAPSHOTS, ChainLink, snapshots, walk

Owner = str | None
"""A session, or None for the snapshots and operations that belong to none."""


@attrs.frozen
class Usage:
    """The size of a store in bytes; the parts add up to `total`."""

    total: int  # of all files
    sessions: dict[str, int]  # of the objects that only one session reaches, by its id
    no_session: int  # of the objects that only snapshots and operations without a session reach
    shared: int  # of the objects that several of these reach
    unused: int  # of unreachable objects: the next maintenance removes them
    linked: int  # of the objects in files that the user's own git has too: they take no additional space
    other: int  # everything else: indexes of packs, the timeline's database, the journal, the state of the work tree
    names: dict[str, tuple[str | None, str | None]]  # by session: its agent, and its title or else its first prompt


def usage(path: str) -> Usage:
    """Measures a store; its owner's writes meanwhile may be counted or not. Raises `StoreCorrupt`, `IoError`."""
    # sizes first: an object that is packed meanwhile keeps its old size
    files = dict(files_below(path))
    size = sizes(os.path.join(path, "objects"), files.get)
    names = (os.path.join(path, JOURNAL, str(number)) for number in journal_numbers(path))
    journal, moving = waiting(read_if_there(name) or b"" for name in names)
    owners = _Owners(path, journal, moving)
    for oid, compressed in journal.items():
        # in the journal alone
        if oid not in size.linked:
            size.own.setdefault(oid, len(compressed))
    reached = {owner: sum(size.own.get(oid, 0) for oid in objects) for owner, objects in owners.of.items()}
    shared = sum(size.own.get(oid, 0) for oid in owners.shared)
    unused = sum(size.own.values()) - shared - sum(reached.values())
    project = os.path.join(path, PROJECT, "")
    of_project = (file.st_size for name, file in files.items() if name.startswith(project) and file.st_nlink > 1)
    linked = sum(size.linked.values()) + sum(of_project)
    total = sum(status.st_size for status in files.values())
    counted = sum(size.own.values()) + linked
    return Usage(
        total=max(total, counted),
        sessions={owner: reached.get(owner, 0) for owner in owners.sessions},
        no_session=reached.get(None, 0),
        shared=shared,
        unused=unused,
        linked=linked,
        other=max(0, total - counted),
        names=owners.sessions,
    )


class _Owners:
    """Which objects of a store one owner reaches (`of`), and which several (`shared`); `sessions` names them all."""

    def __init__(self, path: str, journal: Mapping[ObjectId, bytes], moving: Mapping[str, ObjectId]) -> None:
        self._journal = journal
        self._objects = os.path.join(path, "objects")
        self._packs = PackIndexes(os.path.join(self._objects, "pack"))
        self._trees: dict[ObjectId, tuple[list[ObjectId], list[ObjectId]]] = {}
        self.of: dict[Owner, set[ObjectId]] = {}
        self.shared: set[ObjectId] = set()
        self.sessions: dict[str, tuple[str | None, str | None]] = {}
        named: dict[ObjectId, set[Owner]] = {}
        commits: dict[Owner, set[ObjectId]] = {}
        trees: dict[Owner, set[ObjectId]] = {}
        targets = {**read_references(path).whole(), **moving}
        heads = {name: head for name, head in targets.items() if name.startswith(CHAINS)}
        # those of snapshots last: an object of a session belongs to the session
        for name in sorted(heads, key=lambda name: name.startswith(SNAPSHOTS)):
            for owner, link in self._owned_links(name, heads[name], named):
                commits.setdefault(owner, set()).add(link.commit)
                trees.setdefault(owner, set()).add(link.tree)
        several: set[ObjectId] = set()
        for owner in commits:
            mine = self._below(trees[owner]) | commits[owner]
            self.shared |= mine & several
            several |= mine
            self.of[owner] = mine
        for objects in self.of.values():
            objects.difference_update(self.shared)

    def _owned_links(
        self, name: str, head: ObjectId, named: dict[ObjectId, set[Owner]]
    ) -> Iterator[tuple[Owner, ChainLink]]:
        """Yields each event of a chain with its owners; `named` collects the owners of the trees of sessions."""
        links = list(walk(name, head, self._read))
        first = links[-1].event.what
        owner = None
        if isinstance(first, SessionStarted):
            owner = first.session_id
            prompts = (link.event.what.text for link in reversed(links) if isinstance(link.event.what, MessageSent))
            self.sessions[owner] = first.agent, first.title or next(filter(None, prompts), None)
        for link in links:
            snapshot_trees = {snapshot.tree for snapshot in snapshots(link.event).values()}
            owners: set[Owner] = {owner}
            if name.startswith(SNAPSHOTS):
                owners = set[Owner]().union(*(named.get(tree, {None}) for tree in snapshot_trees))
            else:
                for tree in snapshot_trees:
                    named.setdefault(tree, set()).add(owner)
            yield from ((each, link) for each in owners)

    def _below(self, trees: Iterable[ObjectId]) -> set[ObjectId]:
        """Returns trees and everything in them, except for what is below a tree that is known to be shared."""
        reached: set[ObjectId] = set()
        pending = list(trees)
        while pending:
            tree = pending.pop()
            if tree not in reached and tree not in self.shared:
                reached.add(tree)
                below, files = self._entries(tree)
                reached.update(files)
                pending += below
        return reached

    def _entries(self, tree: ObjectId) -> tuple[list[ObjectId], list[ObjectId]]:
        """Returns the trees and the other objects in a tree; reads each tree once."""
        entries = self._trees.get(tree)
        if entries is None:
            entries = self._trees[tree] = ([], []) if tree == EMPTY_TREE else tree_entries(self._read(tree), tree)
        return entries

    def _read(self, oid: ObjectId) -> bytes:
        if oid in self._journal:
            result = expand_loose(self._journal[oid], oid)
        else:
            # packs twice: the object may just have been packed
            result = self._packs.read(oid) or read_whole(object_path(self._objects, oid), oid) or self._packs.read(oid)
        if result is None:
            raise StoreCorrupt(f"object {oid.hex()} is missing or damaged", object=oid.hex())
        return result[1]


@attrs.frozen
class StoreLocation:
    """A store in a directory, and its folder; None if that is unknown."""

    path: str
    root: str | None

    @property
    def is_missing(self) -> bool:
        """Whether the folder does not exist: it was deleted or moved, or its disk is not mounted."""
        return self.root is not None and not os.path.isdir(self.root)


def stores(directory: str) -> list[StoreLocation]:
    """Lists the stores in a directory, sorted by their folders; raises `IoError`."""
    paths = [os.path.join(directory, name) for name in names_if_there(directory)]
    matches = [StoreLocation(path, _root(path)) for path in paths if os.path.exists(os.path.join(path, "HEAD"))]
    return sorted(matches, key=lambda store: (store.root or "", store.path))


def remove(path: str) -> int:
    """Removes a store; returns the bytes of its files. Raises `StoreLocked` if a process owns it."""
    ownership = Ownership(path, None)
    try:
        with os_errors(path):
            size = sum(status.st_size for _, status in files_below(path))
            # if this is interrupted, the next opening of the rest finishes the erasing
            note_erasing(path)
            finish_erasing_if_noted(path)
            shutil.rmtree(path)
    finally:
        ownership.release()
    return size


def _root(path: str) -> str | None:
    try:
        with open(os.path.join(path, "root.json"), encoding="ascii") as file:
            root = json.load(file).get("path")
    except (OSError, ValueError, AttributeError):
        return None
    return root if isinstance(root, str) else None
