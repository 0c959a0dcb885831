"""libgit2 maps and keeps little of what it reads, and reads it right all the same."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

import pygit2
import pytest

from snapd.model.errors import StoreCorrupt
from snapd.store.objects.libgit2 import CACHED_BYTES, MAPPED_BYTES, WINDOW_BYTES, with_packs
from tests.support.git import run_git

pytestmark = pytest.mark.slow


@pytest.fixture
def large(tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    """A repository with one pack far larger than what may be mapped, objects larger than a window, and deltas."""
    rnd = random.Random(3)
    base = rnd.randbytes(3 * WINDOW_BYTES)
    contents = [rnd.randbytes(300_000) for _ in range(3 * MAPPED_BYTES // 300_000)]
    contents += [base, base[: 2 * WINDOW_BYTES] + b"other" + base[2 * WINDOW_BYTES :], base[5:]]
    run_git(tmp_path, "init", "-q", "--bare", "r.git")
    repository = tmp_path / "r.git"
    quick = ("-c", "core.bigFileThreshold=1g", "-c", "core.compression=0")
    stream = [b"blob\ndata %d\n%s\n" % (len(data), data) for data in contents]
    run_git(repository, *quick, "fast-import", "--quiet", input=b"".join(stream))
    run_git(repository, *quick, "repack", "-q", "-a", "-d", "-f", "--window=1", "--keep-unreachable")
    return repository, {hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(): data for data in contents}


def mapped() -> int:
    """Bytes of packs that this process has mapped."""
    found = 0
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if line.endswith(".pack"):
            start, end = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line).groups()  # type: ignore[union-attr]
            found += int(end, 16) - int(start, 16)
    return found


def test_of_a_large_pack_little_is_mapped(large: tuple[Path, dict[str, bytes]], tmp_path: Path) -> None:
    repository, contents = large
    (pack,) = (repository / "objects" / "pack").glob("*.pack")
    assert pack.stat().st_size > 2 * MAPPED_BYTES
    assert b"chain length = 1" in run_git(repository, "verify-pack", "-v", str(pack))
    handle = with_packs(str(repository), [str(pack.with_suffix(""))], str(tmp_path / "chosen"))
    most = 0
    for oid, data in contents.items():
        assert handle.odb.read_header(pygit2.Oid(hex=oid))[1] == len(data)
        assert handle.odb.read(pygit2.Oid(hex=oid))[1] == data
        most = max(most, mapped())
    assert 0 < most <= MAPPED_BYTES + 4 * WINDOW_BYTES
    assert pygit2.settings.cached_memory[1] == CACHED_BYTES


def test_what_is_no_repository_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt):
        with_packs(str(tmp_path), [], str(tmp_path / "chosen"))
