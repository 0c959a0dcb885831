"""What an operation is going to do to the work tree: made before anything is touched, and shown by a dry run."""

from __future__ import annotations

import attrs

from .errors import StoreCorrupt
from .model import Entry, FileOutcome, ObjectId, RelPath, Signature
from .paths import is_restorable_name, parents, shown


@attrs.frozen
class CapturedFile:
    """A captured file as it stands in the work tree, bytes and all, when the plan is made."""

    entry: Entry
    signature: Signature


@attrs.frozen
class Write:
    """Put a file or symlink there.

    Attributes:
        path: where.
        entry: what.
        captured: the captured file that it replaces; None where nothing may be there by then.
        merged: whether the blob is a merge rather than what the target snapshot has.
    """

    path: RelPath
    entry: Entry
    captured: CapturedFile | None
    merged: bool = False


@attrs.frozen
class Delete:
    """Take a captured file away."""

    path: RelPath
    captured: CapturedFile


@attrs.frozen
class Plan:
    """All that an operation does, and what it leaves alone and why.

    Attributes:
        writes: ordered by path.
        deletes: ordered by path.
        make_directories: empty directories to make, parents first.
        remove_directories: directories to remove if nothing is in them, the deepest first.
        settled: files that are not going to be touched, with the reason.
        linked: groups of files to write or delete, of which each is done as a whole or not at all.
    """

    writes: tuple[Write, ...] = ()
    deletes: tuple[Delete, ...] = ()
    make_directories: tuple[RelPath, ...] = ()
    remove_directories: tuple[RelPath, ...] = ()
    settled: tuple[FileOutcome, ...] = ()
    linked: tuple[tuple[RelPath, ...], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the work tree is to stay as it is."""
        return not (self.writes or self.deletes or self.make_directories or self.remove_directories)

    @property
    def conflicts(self) -> bool:
        """Whether a file would conflict."""
        return any(outcome.outcome == "conflict" for outcome in self.settled)

    def foretold(self) -> tuple[FileOutcome, ...]:
        """What the operation will report if nothing goes wrong, ordered by path."""
        outcomes = [
            *self.settled,
            *(FileOutcome(write.path, "merged" if write.merged else "restored") for write in self.writes),
            *(FileOutcome(delete.path, "deleted") for delete in self.deletes),
        ]
        return tuple(sorted(outcomes, key=lambda outcome: outcome.path))

    def refused(self) -> tuple[FileOutcome, ...]:
        """What an operation reports that does nothing at all because some of its files conflict, ordered by path."""
        touched = {*(write.path for write in self.writes), *(delete.path for delete in self.deletes)}
        outcomes = [*self.settled, *(FileOutcome(path, "unchanged", "conflictsElsewhere") for path in touched)]
        return tuple(sorted(outcomes, key=lambda outcome: outcome.path))

    def check(self) -> None:
        """Makes sure that a capture could have found every path: a damaged or forged tree may say anything.

        Raises:
            StoreCorrupt: a path has `..` in it, is absolute, leads into a `.git`, or through a file that is to be
                written.
        """
        files = {write.path for write in self.writes}
        made = files | set(self.make_directories)
        others = {delete.path for delete in self.deletes} | {outcome.path for outcome in self.settled}
        others.update(self.remove_directories)
        folders = {above for path in made for above in parents(path)}
        for path in made.union(folders, others, *map(parents, others)):
            if not is_restorable_name(path.rpartition(b"/")[2]):
                raise StoreCorrupt(f"no work tree has a path like {shown(path)}", object=shown(path))
        for path in files & folders:
            raise StoreCorrupt(f"{shown(path)} is a file and a folder in the snapshot", object=shown(path))

    def blobs(self) -> set[ObjectId]:
        """The blobs that it needs."""
        return {write.entry.oid for write in self.writes}
