"""Extracts a self-contained timeline of one or several sessions, as it leaves this machine.

All sessions of a folder share a timeline: events are numbered across them, and one span of changes can belong to
several. The copy has only events of the chosen sessions, numbered from 1, and each span is reduced to what their own
steps changed. So a reader sees the same changes for each step as this machine does, without the steps of others.

Snapshots travel as trees with their empty directories. The rest of a coverage is about this machine: the user's ignore
rules, and the names of files that were not captured.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

import attrs

from snapd.core.attribution import Author, git_at_work, owners
from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot
from snapd.model.ignore import IgnoreFile
from snapd.model.paths import parents, shown
from snapd.model.snapshot import EMPTY_BLOB, EMPTY_TREE, TREE, Coverage, Entry, ObjectId, RelPath, TreeEntry
from snapd.model.timeline import (
    Commented,
    Edited,
    Effect,
    Event,
    EventPayload,
    Informed,
    Kept,
    MessageSent,
    Operated,
    OperationId,
    Recorded,
    Replied,
    Reversal,
    SessionEnded,
    SessionId,
    SessionStarted,
    SnapshotId,
    Span,
    StepBegun,
    StepEnded,
    StepId,
    StepsLeft,
)
from snapd.model.trees import ReadTree, amended, files, lookup
from snapd.store.object_store import ObjectStore
from snapd.store.timeline.timeline import TimelineView

from .copies import Copies
from .outgoing import events_of


@attrs.frozen
class Exclusions:
    """What must not leave this machine.

    `patterns` are files, in `.gitignore` syntax, rooted at the workspace; `contents` are blobs, wherever they are.
    `texts` excludes prompts, and with them titles and descriptions, which are often made of prompts.
    """

    patterns: Sequence[str] = ()
    contents: frozenset[ObjectId] = frozenset()
    texts: bool = False


class TreeFilter:
    """Removes excluded files from trees; `read` returns the entries of a tree, `write` stores the bytes of one."""

    def __init__(self, left_out: Exclusions, read: ReadTree, write: Callable[[bytes], ObjectId]) -> None:
        text = "\n".join(left_out.patterns).encode("utf-8", "surrogateescape")
        self._file = IgnoreFile.parse(text, bounded=False)
        self._contents = left_out.contents
        self._is_needed = bool(left_out.patterns or left_out.contents)
        self._read = read
        self._write = write
        self._known: dict[tuple[ObjectId, RelPath], ObjectId] = {}

    def is_out(self, path: RelPath) -> bool:
        """Returns whether a pattern excludes a file or a directory above it."""
        if not self._is_needed:
            return False
        return bool(self._file.match(path, is_dir=False)) or any(
            self._file.match(above, is_dir=True) for above in parents(path)
        )

    def is_content_out(self, *entries: Entry | None) -> bool:
        """Returns whether one of these files is excluded by its contents."""
        return any(entry is not None and entry.oid in self._contents for entry in entries)

    def tree(self, oid: ObjectId, path: RelPath = b"") -> ObjectId:
        """Returns the directory at `path` without excluded files, and without the directories that this empties."""
        if not self._is_needed or oid == EMPTY_TREE:
            return oid
        known = self._known.get((oid, path))
        if known is None:
            known = self._known[(oid, path)] = self._without(oid, path + b"/" if path else b"")
        return known

    def _without(self, oid: ObjectId, above: RelPath) -> ObjectId:
        entries = self._read(oid)
        left = []
        for entry in entries:
            if self._file.match(above + entry.name, is_dir=entry.mode == TREE) or entry.oid in self._contents:
                continue
            if entry.mode == TREE:
                below = self.tree(entry.oid, above + entry.name)
                if below == EMPTY_TREE:
                    continue
                left.append(attrs.evolve(entry, oid=below))
            else:
                left.append(entry)
        if tuple(left) == tuple(entries):
            return oid
        if not left:
            return EMPTY_TREE
        return self._write(b"".join([b"%o %s\0%s" % (entry.mode, entry.name, entry.oid) for entry in left]))


@attrs.frozen
class ExcludeOptions:
    """What a client wants to keep on this machine.

    Attributes:
        exclude: files, in `.gitignore` syntax.
        redact: files none of whose contents, past or present, may leave the machine, at whatever path they are.
        without_prompts: keeps prompts, the titles of sessions, and the descriptions and commands of steps here.
    """

    exclude: Sequence[str] = ()
    redact: Sequence[RelPath] = ()
    without_prompts: bool = False

    def exclusions(
        self, events: Iterable[Event], also: Iterable[ObjectId], objects: ObjectStore, call: Call
    ) -> Exclusions:
        """Resolves the options for these events, and for the trees `also`.

        Raises `FileNotInSnapshot` if a file to redact is in no snapshot that would leave.
        """
        contents = _contents(self.redact, events, also, objects, call) if self.redact else frozenset()
        return Exclusions(self.exclude, contents, self.without_prompts)


def _contents(
    paths: Sequence[RelPath], events: Iterable[Event], also: Iterable[ObjectId], objects: ObjectStore, call: Call
) -> frozenset[ObjectId]:
    trees = {*also, *(tree for event in events for tree in _trees(event))}
    object_ids: set[ObjectId] = set()
    for path in paths:
        had = {oid for tree in trees for oid in _at(path, tree, objects, call)}
        if not had:
            raise FileNotInSnapshot(
                f"{shown(path)} is in no snapshot that would leave this machine", file=shown(path), skipped=False
            )
        object_ids |= had
    # the empty blob reveals nothing, and many files are empty
    return frozenset(object_ids - {EMPTY_BLOB})


def _at(path: RelPath, tree: ObjectId, objects: ObjectStore, call: Call) -> Iterator[ObjectId]:
    call.check()
    entry = lookup(objects.entry_in, tree, path)
    if entry is not None and entry.mode == TREE:
        yield from (file.oid for _, file in files(objects.read_tree, entry.oid))
    elif entry is not None:
        yield entry.oid


def _trees(event: Event) -> Iterator[ObjectId]:
    if event.head is not None:
        yield event.head.tree
    if event.seen is not None:
        yield from (event.seen.before.tree, event.seen.after.tree)
    if isinstance(event.what, Operated):
        yield event.what.before.tree


class Projection:
    """Makes the events that travel; `outgoing` gets the objects that the workspace's store does not have."""

    def __init__(
        self,
        session_ids: Collection[SessionId],
        timeline: TimelineView,
        objects: ObjectStore,
        authors: Callable[[Iterable[StepId]], Mapping[StepId, Author]],
        outgoing: Copies,
        left_out: Exclusions | None = None,
    ) -> None:
        self._session_ids = frozenset(session_ids)
        self._timeline = timeline
        self._objects = objects
        self._authors = authors
        self._outgoing = outgoing
        self._left_out = left_out or Exclusions()
        self._leaving_out = TreeFilter(self._left_out, self._read, outgoing.tree)
        self._mine: frozenset[StepId] = frozenset()
        self._operations: set[OperationId] = set()
        # of each event that travels, its number here
        self._numbers: list[int] = []
        self._copied: dict[SnapshotId, SnapshotId] = {}

    def events(self, call: Call) -> Iterator[Event]:
        """Yields the events, oldest first; after an error the copy is incomplete."""
        timeline = self._timeline
        self._mine = frozenset(step.step_id for name in self._session_ids for step in timeline.steps(name))
        numbers = itertools.count(1)
        last: SnapshotId | None = None
        for event in events_of(timeline, self._session_ids):
            call.check()
            seen = None if event.seen is None else self._span(event.seen)
            what, head = self._event_data(event.what), event.head
            if what is None and seen is None:
                continue
            if isinstance(what, (SessionStarted, SessionEnded)):
                # the work tree was not captured: the event has the snapshot of the one before it, whoever made that
                head = last
            elif isinstance(what, Operated):
                assert isinstance(event.what, Operated)
                head = self._left_by(event.what, what, head)
            elif head is not None:
                head = self._copy(head)
            last = head
            # an event of other sessions is kept only for its span
            self._numbers.append(event.seq)
            yield Event(next(numbers), event.milliseconds, head, seen, what or StepsLeft(()))

    # -- what happened

    def _event_data(self, what: EventPayload) -> EventPayload | None:
        """Returns the part of a payload that is about the sessions; None if there is none."""
        match what:
            case SessionStarted():
                if what.session_id not in self._session_ids:
                    return None
                return attrs.evolve(what, title=None) if self._left_out.texts else what
            case SessionEnded():
                return what if what.session_id in self._session_ids else None
            case MessageSent():
                if what.session_id not in self._session_ids:
                    return None
                # paths of this machine are not shared
                return attrs.evolve(what, text=None if self._left_out.texts else what.text, transcript=None)
            case StepBegun():
                if what.session_id not in self._session_ids:
                    return None
                if self._left_out.texts:
                    what = attrs.evolve(what, description=None, command=None)
                return attrs.evolve(what, parent=self._own(what.parent))
            case StepEnded():
                return self._ended(what) if what.step_id in self._mine else None
            case StepsLeft(steps):
                left = self._of_mine(steps)
                return StepsLeft(left) if left else None
            case Kept(files, steps):
                kept = self._of_mine(steps)
                goes = (
                    file for file in files if self._leaves(file[0]) and not self._leaving_out.is_content_out(file[1])
                )
                return Kept(tuple(goes), kept) if kept else None
            case Commented() | Replied():
                return self._remark(what) if what.session_id in self._session_ids else None
            case Informed():
                if what.session_id not in self._session_ids or not what.comments:
                    return None
                # the files are about others, who do not travel
                return Informed(what.session_id, bisect_right(self._numbers, what.comments))
            case Recorded():
                # it belongs to no session
                return None
            case Edited():
                # an edit by the user is not shared; the span has what had changed by then
                return None
            case Operated():
                return self._operated(what)
            case _:
                assert_never(what)

    def _remark(self, what: Commented | Replied) -> Commented | Replied:
        if self._left_out.texts and what.text is not None:
            what = attrs.evolve(what, text="")
        if not isinstance(what, Commented):
            return what
        is_out = self._left_out.texts or not self._leaves(what.path) or self._leaving_out.is_content_out(what.entry)
        return attrs.evolve(what, step_id=self._own(what.step_id), entry=None if is_out else what.entry)

    def _operated(self, what: Operated) -> Operated | None:
        turned = tuple(turn for turn in what.turned if turn.name in self._mine or turn.name in self._operations)
        is_about = what.session_id in self._session_ids
        if not turned and not (is_about and what.is_own):
            return None
        self._operations.add(what.operation_id)
        return attrs.evolve(
            what,
            session_id=what.session_id if is_about else None,
            before=self._copy(what.before),
            turned=tuple(map(self._turned, turned)),
            effects=None if what.effects is None else self._effects(what.effects),
            root=self._own(what.root),
            message_id=what.message_id if is_about else None,
            part_id=what.part_id if is_about else None,
            # other files of the folder belong to no session
            after=None,
            is_base=True,
        )

    def _ended(self, what: StepEnded) -> StepEnded:
        return attrs.evolve(
            what,
            claims=None if what.claims is None else self._paths(what.claims),
            uncaptured=tuple(change for change in what.uncaptured if self._leaves(change.path)),
            description=None if self._left_out.texts else what.description,
        )

    def _turned(self, turned: Reversal) -> Reversal:
        return attrs.evolve(
            turned,
            effects=self._effects(turned.effects),
            made_directories=self._paths(turned.made_directories),
            removed_directories=self._paths(turned.removed_directories),
            left=None if turned.left is None else self._paths(turned.left),
            rest=self._paths(turned.rest),
            moved=tuple(pair for pair in turned.moved if all(map(self._leaves, pair))),
        )

    def _effects(self, effects: Iterable[Effect]) -> tuple[Effect, ...]:
        is_out = self._leaving_out.is_content_out
        return tuple(effect for effect in effects if self._leaves(effect.path) and not is_out(effect.old, effect.new))

    def _paths(self, paths: Iterable[RelPath]) -> tuple[RelPath, ...]:
        return tuple(filter(self._leaves, paths))

    def _leaves(self, path: RelPath) -> bool:
        return not self._leaving_out.is_out(path)

    def _left_by(self, whole: Operated, part: Operated, head: SnapshotId | None) -> SnapshotId | None:
        """Returns the snapshot after an operation, without what it reverted of other sessions."""
        if head is None or len(part.turned) == len(whole.turned):
            return None if head is None else self._copy(head)
        effects = [effect for turn in part.turned for effect in turn.effects]
        return self._with(whole.before, {effect.path: effect.new for effect in effects}, ())

    def _own(self, step_id: StepId | None) -> StepId | None:
        return step_id if step_id in self._mine else None

    def _of_mine(self, steps: Iterable[StepId]) -> tuple[StepId, ...]:
        return tuple(step for step in steps if step in self._mine)

    # -- what changed

    def _span(self, span: Span) -> Span | None:
        """Reduces a span to the changes of these sessions; None if none of their steps was open in it."""
        steps = self._of_mine(span.steps)
        left = tuple(step for step in self._of_mine(span.left) if step not in steps)
        if not steps and not left:
            return None
        is_whole = steps == span.steps and not span.by_git
        if is_whole and all(author.claims is None for author in self._authors(steps).values()):
            # all of it belongs to these sessions
            return Span(self._copy(span.before), self._copy(span.after), steps, left)
        authors = {**self._authors(span.steps), **git_at_work(span)}
        before, after = span.before, span.after
        result = self._objects.changes(before, after)
        mine = {change.path: change.new for change in result if self._is_mine(owners(change.path, authors))}
        directories = self._empty_directories(before) ^ self._empty_directories(after)
        turned = [path for path in directories if self._is_mine(owners(path, authors, Author.names_directory))]
        return Span(self._copy(before), self._with(before, mine, turned), steps, left)

    def _is_mine(self, step_ids: Iterable[StepId]) -> bool:
        return any(step in self._mine for step in step_ids)

    def _with(
        self, snapshot: SnapshotId, entries: Mapping[RelPath, Entry | None], directories: Collection[RelPath]
    ) -> SnapshotId:
        """Returns a snapshot with some files replaced, and with empty directories added or removed."""
        tree = amended(self._read, snapshot.tree, entries, self._outgoing.tree)
        return self._snapshot(tree, self._empty_directories(snapshot) ^ set(directories))

    def _copy(self, snapshot: SnapshotId) -> SnapshotId:
        copied = self._copied.get(snapshot)
        if copied is None:
            copied = self._snapshot(snapshot.tree, self._empty_directories(snapshot))
            self._copied[snapshot] = copied
        return copied

    def _snapshot(self, tree: ObjectId, empty_directories: Collection[RelPath]) -> SnapshotId:
        coverage = Coverage(empty_dirs=self._paths(sorted(empty_directories)))
        return self._outgoing.snapshot(self._leaving_out.tree(tree), coverage)

    def _read(self, tree: ObjectId) -> tuple[TreeEntry, ...]:
        return self._outgoing.read_tree(tree) or self._objects.read_tree(tree)

    def _empty_directories(self, snapshot: SnapshotId) -> frozenset[RelPath]:
        return frozenset(self._objects.load(snapshot).coverage.empty_dirs)
