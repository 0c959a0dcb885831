"""Takes changes back and leaves what others made of the files since: a three-way merge of each file.

Undo takes back the changes of a step, redo those that the undo made: one mechanism. Nothing is written here; a chain of
steps is taken back on an `Overlay`, the newest first, and what that comes to is for the planner.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from snapd.core.model import SYMLINK, Entry, FileOutcome
from snapd.core.paths import parents
from snapd.core.timeline.attribution import Delta
from snapd.core.timeline.model import Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from snapd.core.model import ObjectId, OnConflict, RelPath

    Current = Callable[[RelPath], Entry | None]
    Below = Callable[[RelPath], Iterable[RelPath]]
    Merge = Callable[[Entry | None, Entry, Entry], Entry | None]
    Deltas = Mapping[RelPath, Sequence[Delta]]

EMPTY_BLOB = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")


class Overlay:
    """The captured files as an operation would leave them, on those that are there.

    Args:
        current: the file that is at a path.
        below: the files below a directory; none where there is no directory.
    """

    def __init__(self, current: Current, below: Below) -> None:
        self._current = current
        self._below = below
        self._entries: dict[RelPath, Entry | None] = {}
        self._folders: Counter[RelPath] = Counter()

    def get(self, path: RelPath) -> Entry | None:
        """The file that would be at a path."""
        return self._entries[path] if path in self._entries else self._current(path)

    def set(self, path: RelPath, entry: Entry | None) -> None:
        """Puts a file there, or takes it away."""
        self.unset(path)
        self._entries[path] = entry
        if entry is not None:
            self._folders.update(parents(path))

    def unset(self, path: RelPath) -> None:
        """Lets a path be as it is."""
        if self._entries.pop(path, None) is not None:
            self._folders.subtract(parents(path))

    def below(self, path: RelPath) -> Iterator[RelPath]:
        """The files that would be below a directory."""
        for name in self._below(path):
            if name not in self._entries:
                yield name
        if self._folders[path]:
            start = path + b"/"
            for name, entry in self._entries.items():
                if entry is not None and name.startswith(start):
                    yield name

    def clashes(self, path: RelPath) -> bool:
        """Whether a file there would stand where a directory is needed, or below a file."""
        return any(self.get(above) is not None for above in parents(path)) or any(True for _ in self.below(path))

    def effects(self) -> tuple[Effect, ...]:
        """All that would become different, ordered by path."""
        found = (Effect(path, self._current(path), self._entries[path]) for path in sorted(self._entries))
        return tuple(effect for effect in found if effect.old != effect.new)


@attrs.frozen
class TakenBack:
    """What became of one step.

    Attributes:
        outcomes: for each of its files, ordered by path: "restored", "deleted", "merged", "unchanged", or "conflict"
            with the reason: "changedSince", "deletedSince", "renamedSince", "occupied", "shared". A file that was moved
            since is told under its new name, and the old one as "unchanged", "renamedSince".
        effects: what that does, ordered by path.
        conflicting: the files of the step that conflict, by the names that the step left them under; ordered.
        moved: where a file was found that others had moved since, and the name under which the step left it.
    """

    outcomes: tuple[FileOutcome, ...]
    effects: tuple[Effect, ...]
    conflicting: tuple[RelPath, ...] = ()
    moved: tuple[tuple[RelPath, RelPath], ...] = ()


@attrs.frozen
class Overlap:
    """Two changes of a file that cannot both be kept, and why."""

    reason: str


def three_way(base: Entry | None, ours: Entry | None, theirs: Entry | None, merge: Merge) -> Entry | Overlap | None:
    """Merges two changes of one file.

    Content and mode are merged each by itself, as git does (its `handle_content_merge`); the bytes of a symlink or of a
    binary file are one piece.

    Args:
        base: what both started from.
        ours: what is there.
        theirs: what is asked for.
        merge: merges text; None where that overlaps, or is no text.

    Returns:
        The file, None for none, or why there is no such merge.

    Raises:
        StoreCorrupt: from `merge`.
    """
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if base is None:
        return Overlap("occupied")
    if ours is None:
        return Overlap("deletedSince")
    if theirs is None or SYMLINK in (base.mode, ours.mode, theirs.mode):
        return Overlap("changedSince")
    # there are two modes: if both changed it, they agree
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
) -> TakenBack:
    """Takes back one step's changes: each file as a whole or not at all, one that the step moved with both its names.

    Args:
        overlay: the files as they are to be before this; changed.
        deltas: for each file its changes, the oldest first.
        renames: the old path by the new one, of files that the step moved. Where the changes do not say that the one
            went and the other came, that is no such pair.
        moved_since: asked once at most: the new path by the old one, of files that others moved since the step.
        merge: merges text, as in `ports.Store`.
        on_conflict: "overwrite" brings back what was there before the first of a file's changes, whatever is there now;
            the others do the same here.

    Raises:
        StoreCorrupt: from `merge` or `moved_since`.
    """
    return _Step(overlay, deltas, moved_since, merge, on_conflict == "overwrite").take_back(renames)


@attrs.define
class _Unit:
    """Files that are taken back together or not at all.

    Attributes:
        paths: the step's own names of them.
        outcomes: what becomes of them, and under which name.
        writes: what is to be at which name.
    """

    paths: tuple[RelPath, ...]
    outcomes: list[FileOutcome]
    writes: dict[RelPath, Entry | None] = attrs.field(factory=dict)

    @classmethod
    def conflict(cls, reason: str, *paths: RelPath) -> _Unit:
        return cls(paths, [FileOutcome(path, "conflict", reason) for path in paths])

    @property
    def is_conflict(self) -> bool:
        return any(outcome.outcome == "conflict" for outcome in self.outcomes)

    def give_up(self) -> None:
        """Something else stands where it was, or where what it would take away was to come."""
        self.outcomes = _Unit.conflict("occupied", *self.writes).outcomes
        self.writes = {}


class _Step:
    """One step that is being taken back."""

    def __init__(
        self,
        overlay: Overlay,
        deltas: Deltas,
        moved_since: Callable[[], Mapping[RelPath, RelPath]],
        merge: Merge,
        overwrite: bool,
    ) -> None:
        self._overlay = overlay
        self._deltas = deltas
        self._ask_moved = moved_since
        self._moved: dict[RelPath, RelPath] | None = None
        self._merge = merge
        self._overwrite = overwrite

    def take_back(self, renames: Mapping[RelPath, RelPath]) -> TakenBack:
        units = []
        paired: set[RelPath] = set()
        for new, old in sorted(renames.items()):
            chain = self._bridged(new, old)
            if chain is None or paired & {new, old}:
                continue
            if (unit := self._pair(new, old, chain)) is not None:
                units.append(unit)
                paired |= {new, old}
        units += [self._single(path, self._deltas[path]) for path in sorted(self._deltas) if path not in paired]
        while self._keep_apart(units) or self._keep_contents(units):
            # what is given up by the one may concern the other
            pass
        outcomes = sorted((outcome for unit in units for outcome in unit.outcomes), key=lambda outcome: outcome.path)
        writes = {path: entry for unit in units for path, entry in unit.writes.items()}
        effects = [Effect(path, self._overlay.get(path), writes[path]) for path in sorted(writes)]
        effects = [effect for effect in effects if effect.old != effect.new]
        for effect in effects:
            self._overlay.set(effect.path, effect.new)
        left = sorted(path for unit in units if unit.is_conflict for path in unit.paths)
        # a pair is written under the step's own names
        single = [unit for unit in units if len(unit.paths) == 1]
        moved = sorted((place, unit.paths[0]) for unit in single for place in unit.writes if place != unit.paths[0])
        return TakenBack(tuple(outcomes), tuple(effects), tuple(left), tuple(moved))

    def _single(self, path: RelPath, chain: Sequence[Delta]) -> _Unit:
        place, wanted = path, chain[0].old
        if self._overlay.get(path) is None and not self._overwrite:
            place = self._moved_to(path, chain[-1].new) or path
        ours = self._overlay.get(place)
        aside = [FileOutcome(path, "unchanged", "renamedSince")] if place != path else []
        final = self._fold(ours, chain)
        if isinstance(final, Overlap):
            return _Unit((path,), [FileOutcome(place, "conflict", final.reason), *aside])
        return _Unit((path,), [_outcome(place, ours, wanted, final), *aside], {place: final})

    def _pair(self, new: RelPath, old: RelPath, chain: Sequence[Delta]) -> _Unit | None:
        """A file that the step moved; None where its two names are to be looked at by themselves."""
        wanted, at_old, at_new = chain[0].old, self._overlay.get(old), self._overlay.get(new)
        if self._overwrite or (at_old == wanted and wanted is not None):
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
        told = [_outcome(old, at_old, wanted, final), _outcome(new, at_new, None, None)]
        return _Unit((new, old), told, {old: final, new: None})

    def _bridged(self, new: RelPath, old: RelPath) -> tuple[Delta, ...] | None:
        """The changes of a file that the step moved, as those of one file; None where it did not."""
        went, came = self._deltas.get(old), self._deltas.get(new)
        if not went or not came or went[-1].new is not None or came[0].old is not None:
            return None
        before, after = went[-1].old, came[0].new
        # empty files are all alike; git's merge takes none of them for moved
        if before is None or after is None or EMPTY_BLOB in (before.oid, after.oid):
            return None
        return (*went[:-1], Delta(before, after, went[-1].shared or came[0].shared), *came[1:])

    def _fold(self, ours: Entry | None, chain: Sequence[Delta]) -> Entry | Overlap | None:
        """What is there without the changes."""
        wanted = chain[0].old
        if self._overwrite or ours == wanted:
            return wanted
        if any(delta.shared for delta in chain):
            return Overlap("shared")
        for delta in reversed(chain):
            merged = three_way(delta.new, ours, delta.old, self._merge)
            if isinstance(merged, Overlap):
                # how an earlier change cannot be taken back says nothing of the file that is there now
                return merged if delta is chain[-1] else Overlap("changedSince")
            ours = merged
        return ours

    def _moved_to(self, path: RelPath, left: Entry | None, back: RelPath | None = None) -> RelPath | None:
        """Where others moved a file that the step left; not to where the step changed something else."""
        if left is None or left.oid == EMPTY_BLOB:
            return None
        if self._moved is None:
            self._moved = dict(self._ask_moved())
        place = self._moved.get(path)
        if place is None or (place in self._deltas and place != back) or self._overlay.get(place) is None:
            return None
        return place

    def _keep_contents(self, units: list[_Unit]) -> bool:
        """Gives up what would take away what another file was to have again, which it cannot: the step moved it there.

        Returns:
            Whether anything was given up.
        """
        coming = {content_of(entry) for unit in units for entry in unit.writes.values()}
        left = [outcome.path for unit in units for outcome in unit.outcomes if outcome.outcome == "conflict"]
        # of a file that got something new where it stands, a copy may have been made: that is the step's own
        moved = {content_of(chain[0].old) for chain in self._deltas.values()} | {None}
        chains = [self._deltas[path] for path in left if path in self._deltas]
        went = [chain for chain in chains if content_of(chain[-1].new) in moved]
        missing = {content_of(chain[0].old) for chain in went} - coming - {None}
        found = [unit for unit in units if any(content_of(self._overlay.get(path)) in missing for path in unit.writes)]
        for unit in found:
            unit.give_up()
        return bool(found)

    def _keep_apart(self, units: list[_Unit]) -> bool:
        """Gives up what would put a file where a directory is, or below a file; says whether there was any such."""
        tentative = Overlay(self._overlay.get, self._overlay.below)
        for unit in units:
            for path, entry in unit.writes.items():
                tentative.set(path, entry)
        found = False
        # what is given up may have made room for another
        given_up = True
        while given_up:
            given_up = False
            for unit in units:
                made = [path for path, entry in unit.writes.items() if entry is not None]
                if any(self._overlay.get(path) is None and tentative.clashes(path) for path in made):
                    for path in unit.writes:
                        tentative.unset(path)
                    unit.give_up()
                    found = given_up = True
        return found


def content_of(entry: Entry | None) -> ObjectId | None:
    """What is in a file; None for none, and for nothing: all empty files are alike."""
    return entry.oid if entry is not None and entry.oid != EMPTY_BLOB else None


def _outcome(path: RelPath, ours: Entry | None, wanted: Entry | None, final: Entry | None) -> FileOutcome:
    if final == ours:
        return FileOutcome(path, "unchanged")
    if final is None:
        return FileOutcome(path, "deleted")
    return FileOutcome(path, "restored" if final == wanted else "merged")


def combined(overlay: Overlay, steps: Iterable[TakenBack]) -> tuple[FileOutcome, ...]:
    """What became of each file where several steps were taken back, ordered by path.

    A file that conflicts in one of them is a conflict, even where its changes of another were taken back.

    Args:
        overlay: what they were taken back on.
        steps: in the order in which that was done.
    """
    said: dict[RelPath, FileOutcome] = {}
    for step in steps:
        for outcome in step.outcomes:
            known = said.get(outcome.path)
            if known is None or (known.outcome != "conflict" and outcome.outcome != "unchanged"):
                said[outcome.path] = outcome
    moved = {effect.path for effect in overlay.effects()}
    for path, outcome in said.items():
        if outcome.outcome not in ("conflict", "unchanged") and path not in moved:
            said[path] = FileOutcome(path, "unchanged")
    return tuple(said[path] for path in sorted(said))


def inverse(effects: Iterable[Effect]) -> dict[RelPath, tuple[Delta, ...]]:
    """What to take back in order to undo an operation: a redo takes back what the undo did.

    The files that it moved are those that the step had moved, the other way.
    """
    return {effect.path: (Delta(effect.old, effect.new),) for effect in effects if effect.old != effect.new}


def net(steps: Iterable[Deltas], merge: Merge) -> dict[RelPath, Delta]:
    """What several steps changed together, the changes of others between them left out, ordered by path.

    Args:
        steps: in the order of time.
        merge: as of `take_back`.

    Raises:
        StoreCorrupt: from `merge`.
    """
    found: dict[RelPath, Delta] = {}
    for deltas in steps:
        for path, chain in deltas.items():
            for delta in chain:
                first = found.get(path)
                if first is None:
                    found[path] = delta
                    continue
                merged = three_way(delta.old, first.new, delta.new, merge)
                new = delta.new if isinstance(merged, Overlap) else merged
                found[path] = Delta(first.old, new, first.shared or delta.shared)
    return {path: found[path] for path in sorted(found) if found[path].old != found[path].new}
