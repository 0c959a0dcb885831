"""Three-way merges of files: takes changes back, and keeps what others made of the files since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import attrs
import pygit2
from pygit2.enums import FileMode, MergeFavor, MergeFlag

from snapd.core.attribution import Delta, joined
from snapd.model.errors import StoreCorrupt
from snapd.model.paths import parents
from snapd.model.snapshot import EMPTY_BLOB, SYMLINK, Decision, Entry, FileOutcome, ObjectId, OnConflict, RelPath
from snapd.model.timeline import Effect
from snapd.store.object_store import ObjectStore
from snapd.store.objects.codec import NUMBERS
from snapd.store.objects.libgit2 import SuppliedObjects, supplied

from .edits import Edit, join, split_lines
from .text import is_binary

Current = Callable[[RelPath], Entry | None]
Below = Callable[[RelPath], Iterable[RelPath]]
Merge = Callable[[Entry | None, Entry, Entry], Entry | None]
Deltas = Mapping[RelPath, Sequence[Delta]]
NO_DECISIONS: Mapping[RelPath, Decision] = MappingProxyType({})


class Overlay:
    """The captured files as an operation would leave them.

    `current` returns the current file at a path; `below` the current files below a directory.
    """

    def __init__(self, current: Current, below: Below) -> None:
        self._current = current
        self._below = below
        self._entries: dict[RelPath, Entry | None] = {}
        self._folders: Counter[RelPath] = Counter()

    def get(self, path: RelPath) -> Entry | None:
        """Returns the file that would be at a path."""
        return self._entries[path] if path in self._entries else self._current(path)

    def set(self, path: RelPath, entry: Entry | None) -> None:
        """Puts a file at a path, or removes it."""
        self.unset(path)
        self._entries[path] = entry
        if entry is not None:
            self._folders.update(parents(path))

    def unset(self, path: RelPath) -> None:
        """Resets a path to its current state."""
        if self._entries.pop(path, None) is not None:
            self._folders.subtract(parents(path))

    def below(self, path: RelPath) -> Iterator[RelPath]:
        """Yields the files that would be below a directory."""
        for name in self._below(path):
            if name not in self._entries:
                yield name
        if self._folders[path]:
            start = path + b"/"
            for name, entry in self._entries.items():
                if entry is not None and name.startswith(start):
                    yield name

    def clashes(self, path: RelPath) -> bool:
        """Whether a file at a path would be where a directory is needed, or below a file."""
        return any(self.get(above) is not None for above in parents(path)) or any(True for _ in self.below(path))

    def effects(self) -> tuple[Effect, ...]:
        """Returns all effective changes, ordered by path."""
        matches = (Effect(path, self._current(path), self._entries[path]) for path in sorted(self._entries))
        return tuple(effect for effect in matches if effect.old != effect.new)


@attrs.frozen
class StepReversal:
    """The result of taking back one step, all ordered by path."""

    # for each of its files, "restored", "deleted", "merged", "unchanged", or "conflict" with the reason:
    # "changedSince", "deletedSince", "renamedSince", "occupied", "shared". A file that was moved since has its outcome
    # under the new name, and "unchanged", "renamedSince" under the old one.
    outcomes: tuple[FileOutcome, ...]
    effects: tuple[Effect, ...]  # what that does to files
    conflicting: tuple[RelPath, ...] = ()  # the files that conflict, under the names that the step left
    # the current name of each file that others moved since, and the name that the step left
    moved: tuple[tuple[RelPath, RelPath], ...] = ()
    absent: tuple[RelPath, ...] = ()  # the files that already lack the step's change
    kept: tuple[RelPath, ...] = ()  # the files that stay as they are because of a decision


@attrs.frozen
class Overlap:
    """Two changes of a file that cannot both be kept, and why."""

    reason: str


def three_way(
    base: Entry | None, ours: Entry | None, theirs: Entry | None, merge: Merge, *, joins_added: bool = False
) -> Entry | Overlap | None:
    """Merges two changes of one file, from `base` to `ours` (the current file) and `theirs`; None for no file.

    Content and mode are merged separately, as git does (its `handle_content_merge`); a symlink or a binary file is
    merged as a whole. `merge` returns None if the changes overlap, or the file is not text. With `joins_added`, two
    files that were both added are merged, as git does. An undo does not: a file at the place of the deleted one blocks
    it.
    """
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if base is None and not joins_added:
        return Overlap("occupied")
    if ours is None:
        return Overlap("deletedSince")
    if theirs is None or SYMLINK in (ours.mode, theirs.mode) or (base is not None and base.mode == SYMLINK):
        return Overlap("changedSince")
    if base is None:
        return merge(base, ours, theirs) or Overlap("changedSince")
    # there are only two modes: if both sides changed it, they agree
    mode = ours.mode if theirs.mode == base.mode else theirs.mode
    if theirs.oid in (ours.oid, base.oid):
        return Entry(mode, ours.oid)
    if ours.oid == base.oid:
        return Entry(mode, theirs.oid)
    merged = merge(base, ours, theirs)
    return Overlap("changedSince") if merged is None else Entry(mode, merged.oid)


def take_back(
    overlay: Overlay,
    deltas: Deltas,
    renames: Mapping[RelPath, RelPath],
    moved_since: Callable[[], Mapping[RelPath, RelPath]],
    merge: Merge,
    on_conflict: OnConflict,
    decisions: Mapping[RelPath, Decision] = NO_DECISIONS,
) -> StepReversal:
    """Takes back the changes of one step: each file as a whole or not at all, a moved file under both names.

    `overlay` has the files before this, and is changed. `deltas` are the changes of each file, the oldest first.
    `renames` has the old path by the new one of files that the step moved; a pair counts only if `deltas` shows that
    one disappeared and the other appeared. `moved_since` returns the new path by the old one of files that others moved
    since; it is called at most once.

    With `on_conflict` "overwrite", a file becomes what it was before its first change, whatever it is now; all other
    values mean the same. `decisions` apply to some files instead, under any of their names; "keep" leaves a file as it
    is, and counts it as taken back.
    """
    return _Step(overlay, deltas, moved_since, merge, on_conflict, decisions, renames).take_back()


@attrs.define
class _Unit:
    """Files that are taken back together or not at all, under the step's own names, and the goal for each name."""

    paths: tuple[RelPath, ...]
    outcomes: list[FileOutcome]
    writes: dict[RelPath, Entry | None] = attrs.field(factory=dict)
    is_kept: bool = False

    @classmethod
    def conflict(cls, reason: str, *paths: RelPath) -> _Unit:
        return cls(paths, [FileOutcome(path, "conflict", reason) for path in paths])

    @property
    def is_conflict(self) -> bool:
        return any(outcome.outcome == "conflict" for outcome in self.outcomes)

    def give_up(self) -> None:
        self.outcomes = _Unit.conflict("occupied", *self.writes).outcomes
        self.writes = {}

    def keep(self) -> None:
        self.outcomes = [FileOutcome(outcome.path, "kept", outcome.reason) for outcome in self.outcomes]
        self.writes = {}
        self.is_kept = True


