"""A pack that is written anew keeps its deltas, takes no more room than was said, and leaves nothing behind."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from snapd.model.call import Call
from snapd.model.errors import StorageFull, StoreCorrupt
from snapd.model.snapshot import EMPTY_TREE, ObjectId
from snapd.store.maintenance import sweep as expiry
from snapd.store.maintenance.sweep import PackRewrite, expire
from snapd.store.objects import pack_writer as pack
from snapd.store.objects.codec import object_id
from snapd.store.objects.loose import encode_loose, write_loose
from snapd.store.objects.pack_index import PackIndex
from snapd.store.repository import ShadowRepository
from tests.store.steps import Steps
from tests.support.git import run_git


def texts(chance: random.Random, files: int, versions: int) -> list[bytes]:
    """Versions of some files, each a little different from the one before."""
    found = []
    for _ in range(files):
        lines = [b"%030x" % chance.getrandbits(120) for _ in range(60)]
        for _ in range(versions):
            lines[chance.randrange(60)] = b"%030x" % chance.getrandbits(120)
            found.append(b"\n".join(lines))
    return found


def with_deltas(steps: Steps, contents: list[bytes], *options: str) -> tuple[str, list[ObjectId]]:
    """Has git make one pack with deltas of some blobs; gives its path without an ending, and what is in it."""
    ids = [object_id("blob", data) for data in contents]
    for oid, data in zip(ids, contents, strict=True):
        write_loose(str(steps.path / "objects"), oid, encode_loose("blob", data))
    names = b"".join(b"%s\n" % oid.hex().encode() for oid in ids)
    base = str(steps.path / "objects" / "pack" / "pack")
    name = run_git(steps.path, "--git-dir=.", *options, "pack-objects", "-q", "--depth=20", base, input=names).decode()
    run_git(steps.path, "--git-dir=.", "prune-packed", "-q")
    path = f"{base}-{name.strip()}"
    for ending in ("pack", "idx"):
        os.chmod(f"{path}.{ending}", 0o600)
    return path, ids


def chains(steps: Steps, path: str) -> bool:
    return b"chain length" in run_git(steps.path, "--git-dir=.", "verify-pack", "-v", f"{path}.pack")


def size(path: str) -> int:
    return os.stat(f"{path}.pack").st_size + os.stat(f"{path}.idx").st_size


def packs(steps: Steps) -> list[str]:
    return [str(path.with_suffix("")) for path in sorted((steps.path / "objects" / "pack").glob("pack-*.idx"))]


@pytest.mark.parametrize("named", [False, True], ids=["by their distance", "by their names"])
@pytest.mark.parametrize("seed", range(6))
def test_what_stays_is_as_git_reads_it(steps: Steps, seed: int, named: bool) -> None:
    chance = random.Random(seed)
    contents = texts(chance, 5, 12)
    path, ids = with_deltas(steps, contents, "-c", f"repack.useDeltaBaseOffset={'false' if named else 'true'}")
    assert chains(steps, path)
    staying = set(chance.sample(ids, chance.randrange(1, len(ids))))
    index = PackIndex.load(f"{path}.idx", f"{path}.pack")
    assert index is not None
    with closing(PackRewrite(steps.store.repository, path, index, staying)) as repack:
        repack.write(Call())
        needed = repack.needed
    (new,) = set(packs(steps)) - {path}
    assert size(new) <= needed
    for ending in ("pack", "idx"):
        os.unlink(f"{path}.{ending}")
    steps.store.repository.forget_packs()
    run_git(steps.path, "--git-dir=.", "verify-pack", f"{new}.pack")
    for oid, data in zip(ids, contents, strict=True):
        assert steps.store.repository.has(oid) == (oid in staying)
        if oid in staying:
            assert steps.store.read_blob(oid) == data
            assert run_git(steps.path, "--git-dir=.", "cat-file", "blob", oid.hex()) == data


def sweep(repository: ShadowRepository, held: set[ObjectId], *, wholly: bool = False) -> None:
    expire(repository, [(oid, EMPTY_TREE) for oid in held], None, Call(), wholly=wholly)


def test_a_sweep_keeps_deltas_and_looks_for_the_room_that_it_takes(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = texts(random.Random(1), 6, 20)
    path, ids = with_deltas(steps, contents)
    before = size(path)
    whole = sum(map(len, contents)) // 2
    assert before < whole / 2
    asked: list[int] = []
    free = [expiry.RESERVE_BYTES + before + 10_000]
    monkeypatch.setattr(expiry, "free_bytes", lambda _: asked.append(1) or free[0])
    # one version of one file goes
    sweep(steps.store.repository, set(ids[1:]))
    assert asked
    (new,) = packs(steps)
    assert new != path
    assert size(new) <= before + 3000
    assert chains(steps, new)


def test_without_room_nothing_is_written(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    path, ids = with_deltas(steps, texts(random.Random(2), 3, 10))
    repository = steps.store.repository
    before = {name: Path(f"{path}.{name}").read_bytes() for name in ("pack", "idx")}
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3000))
    sweep(repository, set(ids[1:]))
    with pytest.raises(StorageFull, match="needed to rewrite a pack"):
        sweep(repository, set(ids[1:]), wholly=True)
    assert packs(steps) == [path]
    assert {name: Path(f"{path}.{name}").read_bytes() for name in ("pack", "idx")} == before
    assert not list((steps.path / "objects").rglob("tmp_*"))


@pytest.mark.parametrize("at", [0, 1, 5])
def test_a_disk_that_fills_up_meanwhile(steps: Steps, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    path, ids = with_deltas(steps, texts(random.Random(3), 3, 10))
    real, count = pack.PackWriter.add, [0]

    def add(writer: pack.PackWriter, oid: ObjectId, packed: bytes) -> None:
        count[0] += 1
        if count[0] > at:
            raise StorageFull("no space left", path=path, errno="ENOSPC")
        real(writer, oid, packed)

    with monkeypatch.context() as patch:
        patch.setattr(pack.PackWriter, "add", add)
        with pytest.raises(StorageFull):
            sweep(steps.store.repository, set(ids[1:]))
    assert packs(steps) == [path]
    assert not list((steps.path / "objects").rglob("tmp_*"))
    sweep(steps.store.repository, set(ids[1:]))
    assert packs(steps) != [path]


def test_a_damaged_object_is_not_copied(steps: Steps) -> None:
    path, ids = with_deltas(steps, texts(random.Random(4), 3, 10))
    data = bytearray(Path(f"{path}.pack").read_bytes())
    data[len(data) // 2] ^= 4
    os.unlink(f"{path}.pack")
    Path(f"{path}.pack").write_bytes(data)
    steps.store.repository.forget_packs()
    with pytest.raises(StoreCorrupt):
        sweep(steps.store.repository, set(ids[1:]))
    assert packs(steps) == [path]
    assert Path(f"{path}.pack").read_bytes() == data
