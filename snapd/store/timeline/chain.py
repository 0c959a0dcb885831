"""The chains of events: a commit for each event, reachable from one reference for each session.

`refs/snapd/sessions/<sha1 of the session's name, cut to 16 digits>` has the events of a session, and
`refs/snapd/operations/<day>` those that belong to none. A commit's message is the event, its tree keeps the objects
that the event names, its parent is the event before it in the same chain. Order among chains is by the events' `seq`.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt, os_errors
from snapd.core.model import EMPTY_TREE
from snapd.store.files.durable import sync_if_there
from snapd.store.log import day_of
from snapd.store.objects.codec import encode_commit, object_id
from snapd.store.objects.loose import encode_loose
from snapd.store.refs.database import read_references

from .codec import decode_event, encode_event, name_of
from .pins import pins

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from snapd.core.model import ObjectId
    from snapd.core.timeline.model import Event, SessionId
    from snapd.store.repository import ShadowRepository

SESSIONS = "refs/snapd/sessions/"
OPERATIONS = "refs/snapd/operations/"

NO_OBJECT = bytes(20)
"""The id that git gives to nothing."""

_NAME_DIGITS = 16
_COMMIT = re.compile(
    r"tree (?P<tree>[0-9a-f]{40})\n(?:parent (?P<parent>[0-9a-f]{40})\n)?"
    r"author [^\n]*\ncommitter [^\n]*\n\n(?P<name>[a-zA-Z]+)\n\n(?P<payload>[^\n]*)\n"
)


@attrs.frozen
class Link:
    """An event in its chain.

    Attributes:
        chain: the name of the reference.
        commit: its commit.
        tree: what keeps the objects that it names.
        event: the event.
        payload: its JSON.
    """

    chain: str
    commit: ObjectId
    tree: ObjectId
    event: Event
    payload: str


def chain_of(event: Event, session_id: SessionId | None) -> str:
    """The name of the reference for an event.

    Args:
        event: the event.
        session_id: its session, None if it has none.
    """
    if session_id is None:
        return OPERATIONS + day_of(event.milliseconds // 1000)
    return SESSIONS + hashlib.sha1(session_id.encode()).hexdigest()[:_NAME_DIGITS]


def supposed_link(event: Event, session_id: SessionId | None, previous: int | None) -> Link:
    """An event that only might happen: it has its place in a chain, and not a commit.

    Args:
        event: the event.
        session_id: its session, None if it has none.
        previous: the `seq` of the event before it in the timeline.

    Raises:
        InvalidParams: a text in the event is not valid Unicode.
    """
    return Link(chain_of(event, session_id), NO_OBJECT, NO_OBJECT, event, encode_event(event, previous))


class Chains:
    """The chains of a repository. Its user sees to it that one thread at a time calls it.

    Args:
        repository: where they lie.

    Attributes:
        heads: the newest commit of each, by name.

    Raises:
        StoreCorrupt: a reference is damaged.
        IoError: they cannot be read.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._held: set[ObjectId] = set()
        self._offered: set[ObjectId] = set()
        self.heads: dict[str, ObjectId] = {
            name: target
            for name, target in read_references(repository.path).whole().items()
            if name.startswith((SESSIONS, OPERATIONS))
        }

    def prepare(self, event: Event, session_id: SessionId | None, previous: int | None) -> Link:
        """Has the objects of an event become part of the repository with the next flush of the journal.

        Args:
            event: the event.
            session_id: its session, None if it has none.
            previous: the `seq` of the event before it in the timeline.

        Returns:
            What its reference is to point to; `attach` says that it does, before another event is prepared.

        Raises:
            InvalidParams: a text in the event is not valid Unicode.
            StoreCorrupt: it names an object that is not stored.
            StorageFull, IoError: as the journal has it.
        """
        payload = encode_event(event, previous)
        kept = pins(event)
        self._check_stored(kept.named)
        chain = chain_of(event, session_id)
        message = f"{name_of(event.what)}\n\n{payload}"
        data = encode_commit(kept.tree, self.heads.get(chain), event.milliseconds // 1000, message)
        commit = object_id("commit", data)
        objects = {oid: encode_loose("tree", tree) for oid, tree in kept.trees.items() if not self._is_stored(oid)}
        self._offered = {*kept.named, *kept.trees}
        self._repository.journal.add({**objects, commit: encode_loose("commit", data)})
        return Link(chain, commit, kept.tree, event, payload)

    def attach(self, link: Link) -> None:
        """Says that the reference of a chain points to this event now."""
        self.heads[link.chain] = link.commit
        self._held = self._offered

    def read(self) -> list[Link]:
        """All events, in their order.

        Raises:
            StoreCorrupt: one is missing or damaged, or two claim the same place.
        """
        links = [link for chain, head in self.heads.items() for link in self._walk(chain, head)]
        links.sort(key=lambda link: link.event.seq)
        for link, following in itertools.pairwise(links):
            if link.event.seq == following.event.seq:
                oid = following.commit.hex()
                raise StoreCorrupt(f"event {oid} claims the place of another", object=oid)
        return links

    def drop(self, names: Collection[str]) -> None:
        """Removes chains, durably; their objects go by themselves when nothing else holds them.

        Raises:
            IoError: some may be gone and others not; each is whole.
        """
        for name in names:
            self._repository.references.delete(name)
            del self.heads[name]
        # what they held goes next: a power cut must not bring them back without it
        for above in (SESSIONS, OPERATIONS):
            path = os.path.join(self._repository.path, above)
            with os_errors(path):
                sync_if_there(path)

    def rewritten(self, change: Callable[[Event], Event]) -> tuple[dict[str, ObjectId], dict[ObjectId, bytes]]:
        """How the chains look where their events are others, in the same order and the same chains.

        Args:
            change: gives what each is to be.

        Returns:
            What the references of the chains that change are to point to, and by id the loose objects for that.
        """
        heads: dict[str, ObjectId] = {}
        objects: dict[ObjectId, bytes] = {}
        for link in self.read():
            event = change(link.event)
            # one that is as it was is written as it was, whatever version wrote it
            payload = link.payload
            if event != link.event:
                payload = encode_event(event, decode_event(link.payload, link.commit)[1])
            kept = pins(event)
            objects |= {oid: encode_loose("tree", tree) for oid, tree in kept.trees.items()}
            message = f"{name_of(event.what)}\n\n{payload}"
            data = encode_commit(kept.tree, heads.get(link.chain), event.milliseconds // 1000, message)
            heads[link.chain] = object_id("commit", data)
            objects[heads[link.chain]] = encode_loose("commit", data)
        return {chain: head for chain, head in heads.items() if head != self.heads[chain]}, objects

    def _check_stored(self, named: Collection[ObjectId]) -> None:
        """Raises `StoreCorrupt` if a commit would hold what is not there: every git would take it for damaged."""
        for oid in named:
            # every git has the empty tree
            if oid != EMPTY_TREE and not self._is_stored(oid):
                raise StoreCorrupt(f"object {oid.hex()}, which an event names, is not stored", object=oid.hex())

    def _is_stored(self, oid: ObjectId) -> bool:
        # what the event before named is held by its commit
        return oid in self._held or self._repository.has(oid)

    def _walk(self, chain: str, head: ObjectId) -> Iterator[Link]:
        """The events of a chain, newest first."""
        commit: ObjectId | None = head
        while commit is not None:
            link, commit = decode_link(chain, commit, self._repository.read_commit(commit))
            yield link


def decode_link(chain: str, commit: ObjectId, data: bytes) -> tuple[Link, ObjectId | None]:
    """The event that a commit is, and the commit before it in its chain.

    Args:
        chain: the name of the reference.
        commit: its id.
        data: its bytes.

    Raises:
        WrittenByNewer: it is one of a newer snapd.
        StoreCorrupt: it is none.
    """
    found = _COMMIT.fullmatch(data.decode("ascii", "replace"))
    if found is None:
        raise StoreCorrupt(f"commit {commit.hex()} is no event of snapd", object=commit.hex())
    event, _ = decode_event(found["payload"], commit)
    link = Link(chain, commit, bytes.fromhex(found["tree"]), event, found["payload"])
    return link, bytes.fromhex(found["parent"]) if found["parent"] else None
