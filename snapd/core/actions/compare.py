"""Compares snapshots, of this folder and of fetched sessions, with each other and with the work tree."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TypeVar

import attrs

from snapd.core.actions.step_changes import SessionViews, StepChanges
from snapd.core.answers import DeltaPage
from snapd.core.attribution import Delta
from snapd.core.compare.file_diff import FileDelta, describe, unified
from snapd.core.compare.text import TextDiffer
from snapd.core.operations.writer import Writer
from snapd.core.seams import OtherMachines, OtherSessions
from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import Change, ObjectId, RelPath, Snapshot
from snapd.model.timeline import Session, SessionId, SnapshotId, Step, StepId, StepQuery
from snapd.model.trees import add_reachable, file_at, is_among
from snapd.store.object_store import ObjectStore
from snapd.store.store import Store
from snapd.store.timeline.timeline import TimelineView

Sides = tuple[ObjectStore, Snapshot, Snapshot]
"""Two snapshots to compare, after the store that has the objects of both."""

_MOST = 100
"""The maximum number of fetched sessions to search for a hash or its prefix."""


@attrs.frozen
class KnownSnapshots:
    """Finds snapshots by their trees, first in the folder, then where steps of fetched sessions began or ended.

    Every method raises `UnknownSnapshot` if no snapshot has the tree.
    """

    store: Store
    _other_machines: OtherMachines

    def of(self, tree: ObjectId) -> tuple[ObjectStore, Snapshot]:
        """Returns a snapshot, and the store that has its objects."""
        if not self.store.knows(tree):
            for fetched, _, _, snapshot in self.fetched(tree.hex()):
                return fetched.objects, fetched.objects.load(snapshot)
        return self.store, self.store.find(tree)

    def both(self, old: ObjectId, new: ObjectId, call: Call) -> Sides:
        """Returns two snapshots, and the store that has the objects of both; raises as `here`."""
        (objects, before), (others, after) = self.of(old), self.of(new)
        if objects is others:
            return objects, before, after
        return self.store, self.here(old, call), self.here(new, call)

    def here(self, tree: ObjectId, call: Call) -> Snapshot:
        """Returns a snapshot after copying its objects to the folder's store if needed; raises as `take_over`."""
        for fetched, _, _, snapshot in () if self.store.knows(tree) else self.fetched(tree.hex()):
            take_over(self.store, fetched, (tree,), (), call)
            return fetched.objects.load(snapshot)
        return self.store.find(tree)

    def fetched(self, prefix: str) -> Iterator[tuple[OtherSessions, Session, Step, SnapshotId]]:
        """Yields the snapshots, by a prefix of their hash, on which steps of fetched sessions began or ended."""
        for listed in self._other_machines.with_steps(StepQuery("", hash=prefix), 0, _MOST):
            fetched = self._other_machines.read(listed)
            for step in fetched.timeline.steps(listed.session.session_id):
                for snapshot in (step.from_, step.to):
                    if snapshot is not None and snapshot.tree.hex().startswith(prefix):
                        yield fetched, listed.session, step, snapshot


def take_over(
    store: Store, fetched: OtherSessions, trees: Iterable[ObjectId], others: Iterable[ObjectId], call: Call
) -> None:
    """Copies directories with everything in them, and other objects, to the store of a folder.

    Raises `StoreCorrupt` if one is missing. After an error, some may have been copied.
    """
    wanted: set[ObjectId] = set()
    for tree in trees:
        add_reachable(fetched.objects.read_tree, tree, wanted, call.check)
    wanted.update(others)
    # another folder of this daemon may have recorded it only just now
    fetched.objects.repository.journal.publish()
    missing = wanted - store.adopt([fetched.directory], wanted)
    if missing:
        # the other folder is in use: an object may have been packed meanwhile, and is in a new pack
        missing -= store.adopt([fetched.directory], missing)
    if missing:
        oid = min(missing).hex()
        raise StoreCorrupt(f"object {oid} of the other session is missing", object=oid)


Item = TypeVar("Item")

PAGE_BYTES = 32 << 20
"""The maximum bytes of contents on one page, unless a single file has more."""


