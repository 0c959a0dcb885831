"""What an operation is going to do to the work tree: made before any file is touched, and shown by a dry run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import attrs

from snapd.model.errors import StoreCorrupt
from snapd.model.paths import folders_above, is_restorable_name, parents, shown
from snapd.model.snapshot import EMPTY_BLOB, Entry, FileOutcome, ObjectId, RelPath, Signature


@attrs.frozen
class CapturedFile:
    """A file in the work tree as it was captured, and the signature by which a change since then shows."""

    entry: Entry
    signature: Signature


@attrs.frozen
class Write:
    """Writes a file or symlink.

    Attributes:
        captured: the file that it replaces; None if nothing may be there.
        merged: whether the blob is a merge, and not what the target snapshot has.
    """

    path: RelPath
    entry: Entry
    captured: CapturedFile | None
    merged: bool = False


@attrs.frozen
class Delete:
    """Deletes a captured file."""

    path: RelPath
    captured: CapturedFile


@attrs.frozen
class MoveDirectory:
    """Renames a directory or a file, and so does what some writes and deletes of the plan say, all at once.

    Attributes:
        old: where it is.
        new: where nothing is.
        uncaptured: whether no snapshot has all that is in it: then nothing of it is written or deleted. Otherwise what
            the plan says of the files in it is done in the new place.
    """

    old: RelPath
    new: RelPath
    uncaptured: bool = False

    def there(self, path: RelPath) -> RelPath:
        """Where a path below the old one is afterwards."""
        return self.new + path[len(self.old) :]

    @property
    def outcome(self) -> FileOutcome:
        """Says of what is not captured under its new name where it came from."""
        return FileOutcome(self.new, "restored", None, self.old)


@attrs.frozen
class Plan:
    """All that an operation does, and what it leaves alone and why.

    Attributes:
        writes: ordered by path.
        deletes: ordered by path.
        make_directories: empty directories to make, parents first.
        remove_directories: directories to remove if they are empty, the deepest first.
        settled: files that stay as they are, with the reason.
        linked: groups of files to write or delete; each group is done as a whole or not at all.
        moves: directories that can be moved as a whole, and what is not captured under its old or its new name. What is
            captured in one is among `deletes`, and among `writes` under its new path; where the move cannot be done,
            these are done file by file, but no uncaptured file is deleted.
        permissions: of files to write and directories to make, as far as they are not what the umask gives.
    """

    writes: tuple[Write, ...] = ()
    deletes: tuple[Delete, ...] = ()
    make_directories: tuple[RelPath, ...] = ()
    remove_directories: tuple[RelPath, ...] = ()
    settled: tuple[FileOutcome, ...] = ()
    linked: tuple[tuple[RelPath, ...], ...] = ()
    moves: tuple[MoveDirectory, ...] = ()
    permissions: tuple[tuple[RelPath, int], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the work tree stays as it is."""
        return not (self.writes or self.deletes or self.make_directories or self.remove_directories)

    @property
    def conflicts(self) -> bool:
        """Whether a file would conflict."""
        return any(outcome.outcome == "conflict" for outcome in self.settled)

    def expected_outcomes(self) -> tuple[FileOutcome, ...]:
        """Foretells what the operation will report if nothing goes wrong, ordered by path."""
        inside = {path for write in self.writes for path in (write.path, *parents(write.path))} if self.moves else ()
        outcomes = [
            *self.settled,
            *(FileOutcome(write.path, "merged" if write.merged else "restored") for write in self.writes),
            *(FileOutcome(delete.path, "deleted") for delete in self.deletes),
            # what is taken away from where it was captured, to where it is not
            *(move.outcome for move in self.moves if move.uncaptured and move.new not in inside),
        ]
        return self.with_moves(sorted(outcomes, key=lambda outcome: outcome.path))

    def with_moves(self, outcomes: Sequence[FileOutcome]) -> tuple[FileOutcome, ...]:
        """Says of each file that was moved, and is there, where it came from, if it is gone there.

        A file is moved if an undo takes back a move, or if what is deleted under one name is written under another.
        """
        gone = {outcome.path for outcome in outcomes if outcome.outcome == "deleted"}
        moves = {new: old for new, old in self._moves().items() if old in gone}
        return tuple(
            FileOutcome(outcome.path, outcome.outcome, outcome.reason, moves[outcome.path])
            if outcome.path in moves and outcome.outcome in ("restored", "merged")
            else outcome
            for outcome in outcomes
        )

    def _moves(self) -> dict[RelPath, RelPath]:
        """The old path by the new one."""
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
        """Reports an operation that does nothing because some of its files conflict, ordered by path."""
        touched = {*(write.path for write in self.writes), *(delete.path for delete in self.deletes)}
        outcomes = [*self.settled, *(FileOutcome(path, "unchanged", "conflictsElsewhere") for path in touched)]
        return tuple(sorted(outcomes, key=lambda outcome: outcome.path))

    def check(self) -> None:
        """Makes sure that a work tree can have every path: a damaged or forged tree may name any.

        Raises:
            StoreCorrupt: a path has `..` in it, is absolute, leads into a `.git`, or through a file to write.
        """
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
        """The blobs that the plan needs."""
        return {write.entry.oid for write in self.writes}


class LinkedFiles:
    """Groups of paths; each group is changed as a whole or not at all. Pairs that share a path belong to one group."""

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
        """The other paths in the group of a path."""
        return (other for other in self._groups.get(path, ()) if other != path)

    def within(self, paths: Collection[RelPath]) -> tuple[tuple[RelPath, ...], ...]:
        """Narrows the groups to some paths, and gives those with more than one path left; ordered."""
        groups = {id(group): group for group in self._groups.values()}.values()
        found = (tuple(sorted(path for path in group if path in paths)) for group in groups)
        return tuple(sorted(group for group in found if len(group) > 1))

    @classmethod
    def of(cls, groups: Iterable[tuple[RelPath, ...]]) -> LinkedFiles:
        """Makes it from the groups of `within`."""
        return cls((group[0], other) for group in groups for other in group[1:])
