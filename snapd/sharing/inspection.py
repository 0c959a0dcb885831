"""Inspects what came from another machine before any of it is used.

Git has checked the id and the format of every object (`fetch.fsckObjects`). This checks that each commit is an event
and nothing else, that its tree has just what the event names, that no name in a tree leads out of it, that nothing is
missing, and that the limits hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import attrs

from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt, Untrusted
from snapd.model.paths import is_restorable_name
from snapd.model.snapshot import EMPTY_TREE, EXECUTABLE, REGULAR, SYMLINK, TREE, Coverage, ObjectId, RelPath, TreeEntry
from snapd.model.timeline import Edited, Event, Kept, MessageSent, Operated, StepBegun, StepEnded
from snapd.store.coverage import decode, encode
from snapd.store.files.durable import NewerFormat
from snapd.store.objects.codec import decode_commit, encode_tree, object_id
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.chain import (
    ChainLink,
    chain_of_session,
    decode_link,
    effect_blobs,
    encode_link,
    host_of,
    pins,
    snapshots,
)

from . import formats
from .outgoing import is_host

_MODES = (REGULAR, EXECUTABLE, SYMLINK, TREE)
_LONGEST_LINK = 4096
_LARGEST = 1 << 53
"""JSON cannot represent every number from here on; and no time is that late."""


@attrs.frozen
class Limits:
    """The most that is accepted from another machine at once.

    Attributes:
        events: of one session.
        objects: directories and files of one snapshot, and distinct ones of all sessions together.
        blob_bytes: the size of one file.
        bytes: the sizes of all files together.
        path_bytes: the length of a path below the folder.
        sessions: that are new or changed.
        event_bytes: one event, one directory without what is below, or one list of directories.
        pack_bytes: one file that git receives.
        memory_bytes: memory of one git process.
        seconds: processor time of one git process.
    """

    events: int = 1_000_000
    objects: int = 10_000_000
    blob_bytes: int = 1 << 30
    bytes: int = 64 << 30
    path_bytes: int = 4096
    sessions: int = 100_000
    event_bytes: int = 64 << 20
    pack_bytes: int = 16 << 30
    memory_bytes: int = 4 << 30
    seconds: int = 3600


@attrs.define(eq=False)
class Inspection:
    """Inspects the sessions of one fetch; `complete` copies missing objects from elsewhere, and returns those ids."""

    _repository: ShadowRepository
    _complete: Callable[[Iterable[ObjectId]], frozenset[ObjectId]]
    _limits: Limits
    _call: Call
    _trees: dict[ObjectId, tuple[TreeEntry, ...]] = attrs.field(factory=lambda: {EMPTY_TREE: ()}, init=False)
    _extents: dict[ObjectId, tuple[int, int]] = attrs.field(factory=dict, init=False)
    _blobs: set[ObjectId] = attrs.field(factory=set, init=False)
    _coverages: set[ObjectId] = attrs.field(factory=set, init=False)
    _bytes: int = attrs.field(default=0, init=False)

    def session(self, chain: str, head: ObjectId) -> None:
        """Inspects the session at a reference; raises `Untrusted` if it is malformed or over a limit."""
        with _refusing(chain):
            events = self._events(chain, head)
            if not all(_begins(chain, event) for event in events[:1]):
                raise Untrusted(f"{chain} is not the session that its first event names", reference=chain)
            self._all_trees([tree for event in events for tree in _trees(event)])
            self._files({oid for event in events for _, oid in effect_blobs(event)})

    def handover(self, name: str, head: ObjectId) -> None:
        """Inspects a handover and the events that come with it; raises as `session`."""
        with _refusing(name):
            self._present([head])
            self._small(head)
            data = self._repository.read_commit(head)
            tree, _ = decode_commit(data, head)
            self._present([tree])
            self._small(tree)
            result = formats.decode_handover(head, data, self._repository.read_tree)
            handover = result.handover
            is_named = formats.HANDOVERS + handover.name == name and is_host(host := host_of(data))
            if not is_named or formats.encode_handover(handover, result.events, host) != data:
                raise Untrusted(f"{name} has other files or another name than its record says", reference=name)
            self._check_paths(handover.kept, name)
            self._coverages_are_safe({handover.folder.coverage})
            events = self._events(name, result.events)
            sessions = {getattr(event.what, "session_id", None) for event in events} - {None}
            if not sessions.issubset(handover.sessions):
                raise Untrusted(f"{name} has events of sessions that its record does not name", reference=name)
            trees = [tree for event in events for tree in _trees(event)]
            committed = () if handover.committed is None else (handover.committed,)
            self._all_trees([handover.folder.tree, *committed, *trees])
            self._files({oid for event in events for _, oid in effect_blobs(event)})

    def _events(self, chain: str, head: ObjectId | None) -> list[Event]:
        """Returns the events, oldest first."""
        events: list[Event] = []
        commit = head
        while commit is not None:
            self._call.check()
            if len(events) == self._limits.events:
                raise Untrusted(f"{chain} has more than {self._limits.events} events", reference=chain)
            self._present([commit])
            self._small(commit)
            data = self._repository.read_commit(commit)
            link, parent = decode_link(chain, commit, data)
            host = host_of(data)
            if encode_link(link.event, link.payload, link.tree, parent, host) != data or not is_host(host):
                raise Untrusted(f"commit {commit.hex()} has more than an event", reference=chain)
            self._link(link)
            commit = parent
            events.append(link.event)
        events.reverse()
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise Untrusted(f"the events of {chain} are not numbered in their order", reference=chain)
        return events

    def _link(self, link: ChainLink) -> None:
        kept = pins(link.event)
        if kept.tree != link.tree:
            raise Untrusted(f"commit {link.commit.hex()} has other files than its event names", reference=link.chain)
        if link.event.git is not None or (link.event.seen is not None and link.event.seen.git is not None):
            raise Untrusted(f"commit {link.commit.hex()} has a git state, which never travels", reference=link.chain)
        self._present(kept.trees)
        self._check_paths(_paths(link.event), link.chain)
        if any(number > _LARGEST for number in _numbers(link.event)):
            raise Untrusted(f"commit {link.commit.hex()} has an impossible number", reference=link.chain)
        if isinstance(link.event.what, MessageSent) and link.event.what.transcript is not None:
            raise Untrusted(f"{link.chain} names a file of this machine", reference=link.chain)
        self._coverages_are_safe({snapshot.coverage for snapshot in snapshots(link.event).values()})

    def _check_paths(self, paths: Iterable[RelPath], chain: str) -> None:
        if not all(map(self._is_path, paths)):
            raise Untrusted(f"{chain} names an impossible path", reference=chain)

    def _coverages_are_safe(self, named: set[ObjectId]) -> None:
        fresh = named - self._coverages
        if fresh:
            self._files(fresh)
            for oid in fresh:
                self._coverage(oid)
            self._coverages |= fresh

    def _is_path(self, path: RelPath) -> bool:
        is_short = len(path) <= self._limits.path_bytes
        return is_short and b"\0" not in path and all(map(is_restorable_name, path.split(b"/")))

    def _coverage(self, oid: ObjectId) -> None:
        """Checks the coverage of a snapshot: only empty directories travel."""
        self._small(oid)
        data = self._repository.read_blob(oid)
        try:
            result = decode(data)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Untrusted(f"blob {oid.hex()} is not the list of directories that it should be") from error
        # a handover also has the ignored files that travel with it
        if data != encode(Coverage(empty_dirs=result.empty_dirs, forced=result.forced)):
            raise Untrusted(f"blob {oid.hex()} has more than a list of directories and ignored files")
        if not all(map(self._is_path, (*result.empty_dirs, *result.forced))):
            raise Untrusted(f"blob {oid.hex()} names an impossible path")

    def _small(self, oid: ObjectId) -> None:
        """Checks the size of an object that is read as a whole."""
        _, size = self._repository.describe(oid)
        if size > self._limits.event_bytes:
            raise Untrusted(f"object {oid.hex()} has {size} bytes, which is over the limit")

    def _all_trees(self, roots: Sequence[ObjectId]) -> None:
        """Checks directories and all below them, level by level."""
        level = set(roots) - self._trees.keys()
        while level:
            self._present(level)
            blobs: set[ObjectId] = set()
            links: set[ObjectId] = set()
            for tree in level:
                self._call.check()
                self._small(tree)
                entries = self._repository.read_tree(tree)
                self._names(tree, entries)
                self._trees[tree] = entries
                blobs.update(entry.oid for entry in entries if entry.mode != TREE)
                links.update(entry.oid for entry in entries if entry.mode == SYMLINK)
            self._files(blobs, links)
            below = {entry.oid for tree in level for entry in self._trees[tree] if entry.mode == TREE}
            level = below - self._trees.keys()
        for root in roots:
            self._measure(root)

    def _names(self, tree: ObjectId, entries: Sequence[TreeEntry]) -> None:
        names = {entry.name for entry in entries}
        # over plain HTTP, git does not check the order of entries
        if object_id("tree", encode_tree(entries)) != tree:
            raise Untrusted(f"tree {tree.hex()} is not written as git writes it")
        if len(names) < len(entries) or not all(
            entry.mode in _MODES and is_restorable_name(entry.name) for entry in entries
        ):
            raise Untrusted(f"tree {tree.hex()} has an impossible entry")

    def _measure(self, root: ObjectId) -> None:
        """Limits the files of a tree and its longest path: few directories can stand for any number of files."""
        waiting = [root]
        while waiting:
            tree = waiting[-1]
            below = [entry for entry in self._trees[tree] if entry.mode == TREE]
            unknown = [entry.oid for entry in below if entry.oid not in self._extents]
            if unknown and tree not in self._extents:
                waiting += unknown
                continue
            waiting.pop()
            count = len(self._trees[tree]) + sum(self._extents[entry.oid][0] for entry in below)
            longest = max((len(entry.name) for entry in self._trees[tree]), default=0)
            longest = max([longest, *(len(entry.name) + 1 + self._extents[entry.oid][1] for entry in below)])
            if count > self._limits.objects or longest > self._limits.path_bytes:
                raise Untrusted(f"tree {tree.hex()} has {count} entries, and paths of {longest} bytes: over the limit")
            self._extents[tree] = (count, longest)

    def _files(self, blobs: set[ObjectId], links: Iterable[ObjectId] = ()) -> None:
        """Checks the sizes of files, and of those that are symlinks."""
        fresh = blobs - self._blobs
        self._present(fresh)
        for oid in fresh:
            size = self._repository.blob_size(oid)
            self._bytes += size
            if size > self._limits.blob_bytes or self._bytes > self._limits.bytes:
                raise Untrusted(f"blob {oid.hex()} has {size} bytes, which is over the limit")
        for oid in links:
            if self._repository.blob_size(oid) > _LONGEST_LINK:
                raise Untrusted(f"the symlink {oid.hex()} is too long")
        self._blobs |= fresh
        if len(self._trees) + len(self._blobs) > self._limits.objects:
            raise Untrusted(f"it has more than {self._limits.objects} files and directories")

    def _present(self, wanted: Iterable[ObjectId]) -> None:
        """Checks that objects are present, here or elsewhere on this machine."""
        packs = self._repository.packs.now()
        missing = [oid for oid in wanted if oid != EMPTY_TREE and not self._repository.has(oid, packs)]
        if missing:
            left = set(missing) - self._complete(missing)
            if left:
                raise Untrusted(f"{len(left)} objects are missing, among them {min(left).hex()}")


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Raises `Untrusted` for a reference if something in the block cannot be read."""
    try:
        yield
    except NewerFormat as error:
        hint = "update snapd, then fetch again"
        raise Untrusted(f"{name} cannot be used: {error.message}", hint=hint, reference=name) from error
    except StoreCorrupt as error:
        raise Untrusted(f"{name} cannot be used: {error.message}", reference=name) from error


def _begins(chain: str, event: Event) -> bool:
    session_id = getattr(event.what, "session_id", None)
    return session_id is not None and chain_of_session(session_id) == chain


def _numbers(event: Event) -> Iterator[int]:
    yield event.milliseconds
    if isinstance(event.what, StepBegun):
        yield from (event.what.index, event.what.began or 0)


def _trees(event: Event) -> Iterator[ObjectId]:
    return (snapshot.tree for snapshot in snapshots(event).values())


def _paths(event: Event) -> Iterator[RelPath]:
    what = event.what
    match what:
        case StepEnded(_, claims):
            yield from claims or ()
            yield from (change.path for change in what.uncaptured)
        case Kept(files):
            yield from (path for path, _ in files)
        case Edited(paths):
            yield from paths
        case Operated():
            effects = [effect for turn in what.turned for effect in turn.effects] + list(what.effects or ())
            yield from (effect.path for effect in effects)
            for turn in what.turned:
                yield from (*turn.made_directories, *turn.removed_directories, *(turn.left or ()), *turn.rest)
                for pair in turn.moved:
                    yield from pair
        case _:
            pass
