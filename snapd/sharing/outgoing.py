"""Copies of sessions for other machines, and whether one goes on where another one ends."""

from __future__ import annotations

import heapq
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence

from snapd.model.errors import os_errors
from snapd.model.handover import Handover
from snapd.model.snapshot import EMPTY_TREE, Coverage, ObjectId, RelPath, TreeEntry
from snapd.model.timeline import (
    Edited,
    Event,
    Kept,
    MessageSent,
    Operated,
    Recorded,
    SessionEnded,
    SessionId,
    SessionStarted,
    SnapshotId,
    StepBegun,
    StepEnded,
    StepsLeft,
)
from snapd.store.coverage import encode as encode_coverage
from snapd.store.objects.codec import ObjectKind, decode_tree, object_id
from snapd.store.objects.pack_entry import pack_object
from snapd.store.objects.pack_writer import PackWriter
from snapd.store.timeline.chain import chain_of_session, effect_blobs, encode_link, pins
from snapd.store.timeline.codec import encode_event
from snapd.store.timeline.timeline import TimelineView

from .formats import (
    HANDOVERS,
    SignatureTag,
    decode_tag,
    encode_handover,
    payload_of,
    signature_of,
    tree_of,
)

Identity = tuple[str, str]


def identity(event: Event) -> Identity | None:
    """What tells an event from all others, on whatever machine its copy was made; None for one that can be left out."""
    kind = type(event.what).__name__
    match event.what:
        case StepBegun() | StepEnded():
            return kind, event.what.step_id
        case Operated():
            return kind, event.what.operation_id
        case MessageSent():
            return kind, f"{event.what.message_id} {event.milliseconds}"
        case SessionStarted() | SessionEnded() | Kept():
            return kind, str(event.milliseconds)
        case StepsLeft() | Edited() | Recorded():
            return None


def identities(events: Iterable[Event]) -> frozenset[Identity]:
    """What a copy of a session has.

    One that has all of another may take its place: nothing is lost by that, even if files were taken out of the copy.
    """
    return frozenset(found for event in events if (found := identity(event)) is not None)


def events_of(timeline: TimelineView, session_ids: Iterable[SessionId]) -> Iterator[Event]:
    """The events that say anything about some sessions or their steps, each once, oldest first."""
    each = (timeline.events_of_session(session_id) for session_id in sorted(session_ids))
    in_order = heapq.merge(*each, key=lambda event: event.seq)
    return (next(same) for _, same in itertools.groupby(in_order, key=lambda event: event.seq))


def by_session(events: Iterable[Event]) -> dict[SessionId, set[Identity]]:
    """What events say about each session, as `identities` of a copy of it; they have all events of its steps."""
    sessions: dict[str, set[SessionId]] = {}
    found: dict[SessionId, set[Identity]] = {}
    for event in events:
        name = identity(event)
        if name is not None:
            for session_id in _about(event, sessions):
                found.setdefault(session_id, set()).add(name)
    return found


def _about(event: Event, sessions: dict[str, set[SessionId]]) -> set[SessionId]:
    """The sessions that an event is about; `sessions` has those of the steps and operations before it."""
    what = event.what
    match what:
        case SessionStarted() | SessionEnded() | MessageSent():
            return {what.session_id}
        case StepBegun():
            return sessions.setdefault(what.step_id, {what.session_id})
        case StepEnded():
            return sessions.get(what.step_id, set())
        case Kept():
            return {session_id for step in what.steps for session_id in sessions.get(step, ())}
        case Operated():
            about = {session_id for turn in what.turned for session_id in sessions.get(turn.name, ())}
            if what.is_own and what.session_id is not None:
                about.add(what.session_id)
            return sessions.setdefault(what.operation_id, about)
        case StepsLeft() | Edited() | Recorded():
            return set()


def added(timeline: TimelineView, known_here: Collection[Identity], events: Sequence[Event]) -> list[Event]:
    """The events of a copy, in their order, that a timeline lacks which has those of `known_here`."""
    common = max((at for at, event in enumerate(events) if identity(event) in known_here), default=-1)

    def is_new(at: int, event: Event) -> bool:
        name = identity(event)
        if name is not None:
            return name not in known_here
        steps = () if event.seen is None else event.seen.steps
        return at > common or any(timeline.step(step) is None for step in steps)

    return [event for at, event in enumerate(events) if is_new(at, event)]


_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_NOT_IN_A_HOST = re.compile(r"[^A-Za-z0-9.-]+")


def is_host(name: str) -> bool:
    """Whether a machine may be named like this in what travels."""
    return _HOST.fullmatch(name) is not None


