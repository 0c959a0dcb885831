"""Copies of sessions for other machines, and whether one copy continues another."""

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
    Commented,
    Edited,
    Event,
    Informed,
    Kept,
    MessageSent,
    Operated,
    Recorded,
    Replied,
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
    """Returns the id that an event keeps in every copy on every machine; None for an event that a copy may omit."""
    kind = type(event.what).__name__
    match event.what:
        case StepBegun() | StepEnded():
            return kind, event.what.step_id
        case Operated():
            return kind, event.what.operation_id
        case MessageSent():
            return kind, f"{event.what.message_id} {event.milliseconds}"
        case SessionStarted() | SessionEnded() | Kept() | Informed():
            return kind, str(event.milliseconds)
        case Commented():
            return kind, event.what.comment_id
        case Replied():
            return kind, f"{event.what.comment_id} {event.milliseconds}"
        case StepsLeft() | Edited() | Recorded():
            return None


def identities(events: Iterable[Event]) -> frozenset[Identity]:
    """Returns the identities of the events in a copy of a session.

    A copy that has all of another may replace it without losing anything, even if files were excluded from it.
    """
    return frozenset(result for event in events if (result := identity(event)) is not None)


def events_of(timeline: TimelineView, session_ids: Iterable[SessionId]) -> Iterator[Event]:
    """Returns the events about these sessions or their steps, each once, oldest first."""
    each = (timeline.events_of_session(session_id) for session_id in sorted(session_ids))
    in_order = heapq.merge(*each, key=lambda event: event.seq)
    return (next(same) for _, same in itertools.groupby(in_order, key=lambda event: event.seq))


def by_session(events: Iterable[Event]) -> dict[SessionId, set[Identity]]:
    """Groups the identities of events by session; `events` must include all events of its steps."""
    sessions: dict[str, set[SessionId]] = {}
    result: dict[SessionId, set[Identity]] = {}
    for event in events:
        name = identity(event)
        if name is not None:
            for session_id in _about(event, sessions):
                result.setdefault(session_id, set()).add(name)
    return result


def _about(event: Event, sessions: dict[str, set[SessionId]]) -> set[SessionId]:
    """Returns the sessions that an event is about; `sessions` has those of earlier steps and operations."""
    what = event.what
    match what:
        case SessionStarted() | SessionEnded() | MessageSent() | Informed():
            return {what.session_id}
        case Commented() | Replied():
            return set() if what.session_id is None else {what.session_id}
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
    """Returns the events of a copy that a timeline with the identities `known_here` lacks, in their order."""
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
    """Returns whether a host name is valid in what travels."""
    return _HOST.fullmatch(name) is not None


class OutgoingRepository:
    """A temporary repository with copies of sessions that leave this machine; a context manager, which removes it.

    The same events make the same commits, so a longer session is a continuation of what was pushed before. `borrowed`
    are the `objects` directories with everything else: those of the store and of the project's git.

    Attributes:
        heads: the newest commit of each session and handover, and the tag of each signature, by reference.
        commits: all commits of each session, and the one of a handover, by reference.
        identities: the `identities` of each session, by reference.
        effects: the blobs that operations wrote, which no tree of an event names, each with its path.
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
        """Returns the entries of a directory that was added; None for any other."""
        data = self._trees.get(oid)
        return None if data is None else decode_tree(data, oid)

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        """Adds the coverage of a snapshot; returns the id by which an event names the snapshot."""
        self.snapshots.add(tree)
        return SnapshotId(tree, self._add("blob", encode_coverage(coverage)))

    def add_session(self, session_id: SessionId, events: Iterable[Event]) -> None:
        """Adds a session by all of its events that travel, oldest first."""
        added = list(events)
        commits = self._add_events(added)
        if commits:
            name = chain_of_session(session_id)
            self.heads[name] = commits[-1]
            self.commits[name] = frozenset(commits)
            self.identities[name] = identities(added)

    def add_handover(self, handover: Handover, events: Iterable[Event]) -> None:
        """Adds a handover with the events of its sessions, oldest first."""
        self.add_taken(handover, next(reversed(self._add_events(events)), None))

    def add_taken(self, handover: Handover, newest: ObjectId | None) -> None:
        """Adds a handover whose events exist already, by their newest commit."""
        self._add("tree", tree_of(handover)[1])
        self.snapshots |= {handover.folder.tree, *filter(None, [handover.committed])}
        name, commit = HANDOVERS + handover.name, self._add("commit", encode_handover(handover, newest, self._host))
        self.heads[name] = commit
        self.commits[name] = frozenset({commit})

    def payload(self, name: str, seconds: int) -> bytes:
        """Returns what a signature of a session or handover signs at a time."""
        return payload_of(name, self.heads[name], seconds, self._host)

    def add_signature(self, name: str, payload: bytes, signature: bytes) -> SignatureTag:
        """Adds an armored signature of a session or handover; raises `StoreCorrupt` if it is malformed."""
        data = payload + signature
        signature_tag = decode_tag(object_id("tag", data), data)
        self.heads[signature_of(name)] = self._add("tag", data)
        return signature_tag

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
    """Returns the name of a machine as the commits of its events have it."""
    return _NOT_IN_A_HOST.sub("-", name).strip("-.") or "localhost"


def make_bare(path: str, borrowed: Iterable[str]) -> None:
    """Makes a bare repository in an empty directory with these directories as alternates; raises `OSError`."""
    for directory in ("objects/info", "objects/pack", "refs"):
        os.makedirs(os.path.join(path, directory))
    with open(os.path.join(path, "HEAD"), "w") as file:
        file.write("ref: refs/heads/main\n")
    with open(os.path.join(path, "objects", "info", "alternates"), "w", errors="surrogateescape") as file:
        file.writelines(f"{_quoted(directory)}\n" for directory in borrowed)
    with open(os.path.join(path, "config"), "w") as file:
        # of the borrowed repositories, other machines know only the project's own references
        file.write("[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n")
        file.write('\talternateRefsPrefixes = "refs/heads/ refs/remotes/ refs/tags/"\n')


def look_at_trees(path: str, commits: Iterable[ObjectId]) -> None:
    """Lets git omit from a transfer all objects in the trees of commits that both sides have.

    By default git considers only the parents of the commits to send, and a session has no commit of the project among
    its ancestors. In a shallow repository, git considers the trees of all common commits (`--objects-edge-aggressive`
    of git-rev-list(1)), so a transfer costs what the session changed. `commits` are commits of the project that the
    other side may have.
    """
    first = next(iter(sorted(commits)), None)
    if first is not None:
        with os_errors(path), open(os.path.join(path, "shallow"), "w") as file:
            file.write(f"{first.hex()}\n")


def _quoted(path: str) -> str:
    """Quotes any path for `info/alternates`."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
