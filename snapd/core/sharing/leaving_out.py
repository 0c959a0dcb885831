"""Leaves files out of the trees that leave the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from snapd.core.model import EMPTY_TREE, TREE
from snapd.core.paths import parents
from snapd.core.rules.ignore import IgnoreFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from snapd.core.model import Entry, ObjectId, RelPath
    from snapd.core.trees import ReadTree


@attrs.frozen
class LeftOut:
    """What stays on this machine of that which would leave it.

    Attributes:
        patterns: files, in `.gitignore` syntax, rooted at the workspace.
        contents: the blobs of files that stay here wherever they are.
        texts: whether prompts stay here, and with them titles and descriptions, which are often made of them.
    """

    patterns: Sequence[str] = ()
    contents: frozenset[ObjectId] = frozenset()
    texts: bool = False


class LeavingOut:
    """Trees without the files that stay here.

    Args:
        left_out: what stays here.
        read: gives the entries of a tree.
        write: stores the bytes of a tree.
    """

    def __init__(self, left_out: LeftOut, read: ReadTree, write: Callable[[bytes], ObjectId]) -> None:
        text = "\n".join(left_out.patterns).encode("utf-8", "surrogateescape")
        self._file = IgnoreFile.parse(text, bounded=False)
        self._contents = left_out.contents
        self._is_needed = bool(left_out.patterns or left_out.contents)
        self._read = read
        self._write = write
        self._known: dict[tuple[ObjectId, RelPath], ObjectId] = {}

    def is_out(self, path: RelPath) -> bool:
        """Whether a file is left out by its name, itself or with a directory above."""
        if not self._is_needed:
            return False
        return bool(self._file.match(path, is_dir=False)) or any(
            self._file.match(above, is_dir=True) for above in parents(path)
        )

    def is_content_out(self, *entries: Entry | None) -> bool:
        """Whether one of these files is left out by its contents."""
        return any(entry is not None and entry.oid in self._contents for entry in entries)

    def tree(self, oid: ObjectId, path: RelPath = b"") -> ObjectId:
        """A directory without what is left out; a directory of which nothing is left goes, too.

        Args:
            oid: the directory.
            path: where it is.

        Raises:
            StoreCorrupt, StorageFull, IoError: it cannot be read, or not written.
        """
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
