"""A file is read while somebody writes it, and neither its size nor its times say so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.model.snapshot import ObjectId, SkipReason
from snapd.worktree.fs import stable_read
from snapd.worktree.fs.stable_read import blob_id, read_stable

SIZE = 100_000


@pytest.mark.parametrize("writes", [0, 1, 3, 100])
def test_bytes_that_change_while_a_large_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0" * SIZE)
    # as within one tick of the clock that file times are taken from
    same = stable_read.signature(os.stat(path))
    monkeypatch.setattr(stable_read, "signature", lambda _: same)
    monkeypatch.setattr(stable_read, "is_racy", lambda *_: True)
    read: list[bytes] = []

    def store(size: int, chunks: Iterator[bytes]) -> ObjectId:
        data = b"".join(chunks)
        read.append(data)
        if len(read) <= writes:
            with path.open("r+b") as file:
                file.write(b"%d" % (len(read) % 10) * SIZE)
        return blob_id(size, iter((data,)))

    directory = os.open(tmp_path, os.O_RDONLY)
    found = read_stable(directory, b"file", SIZE, store)
    os.close(directory)
    if writes == 100:
        assert found is SkipReason.UNSTABLE
        return
    assert found == (blob_id(SIZE, iter((path.read_bytes(),))), same, True)
    assert len(read) == writes + 1