class OutgoingRepository:
    """A temporary repository with the copies of sessions that leave this machine; a context manager that removes it.

    The same events make the same commits, so a session that went on is a continuation of what was pushed before. Every
    method raises `StorageFull`, `IoError`.

    Args:
        borrowed: `objects` directories that have everything else: that of the store, those of the project's git.
        host: the name of this machine.

    Attributes:
        heads: the newest commit of each session, and that of a handover, by the names of their references; and the tags
            of signatures, by their own names.
        commits: all commits of each session, and that of a handover, by the names of their references.
        identities: what each session has, by the same names; see `identities`.
        effects: the blobs that operations wrote, which have no name in the trees of events, each with its path.
    """

    def __init__(self, borrowed: Sequence[str], host: str) -> None:
        self._host = as_host(host)
        self.heads: dict[str, ObjectId] = {}
        self.commits: dict[str, frozenset[ObjectId]] = {}
        self.identities: dict[str, frozenset[tuple[str, str]]] = {}
        self.snapshots: set[ObjectId] = set()
        self.effects: set[tuple[RelPath, ObjectId]] = set()
        self.path = tempfile.mkdtemp(prefix="snapd-push-")
        try:
            with os_errors(self.path):
                make_bare(self.path, borrowed)
            self._pack = PackWriter(os.path.join(self.path, "objects", "pack"))
        except BaseException:
            self._remove()
            raise
        self._added: set[ObjectId] = {EMPTY_TREE}
        self._trees: dict[ObjectId, bytes] = {}

    def __enter__(self) -> OutgoingRepository:
        return self

    def __exit__(self, *_: object) -> None:
        self._pack.discard()
        self._remove()

    def tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""
        oid = self._add("tree", data)
        self._trees[oid] = data
        return oid

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...] | None:
        """The entries of a directory that was added; None for any other."""
        data = self._trees.get(oid)
        return None if data is None else decode_tree(data, oid)

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        """Adds the coverage of a snapshot, and gives the id by which an event names the snapshot."""
        self.snapshots.add(tree)
        return SnapshotId(tree, self._add("blob", encode_coverage(coverage)))

    def add_session(self, session_id: SessionId, events: Iterable[Event]) -> None:
        """Adds a session, given as all of its events that travel, oldest first."""
        added = list(events)
        commits = self._add_events(added)
        if commits:
            name = chain_of_session(session_id)
            self.heads[name] = commits[-1]
            self.commits[name] = frozenset(commits)
            self.identities[name] = identities(added)

    def add_handover(self, handover: Handover, events: Iterable[Event]) -> None:
        """Adds a handover with what its sessions did, oldest first."""
        self.add_taken(handover, next(reversed(self._add_events(events)), None))

    def add_taken(self, handover: Handover, newest: ObjectId | None) -> None:
        """Adds a handover whose events are known, by their newest commit."""
        self._add("tree", tree_of(handover)[1])
        self.snapshots |= {handover.folder.tree, *filter(None, [handover.committed])}
        name, commit = HANDOVERS + handover.name, self._add("commit", encode_handover(handover, newest, self._host))
        self.heads[name] = commit
        self.commits[name] = frozenset({commit})

    def payload(self, name: str, seconds: int) -> bytes:
        """What a signature of a session or a handover signs, by the name of its reference and a time."""
        return payload_of(name, self.heads[name], seconds, self._host)

    def add_signature(self, name: str, payload: bytes, signature: bytes) -> SignatureTag:
        """Adds an armored signature of a session or a handover; raises `StoreCorrupt` if it is none."""
        data = payload + signature
        found = decode_tag(object_id("tag", data), data)
        self.heads[signature_of(name)] = self._add("tag", data)
        return found

    def _add_events(self, events: Iterable[Event]) -> list[ObjectId]:
        commits: list[ObjectId] = []
        previous: int | None = None
        for event in events:
            self.effects.update(effect_blobs(event))
            kept = pins(event)
            for data in kept.trees.values():
                self._add("tree", data)
            payload = encode_event(event, previous)
            parent = next(reversed(commits), None)
            commits.append(self._add("commit", encode_link(event, payload, kept.tree, parent, self._host)))
            previous = event.seq
        return commits

    def finish(self) -> None:
        """Completes the repository, so that git can read it."""
        if self._added != {EMPTY_TREE}:
            self._pack.finish()
        for name, head in self.heads.items():
            path = os.path.join(self.path, name)
            with os_errors(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(f"{head.hex()}\n")

    def _add(self, kind: ObjectKind, data: bytes) -> ObjectId:
        oid = object_id(kind, data)
        if oid not in self._added:
            self._added.add(oid)
            self._pack.add(oid, pack_object(kind, data))
        return oid

    def _remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def as_host(name: str) -> str:
    """The name of a machine as the commits of its events have it."""
    return _NOT_IN_A_HOST.sub("-", name).strip("-.") or "localhost"


def make_bare(path: str, borrowed: Iterable[str]) -> None:
    """Makes a bare repository in an empty directory, which reads some `objects` directories, too; raises `OSError`."""
    for directory in ("objects/info", "objects/pack", "refs"):
        os.makedirs(os.path.join(path, directory))
    with open(os.path.join(path, "HEAD"), "w") as file:
        file.write("ref: refs/heads/main\n")
    with open(os.path.join(path, "objects", "info", "alternates"), "w", errors="surrogateescape") as file:
        file.writelines(f"{_quoted(directory)}\n" for directory in borrowed)
    with open(os.path.join(path, "config"), "w") as file:
        # of the borrowed repositories, only what the project itself has is known elsewhere
        file.write("[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n")
        file.write('\talternateRefsPrefixes = "refs/heads/ refs/remotes/ refs/tags/"\n')


def look_at_trees(path: str, commits: Iterable[ObjectId]) -> None:
    """Has git look at the trees of what both sides have, before a repository sends or asks for anything.

    By default it looks only at what the commits to send go on from, and a session goes on from no commit of the
    project. In a shallow repository, git looks at the trees of everything that both sides have
    (`--objects-edge-aggressive` of git-rev-list(1)): then a session costs what it changed. The commits are of the
    project, and the other side may have them. Raises `IoError`, `StorageFull`.
    """
    first = next(iter(sorted(commits)), None)
    if first is not None:
        with os_errors(path), open(os.path.join(path, "shallow"), "w") as file:
            file.write(f"{first.hex()}\n")


def _quoted(path: str) -> str:
    """A path as git reads it in `info/alternates`, whatever is in it."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
