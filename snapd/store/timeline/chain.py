"""The chains of events: a commit for each event, and a reference for each session.

`refs/snapd/sessions/<first 16 digits of the sha1 of the session's id>` has the events of a session,
`refs/snapd/snapshots/<day>` those that only record a snapshot, and `refs/snapd/operations/<day>` the others without a
session. A commit's message is the event, its parent the previous event of the same chain. Across chains, the events'
`seq` gives the order. Chains of sessions and operations expire as a whole; in those of snapshots any event may be
dropped.

The tree of the commit keeps all objects of the event: snapshots by their role (`head`, `seen.after`, ...), each with
its coverage, so that `git show <commit>:head/some/file` shows a file; the blobs of an operation's effects in `effects`,
by their ids; git states in `git` and `seen.git`.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import EMPTY_TREE, REGULAR, TREE, ObjectId, RelPath, TreeEntry
from snapd.model.timeline import Commented, Event, Kept, Operated, Recorded, SessionId, SnapshotId
from snapd.store.objects.codec import encode_commit, encode_tree, object_id
from snapd.store.objects.loose import encode_loose
from snapd.store.refs.database import read_references

from .codec import decode_event, encode_event, name_of

if TYPE_CHECKING:
    from snapd.store.repository import ShadowRepository

EFFECTS = b"effects"
"""The directory of the blobs in the effects of an operation."""

SESSIONS = "refs/snapd/sessions/"
OPERATIONS = "refs/snapd/operations/"
SNAPSHOTS = "refs/snapd/snapshots/"
CHAINS = (SESSIONS, OPERATIONS, SNAPSHOTS)

NO_OBJECT = bytes(20)
"""The id that git uses for no object."""

NAME_DIGITS = 16
_DAY_SECONDS = 86400
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_COMMIT = re.compile(
    r"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<parent>[0-9a-f]{40})\n)?"
    r"author [^\n]*\ncommitter [^\n]*\n\n(?P<name>[a-zA-Z]+)\n\n(?P<payload>[^\n]*)\n"
)
_HOST = re.compile(rb"^committer [^\n]*<[^\n@]*@([^\n>]*)>", re.MULTILINE)


@attrs.frozen
class Pins:
    """The trees that keep the objects of an event."""

    tree: ObjectId  # of the commit of the event
    trees: Mapping[ObjectId, bytes]  # the bytes of that tree and of `effects`, by id
    named: Collection[ObjectId]  # the objects of the event


def snapshots(event: Event) -> dict[bytes, SnapshotId]:
    """Returns the snapshots of an event by role."""
    result = {
        b"head": event.head,
        b"seen.before": event.seen.before if event.seen is not None else None,
        b"seen.after": event.seen.after if event.seen is not None else None,
        b"before": event.what.before if isinstance(event.what, Operated) else None,
        b"after": event.what.after if isinstance(event.what, Operated) else None,
        b"snapshot": event.what.snapshot if isinstance(event.what, Recorded) else None,
    }
    return {role: snapshot for role, snapshot in result.items() if snapshot is not None}


def pins(event: Event) -> Pins:
    """Builds the trees that keep the objects of an event."""
    entries: list[TreeEntry] = []
    for role, snapshot in snapshots(event).items():
        entries += (
            TreeEntry(role, TREE, snapshot.tree),
            TreeEntry(role + b".coverage", REGULAR, snapshot.coverage),
        )
    git = {b"git": event.git, b"seen.git": None if event.seen is None else event.seen.git}
    if isinstance(event.what, Operated):
        for at, turn in enumerate(event.what.turned):
            if turn.git is not None:
                git |= {b"turned.%d.before" % at: turn.git.before, b"turned.%d.after" % at: turn.git.after}
    entries += (TreeEntry(role, TREE, state.tree) for role, state in git.items() if state is not None)
    named = {entry.oid for entry in entries}
    blobs = {oid for _, oid in effect_blobs(event)}
    named |= blobs
    trees = {}
    if blobs:
        data = encode_tree(TreeEntry(oid.hex().encode(), REGULAR, oid) for oid in blobs)
        effects = object_id("tree", data)
        trees[effects] = data
        entries.append(TreeEntry(EFFECTS, TREE, effects))
    data = encode_tree(entries)
    tree = object_id("tree", data)
    trees[tree] = data
    return Pins(tree, trees, named)


def effect_blobs(event: Event) -> Iterator[tuple[RelPath, ObjectId]]:
    """Yields the files in an operation's effects, with the blobs before and after, and files kept or commented on."""
    if isinstance(event.what, Commented) and event.what.entry is not None:
        yield event.what.path, event.what.entry.oid
    if isinstance(event.what, Kept):
        for path, entry in event.what.files:
            if entry is not None:
                yield path, entry.oid
    if isinstance(event.what, Operated):
        for effects in (event.what.effects or (), *(turned.effects for turned in event.what.turned)):
            for effect in effects:
                yield from ((effect.path, entry.oid) for entry in (effect.old, effect.new) if entry is not None)


