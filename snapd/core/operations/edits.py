"""Separates what steps and operations changed from the changes of others: saves of editors, and formatters."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Mapping

import attrs

from snapd.core.attribution import Author, owners
from snapd.core.compare.edits import Edit, join, split_lines
from snapd.core.compare.threeway import line_edits, merge
from snapd.model.paths import parents
from snapd.model.snapshot import SYMLINK, TREE, Change, Coverage, Entry, ObjectId, RelPath, Snapshot, file_clock_ns
from snapd.model.timeline import Edited, Effect, EventPayload, SnapshotId, Span, Step, StepId
from snapd.model.trees import Find, amended, file_at, is_among, lookup
from snapd.store.object_store import ObjectStore
from snapd.store.store import Store
from snapd.worktree.worktree import WorkTree

from .editors import Editors, TypedText
from .patch import Target


def without_concurrent_edits(
    objects: ObjectStore,
    work_tree: WorkTree,
    before: Snapshot,
    after: Snapshot,
    done: Iterable[Effect],
    forced: Collection[RelPath],
) -> Snapshot:
    """Returns the snapshot that an operation alone would have left; `after` itself if nobody else changed anything.

    `objects` gets the tree of the result. `before` and `after` are the captures around the operation, `done` is what it
    did to files, and `forced` are ignored paths that it captured and that neither snapshot has.
    """
    foreign = _foreign_changes(objects, work_tree, before, after, {effect.path: effect for effect in done}, forced)
    if not foreign:
        return after
    removed = {path: entry for path, entry in foreign.items() if entry is None}
    restored = {path: entry for path, entry in foreign.items() if entry is not None}
    # removals first: a file may have to make room for a directory
    return with_files(objects, with_files(objects, after, removed), restored)


def with_files(objects: ObjectStore, snapshot: Snapshot, entries: Mapping[RelPath, Entry | None]) -> Snapshot:
    """Stores a snapshot that differs from another in some files."""
    with objects.batch() as batch:
        tree = amended(objects.read_tree, snapshot.tree, entries, batch.encoded_tree)
        batch.commit()
    return Snapshot(tree, agreeing(objects.entry_in, tree, snapshot.coverage))


def agreeing(find: Find, tree: ObjectId, coverage: Coverage) -> Coverage:
    """Drops the covered paths at which the tree has something: there, the coverage is about a change of others."""

    def is_absent(path: RelPath) -> bool:
        above = (lookup(find, tree, folder) for folder in parents(path))
        return lookup(find, tree, path) is None and all(result is None or result.mode == TREE for result in above)

    return attrs.evolve(
        coverage,
        empty_dirs=tuple(filter(is_absent, coverage.empty_dirs)),
        skipped=tuple(skip for skip in coverage.skipped if is_absent(skip.path)),
    )


def _foreign_changes(
    objects: ObjectStore,
    work_tree: WorkTree,
    before: Snapshot,
    after: Snapshot,
    done: dict[RelPath, Effect],
    forced: Collection[RelPath],
) -> dict[RelPath, Entry | None]:
    """Returns the paths that others changed, with what the operation alone would have left there."""
    target = Target(objects, before)
    forced = frozenset(forced)
    result: dict[RelPath, Entry | None] = {}
    seen = set()
    skipped = {skip.path for skip in after.coverage.skipped}
    for change in objects.changes(before, after):
        seen.add(change.path)
        effect = done.get(change.path)
        if effect is None:
            if not _is_by_rules(change, target, work_tree, skipped):
                result[change.path] = change.old
        elif not _same_bytes(effect.new, change.new):
            result[change.path] = effect.new
    for path, effect in done.items():
        # others may have reversed what the operation did
        if path not in seen and effect.old != effect.new and not (forced and is_among(path, forced)):
            result[path] = effect.new
    return result


def _same_bytes(wanted: Entry | None, entry: Entry | None) -> bool:
    """Whether the operation wrote this file; its permissions may be narrower than requested."""
    return wanted == entry or (wanted is not None and entry is not None and wanted.oid == entry.oid)


def _is_by_rules(change: Change, target: Target, work_tree: WorkTree, skipped: Collection[RelPath]) -> bool:
    """Whether only the capture of a file changed, because the operation changed an ignore file."""
    if change.new is None:
        if any(path in skipped for path in (change.path, *parents(change.path))):
            return True
        occupant = work_tree.occupant(change.path)
        return occupant is not None and not stat.S_ISDIR(occupant.st_mode)
    return change.old is None and target.protection(change.path) is not None


_BOM = b"\xef\xbb\xbf"

MOMENT_SECONDS = 10.0
"""Later changes are the user's, even if no client reported that the agent is gone."""


