"""What a request wants files and directories to become, and the snapshots that prove what was really absent."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import takewhile

import attrs

from snapd.model.ignore import RULES_BYTES, IgnoreFile, IgnoreStack, stack_of
from snapd.model.paths import parents
from snapd.model.plan import LinkedFiles
from snapd.model.snapshot import (
    EXECUTABLE,
    MOST_PERMISSIONS,
    REGULAR,
    TREE,
    Contested,
    Entry,
    FileOutcome,
    RelPath,
    RuleText,
    Snapshot,
)
from snapd.model.timeline import Reversal
from snapd.model.trees import file_at, files, lookup
from snapd.store.object_store import ObjectStore


class Target:
    """The wanted state of the work tree, or of some files of it.

    "Not in the tree" has three meanings: the path did not exist, was skipped, or was ignored. Only the first may lead
    to a deletion; `protection` tells them apart. `absent` are paths that certainly had no file.
    """

    def __init__(self, objects: ObjectStore, snapshot: Snapshot, absent: frozenset[RelPath] = frozenset()) -> None:
        self._objects = objects
        self.snapshot = snapshot
        self._absent = absent
        self._parsed: dict[bytes, IgnoreFile | None] = {}
        coverage = snapshot.coverage
        self._empty = {above for path in coverage.empty_dirs for above in (path, *parents(path))}
        self._skipped = {skip.path: skip.reason.value for skip in coverage.skipped}
        self._forced = frozenset(coverage.forced)

    def entry(self, path: RelPath) -> Entry | None:
        """Returns the file or symlink at a path."""
        return file_at(self._objects.entry_in, self.snapshot.tree, path)

    def files(self, name: RelPath) -> Iterator[RelPath]:
        """Returns the files that a name stands for, ordered by path: a file, or all files in a directory."""
        result = lookup(self._objects.entry_in, self.snapshot.tree, name)
        if result is None or result.mode != TREE:
            return iter(() if result is None else (name,))
        return (path for path, _ in files(self._objects.read_tree, result.oid, name))

    def permissions(self, path: RelPath) -> Iterator[tuple[RelPath, int]]:
        """Returns the permissions of a file and the directories above, where they differ from what the umask gives."""
        ways = (path, *parents(path)) if self._permissions else ()
        return ((way, self._permissions[way]) for way in ways if way in self._permissions)

    def permissions_of(self, path: RelPath, usual: int) -> int | None:
        """Returns the permissions of a file, `usual` if they are those of the umask; None if they are not recorded."""
        recorded = self.snapshot.coverage.permissions
        is_cut = len(recorded) >= MOST_PERMISSIONS and path > recorded[-1][0]
        return None if is_cut else self._permissions.get(path, usual)

    def has_directory(self, path: RelPath) -> bool:
        """Whether a directory is there, possibly empty."""
        result = lookup(self._objects.entry_in, self.snapshot.tree, path)
        return (result is not None and result.mode == TREE) or path in self._empty

    def came_since(self, path: RelPath) -> Iterator[RelPath]:
        """Returns the directories above a path that the target lacks, innermost first."""
        return takewhile(lambda above: not self.has_directory(above), parents(path))

    def protection(self, path: RelPath, is_directory: bool = False) -> str | None:
        """Returns why a path that the target lacks may have existed all the same; None if it did not exist."""
        if path in self._absent:
            return None
        ways = (*reversed(parents(path)), path)
        if self._skipped:
            for way in ways:
                if way in self._skipped:
                    return self._skipped[way]
        if not self._forced.isdisjoint(ways):
            return None
        prefix = self.snapshot.coverage.prefix
        full = prefix + b"/" + path if prefix else path
        return "ignored" if self._stack.ignored_deep(full, is_directory, self._gitignore) else None

    @cached_property
    def _permissions(self) -> dict[RelPath, int]:
        return dict(self.snapshot.coverage.permissions)

    # most operations delete nothing, and need none of the rules; a project may have hundreds of ignore files

    @cached_property
    def _inside(self) -> dict[bytes, RuleText]:
        """The texts of the folder's `.gitignore` files that the tree lacks, by directory."""
        return {
            text.base: text
            for text in self.snapshot.coverage.rules
            if text.kind == "gitignore" and self._below_root(text.base) is not None
        }

    @cached_property
    def _stack(self) -> IgnoreStack:
        rules = self.snapshot.coverage.rules
        return stack_of(text for text in rules if text.kind != "gitignore" or text.base not in self._inside)

    def _below_root(self, base: bytes) -> RelPath | None:
        prefix = self.snapshot.coverage.prefix
        if not prefix or base == prefix:
            return base[len(prefix) :]
        return base[len(prefix) + 1 :] if base.startswith(prefix + b"/") else None

    def _gitignore(self, directory: bytes) -> IgnoreFile | None:
        if directory not in self._parsed:
            text = self._inside.get(directory)
            self._parsed[directory] = (
                self._captured_gitignore(directory) if text is None else IgnoreFile.parse(text.text, text.base)
            )
        return self._parsed[directory]

    def _captured_gitignore(self, directory: bytes) -> IgnoreFile | None:
        below = self._below_root(directory)
        if below is None:
            return None
        entry = self.entry(below + b"/.gitignore" if below else b".gitignore")
        if entry is None or entry.mode not in (REGULAR, EXECUTABLE):
            return None
        text = self._objects.read_small_blob(entry.oid, RULES_BYTES)
        return None if text is None else IgnoreFile.parse(text, directory)


@attrs.frozen
class FileGoal:
    """What a file is to become."""

    path: RelPath
    target: Target  # the snapshot that says whether the file was really absent
    wanted: Entry | None  # None for no file
    is_merged: bool = False  # whether `wanted` is a merge instead of what the target has
    left: Target | None = None  # what the changes left that are taken back; None if it is not about changes


@attrs.frozen
class Patch:
    """What a request wants."""

    goals: Collection[FileGoal]  # what files are to become, each file once
    settled: Collection[FileOutcome] = ()  # files that stay as they are, and why
    made: Collection[RelPath] = ()  # empty directories to make if they do not exist
    # directories to remove if they are empty, each with the snapshot that says if it was really absent
    removed: Collection[tuple[RelPath, Target]] = ()
    linked: LinkedFiles = attrs.field(factory=LinkedFiles)  # files that change together or not at all
    # whether the goals already keep later changes of others, and `removed` has the directories that came with the files
    # to delete. Otherwise the planner does both.
    is_decided: bool = False
    turned: tuple[Reversal, ...] = ()  # how the timeline records the steps and operations that are undone or redone
    contested: tuple[Contested, ...] = ()  # their files in conflict, if the client asks for them
