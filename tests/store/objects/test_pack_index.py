"""Pack indexes read by our own code, against git's own listing."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import struct
from pathlib import Path

import pytest

from snapd.model.snapshot import ObjectId
from snapd.store.object_store import ObjectBatch
from snapd.store.objects.pack_index import PackIndex, PackIndexes
from snapd.store.repository import ShadowRepository
from tests.support.git import run_git


def make_packed(folder: Path, count: int, version: int = 2) -> tuple[Path, list[ObjectId]]:
    """A bare repository with one pack; gives its `objects` directory and what is in the pack, as git lists it."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "-q", "--bare", ".")
    names = b"".join(
        run_git(folder, "hash-object", "-w", "--stdin", input=b"%d" % at).strip() + b"\n" for at in range(count)
    )
    run_git(folder, "pack-objects", "-q", f"--index-version={version}", "objects/pack/pack", input=names)
    run_git(folder, "prune-packed", "-q")
    listed = run_git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").decode().split()
    return folder / "objects", [bytes.fromhex(name) for name in listed]


def files(objects: Path) -> tuple[str, str]:
    (index,) = (objects / "pack").glob("*.idx")
    return str(index), str(index.with_suffix(".pack"))


def test_it_knows_what_git_lists(tmp_path: Path) -> None:
    objects, ids = make_packed(tmp_path / "git", 300)
    index = PackIndex.load(*files(objects))
    assert index is not None
    assert index.count == len(ids) == 300
    chance = random.Random(1)
    strangers = [chance.randbytes(20) for _ in range(300)] + [b"\0" * 20, b"\xff" * 20]
    # neighbours of what is there
    strangers += [oid[:-1] + bytes([oid[-1] ^ 1]) for oid in ids]
    assert all(oid in index for oid in ids)
    assert not any(oid in index for oid in strangers)
    for wanted in ([], ids[:3], ids[:3] + strangers, strangers, ids + strangers):
        assert index.among(wanted) == set(wanted) & set(ids)


def handmade(ids: list[ObjectId]) -> PackIndex:
    """An index of these ids, as far as looking for them goes."""
    counts = [sum(1 for oid in ids if oid[0] <= first) for first in range(256)]
    return PackIndex(struct.pack(">8x256I", *counts) + b"".join(sorted(ids)), "")


def test_an_id_across_two_others_is_none_of_them() -> None:
    wanted = b"\0\0" + b"\5" * 17 + b"\0"
    # it stands in the bytes of the table from the second on
    before = b"\0" + wanted[:19]
    assert wanted in handmade([before, wanted])
    assert before in handmade([before, wanted])
    assert wanted not in handmade([before, b"\0\1" + b"\7" * 18])
    assert wanted in before + b"\0\1"


@pytest.mark.parametrize("count", [1, 63, 64, 65, 66, 127, 128, 129, 1000])
def test_ids_are_found_among_few_and_many(count: int) -> None:
    chance = random.Random(count)
    ids = [b"\7" + chance.randbytes(19) for _ in range(count)]
    index = handmade(ids)
    assert all(index.position(oid) == at for at, oid in enumerate(sorted(ids)))
    strangers = [b"\7" + chance.randbytes(19) for _ in range(200)] + [
        b"\7" + b"\0" * 19,
        b"\7" + b"\xff" * 19,
        b"\6" * 20,
    ]
    assert all(index.position(oid) == -1 for oid in strangers)


def resize(path: str, by: int) -> None:
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) + by)