@attrs.define(eq=False)
class _Step:
    """One step that is being taken back; the arguments are those of `take_back`."""

    _overlay: Overlay
    _deltas: Deltas
    _ask_moved: Callable[[], Mapping[RelPath, RelPath]]
    _merge: Merge
    _on_conflict: OnConflict
    _decisions: Mapping[RelPath, Decision]
    _renames: Mapping[RelPath, RelPath]
    _moved: dict[RelPath, RelPath] | None = attrs.field(default=None, init=False)

    def take_back(self) -> StepReversal:
        units = []
        paired: set[RelPath] = set()
        for new, old in sorted(self._renames.items()):
            chain = self._bridged(new, old)
            if chain is None or paired & {new, old}:
                continue
            if (unit := self._pair(new, old, chain)) is not None:
                units.append(unit)
                paired |= {new, old}
        units += [self._single(path, self._deltas[path]) for path in sorted(self._deltas) if path not in paired]
        for unit in units if self._decisions else ():
            if self._decision(*unit.paths, *(outcome.path for outcome in unit.outcomes)) == "keep":
                unit.keep()
        while self._keep_apart(units) or self._keep_contents(units):
            # what one of them gives up may concern the other
            pass
        outcomes = sorted((outcome for unit in units for outcome in unit.outcomes), key=lambda outcome: outcome.path)
        writes = {path: entry for unit in units for path, entry in unit.writes.items()}
        effects = [Effect(path, self._overlay.get(path), writes[path]) for path in sorted(writes)]
        effects = [effect for effect in effects if effect.old != effect.new]
        changing = {effect.path for effect in effects}
        quiet = [unit for unit in units if not (unit.is_conflict or unit.is_kept) and changing.isdisjoint(unit.writes)]
        changed = {path for path, chain in self._deltas.items() if chain[0].old != chain[-1].new}
        absent = sorted(path for unit in quiet for path in unit.paths if path in changed)
        for effect in effects:
            self._overlay.set(effect.path, effect.new)
        left = sorted(path for unit in units if unit.is_conflict for path in unit.paths)
        # pairs are written under the step's own names
        single = [unit for unit in units if len(unit.paths) == 1]
        moved = sorted((place, unit.paths[0]) for unit in single for place in unit.writes if place != unit.paths[0])
        kept = sorted(path for unit in units if unit.is_kept for path in unit.paths)
        return StepReversal(tuple(outcomes), tuple(effects), tuple(left), tuple(moved), tuple(absent), tuple(kept))

    def _decision(self, *names: RelPath) -> Decision | None:
        """Returns the decision about a file, under any of its names or the other name of one that the step moved."""
        if not self._decisions:
            return None
        others = [other for pair in self._renames.items() if not {*pair}.isdisjoint(names) for other in pair]
        return next((self._decisions[name] for name in (*names, *others) if name in self._decisions), None)

    def _overwrites(self, *names: RelPath) -> bool:
        decision = self._decision(*names)
        return (decision or self._on_conflict) == "overwrite"

    def _single(self, path: RelPath, chain: Sequence[Delta]) -> _Unit:
        place, wanted = path, chain[0].old
        if self._overlay.get(path) is None and not self._overwrites(path):
            place = self._moved_to(path, chain[-1].new) or path
        ours = self._overlay.get(place)
        aside = [FileOutcome(path, "unchanged", "renamedSince")] if place != path else []
        final = wanted if self._overwrites(path, place) else self._fold(ours, chain)
        if isinstance(final, Overlap):
            return _Unit((path,), [FileOutcome(place, "conflict", final.reason), *aside])
        return _Unit((path,), [_outcome(place, ours, wanted, final), *aside], {place: final})

    def _pair(self, new: RelPath, old: RelPath, chain: Sequence[Delta]) -> _Unit | None:
        """Takes back a file that the step moved; None if its two names are to be taken back separately."""
        wanted, at_old, at_new = chain[0].old, self._overlay.get(old), self._overlay.get(new)
        if self._overwrites(new, old) or (at_old == wanted and wanted is not None):
            return None
        is_in_place = at_new is not None or chain[-1].new is None
        place = new if is_in_place else self._moved_to(new, chain[-1].new, back=old)
        if any(delta.shared for delta in chain):
            return _Unit.conflict("shared", new, old)
        if place is None:
            return None if wanted is None else _Unit.conflict("deletedSince", new, old)
        if place not in (new, old):
            return _Unit.conflict("renamedSince", new, old)
        if at_old is not None and place != old:
            return _Unit.conflict("occupied", new, old)
        ours = self._overlay.get(place)
        final = self._fold(ours, chain)
        if isinstance(final, Overlap):
            return _Unit.conflict(final.reason, new, old)
        outcomes = [_outcome(old, at_old, wanted, final), _outcome(new, at_new, None, None)]
        return _Unit((new, old), outcomes, {old: final, new: None})

    def _bridged(self, new: RelPath, old: RelPath) -> tuple[Delta, ...] | None:
        """Joins the changes of both names of a file that the step moved; None if it did not move it."""
        went, came = self._deltas.get(old), self._deltas.get(new)
        if not went or not came or went[-1].new is not None or came[0].old is not None:
            return None
        before, after = went[-1].old, came[0].new
        # all empty files are alike, and git's merge never takes one for moved
        if None in (content_of(before), content_of(after)):
            return None
        return (*went[:-1], Delta(before, after, joined(went[-1].others, came[0].others)), *came[1:])

    def _fold(self, ours: Entry | None, chain: Sequence[Delta]) -> Entry | Overlap | None:
        wanted = chain[0].old
        if ours == wanted:
            return wanted
        if any(delta.shared for delta in chain):
            return Overlap("shared")
        return _without(ours, chain, self._merge)

    def _moved_to(self, path: RelPath, left: Entry | None, back: RelPath | None = None) -> RelPath | None:
        """Returns where others moved a file that the step left; None if the step changed something else there."""
        if content_of(left) is None:
            return None
        if self._moved is None:
            self._moved = dict(self._ask_moved())
        place = self._moved.get(path)
        if place is None or (place in self._deltas and place != back) or self._overlay.get(place) is None:
            return None
        return place

    def _keep_contents(self, units: list[_Unit]) -> bool:
        """Gives up units that would remove the only copy of what a conflicting file should get; returns whether any."""
        coming = {content_of(entry) for unit in units for entry in unit.writes.values()}
        left = [outcome.path for unit in units for outcome in unit.outcomes if outcome.outcome == "conflict"]
        # a file that got new contents in place may have been copied before: the copy is the step's own
        moved = {content_of(chain[0].old) for chain in self._deltas.values()} | {None}
        chains = [self._deltas[path] for path in left if path in self._deltas]
        went = [chain for chain in chains if content_of(chain[-1].new) in moved]
        missing = {content_of(chain[0].old) for chain in went} - coming - {None}
        matches = [
            unit for unit in units if any(content_of(self._overlay.get(path)) in missing for path in unit.writes)
        ]
        for unit in matches:
            unit.give_up()
        return bool(matches)

    def _keep_apart(self, units: list[_Unit]) -> bool:
        """Gives up units that would put a file at a directory or below a file; returns whether there were any."""
        tentative = Overlay(self._overlay.get, self._overlay.below)
        for unit in units:
            for path, entry in unit.writes.items():
                tentative.set(path, entry)
        exists = False
        # a unit that is given up may have made room for another
        given_up = True
        while given_up:
            given_up = False
            for unit in units:
                made = [path for path, entry in unit.writes.items() if entry is not None]
                if any(self._overlay.get(path) is None and tentative.clashes(path) for path in made):
                    for path in unit.writes:
                        tentative.unset(path)
                    unit.give_up()
                    exists = given_up = True
        return exists


