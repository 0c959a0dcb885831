"""The plan of an operation on the work tree: made before any file is touched, and shown by a dry run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.paths import folders_above, is_restorable_name, parents, shown
from snapd.model.snapshot import EMPTY_BLOB, Entry, FileOutcome, ObjectId, RelPath, Signature


@attrs.frozen
class CapturedFile:
    """A file in the work tree as captured, with the signature that shows later changes."""

    entry: Entry
    signature: Signature


@attrs.frozen
class Write:
    """Writes a file or symlink."""

    path: RelPath
    entry: Entry
    captured: CapturedFile | None  # the file that it replaces; None if nothing may be there
    merged: bool = False  # the blob is a merge, not what the target snapshot has


@attrs.frozen
class Delete:
    """Deletes a captured file."""

    path: RelPath
    captured: CapturedFile


@attrs.frozen
class MoveDirectory:
    """Renames a directory or a file, which does some writes and deletes of the plan all at once."""

    old: RelPath
    new: RelPath  # where nothing is
    uncaptured: bool = False  # no snapshot has all of it, and the plan changes nothing in it

    def there(self, path: RelPath) -> RelPath:
        """Returns the new path of a path below the old one."""
        return self.new + path[len(self.old) :]

    @property
    def outcome(self) -> FileOutcome:
        """The outcome of an uncaptured directory under its new name."""
        return FileOutcome(self.new, "restored", None, self.old)


@attrs.frozen
class Plan:
    """All that an operation does, and what it leaves alone and why.

    If a directory is in `moves`, its captured files are also in `deletes`, and in `writes` by their new paths: where
    the move fails, these are done file by file, but no uncaptured file is deleted.
    """

    writes: tuple[Write, ...] = ()  # ordered by path
    deletes: tuple[Delete, ...] = ()  # ordered by path
    make_directories: tuple[RelPath, ...] = ()  # empty ones, parents first
    remove_directories: tuple[RelPath, ...] = ()  # if they are empty, deepest first
    settled: tuple[FileOutcome, ...] = ()  # files that stay as they are, with the reason
    linked: tuple[tuple[RelPath, ...], ...] = ()  # groups to write or delete as a whole or not at all
    moves: tuple[MoveDirectory, ...] = ()  # directories to move as a whole, and what is uncaptured at either end
    permissions: tuple[tuple[RelPath, int], ...] = ()  # if not those of the umask

    @property
    def is_empty(self) -> bool:
        """Whether the work tree stays as it is."""
        return not (self.writes or self.deletes or self.make_directories or self.remove_directories)

    @property
    def conflicts(self) -> bool:
        """Whether a file would conflict."""
        return any(outcome.outcome == "conflict" for outcome in self.settled)

    def expected_outcomes(self) -> tuple[FileOutcome, ...]:
        """Returns the outcomes if nothing goes wrong, ordered by path."""
        inside = {path for write in self.writes for path in (write.path, *parents(write.path))} if self.moves else ()
        outcomes = [
            *self.settled,
            *(FileOutcome(write.path, "merged" if write.merged else "restored") for write in self.writes),
            *(FileOutcome(delete.path, "deleted") for delete in self.deletes),
            # what moves from a captured place to one that is not captured
            *(move.outcome for move in self.moves if move.uncaptured and move.new not in inside),
        ]
        return self.with_moves(sorted(outcomes, key=lambda outcome: outcome.path))

    def with_moves(self, outcomes: Sequence[FileOutcome]) -> tuple[FileOutcome, ...]:
        """Adds to the outcomes of moved files where they came from, if gone there.

        A file is moved if an undo reverts a move, or if what is deleted under one name is written under another.
        """
        gone = {outcome.path for outcome in outcomes if outcome.outcome == "deleted"}
        moves = {new: old for new, old in self.moved_files().items() if old in gone}
        return tuple(
            FileOutcome(outcome.path, outcome.outcome, outcome.reason, moves[outcome.path])
            if outcome.path in moves and outcome.outcome in ("restored", "merged")
            else outcome
            for outcome in outcomes
        )

    def moved_files(self) -> dict[RelPath, RelPath]:
        """Returns the old path by the new one."""
        come = {write.path: write.entry for write in self.writes if write.captured is None}
        gone = {delete.path: delete.captured.entry for delete in self.deletes}
        moves: dict[RelPath, RelPath] = {}
        for group in self.linked:
            new, old = [path for path in group if path in come], [path for path in group if path in gone]
            if len(new) == len(old) == 1:
                moves[new[0]] = old[0]
        left: dict[Entry, list[RelPath]] = {}
        for path in sorted(gone.keys() - moves.values(), reverse=True):
            left.setdefault(gone[path], []).append(path)
        for path in sorted(come.keys() - moves.keys()):
            if come[path].oid != EMPTY_BLOB and left.get(come[path]):
                moves[path] = left[come[path]].pop()
        return moves

    def refused(self) -> tuple[FileOutcome, ...]:
        """Returns the outcomes of an operation that does nothing because of conflicts, ordered by path."""
        touched = {*(write.path for write in self.writes), *(delete.path for delete in self.deletes)}
        outcomes = [*self.settled, *(FileOutcome(path, "unchanged", "conflictsElsewhere") for path in touched)]
        return tuple(sorted(outcomes, key=lambda outcome: outcome.path))

    def check(self) -> None:
        """Raises `StoreCorrupt` if a work tree cannot have a path, as a damaged or forged tree may."""
        files = {write.path for write in self.writes}
        made = files | set(self.make_directories)
        others = {delete.path for delete in self.deletes} | {outcome.path for outcome in self.settled}
        others.update(self.remove_directories)
        folders = folders_above(made)
        for path in made.union(folders, others, folders_above(others)):
            if not is_restorable_name(path.rpartition(b"/")[2]):
                raise StoreCorrupt(f"no work tree has a path like {shown(path)}", object=shown(path))
        for part in {part for move in self.moves for path in (move.old, move.new) for part in path.split(b"/")}:
            if part in (b"", b".", b".."):
                raise StoreCorrupt("no work tree has a path with an empty part, . or ..", object=shown(part))
        for path in files & folders:
            raise StoreCorrupt(f"{shown(path)} is a file and a folder in the snapshot", object=shown(path))

    def blobs(self) -> set[ObjectId]:
        """Returns the blobs that the plan needs."""
        return {write.entry.oid for write in self.writes}


class LinkedFiles:
    """Groups of paths that are changed as a whole or not at all; pairs that share a path are in one group."""

    def __init__(self, pairs: Iterable[tuple[RelPath, RelPath]] = ()) -> None:
        self._groups: dict[RelPath, set[RelPath]] = {}
        for one, other in pairs:
            group, joined = self._groups.get(one, {one}), self._groups.get(other, {other})
            if group is not joined:
                larger, smaller = (group, joined) if len(group) >= len(joined) else (joined, group)
                larger |= smaller
                self._groups.update(dict.fromkeys(smaller, larger))
                self._groups.update(dict.fromkeys((one, other), larger))

    def others(self, path: RelPath) -> Iterator[RelPath]:
        """Yields the other paths in the group of a path."""
        return (other for other in self._groups.get(path, ()) if other != path)

    def within(self, paths: Collection[RelPath]) -> tuple[tuple[RelPath, ...], ...]:
        """Returns the groups restricted to some paths, if more than one path is left; ordered."""
        groups = {id(group): group for group in self._groups.values()}.values()
        matches = (tuple(sorted(path for path in group if path in paths)) for group in groups)
        return tuple(sorted(group for group in matches if len(group) > 1))

    @classmethod
    def of(cls, groups: Iterable[tuple[RelPath, ...]]) -> LinkedFiles:
        """Builds it from the groups of `within`."""
        return cls((group[0], other) for group in groups for other in group[1:])
