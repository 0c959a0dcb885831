"""The directories of the work tree as of the last look."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from enum import Enum

import attrs

from snapd.model.ignore import IgnoreFile
from snapd.model.snapshot import EMPTY_TREE, ObjectId, RelPath, SkipReason
from snapd.worktree.fs.listing import SIGNATURE_BYTES
from snapd.worktree.ignore.evaluator import DirectoryRules

from .file_state import Inodes, PackedFiles, Record, inode_of, is_racy_record, tree_lines


class Uncaptured(Enum):
    """Why a name is not captured, if that need not be reported."""

    IGNORED_FILE = "ignored"
    IGNORED_DIRECTORY = "ignored, with all below it"
    HIDDEN = "a `.git`, a file that snapd is about to move into place, or its store"


@attrs.define(eq=False)
class DirectoryNode:
    """A directory that is not ignored.

    Attributes:
        name: in the directory above; empty for the root.
        parent: the directory above; None for the root, and for a directory that was dropped.
        inode: its inode number; 0 before the first look.
        permissions: its own; 0 for the root.
        files: captured files and symlinks by name; packed records are unpacked when one of them is used.
        directories: subdirectories by name.
        others: the names that are not captured, and why.
        tree: its tree id; None while it must be computed, and then so must those of all directories above.
        gitignore: its `.gitignore`, if it has one.
        rules: what decides which of its names are captured, as of the last look.
        watch: see `WatchedDirectory`.
    """

    name: bytes = b""
    parent: DirectoryNode | None = None
    inode: int = 0
    _files: dict[bytes, Record] | PackedFiles = attrs.field(factory=dict)
    directories: dict[bytes, DirectoryNode] = attrs.field(factory=dict)
    others: dict[bytes, Uncaptured | SkipReason] = attrs.field(factory=dict)
    tree: ObjectId | None = None
    gitignore: IgnoreFile | None = None
    rules: DirectoryRules | None = None
    watch: int = -1
    permissions: int = 0

    @property
    def files(self) -> dict[bytes, Record]:
        """Captured files and symlinks by name."""
        if isinstance(self._files, PackedFiles):
            self._files = self._files.unpacked()
        return self._files

    @files.setter
    def files(self, files: dict[bytes, Record] | PackedFiles) -> None:
        self._files = files

    @property
    def packed_files(self) -> PackedFiles:
        """Captured files and symlinks, packed."""
        return self._files if isinstance(self._files, PackedFiles) else PackedFiles.of(self._files)

    def pack(self) -> None:
        """Packs the files until one of them is used."""
        self._files = self.packed_files

    @property
    def file_count(self) -> int:
        """The number of captured files and symlinks."""
        return len(self._files)

    def tree_lines(self) -> list[tuple[bytes, bytes]]:
        """The name of each file, with its line in the directory's tree object."""
        if isinstance(self._files, PackedFiles):
            return self._files.tree_lines()
        return tree_lines(self._files)

    def unusual(self, umask: int) -> dict[bytes, int]:
        """The permissions of files that are not what the umask gives a file, by name; quick if there is none."""
        usual = {stat.S_IFREG | 0o666 & ~umask, stat.S_IFREG | 0o777 & ~umask, stat.S_IFLNK | 0o777}
        if isinstance(self._files, PackedFiles):
            signatures = self._files.signatures
            low = zip(signatures[::SIGNATURE_BYTES], signatures[1::SIGNATURE_BYTES], strict=True)
            if {one | two << 8 for one, two in set(low)} <= usual:
                return {}
        modes = ((name, int.from_bytes(record[:4], "little")) for name, record in self.files.items())
        return {name: stat.S_IMODE(mode) for name, mode in modes if mode not in usual and not stat.S_ISLNK(mode)}

    def of_inodes(self, inodes: Inodes) -> list[bytes]:
        """The names of the files with one of these inodes; packed files stay packed."""
        if isinstance(self._files, PackedFiles):
            return self._files.of_inodes(inodes)
        return [name for name, record in self._files.items() if inode_of(record) in inodes.numbers]

    def has_just(self, names: bytes, signatures: bytes) -> bool:
        """Whether the files are exactly those of a listing, and none of them is racy.

        Args:
            names: as `Listing.names`.
            signatures: as `Listing.signatures`.
        """
        files = self._files
        if isinstance(files, PackedFiles):
            return names == files.names and signatures == files.signatures and not files.racy.strip(b"\0")
        records = files.values()
        return (
            names == b"".join([name + b"\0" for name in files])
            and signatures == b"".join([record[:SIGNATURE_BYTES] for record in records])
            and not any(map(is_racy_record, records))
        )

    def directory(self, path: RelPath) -> DirectoryNode | None:
        """The directory at a path below this one; this one for the empty path."""
        node: DirectoryNode | None = self
        for part in path.split(b"/") if path else ():
            assert node is not None
            node = node.directories.get(part)
            if node is None:
                return None
        return node

    def file(self, path: RelPath) -> Record | None:
        """The captured file at a path below this directory."""
        above, _, name = path.rpartition(b"/")
        node = self.directory(above)
        return None if node is None else node.files.get(name)

    def ignores(self, path: RelPath) -> bool:
        """Whether a file at a path below this directory is ignored, or a directory above the file is."""
        *above, name = path.split(b"/")
        node = self
        for part in above:
            if part in node.others:
                return node.others[part] is Uncaptured.IGNORED_DIRECTORY
            if part not in node.directories:
                return False
            node = node.directories[part]
        return node.others.get(name) is Uncaptured.IGNORED_FILE

    def walk(self, path: RelPath = b"") -> Iterator[tuple[RelPath, DirectoryNode]]:
        """This directory and all below it, parents first."""
        pending = [(path, self)]
        while pending:
            here, node = pending.pop()
            yield here, node
            prefix = here + b"/" if here else b""
            pending.extend((prefix + name, child) for name, child in reversed(node.directories.items()))


def encode_tree(node: DirectoryNode, trees: Mapping[DirectoryNode, ObjectId]) -> bytes:
    """The bytes of a directory's tree object; empty if nothing in it is captured.

    Args:
        node: the directory.
        trees: the ids of subdirectories whose `tree` is None.
    """
    # git sorts a subtree as if its name ended in a slash
    lines = node.tree_lines()
    for name, child in node.directories.items():
        tree = child.tree or trees[child]
        if tree != EMPTY_TREE:
            lines.append((name + b"/", b"40000 %b\0%b" % (name, tree)))
    lines.sort()
    return b"".join([line for _, line in lines])