@attrs.frozen
class ChainLink:
    """An event in its chain, with its commit, that commit's tree, and its JSON (`payload`)."""

    chain: str
    commit: ObjectId
    tree: ObjectId
    event: Event
    payload: str


def chain_of(event: Event, session_id: SessionId | None) -> str:
    """Returns the name of the chain (its reference) for an event."""
    if session_id is not None:
        return chain_of_session(session_id)
    # time.strftime would check the time zone file each time
    day = datetime.date.fromordinal(_EPOCH + event.milliseconds // 1000 // _DAY_SECONDS).isoformat()
    return (SNAPSHOTS if isinstance(event.what, Recorded) else OPERATIONS) + day


def chain_of_session(session_id: SessionId) -> str:
    """Returns the name of the chain (its reference) of a session."""
    return SESSIONS + hashlib.sha1(session_id.encode()).hexdigest()[:NAME_DIGITS]


class Chains:
    """The chains of a repository, with the newest commit of each in `heads`. Only one thread at a time may use it."""

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._held: set[ObjectId] = set()
        self._offered: set[ObjectId] = set()
        # first: meanwhile they may be published
        moving = repository.journal.moving
        targets = {**read_references(repository.path).whole(), **moving}
        self.heads: dict[str, ObjectId] = {name: to for name, to in targets.items() if name.startswith(CHAINS)}

    def prepare(
        self, event: Event, session_id: SessionId | None, previous: int | None, before: Mapping[str, ObjectId]
    ) -> ChainLink:
        """Adds the objects of an event to the journal, for its next flush, and returns the new link of its chain.

        Call `attach` after the flush. `previous` is the `seq` of the event before it in the timeline; `before` has the
        newest commits of chains with events in the same flush. Raises `InvalidParams` if a text is not valid Unicode,
        and `StoreCorrupt` if an object of the event is not stored.
        """
        payload = encode_event(event, previous)
        kept = pins(event)
        self._check_stored(kept.named)
        chain = chain_of(event, session_id)
        data = encode_link(event, payload, kept.tree, before.get(chain, self.heads.get(chain)))
        commit = object_id("commit", data)
        objects = {oid: encode_loose("tree", tree) for oid, tree in kept.trees.items() if not self._is_stored(oid)}
        self._offered = {*kept.named, *kept.trees}
        self._repository.journal.add({**objects, commit: encode_loose("commit", data)})
        return ChainLink(chain, commit, kept.tree, event, payload)

    def attach(self, link: ChainLink) -> None:
        """Notes that this event is the newest of its chain now."""
        self.heads[link.chain] = link.commit
        self._held = self._offered

    def read(self) -> list[ChainLink]:
        """Reads all events, by `seq`; raises `StoreCorrupt` if one is missing or damaged, or a `seq` occurs twice."""
        read = self._repository.read_commit
        links = [link for chain, head in self.heads.items() for link in walk(chain, head, read)]
        links.sort(key=lambda link: link.event.seq)
        for link, following in itertools.pairwise(links):
            if link.event.seq == following.event.seq:
                oid = following.commit.hex()
                raise StoreCorrupt(f"event {oid} has the same number as another", object=oid)
        return links

    def after(self, known: Mapping[str, ObjectId]) -> list[ChainLink] | None:
        """Reads the events after the newest known one of each chain, by `seq`; None if a known one is in no chain."""
        if not known.keys() <= self.heads.keys():
            return None
        links: list[ChainLink] = []
        for chain, head in self.heads.items():
            newest = known.get(chain)
            commit: ObjectId | None = head
            while commit != newest:
                if commit is None:
                    return None
                link, commit = decode_link(chain, commit, self._repository.read_commit(commit))
                links.append(link)
        return sorted(links, key=lambda link: link.event.seq)

    def drop(self, names: Collection[str]) -> None:
        """Removes chains; a sweep removes their objects. After an error, some may be removed and others not."""
        for name in names:
            self._repository.references.delete(name)
            del self.heads[name]

    def drop_snapshots(self, going: Collection[int]) -> list[ChainLink]:
        """Drops snapshot events by `seq`; returns the later events of their chains, whose commits are new.

        A sweep removes their objects. After an error, some chains may have changed and others not.
        """
        # loads libgit2, which readers of events do not need
        from snapd.store.object_store import ObjectBatch

        moved: list[ChainLink] = []
        for chain, head in [*self.heads.items()] if going else ():
            if not chain.startswith(SNAPSHOTS):
                continue
            links = [*walk(chain, head, self._repository.read_commit)][::-1]
            if not any(link.event.seq in going for link in links):
                continue
            failpoint("chain.rewrite")
            commit: ObjectId | None = None
            with ObjectBatch(self._repository) as batch:
                for link in links:
                    if link.event.seq not in going:
                        commit = batch.commit_object(encode_link(link.event, link.payload, link.tree, commit))
                        moved.append(attrs.evolve(link, commit=commit))
                batch.commit()
            self._repository.journal.flush()
            # the reference moves now, and must lead to a file
            self._repository.journal.publish()
            if commit is None:
                self.drop([chain])
            else:
                self._repository.references.move({chain: commit}, durable=True)
                self.heads[chain] = commit
        return moved

    def rewritten(self, change: Callable[[Event], Event]) -> tuple[dict[str, ObjectId], dict[ObjectId, bytes]]:
        """Computes the chains with each event replaced by what `change` returns; writes nothing.

        The chain and `seq` of an event must stay. Returns the new targets of references, and the new loose objects by
        id.
        """
        heads: dict[str, ObjectId] = {}
        objects: dict[ObjectId, bytes] = {}
        for link in self.read():
            event = change(link.event)
            # an unchanged event keeps its JSON, whatever version wrote it
            payload = link.payload
            if event != link.event:
                payload = encode_event(event, decode_event(link.payload, link.commit)[1])
            kept = pins(event)
            objects |= {oid: encode_loose("tree", tree) for oid, tree in kept.trees.items()}
            data = encode_link(event, payload, kept.tree, heads.get(link.chain))
            heads[link.chain] = object_id("commit", data)
            objects[heads[link.chain]] = encode_loose("commit", data)
        return {chain: head for chain, head in heads.items() if head != self.heads[chain]}, objects

    def _check_stored(self, named: Collection[ObjectId]) -> None:
        """Raises `StoreCorrupt` if an object is missing: git would report the commit as damaged."""
        for oid in named:
            # git always knows the empty tree
            if oid != EMPTY_TREE and not self._is_stored(oid):
                raise StoreCorrupt(f"object {oid.hex()}, to which an event refers, is not stored", object=oid.hex())

    def _is_stored(self, oid: ObjectId) -> bool:
        # the commit of the previous event keeps its objects
        return oid in self._held or self._repository.has(oid)


def walk(chain: str, head: ObjectId, read_commit: Callable[[ObjectId], bytes]) -> Iterator[ChainLink]:
    """Yields the events of a chain, newest first; raises `WrittenByNewer`, or `StoreCorrupt` if one is missing."""
    commit: ObjectId | None = head
    while commit is not None:
        link, commit = decode_link(chain, commit, read_commit(commit))
        yield link


def encode_link(event: Event, payload: str, tree: ObjectId, parent: ObjectId | None, host: str = "localhost") -> bytes:
    """Encodes the commit of an event; `host` names the machine if the commit is sent to others."""
    return encode_commit(tree, parent, event.milliseconds // 1000, f"{name_of(event.what)}\n\n{payload}", host)


def host_of(data: bytes) -> str:
    """Returns the machine that made a commit, given its bytes."""
    match = _HOST.search(data)
    return match[1].decode("utf-8", "replace") if match is not None else ""


def decode_link(chain: str, commit: ObjectId, data: bytes) -> tuple[ChainLink, ObjectId | None]:
    """Decodes the event in a commit, and its parent; raises `WrittenByNewer` or `StoreCorrupt`."""
    match = _COMMIT.fullmatch(data.decode("ascii", "replace"))
    if match is None:
        raise StoreCorrupt(f"commit {commit.hex()} is not an event of snapd", object=commit.hex())
    event, _ = decode_event(match["payload"], commit)
    link = ChainLink(chain, commit, bytes.fromhex(match["tree"]), event, match["payload"])
    return link, bytes.fromhex(match["parent"]) if match["parent"] else None