@attrs.define(eq=False)
class Comparison:
    """Compares a snapshot `old` with a snapshot `new`, or with the current work tree if `new` is None; both are trees.

    Every method raises `UnknownSnapshot` if there is no such snapshot. With `renames`, a moved file is one. `only` has
    files or directories; empty means all.
    """

    _writer: Writer
    _known: KnownSnapshots
    texts: TextDiffer
    # the renames of the previous page: the next page needs the same
    _renames: tuple[Snapshot, Snapshot, dict[RelPath, RelPath]] | None = attrs.field(default=None, init=False)

    def changed(self, old: ObjectId, new: ObjectId | None, call: Call) -> tuple[Change, ...]:
        """Returns what differs."""
        return tuple(_changes(self._sides(old, new, call), (), call))

    def diff(
        self,
        old: ObjectId,
        new: ObjectId | None,
        only: Sequence[RelPath],
        call: Call,
        *,
        renames: bool = False,
        binary: bool = False,
    ) -> tuple[bytes, ...]:
        """Writes the unified diff, a part for each file; `binary` is as in `unified`."""
        sides = self._sides(old, new, call)
        parts = []
        for change, source in self._files(sides, only, call, renames=renames):
            parts.append(unified(sides[0], change, self.texts, call, source, binary=binary))
            call.progress("comparing", len(parts))
        return tuple(parts)

    def deltas(
        self,
        old: ObjectId,
        new: ObjectId | None,
        call: Call,
        *,
        only: Sequence[RelPath] = (),
        contents: bool = True,
        renames: bool = False,
        after: RelPath | None = None,
        limit: int | None = None,
    ) -> DeltaPage:
        """Returns each file that differs, before and after, page by page; with texts if `contents` is set.

        `after` is the path where the previous page ended; `limit` is the maximum number of files.
        """
        sides = self._sides(old, new, call)

        def describe_file(file: tuple[Change, RelPath | None]) -> FileDelta:
            change, source = file
            both = change.path, change.old, change.new
            return describe(sides[0], *both, self.texts, call, contents=contents, renamed_from=source)

        differing = self._files(sides, only, call, renames=renames, after=after)
        deltas, last = first_page(differing, describe_file, limit, partial(call.progress, "comparing"))
        if renames and last is None:
            self._renames = None
        return DeltaPage(deltas, sides[2].tree, last)

    def _sides(self, old: ObjectId, new: ObjectId | None, call: Call) -> Sides:
        if new is not None:
            return self._known.both(old, new, call)
        with self._writer.turn(call):
            before = self._known.here(old, call)
            now = self._writer.record_look(self._writer.look(before.coverage.forced, call))
            return self._known.store, before, now

    def _files(
        self, sides: Sides, only: Sequence[RelPath], call: Call, *, renames: bool, after: RelPath | None = None
    ) -> Iterator[tuple[Change, RelPath | None]]:
        """Yields what differs; for a moved file shown as one, also its old path, with `old` as the file there."""
        objects, old, new = sides
        moved: dict[RelPath, RelPath] = {}
        if renames:
            known = self._renames
            if known is None or known[:2] != (old, new):
                known = self._renames = (old, new, objects.renames(old, new))
            # a file that moves across the edge of `only` counts as added or deleted
            moved = {to: source for to, source in known[2].items() if is_among(to, only) and is_among(source, only)}
        sources = set(moved.values())
        for change in _changes(sides, only, call, after):
            source = moved.get(change.path)
            if source is not None:
                yield attrs.evolve(change, old=file_at(objects.entry_in, old.tree, source)), source
            elif change.path not in sources:
                yield change, None


def _changes(sides: Sides, only: Sequence[RelPath], call: Call, after: RelPath | None = None) -> Iterator[Change]:
    objects, old, new = sides
    for change in objects.changes(old, new, after=after, only=only):
        call.check()
        yield change


def first_page(
    items: Iterable[Item],
    describe: Callable[[Item], FileDelta],
    limit: int | None,
    progress: Callable[[int], None],
) -> tuple[tuple[FileDelta, ...], RelPath | None]:
    """Describes files, one item each and ordered by path, until a page is full.

    Also returns the path of the page's last file if files remain, else None. `progress` is called with the number of
    files so far.
    """
    deltas: list[FileDelta] = []
    size = 0
    for item in items:
        if (limit is not None and len(deltas) >= limit) or size >= PAGE_BYTES:
            return tuple(deltas), deltas[-1].path
        delta = describe(item)
        if deltas and size + delta.size > PAGE_BYTES:
            return tuple(deltas), deltas[-1].path
        deltas.append(delta)
        size += delta.size
        progress(len(deltas))
    return tuple(deltas), None


@attrs.define(eq=False)
class NetChanges:
    """Compares each file before and after the steps of a session, or after one step."""

    _objects: ObjectStore
    _timeline: TimelineView
    _step_changes: StepChanges
    _sessions: SessionViews
    _texts: TextDiffer
    # what the previous page came from: the next page needs the same
    _kept: tuple[object, tuple[tuple[RelPath, Delta], ...]] | None = attrs.field(default=None, init=False)

    def page(
        self,
        session_id: SessionId,
        message_id: str | None,
        step_id: StepId | None,
        call: Call,
        *,
        contents: bool,
        after: RelPath | None,
        limit: int | None,
    ) -> tuple[tuple[FileDelta, ...], RelPath | None]:
        """Returns the total changes of a session's applied steps, ordered by path; and the last file if more follow.

        `message_id` or `step_id` selects only the steps of a message, or a step and its parts. Raises `UnknownSession`,
        and `UnknownStep` if the step is not one of the session.
        """
        asked = (session_id, message_id, step_id, self._timeline.next_seq)
        kept, self._kept = self._kept, None
        if kept is None or kept[0] != asked:
            net = self._step_changes.net_in_effect(self._sessions.applied(session_id, message_id, step_id), call)
            kept = (asked, tuple(net.items()))
        files = kept[1]
        start = bisect_right(files, after, key=itemgetter(0)) if after is not None else 0

        def describe_net(file: tuple[RelPath, Delta]) -> FileDelta:
            path, delta = file
            return describe(self._objects, path, delta.old, delta.new, self._texts, call, contents=contents)

        page, last = first_page(islice(files, start, None), describe_net, limit, lambda _: call.check())
        if last is not None:
            self._kept = kept
        return page, last

    def step(
        self, step_id: StepId, only: Collection[RelPath], call: Call, *, binary: bool = False
    ) -> tuple[bytes, ...]:
        """Writes the unified diff of what a step and its parts changed, even if it was undone, one part for each file.

        It excludes what others changed in the same files meanwhile. A moved file is one; `only` may have either name.
        """
        parts = []
        for change, source in self._step_changes.net_with_moves(self._sessions.known_step(step_id), call):
            if is_among(change.path, only) or (source is not None and is_among(source, only)):
                parts.append(unified(self._objects, change, self._texts, call, source, binary=binary))
                call.progress("comparing", len(parts))
        return tuple(parts)
