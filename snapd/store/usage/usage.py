"""What uses the space of a store: looked at from outside, whoever owns it, without changing anything.

Each object counts once, with all copies of it. One that a single session leads to is that session's; one that several
lead to, or a session and the snapshots that belong to none, is shared. What a session leads to is what it would free
if it alone went, for what is its own, and nothing for the rest.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt
from snapd.core.model import EMPTY_TREE, TREE, ObjectId
from snapd.core.timeline.model import SessionStarted
from snapd.store.files.walking import walked
from snapd.store.log import SNAPSHOTS, decode_record
from snapd.store.maintenance.sizes import sizes
from snapd.store.objects.codec import decode_tree
from snapd.store.objects.loose import object_path, read_whole
from snapd.store.objects.pack_index import PackIndexes
from snapd.store.refs.database import read_references
from snapd.store.timeline.chain import OPERATIONS, SESSIONS, decode_link
from snapd.store.timeline.pins import snapshots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Owner = str | None
"""A session, or None for the snapshots and operations that belong to none."""


@attrs.frozen
class Usage:
    """What a store takes, bytes; the parts add up to `total`.

    Attributes:
        total: of all files.
        sessions: what each session alone leads to, by its name.
        no_session: what snapshots and operations alone lead to that belong to none.
        shared: what several of these lead to.
        unused: objects that nothing leads to: the next maintenance removes them.
        linked: objects in files that the user's own git has too: they take nothing of their own.
        other: all else: indexes of packs, the timeline's database, the journal, what is known of the work tree.
    """

    total: int
    sessions: dict[str, int]
    no_session: int
    shared: int
    unused: int
    linked: int
    other: int


def usage(path: str) -> Usage:
    """Looks at a store.

    Args:
        path: its directory. What its owner writes meanwhile may be counted or not.

    Raises:
        StoreCorrupt: it cannot be read.
        IoError: likewise.
    """
    # first the sizes: what is packed meanwhile is then counted as it was
    size = sizes(os.path.join(path, "objects"))
    owners = _Owners(path)
    sessions = dict.fromkeys(owners.sessions, 0)
    no_session = shared = unused = 0
    for oid, count in size.own.items():
        if oid not in owners.of:
            unused += count
        elif (owner := owners.of[oid]) is _SHARED:
            shared += count
        elif isinstance(owner, str):
            sessions[owner] += count
        else:
            no_session += count
    linked = sum(size.linked.values())
    total = _total(path)
    counted = sum(sessions.values()) + no_session + shared + unused + linked
    return Usage(max(total, counted), sessions, no_session, shared, unused, linked, max(0, total - counted))


class _Shared:
    """Several lead to it."""


_SHARED = _Shared()


class _Owners:
    """Which objects belong to whom.

    Attributes:
        of: the owner of each object that anything leads to.
        sessions: the names of all sessions.
    """

    def __init__(self, path: str) -> None:
        self._objects = os.path.join(path, "objects")
        self._packs = PackIndexes(os.path.join(self._objects, "pack"))
        self.of: dict[ObjectId, Owner | _Shared] = {}
        self.sessions: list[str] = []
        named: dict[ObjectId, set[Owner]] = {}
        heads = read_references(path).whole()
        for name, head in heads.items():
            if name.startswith((SESSIONS, OPERATIONS)):
                self._take_chain(name, head, named)
        for name, head in heads.items():
            if name.startswith(SNAPSHOTS):
                self._take_day(head, named)

    def _take_chain(self, name: str, head: ObjectId, named: dict[ObjectId, set[Owner]]) -> None:
        links = []
        commit: ObjectId | None = head
        while commit is not None:
            link, commit = decode_link(name, commit, self._read(commit))
            links.append(link)
        first = links[-1].event.what
        owner = first.session_id if isinstance(first, SessionStarted) else None
        if owner is not None:
            self.sessions.append(owner)
        for link in links:
            self._mark([(link.commit, False), (link.tree, True)], owner)
            for snapshot in snapshots(link.event).values():
                named.setdefault(snapshot.tree, set()).add(owner)

    def _take_day(self, head: ObjectId, named: dict[ObjectId, set[Owner]]) -> None:
        commit: ObjectId | None = head
        while commit is not None:
            record, above = decode_record(self._read(commit), commit)
            for owner in named.get(record.tree, {None}):
                self._mark([(commit, False), (record.coverage, False), (record.tree, True)], owner)
            commit = above

    def _mark(self, roots: Iterable[tuple[ObjectId, bool]], owner: Owner) -> None:
        """Says that an owner leads to some objects, each a tree or not, and to all below."""
        pending = list(roots)
        while pending:
            oid, is_tree = pending.pop()
            mark: Owner | _Shared = owner
            if oid in self.of:
                if self.of[oid] is _SHARED or self.of[oid] == owner:
                    continue
                mark = _SHARED
            self.of[oid] = mark
            if is_tree:
                pending += self._below(oid)

    def _below(self, tree: ObjectId) -> Iterator[tuple[ObjectId, bool]]:
        if tree != EMPTY_TREE:
            for entry in decode_tree(self._read(tree), tree):
                yield entry.oid, entry.mode == TREE

    def _read(self, oid: ObjectId) -> bytes:
        # the packs again: it may have been put into one in this moment
        found = self._packs.read(oid) or read_whole(object_path(self._objects, oid), oid) or self._packs.read(oid)
        if found is None:
            raise StoreCorrupt(f"object {oid.hex()} is missing or damaged", object=oid.hex())
        return found[1]


def _total(path: str) -> int:
    total = 0
    for above, _, names in walked(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(above, name)).st_size
            except FileNotFoundError:
                continue
    return total