class Edits:
    """Records what editors saved and formatters changed in one folder.

    A save divides the changes since the last event into two spans: up to the text on which the user typed, the steps
    were at work; from there to the saved text, the user was. The editor reports both ends, so it does not matter when
    the file is looked at, or what an agent wrote into it meanwhile.

    A step that has just ended may still own changes of the files that it claims, except what an editor saves. It ends
    for good when a step or turn of its session begins, when another session is about to edit such a file, when it is
    ended again, and with any operation. Such steps are only in memory. `on_change` is called with those that own more.

    `append` adds an event whose head is a snapshot, with what changed before it. `span` returns the span from the last
    event to a snapshot, with the steps at work. `looked_at` returns when the last event was recorded (monotonic
    seconds).
    """

    def __init__(
        self,
        work_tree: WorkTree,
        editors: Editors,
        store: Store,
        append: Callable[[Snapshot, Span | None, EventPayload], None],
        span: Callable[[SnapshotId], Span | None],
        looked_at: Callable[[], float],
    ) -> None:
        self._work_tree = work_tree
        self._editors = editors
        self._store = store
        self._append = append
        self._span = span
        self._looked_at = looked_at
        # until when, and the tree on which a step began that owns changes of its own lines alone
        self._recent: dict[StepId, tuple[Author, int, ObjectId | None]] = {}
        self.on_change: Callable[[Iterable[StepId]], None] = lambda _: None

    @property
    def recent(self) -> tuple[StepId, ...]:
        """The steps that have just ended, in that order."""
        return tuple(self._recent)

    def add(self, step_id: StepId, author: Author) -> None:
        """Records that a step has just ended, and what it claims."""
        self._recent[step_id] = (author, file_clock_ns() + int(MOMENT_SECONDS * 1e9), None)

    def keep_to_lines(self, step: Step) -> None:
        """Leaves a step that has just ended only changes of its own lines: who changes others is not known."""
        self._recent[step.step_id] = (*self._recent[step.step_id][:2], step.from_.tree)

    def drop(self, step_ids: Collection[StepId] | None = None, session_id: str | None = None) -> None:
        """Ends such steps for good: some, those of a session, or all."""
        for step_id, (author, *_) in tuple(self._recent.items()):
            if step_id in (step_ids or ()) or author.session_id == session_id or (step_ids is session_id is None):
                del self._recent[step_id]

    def give_up(self, paths: Collection[RelPath], session_id: str) -> None:
        """Ends for good the steps of other sessions that claim files which this session is about to write."""
        others = [(name, author) for name, (author, *_) in self._recent.items() if author.session_id != session_id]
        self.drop([step_id for step_id, author in others if any(map(author.names, paths))])

    def settle(self, now: Snapshot) -> None:
        """Records what was saved since the last event, and changes to files of steps that have just ended.

        `now` is the work tree as just captured. After an error, some of it may be unrecorded; the next call records it.
        """
        if typed := self._editors.typed(self._work_tree.root):
            self._settle_saves(typed, now)
        # without such steps, this costs no query
        if self._recent:
            self._settle_recent(now)

    def _settle_saves(self, typed: Collection[TypedText], now: Snapshot) -> None:
        timeline = self._store.timeline
        head, steps = timeline.head, tuple(step.step_id for step in timeline.open_steps())
        if head is None or not (steps or self._recent):
            self.forget()
            return
        before: dict[RelPath, Entry | None] = {}
        saved: dict[RelPath, Entry] = {}
        for one in typed:
            result = self._locate(one, head, now)
            if result is not None:
                before[one.path], saved[one.path] = result
        if saved:
            paths = tuple(sorted(saved))
            earlier = with_files(self._store, now, before)
            self._record(earlier, Edited(paths, steps, saved=False))
            later = with_files(self._store, now, saved)
            if later != earlier:
                span = Span(self._store.identify(earlier), self._store.identify(later), ())
                self._append(later, span, Edited(paths, steps, saved=True))
        for one in typed:
            if one.is_saved or one.path in saved:
                self._editors.settle(one)

    def forget(self) -> None:
        """Drops what was saved, because no step was open: all changes are the user's."""
        for one in self._editors.typed(self._work_tree.root):
            if one.is_saved:
                self._editors.settle(one)

    def begin(self, path: RelPath, now: Snapshot) -> None:
        """Records the steps' changes so far, if they changed a file in which somebody starts typing.

        `now` is the work tree as just captured, after `settle`.
        """
        timeline = self._store.timeline
        head, steps = timeline.head, tuple(step.step_id for step in timeline.open_steps())
        if head is None or not steps:
            return
        if file_at(self._store.entry_in, head.tree, path) != file_at(self._store.entry_in, now.tree, path):
            self._record(now, Edited((path,), steps, saved=False))

    def _record(self, snapshot: Snapshot, what: Edited) -> None:
        span = self._span(self._store.identify(snapshot))
        if span is not None:
            self._append(snapshot, attrs.evolve(span, steps=(*span.steps, *self._recent)), what)

    def _locate(self, typed: TypedText, head: SnapshotId, now: Snapshot) -> tuple[Entry | None, Entry] | None:
        """Returns the file before the typing and as saved; None if it was not saved, or nothing of that is left."""
        entry = file_at(self._store.entry_in, now.tree, typed.path)
        if entry is None or entry.mode == SYMLINK:
            return None
        text = typed.typing.text
        if text is None or not typed.is_exact:
            return (self._before(typed, head, entry), entry) if typed.is_saved else None
        data = self._store.read_blob(entry.oid)
        if data.removeprefix(_BOM) == text or (typed.is_saved and _is_the_same_but_for_line_ends(data, text)):
            return self._before(typed, head, entry), entry
        before = self._before(typed, head, entry)
        if not typed.is_saved and before in (None, entry):
            return None
        # the file was written after it was saved
        saved = self._stored(entry.mode, text, like=data)
        # if the file has all that was typed, the editor has saved it, but not reported that yet
        return (before, saved) if typed.is_saved or merge(self._store, before, entry, saved) == entry else None

    def _before(self, typed: TypedText, head: SnapshotId, saved: Entry) -> Entry | None:
        before = typed.typing.before
        if before is None or not typed.is_exact or self._looked_at() > typed.typing.before_at:
            return file_at(self._store.entry_in, head.tree, typed.path)
        return self._stored(saved.mode, before, like=self._store.read_blob(saved.oid))

    def _stored(self, mode: int, text: bytes, *, like: bytes) -> Entry:
        return Entry(mode, self._store.store_blob(_BOM + text if like.startswith(_BOM) else text))

    def _settle_recent(self, now: Snapshot) -> None:
        head = self._store.timeline.head
        if head is not None and head.tree != now.tree:
            authors = {step_id: author for step_id, (author, *_) in self._recent.items()}
            result = {}
            steps: dict[StepId, None] = {}
            for change in self._store.changes(head, now):
                at = self._changed_at(change.path)
                own = [step for step in owners(change.path, authors) if at <= self._recent[step][1]]
                if own:
                    result[change.path] = self._formatted(change, own)
                    steps.update(dict.fromkeys(own))
            if result:
                edited = with_files(self._store, self._store.load(head), result)
                self._record(edited, Edited(tuple(sorted(result)), (), saved=False))
                self.on_change(steps)
        passed = file_clock_ns()
        self._recent = {step_id: each for step_id, each in self._recent.items() if each[1] >= passed}

    def _formatted(self, change: Change, own: Collection[StepId]) -> Entry | None:
        """Returns a file with only those of its changes that the steps own."""
        old, new, began = change.old, change.new, [self._recent[step][2] for step in own]
        if old is None or new is None or old.mode != new.mode or None in began:
            return new
        text = self._store.read_blob(old.oid)
        made = line_edits(text, self._store.read_blob(new.oid))
        entries = (file_at(self._store.entry_in, tree, change.path) for tree in began if tree is not None)
        before = [b"" if entry is None else self._store.read_blob(entry.oid) for entry in entries]
        lines = [edit for each in before for edit in line_edits(text, each)]
        result = join(split_lines(text), (edit for edit in made if any(_concerns(edit, one) for one in lines)), ())
        return new if result is None or not made else Entry(new.mode, self._store.store_blob(result))

    def _changed_at(self, path: RelPath) -> int:
        captured = self._work_tree.captured(path)
        return file_clock_ns() if captured is None else captured.signature.ctime_ns


def _concerns(edit: Edit, lines: Edit) -> bool:
    """Whether an edit changes some lines of a text, or inserts some next to them."""
    inserts = edit.start == edit.end or lines.start == lines.end
    return edit.start < lines.end + inserts and lines.start < edit.end + inserts


def _is_the_same_but_for_line_ends(data: bytes, text: bytes) -> bool:
    def plain(lines: bytes) -> bytes:
        return lines.replace(b"\r\n", b"\n").rstrip(b"\n")

    return plain(data.removeprefix(_BOM)) == plain(text)
