"""A pack is read whole, piece by piece and without an index, and no damage of it is taken for an object."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.model.snapshot import ObjectId
from snapd.store.files.durable import DamagedData
from snapd.store.objects import pack_reader
from snapd.store.objects.codec import object_id
from snapd.store.objects.pack_entry import packed_blob, read_head
from snapd.store.objects.pack_index import PackIndex
from snapd.store.objects.pack_reader import PackReader, object_cache
from snapd.store.objects.pack_writer import PackWriter

CONTENTS = [b"", b"short\n", os.urandom(5000), b"long\n" * 9000, os.urandom(300_000)]


@pytest.fixture
def pack(tmp_path: Path) -> str:
    writer = PackWriter(str(tmp_path))
    for content in CONTENTS:
        writer.add(*packed_blob(content))
    return writer.finish()


def entries(pack: str) -> dict[ObjectId, int]:
    index = PackIndex.load(f"{pack}.idx", f"{pack}.pack")
    assert index is not None
    return dict(index.entries())


@pytest.mark.parametrize("stream_from", [-1, 1 << 20])
@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_each_object_is_checked(pack: str, monkeypatch: pytest.MonkeyPatch, stream_from: int, chunk: int) -> None:
    monkeypatch.setattr(pack_reader, "STREAM_FROM", stream_from)
    monkeypatch.setattr(pack_reader, "CHUNK_BYTES", chunk)
    reader, offsets = PackReader(f"{pack}.pack"), entries(pack)
    for content in CONTENTS:
        oid = object_id("blob", content)
        assert reader.check(oid, offsets[oid], offsets.get) == ("blob", len(content), b"")
        assert reader.object_at(offsets[oid], offsets.get) == ("blob", content)
        with pytest.raises(DamagedData):
            reader.check(object_id("tree", content), offsets[oid], offsets.get)


@pytest.mark.parametrize("chunk", [64, 1 << 20])
def test_the_lengths_of_the_entries_follow_from_the_pack(
    pack: str, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(pack_reader, "CHUNK_BYTES", chunk)
    reader = PackReader(f"{pack}.pack")
    offset, found = 12, []
    while offset < reader.end:
        found.append(offset)
        offset += reader.length_at(offset)
    assert offset == reader.end
    assert found == sorted(entries(pack).values())


@pytest.mark.parametrize("stream_from", [-1, 1 << 20])
def test_no_damage_is_taken_for_an_object(pack: str, monkeypatch: pytest.MonkeyPatch, stream_from: int) -> None:
    monkeypatch.setattr(pack_reader, "STREAM_FROM", stream_from)
    offsets = entries(pack)
    path = Path(f"{pack}.pack")
    whole = path.read_bytes()
    oid = object_id("blob", CONTENTS[2])
    for data in (whole[: offsets[oid] + 700], whole[: offsets[oid] + 700] + b"\0" + whole[offsets[oid] + 701 :]):
        path.write_bytes(data)
        reader = PackReader(str(path), object_cache(1 << 20, 1 << 20))
        assert reader.read(oid, offsets[oid], offsets.get) is None
        with pytest.raises(DamagedData):
            reader.check(oid, offsets[oid], offsets.get)


def test_a_file_that_is_a_pipe_has_no_objects(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pack")
    reader = PackReader(str(tmp_path / "pack"))
    assert reader.end == 0
    assert reader.read(object_id("blob", b""), 12, {}.get) is None


@pytest.mark.parametrize("start", [b"\xb5", b"\xe5\x0a"], ids=["size", "distance"])
def test_a_number_without_end_is_not_read(start: bytes) -> None:
    """It would be made digit by digit: a mebibyte of them took half a minute."""
    with pytest.raises(DamagedData):
        read_head(start + b"\xff" * 40 + b"\x01")
