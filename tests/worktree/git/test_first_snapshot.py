"""The first snapshot of git projects in the states that people have them in, compared with git's own tree."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.git_algorithm import make_project
from benchmarks.projects import STATES
from snapd.worktree.snapshot import reader
from tests.support.git import run_git
from tests.support.workspace import Bench, Items, git_tree_hash, write

FILES: Items = {
    f"d{at % 5}/f{at}.{'md' if at % 4 else 'c'}": b"line %d\nand another\n" % at * (at + 1) for at in range(40)
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A project whose objects are packed."""
    made = tmp_path / "source"
    write(made, FILES)
    make_project(str(made))
    return made


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """The names of the files whose bytes were read."""
    names: set[bytes] = set()
    real = reader.read_stable

    def noting(directory: int, name: bytes, *rest: Any) -> Any:
        names.add(name)
        return real(directory, name, *rest)

    monkeypatch.setattr(reader, "read_stable", noting)
    return names


def in_state(tmp_path: Path, source: Path, name: str) -> Bench:
    """A workspace that is such a project, not open yet."""
    bench = Bench(tmp_path / "bench", "")
    bench.root.rmdir()
    STATES[name].make(str(source), str(bench.root))
    return bench


def names_of(suffix: str = "", *others: bytes) -> set[bytes]:
    return {os.path.basename(name).encode() for name in FILES if name.endswith(suffix)} | set(others)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("loose", names_of()),
        ("racy", names_of()),
        ("alternates", set()),
        ("partial", set()),
        ("linked", set()),
        ("split", set()),
        ("autocrlf", names_of()),
        ("lfs", names_of(".md")),
    ],
)
def test_only_what_the_index_cannot_prove_is_read(
    tmp_path: Path, source: Path, read: set[bytes], state: str, expected: set[bytes]
) -> None:
    bench = in_state(tmp_path, source, state)
    bench.open()
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, bench.read())
    assert read == expected
    bench.git("fsck", "--full", "--strict")


def test_half_of_the_files_touched(tmp_path: Path, source: Path, read: set[bytes]) -> None:
    bench = in_state(tmp_path, source, "touched")
    bench.open()
    assert bench.track() == git_tree_hash(tmp_path, bench.read())
    assert len(read) == len(FILES) // 2


@pytest.mark.parametrize("state", STATES)
def test_a_change_in_the_tick_of_the_commit_is_seen(tmp_path: Path, source: Path, state: str) -> None:
    """The same size, and the mtime set back: only the ctime says that the bytes are others."""
    bench = in_state(tmp_path, source, state)
    victim = Path(bench.path("d3/f13.md"))
    before = victim.stat()
    victim.write_bytes(victim.read_bytes().replace(b"line", b"LINE"))
    os.utime(victim, ns=(before.st_atime_ns, before.st_mtime_ns))
    bench.open()
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, bench.read())
    # what the project's git does afterwards takes nothing away
    run_git(source, "gc", "-q", "--prune=now")
    run_git(bench.root, "add", ".")
    run_git(bench.root, "commit", "-q", "--amend", "-m", "others")
    run_git(bench.root, "reflog", "expire", "--all", "--expire=now")
    run_git(bench.root, "gc", "-q", "--prune=now")
    bench.git("fsck", "--full", "--strict")
    bench.reopen()
    assert bench.track() == tree


def zeros(data: bytes) -> bytes:
    return bytes(len(data))


def flipped(data: bytes) -> bytes:
    return data[:12] + bytes([data[12] ^ 1]) + data[13:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[:-3],
        zeros,
        flipped,
        lambda _: zlib.compress(b"blob 5\0other"),
        lambda data: zlib.compress(zlib.decompress(data).replace(b"line", b"LINE")),
    ],
    ids=["empty", "cut", "zeros", "flipped", "another", "as long"],
)
def test_damaged_loose_objects_of_the_user(tmp_path: Path, source: Path, damage: Callable[[bytes], bytes]) -> None:
    bench = in_state(tmp_path, source, "loose")
    for path in Path(bench.path(".git/objects")).glob("??/*"):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(damage(data))
    bench.open()
    assert bench.track() == git_tree_hash(tmp_path, bench.read())
    bench.git("fsck", "--full", "--strict")


def test_attributes_in_a_damaged_loose_object(tmp_path: Path, source: Path, read: set[bytes]) -> None:
    """What the index's own `.gitattributes` said is unknown, so no entry below it is believed."""
    bench = in_state(tmp_path, source, "lfs")
    attributes = Path(bench.path(".gitattributes"))
    attributes.write_bytes(attributes.read_bytes() + b"*.c ident\n")
    run_git(bench.root, "add", ".gitattributes")
    name = run_git(bench.root, "rev-parse", ":.gitattributes").decode().strip()
    loose = Path(bench.path(f".git/objects/{name[:2]}/{name[2:]}"))
    loose.chmod(0o600)
    loose.write_bytes(b"")
    attributes.write_bytes(b"")
    bench.open()
    assert bench.track() == git_tree_hash(tmp_path, bench.read())
    assert names_of() <= read