def content_of(entry: Entry | None) -> ObjectId | None:
    """Returns the contents of a file; None for no file and for an empty file, since all empty files are alike."""
    return entry.oid if entry is not None and entry.oid != EMPTY_BLOB else None


def _outcome(path: RelPath, ours: Entry | None, wanted: Entry | None, final: Entry | None) -> FileOutcome:
    if final == ours:
        return FileOutcome(path, "unchanged")
    if final is None:
        return FileOutcome(path, "deleted")
    return FileOutcome(path, "restored" if final == wanted else "merged")


def combined(overlay: Overlay, steps: Iterable[StepReversal]) -> tuple[FileOutcome, ...]:
    """Combines the outcomes of several steps, in the order of their undo; `overlay` has the files after all.

    A file that conflicts for one step is a conflict, even if its changes of another step were taken back.
    """
    outcomes: dict[RelPath, FileOutcome] = {}
    for step in steps:
        for outcome in step.outcomes:
            known = outcomes.get(outcome.path)
            if known is None or (known.outcome != "conflict" and outcome.outcome != "unchanged"):
                outcomes[outcome.path] = outcome
    moved = {effect.path for effect in overlay.effects()}
    for path, outcome in outcomes.items():
        if outcome.outcome not in ("conflict", "kept", "unchanged") and path not in moved:
            outcomes[path] = FileOutcome(path, "unchanged")
    return tuple(outcomes[path] for path in sorted(outcomes))


