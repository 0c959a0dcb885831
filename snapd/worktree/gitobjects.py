"""Finds where the objects of a git repository lie, and says how large they are without reading their contents."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import ObjectType

from .disk import read_small

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.model import ObjectId

_BLOB = int(ObjectType.BLOB)
_DEPTH = 5
_MISSES = 64
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_CONTROLS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def object_directories(objects: bytes) -> tuple[bytes, ...]:
    """The directories that hold the objects of a repository: its own first, then those that it borrows from.

    Args:
        objects: the repository's own, absolute.

    Returns:
        Each once, without symlinks. They follow `info/alternates` as deep as git does, see gitrepository-layout(5).
    """
    found: dict[bytes, None] = {}
    level = [os.path.realpath(objects)]
    for _ in range(_DEPTH + 2):
        fresh = [directory for directory in dict.fromkeys(level) if directory not in found and os.path.isdir(directory)]
        found.update(dict.fromkeys(fresh))
        level = [borrowed for directory in fresh for borrowed in _alternates(directory)]
    return tuple(found)


def _alternates(objects: bytes) -> list[bytes]:
    text = read_small(os.path.join(objects, b"info", b"alternates")) or b""
    lines = [line for line in text.split(b"\n") if line and not line.startswith(b"#") and b"\0" not in line]
    return [os.path.realpath(os.path.join(objects, _unquoted(line))) for line in lines]


def _unquoted(line: bytes) -> bytes:
    quoted = _QUOTED.match(line)
    return _ESCAPE.sub(_unescaped, quoted[1]) if quoted else line


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes((int(text, 8) if len(text) == 3 else _CONTROLS.get(text[0], text[0]),))


class Blobs:
    """The blobs in some object directories. Opens no repository, so nothing of one's configuration is obeyed.

    Args:
        directories: from `object_directories`.
    """

    def __init__(self, directories: Sequence[bytes]) -> None:
        self._odb = pygit2.Odb()
        for directory in directories:
            self._odb.add_disk_alternate(os.fsdecode(directory))
        self._read_header = self._odb.read_header
        self._left = _MISSES

    def size(self, oid: ObjectId) -> int | None:
        """The size of a blob in bytes, None where there is no such blob, or it cannot be read.

        To miss is slow: after some misses everything counts as missing, as in a partial clone without contents.
        """
        if not self._left:
            return None
        try:
            kind, size = self._read_header(pygit2.Oid(oid))
        except (pygit2.GitError, KeyError, ValueError, OSError):
            self._left -= 1
            return None
        return int(size) if kind == _BLOB else None

    def read(self, oid: ObjectId) -> bytes | None:
        """The bytes of a blob, None where there is no such blob, or it cannot be read."""
        try:
            kind, data = self._odb.read(pygit2.Oid(raw=oid))
        except (pygit2.GitError, KeyError, ValueError, OSError):
            return None
        return bytes(data) if kind == _BLOB else None