def put(path: str, at: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(at, os.SEEK_SET if at >= 0 else os.SEEK_END)
        file.write(data)


DAMAGE = {
    "idx cut": lambda idx, _: resize(idx, -1),
    "idx cut to nothing": lambda idx, _: resize(idx, -os.path.getsize(idx)),
    "idx cut in the fan-out": lambda idx, _: resize(idx, 700 - os.path.getsize(idx)),
    "idx too long": lambda idx, _: resize(idx, 4),
    "idx zeroed": lambda idx, _: put(idx, 0, b"\0" * os.path.getsize(idx)),
    "idx of another version": lambda idx, _: put(idx, 7, b"\3"),
    "fan-out not in order": lambda idx, _: put(idx, 8 + 40, b"\0\0\xff\0"),
    "count too large": lambda idx, _: put(idx, 8 + 1020, b"\xff\xff\xff\xff"),
    "other checksum": lambda idx, _: put(idx, -40, b"other"),
    "idx is a directory": lambda idx, _: (os.unlink(idx), os.mkdir(idx)),
    "idx is a pipe": lambda idx, _: (os.unlink(idx), os.mkfifo(idx)),
    "idx is gone": lambda idx, _: os.unlink(idx),
    "pack is gone": lambda _, pack: os.unlink(pack),
    "pack is a pipe": lambda _, pack: (os.unlink(pack), os.mkfifo(pack)),
    "pack is empty": lambda _, pack: resize(pack, -os.path.getsize(pack)),
    "pack cut": lambda _, pack: resize(pack, -1),
    "pack of another version": lambda _, pack: put(pack, 7, b"\4"),
    "pack of another count": lambda _, pack: put(pack, 8, b"\0\0\0\1"),
    "pack zeroed at its end": lambda _, pack: put(pack, -20, b"\0" * 20),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_holds_nothing(tmp_path: Path, name: str) -> None:
    objects, ids = make_packed(tmp_path / "git", 20)
    index, pack = files(objects)
    for path in (index, pack):
        os.chmod(path, 0o600)
    assert PackIndex.load(index, pack) is not None
    DAMAGE[name](index, pack)
    assert PackIndex.load(index, pack) is None
    assert not PackIndexes(str(objects / "pack")).among(ids)


def test_sha256_is_not_read_as_sha1(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    run_git(tmp_path / "git", "init", "-q", "--bare", "--object-format=sha256", ".")
    name = run_git(tmp_path / "git", "hash-object", "-w", "--stdin", input=b"x")
    run_git(tmp_path / "git", "pack-objects", "-q", "objects/pack/pack", input=name)
    assert PackIndex.load(*files(tmp_path / "git" / "objects")) is None


def test_packs_that_come_and_go_are_seen(tmp_path: Path) -> None:
    packs = PackIndexes(str(tmp_path / "here" / "pack"))
    assert b"x" * 20 not in packs.now()
    (tmp_path / "here" / "pack").mkdir(parents=True)
    assert b"x" * 20 not in packs.now()
    made = [make_packed(tmp_path / str(at), 3 + at) for at in range(3)]
    for objects, ids in made:
        only = [oid for oid in ids if oid not in packs.now()]
        assert only
        for path in files(objects):
            shutil.copy(path, tmp_path / "here" / "pack")
        assert packs.among(ids) == set(ids)
        assert all(oid in packs.now() for oid in ids)
    for objects, ids in reversed(made):
        for path in files(objects):
            os.unlink(tmp_path / "here" / "pack" / os.path.basename(path))
        left = {
            oid
            for other, held in made
            for oid in held
            if (tmp_path / "here" / "pack" / os.path.basename(files(other)[0])).exists()
        }
        assert packs.among(ids) == set(ids) & left


def test_an_object_is_read_whether_its_pack_is_known_came_or_went(tmp_path: Path) -> None:
    here = tmp_path / "here" / "pack"
    here.mkdir(parents=True)
    packs = PackIndexes(str(here))
    made = [make_packed(tmp_path / str(at), 3 + at) for at in range(2)]
    small, large = made[0][1], [oid for oid in made[1][1] if oid not in made[0][1]]
    for path in files(made[0][0]):
        shutil.copy(path, here)
    assert all(_is_read(packs, oid) for oid in small)
    assert packs.read(large[0]) is None
    for path in files(made[1][0]):
        shutil.copy(path, here)
    assert all(_is_read(packs, oid) for oid in large)
    assert packs.read(large[0], 0) is None
    assert packs.read(large[0], 1) is not None
    shutil.rmtree(here)
    # open still: what it holds is what it says
    assert all(_is_read(packs, oid) for oid in small)
    packs.forget()
    assert packs.read(small[0]) is None


def _is_read(packs: PackIndexes, oid: ObjectId) -> bool:
    found = packs.read(oid)
    assert found is not None
    kind, data = found
    return hashlib.sha1(b"%b %d\0%b" % (kind.encode(), len(data), data)).digest() == oid


def test_a_pack_with_an_index_of_version_1(tmp_path: Path) -> None:
    repository = ShadowRepository(str(tmp_path / "store"))
    objects, ids = make_packed(tmp_path / "git", 10, version=1)
    for path in files(objects):
        shutil.copy(path, repository.pack_directory)
    assert all(repository.has(oid) for oid in ids)
    assert sorted(repository.read_blob(oid) for oid in ids) == [b"%d" % at for at in range(10)]
    assert all(repository.blob_size(oid) == 1 for oid in ids)
    assert not repository.has(b"x" * 20)


def test_git_finds_our_own_packs_as_we_do(tmp_path: Path) -> None:
    repository = ShadowRepository(str(tmp_path / "store"))
    with ObjectBatch(repository) as batch:
        ids = [batch.blob(b"%d" % at) for at in range(600)]
        batch.commit()
    assert repository.packs.among(ids) == set(ids)
    index = Path(files(tmp_path / "store" / "objects")[0]).read_bytes()
    listed = run_git(tmp_path, "show-index", input=index).decode()
    assert sorted(oid.hex() for oid in ids) == sorted(line.split()[1] for line in listed.splitlines())
