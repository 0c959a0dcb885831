"""The process that reads files for `ReaderPool`; for a file it cannot read, the parent process finds out why."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from importlib import import_module

from snapd.model.snapshot import ObjectId
from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.stable_read import STREAM_FROM, read_stable
from snapd.worktree.state.file_state import make_record

_Packing = Callable[[bytes], tuple[ObjectId, bytes]]

DIRECTORY = struct.Struct("<IH")  # length of the path, bytes; number of names that follow
NAME = struct.Struct("<H")  # length of the name, bytes
ANSWER = struct.Struct("<57sI")
"""The file's record, and the length of the packed blob that follows, bytes; all zero for a file that was not read."""
UNREAD = ANSWER.pack(b"", 0)

_BUFFER = 1 << 18


def main(argument: str) -> None:
    """Reads the files whose names come in.

    `argument` has the root's descriptor, the size limit in bytes, and the module with `packed_blob`.
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
        result = read_stable(directory, name, limit, pack)
    except OSError:
        return UNREAD
    if not isinstance(result, tuple):
        return UNREAD
    oid, signature, racy = result
    return ANSWER.pack(make_record(signature, oid, racy), len(packed)) + packed
