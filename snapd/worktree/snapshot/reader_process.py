"""The process that reads files for `readers.py`: names come in, what they hold goes out, until the input ends.

It answers for files that could be read as they are. Of any other it only says so: why is for who asked to find out.
"""

from __future__ import annotations

import os
import struct
from importlib import import_module
from typing import TYPE_CHECKING

from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.stable_read import STREAM_FROM, read_stable
from snapd.worktree.state.file_state import make_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd.core.model import ObjectId

    _Packing = Callable[[bytes], tuple[ObjectId, bytes]]

DIRECTORY = struct.Struct("<IH")
"""Bytes of a directory's path, and number of the names in it that follow."""
NAME = struct.Struct("<H")
"""Bytes of a name."""
ANSWER = struct.Struct("<57sI")
"""The file's record, and the bytes of the packed blob that follow: of a file that was not read, all zero."""
UNREAD = ANSWER.pack(b"", 0)

_BUFFER = 1 << 18


def main(argument: str) -> None:
    """Serves standard input and output.

    Args:
        argument: descriptor of the directory that paths are relative to, as a decimal number; the size in bytes up to
            which files are captured; and the module that has `packed_blob`.
    """
    root, limit, packing = argument.split()
    packed_blob: _Packing = import_module(packing).packed_blob
    with (
        open(0, "rb", buffering=_BUFFER, closefd=False) as questions,
        open(1, "wb", buffering=_BUFFER, closefd=False) as answers,
    ):
        while len(header := questions.read(DIRECTORY.size)) == DIRECTORY.size:
            length, count = DIRECTORY.unpack(header)
            path = questions.read(length)
            names = [questions.read(*NAME.unpack(questions.read(NAME.size))) for _ in range(count)]
            answers.writelines(_read(int(root), path, names, min(int(limit), STREAM_FROM - 1), packed_blob))
            # not held back while there is nothing more to do
            answers.flush()


def _read(root: int, path: bytes, names: list[bytes], limit: int, packed_blob: _Packing) -> Iterator[bytes]:
    try:
        directory = open_directory(root, path)
    except OSError:
        yield from [UNREAD] * len(names)
        return
    try:
        for name in names:
            yield _read_one(directory, name, limit, packed_blob)
    finally:
        os.close(directory)


def _read_one(directory: int, name: bytes, limit: int, packed_blob: _Packing) -> bytes:
    packed = b""

    def pack(size: int, chunks: Iterator[bytes]) -> ObjectId:
        nonlocal packed
        data = b"".join(chunks)
        if len(data) != size:
            raise ValueError(f"{len(data)} bytes instead of {size}")
        oid, packed = packed_blob(data)
        return oid

    try:
        found = read_stable(directory, name, limit, pack)
    except OSError:
        return UNREAD
    if not isinstance(found, tuple):
        return UNREAD
    oid, seen, racy = found
    return ANSWER.pack(make_record(seen, oid, racy), len(packed)) + packed
