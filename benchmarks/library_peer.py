"""The best peer: the undo that a good engineer would build from existing libraries, without any of snapd's code."""

from __future__ import annotations

import os
import stat
import subprocess
from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import ObjectType

from .git_algorithm import ShadowGit
from .syncing import sync_file_system
from .watchman import NEVER

if TYPE_CHECKING:
    from .watchman import ChangedFile, Watchman

_ID_BYTES = 20
_EMPTY_TREE = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")


class LibraryShadow(ShadowGit):
    """A shadow repository that libgit2 writes; Watchman says what changed, and the trees are kept in memory.

    A long-running `git fast-import` in place of libgit2 was no quicker for a hundred changed files, took 1.7 times as
    long for one, and left a pack for each snapshot.

    Args:
        directory: of the repository; made by `first_track`.
        tree: the work tree.
        watchman: that watches the tree.
        durable: whether a snapshot is on the disk before it is answered.
    """

    def __init__(self, directory: str, tree: str, watchman: Watchman, *, durable: bool) -> None:
        super().__init__(directory, tree)
        self._watchman = watchman
        self._durable = durable
        self._clock = NEVER
        self._last = ""

    def track(self) -> str:
        """Takes a snapshot.

        Returns:
            The tree's id.
        """
        changes = self._watchman.changes(self._clock)
        self._clock = changes.clock
        if changes.is_fresh_instance:
            tree_id = self._look()
        else:
            self._apply(changes.files)
            tree_id = self._root.write(self._repository).hex()
        if tree_id != self._last and self._durable:
            sync_file_system(self.directory)
        self._last = tree_id
        return tree_id

    def _look(self) -> str:
        """Has git look at every file: the first time, or where Watchman lost track."""
        if self._last:
            # what was captured goes on being so, even if it is ignored now
            self.git("read-tree", self._last)
        tree_id = super().track()
        self._repository = pygit2.Repository(self.directory)
        self._root = _Folder(bytes.fromhex(tree_id))
        return tree_id

    def _apply(self, files: list[ChangedFile]) -> None:
        present = [file for file in files if _is_file(file)]
        # first, for a file in the place of a directory, and the other way round
        for file in files:
            if not _is_file(file):
                self._remove(file.name)
        if any(os.path.basename(file.name) == ".gitignore" for file in files):
            present += [file for file in self._watchman.files() if _is_file(file) and self._find(file.name) is None]
        ignored = self._ignored([file.name for file in present if self._find(file.name) is None])
        for file in present:
            if os.fsencode(file.name) not in ignored:
                self._add(file)

    def _ignored(self, names: list[str]) -> set[bytes]:
        """Those of new files that git ignores. libgit2 would be quicker, but takes some negated patterns otherwise."""
        if not names:
            return set()
        try:
            output = self.git("check-ignore", "--no-index", "-z", "--stdin", stdin=os.fsencode("\0".join(names)))
        except subprocess.CalledProcessError as error:
            # none is
            if error.returncode != 1:
                raise
            return set()
        return set(output.split(b"\0"))

    def _find(self, name: str) -> bytes | None:
        """The line of a captured file in its tree."""
        *above, last = os.fsencode(name).split(b"/")
        folder: _Folder | None = self._root
        for part in above:
            folder = folder and folder.below(self._repository, part)
        line = folder and folder.entries(self._repository).get(last)
        return line if isinstance(line, bytes) else None

    def _remove(self, name: str) -> None:
        if self._find(name) is not None:
            *above, last = os.fsencode(name).split(b"/")
            del self._changed(above)[last]

    def _add(self, file: ChangedFile) -> None:
        path = os.path.join(self._tree, file.name)
        try:
            if stat.S_ISLNK(file.mode):
                mode, data = b"120000", os.fsencode(os.readlink(path))
            else:
                mode = b"100755" if file.mode & stat.S_IXUSR else b"100644"
                with open(path, "rb", buffering=0) as opened:
                    data = opened.read()
        except OSError:
            # gone since; it is reported again
            return
        *above, last = os.fsencode(file.name).split(b"/")
        entries = self._changed(above)
        entries.pop(last + b"/", None)
        entries[last] = b"%b %b\0%b" % (mode, last, self._repository.create_blob(data).raw)

    def _changed(self, above: list[bytes]) -> dict[bytes, bytes | _Folder]:
        """What a directory holds, for being changed; it and those above it are made where they are missing."""
        folder = self._root
        for part in above:
            entries = folder.change(self._repository)
            entries.pop(part, None)
            below = entries.setdefault(part + b"/", _Folder(None))
            assert isinstance(below, _Folder)
            folder = below
        return folder.change(self._repository)


class _Folder:
    """A tree, read when it is first looked into.

    Args:
        oid: its id, or None for a new one, which is empty.
    """

    def __init__(self, oid: bytes | None) -> None:
        self._oid = oid
        self._entries: dict[bytes, bytes | _Folder] | None = {} if oid is None else None

    def entries(self, repository: pygit2.Repository) -> dict[bytes, bytes | _Folder]:
        """What it holds by name: the line of a file in the tree, or, with a slash after the name, a folder."""
        if self._entries is None:
            assert self._oid is not None
            _, data = repository.odb.read(pygit2.Oid(raw=self._oid))
            self._entries = dict(_parsed(data))
        return self._entries

    def below(self, repository: pygit2.Repository, name: bytes) -> _Folder | None:
        """The folder of that name in it."""
        folder = self.entries(repository).get(name + b"/")
        return folder if isinstance(folder, _Folder) else None

    def change(self, repository: pygit2.Repository) -> dict[bytes, bytes | _Folder]:
        """As `entries`, which are to be changed: the tree has to be written anew."""
        entries = self.entries(repository)
        self._oid = None
        return entries

    def write(self, repository: pygit2.Repository) -> bytes:
        """Writes it and all below it that was changed.

        Returns:
            Its id.
        """
        if self._oid is None:
            assert self._entries is not None
            lines = []
            # with their slashes, names are in git's order
            for name in sorted(self._entries):
                entry = self._entries[name]
                if isinstance(entry, bytes):
                    lines.append(entry)
                elif (oid := entry.write(repository)) != _EMPTY_TREE:
                    lines.append(b"40000 %b\0%b" % (name[:-1], oid))
            self._oid = repository.write(ObjectType.TREE, b"".join(lines)).raw
        return self._oid


def _is_file(file: ChangedFile) -> bool:
    """Whether git may capture it."""
    kind = stat.S_IFMT(file.mode)
    return file.exists and kind in (stat.S_IFREG, stat.S_IFLNK) and not file.name.startswith(".git/")


def _parsed(data: bytes) -> list[tuple[bytes, bytes | _Folder]]:
    entries: list[tuple[bytes, bytes | _Folder]] = []
    at = 0
    while at < len(data):
        end = data.index(b"\0", at) + 1 + _ID_BYTES
        mode, _, name = data[at : end - _ID_BYTES - 1].partition(b" ")
        if mode == b"40000":
            entries.append((name + b"/", _Folder(data[end - _ID_BYTES : end])))
        else:
            entries.append((name, data[at:end]))
        at = end
    return entries
