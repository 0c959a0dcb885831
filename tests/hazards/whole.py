"""A whole folder as the kernel shows it, so that whatever was touched is seen, asked for or not."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from pathlib import Path


@attrs.frozen
class Seen:
    """One entry of a folder.

    Attributes:
        mode: type and permissions.
        inode: number of the inode.
        mtime_ns: of what is no directory: names that come and go beside a file move its directory's.
        data: digest of a file's bytes (up to `_READ_BYTES`) and its size, a symlink's target, else nothing.
    """

    mode: int
    inode: int
    mtime_ns: int
    data: bytes


_READ_BYTES = 1 << 26
Whole = dict[str, Seen]


def look(folder: str | os.PathLike[str]) -> Whole:
    """Everything below a folder, `.git` and special files included, and the folder itself as `.`."""
    found: Whole = {}
    for above, directories, files in os.walk(folder):
        for name in (".", *directories, *files) if above == os.fspath(folder) else (*directories, *files):
            path = os.path.join(above, name)
            found[os.path.relpath(path, folder)] = _see(path)
    return found


def touched(before: Whole, folder: str | os.PathLike[str]) -> set[str]:
    """The names that are not what they were: bytes, type, permissions, inode, or when they were last written."""
    now = look(folder)
    return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of each file below a folder, whatever the file is called."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _see(path: str) -> Seen:
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        return Seen(status.st_mode, status.st_ino, 0, b"")
    data = b""
    if stat.S_ISLNK(status.st_mode):
        data = os.readlink(os.fsencode(path))
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb", buffering=0) as file:
            data = hashlib.sha1(file.read(_READ_BYTES)).digest() + b"%d" % status.st_size
    return Seen(status.st_mode, status.st_ino, status.st_mtime_ns, data)
