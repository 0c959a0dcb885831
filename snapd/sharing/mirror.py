"""A mirror: the sessions and handovers fetched from one remote, each complete and inspected.

Maintenance keeps it small: it drops old sessions, removes unreachable objects and consolidates packs.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs

from snapd.failpoints import failpoint
from snapd.model.call import Call
from snapd.model.errors import SnapdError, StoreCorrupt, Untrusted, os_errors
from snapd.model.handover import Handover, SignatureStatus
from snapd.model.snapshot import TREE, ObjectId, RelPath
from snapd.model.timeline import Commented, Event, MessageSent, StepBegun
from snapd.model.trees import add_reachable, lookup
from snapd.store.adopt import adopt
from snapd.store.files.durable import remove_if_there, status_if_there, sync_directory, sync_if_there
from snapd.store.maintenance.repack import drop_packing, drop_unindexed
from snapd.store.maintenance.scheduler import MaintenanceScheduler
from snapd.store.maintenance.sweep import expire, pack_names, remove_tempfiles
from snapd.store.object_store import ObjectStore
from snapd.store.objects.codec import decode_commit
from snapd.store.refs.database import PACKED, encode_packed, read_references, references_below
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.chain import SESSIONS, host_of, walk
from snapd.store.timeline.timeline import FetchedTimeline

from .formats import HANDOVERS, HandoverCommit, decode_handover, signature_of
from .index import Entry, IndexedSession, IndexedStep, SessionIndex
from .inspection import Inspection, Limits
from .outgoing import make_bare
from .signatures import IndexedSignature, MirrorSignatures

logger = logging.getLogger(__name__)

_SIGNED = (SESSIONS, HANDOVERS)
"""Prefixes of the references that can have a signature."""

_ENDINGS = ("pack", "rev", "idx")
"""The files of a pack, the index last: git ignores a pack without an index."""

_SHARE = 10
"""A mirror is swept in the background once one in this many sessions was dropped: a sweep reads all that stay."""


@attrs.frozen
class FetchedHandover:
    """A handover that was fetched.

    `events` has what its sessions did, oldest first, and `newest` the commit of the last one; `directory` is the git
    `objects` directory that holds them. `signature` is None if there is none, or it was not checked yet.
    """

    handover: Handover
    events: Sequence[Event]
    objects: ObjectStore
    directory: bytes
    newest: ObjectId | None
    signature: SignatureStatus | None = None


class Mirror:
    """The sessions and handovers of one remote. Safe to use from several threads.

    `path` is a private directory that is created if needed; its last part names the mirror in the index. The references
    in `repository` have the same names as at the remote. A fetch or sweep holds `changing`, because a sweep must not
    remove what a fetch counts on. Raises `StoreCorrupt`, `StorageFull` or `IoError` if it cannot be opened.
    """

    def __init__(self, path: str, index: SessionIndex) -> None:
        self.repository = ShadowRepository(path)
        self.objects = ObjectStore(self.repository)
        self.directory = os.fsencode(self.repository.objects)
        self.changing = threading.RLock()
        self._index = index
        self._name = os.path.basename(path)
        self.signatures = MirrorSignatures(self.repository, index, self._name)
        # references and index change together
        self._moving = threading.RLock()

    def close(self) -> None:
        """Moves the journal, which a failed fetch may have left, into the repository."""
        try:
            self.repository.journal.checkpoint()
        except SnapdError as error:
            # nothing is lost: the journal is replayed at the next opening
            logger.warning("%s was closed with its journal: %s", self.repository.path, error.message)

    def refresh(self) -> None:
        """Makes the index agree with the references, as after a crash; costs two `stat` calls if it does."""
        with self._moving:
            stamp = self._stamp()
            if stamp == self._index.stamp(self._name):
                return
            targets = read_references(self.repository.path).whole()
            result = {name: head for name, head in targets.items() if name.startswith(SESSIONS)}
            had = self._index.heads(self._name)
            entries = [self._entry(name, head) for name, head in result.items() if had.get(name) != head]
            self.signatures.refresh({name: targets[name] for name in targets if name.startswith(_SIGNED)})
            self._index.put(self._name, entries, had.keys() - result.keys(), stamp, _now())

    def heads(self, names: Collection[str] | None = None) -> dict[str, ObjectId]:
        """Returns the newest commits of sessions by the names of their references; of all sessions for None."""
        self.refresh()
        return self._index.heads(self._name, names)

    def listed(self, names: Collection[str]) -> list[IndexedSession]:
        """Returns sessions by the names of their references, in the order of their places."""
        self.refresh()
        return sorted(self._index.at(self._name, names), key=lambda indexed: indexed.place)

    def known(self, names: Collection[str]) -> dict[str, ObjectId]:
        """Returns what the remote was last known to have: `heads`, and what was learned since."""
        self.refresh()
        return self._index.there(self._name, names)

    def note_remote_heads(self, heads: Mapping[str, ObjectId | None]) -> None:
        """Records what the remote has now of some references; None for a reference that is gone there."""
        self._index.note_remote_heads(self._name, heads)

    def drop(self, names: Collection[str]) -> int:
        """Drops sessions and handovers; returns how many existed. `Upkeep` removes their objects.

        After an error some may be dropped.
        """
        with self._moving:
            handovers = self.handover_heads().keys() & set(names)
            had = self.heads(names).keys() | handovers
            for name in had:
                self.repository.references.delete(name)
            self.signatures.put((), [each.reference for each in self.signatures.of(had).values()])
            self.repository.references.sync()
            self._index.put(self._name, (), had, self._stamp(), _now())
            return len(had)

    def events(self, name: str, head: ObjectId) -> tuple[Event, ...]:
        """Returns the events of a session, newest first; raises `StoreCorrupt`."""
        return tuple(link.event for link in walk(name, head, self.repository.read_commit))

    def events_of(self, name: str, head: ObjectId) -> Iterable[Event]:
        """Returns the events of a session or a handover by its reference, newest first; raises `StoreCorrupt`."""
        newest = self._handover(head).events if name.startswith(HANDOVERS) else head
        return () if newest is None else self.events(name, newest)

    def handover_heads(self) -> dict[str, ObjectId]:
        """Returns the commit of each handover by the name of its reference."""
        return references_below(self.repository.path, HANDOVERS).whole()

    def handovers(self) -> Sequence[Handover]:
        """Returns the records of all fetched handovers."""
        return [self._handover(head).handover for _, head in sorted(self.handover_heads().items())]

    def handovers_before(self, milliseconds: int) -> list[str]:
        """Returns the references of handovers that were both made and taken over before a time."""
        return [
            HANDOVERS + handover.name
            for handover in self.handovers()
            if max([handover.milliseconds, *(taken.milliseconds for taken in handover.taken)]) < milliseconds
        ]

    def handover(self, name: str) -> FetchedHandover | None:
        """Returns a fetched handover by its name; None if there is none."""
        head = self.handover_heads().get(HANDOVERS + name)
        if head is None:
            return None
        result = self._handover(head)
        events = tuple(reversed(tuple(self.events_of(HANDOVERS + name, head))))
        return FetchedHandover(result.handover, events, self.objects, self.directory, result.events)

    def _handover(self, head: ObjectId) -> HandoverCommit:
        return decode_handover(head, self.repository.read_commit(head), self.repository.read_tree)

    def timeline(self, name: str, head: ObjectId) -> FetchedTimeline:
        """Returns the timeline of a session, which is read on demand."""
        return FetchedTimeline(self.repository, name, head)

    @contextmanager
    def quarantine(self, borrowed: Sequence[str], names: Collection[str] | None = None) -> Iterator[str]:
        """Creates a temporary repository to fetch into, for the block.

        It has the references `names` (None for all) that were fetched before, and borrows the `objects` directories of
        `borrowed`, so that the remote need not send again what this machine has.
        """
        path = tempfile.mkdtemp(prefix="snapd-fetch-")
        try:
            with os_errors(path):
                make_bare(path, [self.repository.objects, *borrowed])
                with open(os.path.join(path, PACKED), "wb") as file:
                    there = {**self.heads(names), **self.handover_heads()}
                    tags = self.signatures.tags(None if names is None else tuple(names))
                    heads = sorted({**there, **tags}.items())
                    file.write(encode_packed(f"{head.hex()} {name}\n".encode() for name, head in heads))
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def take(
        self, quarantine: str, is_asked: Callable[[str], bool], borrowed: Sequence[str], limits: Limits, call: Call
    ) -> dict[str, ObjectId]:
        """Inspects what was fetched into a quarantine, and moves it into the mirror: all or nothing.

        Returns the newest commit of each session or handover that is new, changed or newly signed, by reference.
        `is_asked` accepts the requested references. Raises `Untrusted` if anything is malformed or over a limit.
        """
        targets = read_references(quarantine).whole()
        fetched = {name: head for name, head in targets.items() if name.startswith(_SIGNED) and is_asked(name)}
        had = {**self.heads(fetched), **self.handover_heads()}
        fresh = {name: head for name, head in fetched.items() if had.get(name) != head}
        tags = {name: tag for name in fetched if (tag := targets.get(signature_of(name))) is not None}
        had_signatures = self.signatures.of(fetched)
        changed = {**fresh, **{name: fetched[name] for name in self._resigned(fetched, tags, had_signatures)}}
        directories = [os.fsencode(directory) for directory in borrowed]

        def complete(wanted: Iterable[ObjectId]) -> frozenset[ObjectId]:
            return adopt(self.repository, directories, set(wanted))

        if len(fresh) > limits.sessions:
            raise Untrusted(f"{len(fresh)} sessions are new there, which is over the limit of {limits.sessions}")
        moved = self._move_in(os.path.join(quarantine, "objects", "pack"))
        try:
            entries = self._inspected(Inspection(self.repository, complete, limits, call), fresh)
            signatures = [
                self.signatures.look_at(name, head, tags[name], had_signatures.get(name), complete)
                for name, head in changed.items()
                if name in tags
            ]
            failpoint("mirror.take")
            with self._moving:
                self.repository.journal.flush(fresh)
                # from here on the references need the packs
                moved = []
                self.repository.journal.checkpoint()
                if changed:
                    self.signatures.put(signatures, [signature_of(name) for name in changed if name not in tags])
                    self._index.put(self._name, entries, (), self._stamp(), _now())
                    self.note_remote_heads({name: head for name, head in fresh.items() if name.startswith(HANDOVERS)})
        except BaseException:
            self._remove(moved)
            raise
        return changed

    def _inspected(self, inspection: Inspection, fresh: Mapping[str, ObjectId]) -> list[Entry]:
        """Returns the index entries of new sessions and handovers; raises `Untrusted` for a malformed one."""
        entries = []
        for name, head in fresh.items():
            if name.startswith(HANDOVERS):
                inspection.handover(name, head)
            else:
                inspection.session(name, head)
                try:
                    entries.append(self._entry(name, head))
                except StoreCorrupt as error:
                    raise Untrusted(f"{name} cannot be used: {error.message}", reference=name) from error
        return entries

    def _resigned(
        self, names: Collection[str], tags: Mapping[str, ObjectId], had: Mapping[str, IndexedSignature]
    ) -> Iterator[str]:
        """Returns the sessions and handovers whose tags differ from those in the index."""
        known = self._index.there(self._name, [signature_of(name) for name in names])
        for name in names:
            had_tag = had[name].tag if name in had else None
            if not tags.get(name) == had_tag == known.get(signature_of(name)):
                yield name

    def _entry(self, name: str, head: ObjectId) -> Entry:
        """Returns the index entry of a session; raises `StoreCorrupt` if its events are not a valid sequence."""
        timeline = self.timeline(name, head)
        try:
            sessions = timeline.sessions()
            if len(sessions) != 1:
                raise StoreCorrupt(f"{name} has {len(sessions)} sessions instead of one", object=name)
            steps = timeline.steps(sessions[0].session_id)
            (last,) = timeline.events(None, 1)
        finally:
            timeline.close()
        indexed = []
        for step in steps:
            begun_on, ended_on = step.from_.tree.hex(), None if step.to is None else step.to.tree.hex()
            indexed.append(IndexedStep(step.step_id, step.begun.message_id, step.state == "open", begun_on, ended_on))
        return Entry(name, head, host_of(self.repository.read_commit(head)), last.milliseconds, sessions[0], indexed)

    def _stamp(self) -> str:
        """The state of the references as `stat` shows it: every change of one changes a directory."""
        parts = []
        for name in (SESSIONS.rstrip("/"), signature_of(SESSIONS).rstrip("/"), PACKED):
            status = status_if_there(os.path.join(self.repository.path, name))
            parts.append("-" if status is None else f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}")
        return " ".join(parts)

    def _move_in(self, source: str) -> list[str]:
        """Moves the packs of a quarantine in; returns their paths without an ending."""
        target = self.repository.pack_directory
        moved: list[str] = []
        with os_errors(target):
            for name in sorted(os.listdir(source)):
                if not name.endswith(".idx") or os.path.exists(os.path.join(target, name)):
                    continue
                moved.append(os.path.join(target, name[:-4]))
                for ending in _ENDINGS:
                    path = os.path.join(source, f"{name[:-4]}.{ending}")
                    if sync_if_there(path):
                        shutil.move(path, f"{moved[-1]}.{ending}")
            sync_directory(target)
        self.repository.forget_packs()
        return moved

    def _remove(self, packs: Iterable[str]) -> None:
        with os_errors(self.repository.pack_directory):
            for path in packs:
                for ending in reversed(_ENDINGS):
                    remove_if_there(f"{path}.{ending}")
        self.repository.forget_packs()


def _now() -> int:
    return time.time_ns() // 1_000_000


class Upkeep:
    """The maintenance of one mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self._index, self._name = mirror._index, mirror._name
        self.scheduler = MaintenanceScheduler(mirror.repository)

    def keep(self, before: int, call: Call) -> int:
        """Does all maintenance now; parameters and errors are those of `RemoteSessions.clean`."""
        with self.mirror.changing:
            self.scheduler.stop()
            dropped = self._drop(before)
            drop_packing(self.mirror.repository)
            if self._index.dropped(self._name):
                self._sweep(call)
            if len(pack_names(self.mirror.repository.pack_directory)) > 1:
                self.scheduler.repack_all(call)
            return dropped

    def keep_in_background(self, before: int, call: Call) -> int:
        """Does part of `keep`; a repack may continue after this returns."""
        if self.scheduler.is_running or not self.mirror.changing.acquire(blocking=False):
            return 0
        try:
            dropped = self._drop(before)
            if self._index.dropped(self._name) * _SHARE > self._index.count(self._name):
                self._sweep(call)
            self.scheduler.catch_up(all_of_it=False)
            return dropped
        finally:
            self.mirror.changing.release()

    def with_any(
        self, paths: Collection[RelPath], contents: Collection[ObjectId], messages: Collection[str], call: Call
    ) -> list[str]:
        """Returns the references of sessions and handovers that have any of these files, blobs or messages."""
        heads = {**self.mirror.heads(), **self.mirror.handover_heads()}
        return [name for name, head in heads.items() if self._has(name, head, paths, contents, messages, call)]

    def purge(self, names: Collection[str], call: Call) -> None:
        """Drops sessions and handovers by their references, with all objects that only they need.

        After an error some may be left; the same call removes them.
        """
        with self.mirror.changing:
            self.scheduler.stop()
            drop_packing(self.mirror.repository)
            self.mirror.drop(names)
            self._sweep(call, wholly=True)

    def _has(
        self,
        name: str,
        head: ObjectId,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
    ) -> bool:
        read = self.mirror.repository.read_tree
        seen: set[ObjectId] = set()
        for _, tree in self._commits(head, call):
            add_reachable(read, tree, seen, call.check)
            snapshots = [entry.oid for entry in read(tree) if entry.mode == TREE]
            if any(lookup(self.mirror.repository.entry_in, each, path) for each in snapshots for path in paths):
                return True
        events = self.mirror.events_of(name, head) if messages else ()
        payloads = [event.what for event in events]
        named = {what.message_id for what in payloads if isinstance(what, MessageSent | StepBegun)}
        named |= {what.comment_id for what in payloads if isinstance(what, Commented)}
        return not (seen.isdisjoint(contents) and named.isdisjoint(messages))

    def close(self) -> None:
        """Stops a running repack."""
        self.scheduler.stop()

    def _drop(self, before: int) -> int:
        self.mirror.refresh()
        remove_tempfiles(self.mirror.repository.path)
        old = [session.chain for session in self._index.older_than(self._name, before)]
        return self.mirror.drop([*old, *self.mirror.handovers_before(before)])

    def _sweep(self, call: Call, *, wholly: bool = False) -> None:
        repository = self.mirror.repository
        repository.journal.checkpoint()
        expire(repository, self._roots(call), None, call, wholly=wholly)
        drop_unindexed(repository)
        self._index.note_swept(self._name)

    def _roots(self, call: Call) -> Iterator[tuple[ObjectId, ...]]:
        """Yields the signatures, and all session commits with their trees, which reach all that the events name."""
        yield from self.mirror.signatures.roots()
        for head in (*self.mirror.heads().values(), *self.mirror.handover_heads().values()):
            yield from self._commits(head, call)

    def _commits(self, head: ObjectId, call: Call) -> Iterator[tuple[ObjectId, ObjectId]]:
        """Yields a commit and its ancestors, each with its tree."""
        commit: ObjectId | None = head
        while commit is not None:
            call.check()
            at = commit
            tree, commit = decode_commit(self.mirror.repository.read_commit(at), at)
            yield at, tree
