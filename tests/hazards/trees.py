"""The id that git gives a folder's files, worked out by hand: the oracle where thousands of files change hands."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def object_id(kind: str, data: bytes) -> bytes:
    """The id of a git object."""
    return hashlib.sha1(b"%s %d\0%s" % (kind.encode(), len(data), data)).digest()


def tree_id(folder: Path | bytes) -> str:
    """The id of the tree of all files below a folder, whatever any configuration says; `.git` is none of them."""
    found = _tree(os.fsencode(folder))
    return (found or object_id("tree", b"")).hex()


def _tree(folder: bytes) -> bytes | None:
    entries = []
    with os.scandir(folder) as found:
        for entry in found:
            mode = entry.stat(follow_symlinks=False).st_mode
            if entry.name == b".git":
                continue
            if stat.S_ISDIR(mode):
                below = _tree(entry.path)
                if below is not None:
                    entries.append((entry.name + b"/", b"40000", below))
            elif stat.S_ISLNK(mode):
                entries.append((entry.name, b"120000", object_id("blob", os.readlink(entry.path))))
            elif stat.S_ISREG(mode):
                with open(entry.path, "rb") as file:
                    blob = object_id("blob", file.read())
                entries.append((entry.name, b"100755" if mode & 0o100 else b"100644", blob))
    if not entries:
        return None
    lines = [mode + b" " + name.removesuffix(b"/") + b"\0" + oid for name, mode, oid in sorted(entries)]
    return object_id("tree", b"".join(lines))