def deltas_of(effects: Iterable[Effect]) -> dict[RelPath, tuple[Delta, ...]]:
    """Returns the changes of an operation, ordered by path: an undo takes them back, a redo those of the undo."""
    changed = sorted((effect for effect in effects if effect.old != effect.new), key=lambda effect: effect.path)
    return {effect.path: (Delta(effect.old, effect.new),) for effect in changed}


def net(steps: Iterable[Deltas], merge: Merge) -> dict[RelPath, Delta]:
    """Merges the changes of several steps, oldest first, without those of others in between, ordered by path."""
    chains: dict[RelPath, list[Delta]] = {}
    for deltas in steps:
        for path, chain in deltas.items():
            chains.setdefault(path, []).extend(chain)
    result = {path: _onto_the_first(chains[path], merge) or one_change(chains[path], merge) for path in sorted(chains)}
    return {path: delta for path, delta in result.items() if delta.old != delta.new}


def _onto_the_first(chain: Sequence[Delta], merge: Merge) -> Delta | None:
    """Merges the changes of a file to one of the file as it was before the first; None if they overlap there."""
    first, *later = chain
    new = first.new
    for delta in later:
        merged = three_way(delta.old, new, delta.new, merge)
        if isinstance(merged, Overlap):
            return None
        new = merged
    return Delta(first.old, new, joined(*(delta.others for delta in chain)))


