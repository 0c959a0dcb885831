"""A merge is stored as everything else is, and touches nothing that is stored already."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.core.compare.threeway import merge
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import EXECUTABLE, REGULAR, Entry, ObjectId
from snapd.store.objects.loose import object_path
from tests.store.steps import Steps

# no valid UTF-8
TEXT = b"one\n\xff\nthree\nfour\nfive\n"
OURS = TEXT.replace(b"one", b"ONE")
THEIRS = TEXT.replace(b"five", b"FIVE")
MERGED = OURS.replace(b"five", b"FIVE")


def blob(steps: Steps, data: bytes) -> ObjectId:
    return bytes.fromhex(steps.git("hash-object", "-w", "-t", "blob", _file(steps, data)).decode())


def _file(steps: Steps, data: bytes) -> str:
    path = steps.path.parent / "text"
    path.write_bytes(data)
    return str(path)


def sides(steps: Steps) -> tuple[Entry, Entry, Entry]:
    base, ours, theirs = (blob(steps, data) for data in (TEXT, OURS, THEIRS))
    return Entry(REGULAR, base), Entry(EXECUTABLE, ours), Entry(REGULAR, theirs)


def test_it_waits_for_the_journal(steps: Steps) -> None:
    steps.take({"a": b"1"})
    merged = merge(steps.store, *sides(steps))
    assert merged is not None
    assert merged.mode == EXECUTABLE
    path = object_path(str(steps.path / "objects"), merged.oid)
    assert not os.path.exists(path)
    steps.store.repository.journal.flush()
    assert steps.git("cat-file", "blob", merged.oid.hex()) == MERGED


def test_a_result_that_is_there_is_not_touched(steps: Steps, tmp_path: Path) -> None:
    """It may be a link to an object of the user's own git."""
    there = blob(steps, MERGED)
    path = object_path(str(steps.path / "objects"), there)
    os.link(path, tmp_path / "users")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    before = os.stat(path)
    merged = merge(steps.store, *sides(steps))
    assert merged == Entry(EXECUTABLE, there)
    after = os.stat(tmp_path / "users")
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)


def test_one_that_is_not_there_is_named(steps: Steps) -> None:
    base, ours, _ = sides(steps)
    with pytest.raises(StoreCorrupt) as error:
        merge(steps.store, base, ours, Entry(REGULAR, bytes(20)))
    assert error.value.data["object"] == bytes(20).hex()
