"""Directories that cannot be listed are told, not taken for empty; what goes while it is counted does not count."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snapd.model.errors import IoError, StoreCorrupt
from snapd.model.snapshot import ObjectId
from snapd.store.fsck.examine import check_access, find_leftovers
from snapd.store.maintenance.sweep import remove_tempfiles, sizes, unlinked_bytes
from snapd.store.objects.loose import loose_files
from snapd.store.usage.usage import usage
from tests.store.fsck import damage
from tests.store.fsck.damage import blob_id, loose
from tests.store.steps import Steps

FILES = {"a": b"first\n" * 40}
LOOKS: dict[str, Callable[[Steps], object]] = {
    "check_access": lambda steps: check_access(str(steps.path)),
    "leftovers": lambda steps: find_leftovers(str(steps.path)),
    "bytes_on_disk": lambda steps: steps.store.bytes_on_disk(),
    "remove_tempfiles": lambda steps: remove_tempfiles(str(steps.path)),
    "own_bytes": lambda steps: unlinked_bytes(str(steps.path)),
    "usage": lambda steps: usage(str(steps.path)),
}


@pytest.fixture
def steps(steps: Steps) -> Steps:
    steps.take(FILES)
    return steps


def refuse(patch: pytest.MonkeyPatch, directory: Path, number: int) -> None:
    real = os.scandir

    def scandir(path: str = ".") -> object:
        if os.fspath(path) == str(directory):
            raise OSError(number, os.strerror(number), path)
        return real(path)

    patch.setattr(os, "scandir", scandir)


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_directory_that_cannot_be_listed(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, look: Callable[[Steps], object]
) -> None:
    directory = steps.path / "refs" / "heads"
    with monkeypatch.context() as patch:
        refuse(patch, directory, errno.EACCES)
        with pytest.raises(IoError):
            look(steps)
    with monkeypatch.context() as patch:
        # it went as it was about to be listed
        refuse(patch, directory, errno.ENOENT)
        look(steps)


@pytest.mark.timeout(60)
def test_what_uses_space_where_an_object_is_cut_short(steps: Steps) -> None:
    (tree,) = steps.answered
    steps.store.close()
    damage.cut(loose(steps.path, tree))
    with pytest.raises(StoreCorrupt) as raised:
        usage(str(steps.path))
    assert raised.value.data["object"] == tree.hex()


def test_a_loose_file_that_goes_as_it_is_counted(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.store.close()

    def going(objects: str) -> Iterator[tuple[ObjectId, os.DirEntry[str]]]:
        for oid, entry in loose_files(objects):
            if oid == blob_id(FILES["a"]):
                os.unlink(entry.path)
            yield oid, entry

    monkeypatch.setattr("snapd.store.maintenance.sweep.loose_files", going)
    assert set(sizes(str(steps.path / "objects")).own) == {oid for oid, _ in loose_files(str(steps.path / "objects"))}


def test_a_directory_that_goes_as_loose_files_are_listed(steps: Steps) -> None:
    listing = loose_files(str(steps.path / "objects"))
    first, _ = next(listing)
    for path in (steps.path / "objects").glob("??"):
        if path.name != first.hex()[:2]:
            shutil.rmtree(path)
    assert {oid.hex()[:2] for oid, _ in listing} <= {first.hex()[:2]}


def test_a_leftover_that_goes_as_it_is_looked_at(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    (steps.path / f"x.{'0' * 12}.tmp").write_bytes(b"left")
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if str(path).endswith(".tmp"):
            Path(path).unlink()
        return real(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert find_leftovers(str(steps.path)).files == 0