def one_change(chain: Sequence[Delta], merge: Merge) -> Delta:
    """Merges the changes of a file, oldest first, into one that leads to its last state, as an undo takes them back."""
    old, others = _without(chain[-1].new, chain, merge), joined(*(delta.others for delta in chain))
    if isinstance(old, Overlap):
        return Delta(chain[0].old, chain[-1].new, others, is_mixed=True)
    return Delta(old, chain[-1].new, others)


def _without(ours: Entry | None, chain: Sequence[Delta], merge: Merge) -> Entry | Overlap | None:
    for delta in reversed(chain):
        merged = three_way(delta.new, ours, delta.old, merge)
        if isinstance(merged, Overlap):
            # the reason of an earlier change does not describe the file as it is now
            return merged if delta is chain[-1] else Overlap("changedSince")
        ours = merged
    return ours


def merge(objects: ObjectStore, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
    """Merges two changes of a file, mode and text, and stores the result; None if they overlap, or it is not text.

    `base` is None if both sides added the file; `ours` is the current file. Raises `StorageFull` or `IoError` if the
    journal was full and could not be written.
    """
    result = merged(objects.read_blob, base, ours, theirs)
    return None if result is None else Entry(result[0], objects.store_blob(result[1]))


def merged(
    read: Callable[[ObjectId], bytes],
    base: Entry | None,
    ours: Entry,
    theirs: Entry,
    favor: MergeFavor = MergeFavor.NORMAL,
    *,
    touching: bool = True,
) -> tuple[int, bytes] | None:
    """Merges two changes of a file in memory; returns its mode and bytes, None if they overlap or it is not text.

    The result is git's, except that changes that only touch are both made; git reports a conflict there, and so does
    this without `touching`. `base` is None if both sides added the file; `ours` is the current file. `favor` says whose
    lines to use where the changes overlap, normally nobody's. Raises `StoreCorrupt` if libgit2 cannot merge them.
    """
    memory = SuppliedObjects()
    for entry in (base, ours, theirs):
        if entry is not None:
            memory.objects[entry.oid] = (NUMBERS["blob"], read(entry.oid))
    handle = supplied(memory)

    def tree_of(entry: Entry | None) -> pygit2.Oid:
        builder = handle.TreeBuilder()
        if entry is not None:
            builder.insert("file", pygit2.Oid(raw=entry.oid), FileMode(entry.mode))
        return builder.write()

    try:
        index = handle.merge_trees(tree_of(base), tree_of(ours), tree_of(theirs), favor=favor, flags=MergeFlag(0))
    except pygit2.GitError as error:
        raise StoreCorrupt(f"object {ours.oid.hex()} cannot be merged: {error}", object=ours.oid.hex()) from error
    if index.conflicts is None:
        result = index["file"]
        return int(result.mode), memory.objects[bytes(result.id.raw)][1]
    if not touching or base is None or SYMLINK in (base.mode, ours.mode, theirs.mode):
        return None
    text = _joined(*(memory.objects[entry.oid][1] for entry in (base, ours, theirs)))
    mode = ours.mode if theirs.mode == base.mode else theirs.mode
    return None if text is None else (mode, text)


def _joined(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    if any(is_binary(data) for data in (base, ours, theirs)):
        return None
    return join(split_lines(base), line_edits(base, ours), line_edits(base, theirs))


def line_edits(old: bytes, new: bytes) -> list[Edit]:
    """Returns the edits between two texts, as git finds them; none for binary files."""
    lines = split_lines(new)
    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    edits = []
    for hunk in patch.hunks:
        # a hunk without lines on one side names the line before it
        start = hunk.old_start - (1 if hunk.old_lines else 0)
        begin = hunk.new_start - (1 if hunk.new_lines else 0)
        edits.append(Edit(start, start + hunk.old_lines, tuple(lines[begin : begin + hunk.new_lines])))
    return edits
