"""What a snapshot has to be, told from the disk alone: git's tree id in plain Python, and git's ignore rules for
patterns without wildcards but a leading `*.`. `test_bursts.py` holds it against git itself.
"""

from __future__ import annotations

import hashlib
import os
import stat

import attrs

_Patterns = tuple[bytes, tuple[bytes, ...]]
"""The directory of an ignore file, with a slash at the end where it is not the root, and its lines."""


@attrs.define
class Oracle:
    """One look at a folder.

    Attributes:
        root: the folder.
        limit: bytes; larger files are skipped.
        exclude: patterns that have the last word where they ignore.
        tracked: paths that are captured although they are ignored.
        forced: the same, with all below them.
        skipped: what was there and is not captured, after `tree`.
        empty: directories that are not ignored and hold nothing, after `tree`.
        files: mode and blob of each captured file, as `git ls-tree` shows them, after `tree`.
    """

    root: bytes = attrs.field(converter=os.fsencode)
    limit: int
    exclude: tuple[bytes, ...] = ()
    tracked: frozenset[bytes] = frozenset()
    forced: tuple[bytes, ...] = ()
    skipped: set[tuple[bytes, str]] = attrs.field(factory=set)
    empty: set[bytes] = attrs.field(factory=set)
    files: dict[bytes, bytes] = attrs.field(factory=dict)

    def tree(self) -> bytes:
        """The tree id of what is to be captured."""
        return self._tree(b"", (), ignored=False) or _oid(b"tree", b"")

    def _tree(self, path: bytes, above: tuple[_Patterns, ...], *, ignored: bool) -> bytes | None:
        prefix = path + b"/" if path else b""
        with os.scandir(os.path.join(self.root, path)) as entries:
            found = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
        rules = found.get(b".gitignore")
        if rules is not None and stat.S_ISREG(rules.st_mode):
            with open(os.path.join(self.root, prefix + b".gitignore"), "rb") as file:
                above = (*above, (prefix, tuple(file.read().split(b"\n"))))
        if not found and path and not ignored:
            self.empty.add(path)
        rows = []
        for name, status in found.items():
            here = prefix + name
            is_directory = stat.S_ISDIR(status.st_mode)
            if name == b".git":
                continue
            hides = not self._is_forced(here) and (ignored or self._ignored(here, above, is_directory=is_directory))
            if is_directory:
                within = (*self.tracked, *self.forced)
                if hides and not any(kept.startswith(here + b"/") for kept in within):
                    continue
                below = self._tree(here, above, ignored=hides)
                if below is not None:
                    rows.append((name + b"/", b"40000 " + name + b"\0" + below))
            elif not hides or here in self.tracked:
                mode = self._mode(here, status)
                if mode is not None:
                    oid = self._blob(here, status)
                    self.files[here] = b"%s blob %s" % (mode, oid.hex().encode())
                    rows.append((name, mode + b" " + name + b"\0" + oid))
        return _oid(b"tree", b"".join(row for _, row in sorted(rows))) if rows else None

    def _mode(self, path: bytes, status: os.stat_result) -> bytes | None:
        if stat.S_ISLNK(status.st_mode):
            return b"120000"
        if not stat.S_ISREG(status.st_mode):
            self.skipped.add((path, "special"))
            return None
        if status.st_size > self.limit:
            self.skipped.add((path, "tooLarge"))
            return None
        return b"100755" if status.st_mode & 0o100 else b"100644"

    def _blob(self, path: bytes, status: os.stat_result) -> bytes:
        full = os.path.join(self.root, path)
        if stat.S_ISLNK(status.st_mode):
            data = os.readlink(full)
        else:
            with open(full, "rb") as file:
                data = file.read()
        return _oid(b"blob", data)

    def _is_forced(self, path: bytes) -> bool:
        return any(path == forced or path.startswith(forced + b"/") for forced in self.forced)

    def _ignored(self, path: bytes, files: tuple[_Patterns, ...], *, is_directory: bool) -> bool:
        if any(_matches(line, b"", path, is_directory=is_directory) for line in self.exclude):
            return True
        for base, lines in reversed(files):
            for line in reversed(lines):
                if line and _matches(line.removeprefix(b"!"), base, path, is_directory=is_directory):
                    return not line.startswith(b"!")
        return False


def _matches(line: bytes, base: bytes, path: bytes, *, is_directory: bool) -> bool:
    if line.endswith(b"/") and not is_directory:
        return False
    pattern = line.removesuffix(b"/")
    below = path[len(base) :]
    if b"/" in pattern:
        return below == pattern.removeprefix(b"/")
    name = below.rpartition(b"/")[2]
    return name.endswith(pattern[1:]) if pattern.startswith(b"*") else name == pattern


def _oid(kind: bytes, data: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0%s" % (kind, len(data), data)).digest()
