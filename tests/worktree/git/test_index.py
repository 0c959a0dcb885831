from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest

from snapd.worktree.git.index import EntryPlaces, GitIndex, MalformedIndex, TrackedPaths, read_index, same_paths
from tests.support.amounts import amount
from tests.support.git import run_git

ASSUME_VALID, SKIP_WORKTREE, INTENT_TO_ADD = 0x80000000, 0x4000, 0x2000
STAT_FIELDS = ["ctime_s", "ctime_ns", "mtime_s", "mtime_ns", "dev", "ino", "uid", "gid", "size"]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo")


def new_repository(root: Path, *options: str) -> Path:
    root.mkdir()
    run_git(root, "init", "-q", *options)
    for name in ("a", "a.txt", "dir/one", "dir/two", "dir/sub/x", "dir.d/y", "last"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")
    (root / "dir" / "sub" / "x").chmod(0o755)
    (root / "link").symlink_to("a")
    (root / "odd\n\x7f name é").write_text("")
    (root / ("deep/" * 3 + "long" * 50)).parent.mkdir(parents=True)
    (root / ("deep/" * 3 + "long" * 50)).write_text("")
    run_git(root, "add", ".")
    return root


def index_of(root: Path, hash_size: int = 20) -> GitIndex:
    return read_index(os.fsencode(root / ".git" / "index"), hash_size=hash_size, with_places=True)


def entries(index: GitIndex) -> list[SimpleNamespace]:
    """The entries of an index, taken apart."""
    found = []
    for path, head in zip(index.paths, index.heads, strict=True):
        end = 72 if len(head) >= 72 else 60
        numbers = dict(zip([*STAT_FIELDS[:6], "mode", *STAT_FIELDS[6:]], struct.unpack(">10I", head[:40]), strict=True))
        (flags,) = struct.unpack(">I", head[end:].ljust(4, b"\0"))
        found.append(SimpleNamespace(path=path, oid=head[40:end], stage=flags >> 28 & 3, flags=flags, **numbers))
    return found


def listed(index: GitIndex) -> bytes:
    """Writes an index as `git ls-files -s -z` does."""
    return b"".join(b"%06o %s %d\t%s\0" % (e.mode, e.oid.hex().encode(), e.stage, e.path) for e in entries(index))


def agree(root: Path, hash_size: int = 20) -> GitIndex:
    index = index_of(root, hash_size)
    assert listed(index) == run_git(root, "ls-files", "-s", "-z", "--sparse")
    assert index.paths
    return index


def stat_data(index: GitIndex) -> list[dict[str, int]]:
    return [{name: getattr(entry, name) for name in STAT_FIELDS} for entry in entries(index)]


DEBUG = re.compile(
    rb"ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: (\d+)\tino: (\d+)\n  uid: (\d+)\tgid: (\d+)\n  size: (\d+)\t"
)


def debug_fields(root: Path) -> list[dict[str, int]]:
    """Read the stat data of each entry from `git ls-files --debug`."""
    records = DEBUG.findall(run_git(root, "ls-files", "--debug", "-z"))
    return [dict(zip(STAT_FIELDS, map(int, record), strict=True)) for record in records]


@pytest.mark.parametrize("version", [2, 4])
def test_versions_without_extended_flags(repo: Path, version: int) -> None:
    run_git(repo, "update-index", "--force-write-index", "--index-version", str(version))
    agree(repo)
    assert (repo / ".git" / "index").read_bytes()[7] == version


@pytest.mark.parametrize("version", [3, 4])
def test_extended_flags(repo: Path, version: int) -> None:
    (repo / "new").write_text("x")
    run_git(repo, "add", "-N", "new")
    run_git(repo, "update-index", "--skip-worktree", "a.txt")
    run_git(repo, "update-index", "--assume-unchanged", "dir/one")
    run_git(repo, "update-index", "--index-version", str(version))
    index = agree(repo)
    assert (repo / ".git" / "index").read_bytes()[7] == version
    assert [e.path for e in entries(index) if e.flags & INTENT_TO_ADD] == [b"new"]
    assert [e.path for e in entries(index) if e.flags & SKIP_WORKTREE] == [b"a.txt"]
    assert [e.path for e in entries(index) if e.flags & ASSUME_VALID] == [b"dir/one"]


@pytest.mark.parametrize("version", [2, 4])
def test_stat_data(repo: Path, version: int) -> None:
    run_git(repo, "update-index", "--index-version", str(version))
    index = agree(repo)
    assert stat_data(index) == debug_fields(repo)
    stat = os.stat(repo / "a")
    entry = entries(index)[0]
    assert entry.path == b"a"
    assert entry.mtime_s * 10**9 + entry.mtime_ns == stat.st_mtime_ns
    assert (entry.size, entry.ino) == (stat.st_size, stat.st_ino & 0xFFFFFFFF)


def test_time_of_the_file_itself(repo: Path) -> None:
    os.utime(repo / ".git" / "index", ns=(1, 1_600_000_000_123_456_789))
    assert index_of(repo).mtime_ns == 1_600_000_000_123_456_789
    assert read_index(str(repo / ".git" / "index")) == index_of(repo)


@pytest.mark.parametrize("version", ["2", "4"])
def test_names_longer_than_the_length_field(repo: Path, version: str) -> None:
    oid = run_git(repo, "hash-object", "-w", "--stdin", input=b"").strip()
    names = [
        b"long/" + b"n" * 250 + b"/%d" % n + b"/dir" * length for n in range(3) for length in (960, 961, 962, 1500)
    ]
    lines = b"".join(b"100644 %s\t%s\n" % (oid, name) for name in names)
    run_git(repo, "update-index", "--index-version", version, "--index-info", input=lines)
    assert max(len(e.path) for e in entries(agree(repo))) > 0xFFF


def test_an_unresolved_merge(repo: Path) -> None:
    oid = run_git(repo, "rev-parse", ":a").strip()
    stages = b"".join(b"100644 %s %d\tboth\n" % (oid, stage) for stage in (1, 2, 3))
    run_git(repo, "update-index", "--index-info", input=stages)
    assert [e.stage for e in entries(agree(repo)) if e.path == b"both"] == [1, 2, 3]


def commit_all(root: Path) -> None:
    run_git(root, "commit", "-q", "-m", "x")


def change_a_split_index(root: Path) -> None:
    """Split the index, then replace, delete and add entries in it."""
    run_git(root, "config", "splitIndex.maxPercentChange", "100")
    run_git(root, "update-index", "--split-index")
    (root / "dir" / "one").write_text("other content\n")
    (root / "a").chmod(0o755)
    (root / "b new").write_text("new\n")
    (root / "dir" / "aaa").write_text("new\n")
    run_git(root, "add", "dir/one", "a", "b new", "dir/aaa")
    run_git(root, "rm", "-q", "--cached", "dir/two", "last")
    run_git(root, "update-index", "--skip-worktree", "a.txt")


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_split_index(repo: Path, version: str) -> None:
    run_git(repo, "update-index", "--index-version", version)
    commit_all(repo)
    change_a_split_index(repo)
    assert list((repo / ".git").glob("sharedindex.*"))
    assert b"link" in (repo / ".git" / "index").read_bytes()
    index = agree(repo)
    assert [e.path for e in entries(index) if e.flags & SKIP_WORKTREE] == [b"a.txt"]
    assert stat_data(index) == debug_fields(repo)
    assert read_index(str(repo / ".git" / "index")) == index


def test_a_split_index_with_a_conflict(repo: Path) -> None:
    commit_all(repo)
    change_a_split_index(repo)
    oid = run_git(repo, "rev-parse", ":a").strip()
    stages = b"0 %s 0\tlink\n" % (b"0" * 40)
    stages += b"".join(b"100644 %s %d\tlink\n" % (oid, stage) for stage in (1, 2, 3))
    run_git(repo, "update-index", "--index-info", input=stages)
    assert [e.stage for e in entries(agree(repo)) if e.path == b"link"] == [1, 2, 3]
    run_git(repo, "add", "link")
    assert [e.stage for e in entries(agree(repo)) if e.path == b"link"] == [0]


def test_a_split_index_of_many_entries(repo: Path) -> None:
    """Long runs of equal bits and mixed words are stored differently in its bitmaps."""
    dice = random.Random(7)
    oid = run_git(repo, "rev-parse", ":a").strip()
    other = run_git(repo, "rev-parse", ":last").strip()
    names = [b"many/%05d" % n for n in range(3000)]
    run_git(repo, "config", "splitIndex.maxPercentChange", "100")
    run_git(repo, "update-index", "--index-info", input=b"".join(b"100644 %s\t%s\n" % (oid, name) for name in names))
    run_git(repo, "update-index", "--split-index")
    changes = [b"100644 %s\t%s\n" % (other, name) for name in [*names[100:900], *dice.sample(names[900:], 300)]]
    changes += [b"0 %s\t%s\n" % (b"0" * 40, name) for name in [*names[1000:1500], *dice.sample(names[1500:], 300)]]
    changes += [b"100644 %s\tmany/%05d-new\n" % (oid, dice.randrange(3000)) for _ in range(100)]
    run_git(repo, "update-index", "--index-info", input=b"".join(changes))
    index = agree(repo)
    assert 2000 < len(index.paths) < 3000
    assert len(read_index(next((repo / ".git").glob("sharedindex.*")).as_posix()).paths) > 3000


def test_a_missing_or_changed_shared_index_is_told(repo: Path) -> None:
    commit_all(repo)
    change_a_split_index(repo)
    shared = next((repo / ".git").glob("sharedindex.*"))
    data = shared.read_bytes()
    changed = data[:-20].replace(b"dir/one", b"dir/ONE")
    shared.chmod(0o644)
    shared.write_bytes(changed + hashlib.sha1(changed).digest())
    with pytest.raises(MalformedIndex, match="not what its name says"):
        index_of(repo)
    shared.unlink()
    with pytest.raises(MalformedIndex, match="missing"):
        index_of(repo)


def test_a_sparse_index(repo: Path) -> None:
    commit_all(repo)
    run_git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "dir.d")
    index = agree(repo)
    assert index.sparse
    assert {e.path for e in entries(index) if e.mode == 0o040000} == {b"dir/", b"deep/"}
    tracked = TrackedPaths.from_index(index)
    assert tracked.below(b"dir")
    assert tracked.below(b"dir/sub")
    assert not tracked.holds(b"dir/one")
    assert not tracked.below(b"di")
    assert tracked.below(b"dir.d")
    inside = TrackedPaths.from_index(index, strip=b"dir/sub", add=b"x/y")
    assert inside.below(b"x/y")
    assert inside.below(b"x/y/z")
    assert not inside.below(b"x/z")
    assert TrackedPaths.from_index(index, strip=b"dir/sub").below(b"")


def test_a_sha256_repository(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repo", "--object-format=sha256")
    assert {len(e.oid) for e in entries(agree(root, 32))} == {32}
    commit_all(root)
    change_a_split_index(root)
    agree(root, 32)
    with pytest.raises(MalformedIndex):
        index_of(root, 20)


def test_a_checksum_of_zero_is_not_verified(repo: Path) -> None:
    path = repo / ".git" / "index"
    expected = entries(index_of(repo))
    path.write_bytes(path.read_bytes()[:-20] + bytes(20))
    assert entries(index_of(repo)) == expected


def test_no_index_is_a_missing_file(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    with pytest.raises(FileNotFoundError):
        index_of(tmp_path)


def sealed(content: bytes) -> bytes:
    return content + hashlib.sha1(content).digest()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends too early"),
        (b"DIRC", "ends too early"),
        (sealed(b"DIRX" + struct.pack(">II", 2, 0)), "does not begin"),
        (sealed(b"DIRC" + struct.pack(">II", 5, 0)), "version 5"),
        (sealed(b"DIRC" + struct.pack(">II", 2, 0xFFFFFFFF)), "ends too early"),
        (sealed(b"DIRC" + struct.pack(">II", 2, 0))[:-1] + b"?", "checksum"),
        (sealed(b"DIRC" + struct.pack(">II", 2, 0) + b"zzzz" + struct.pack(">I", 0)), "extension b'zzzz'"),
        (sealed(b"DIRC" + struct.pack(">II", 2, 0) + b"TREE" + struct.pack(">I", 9)), "longer than the file"),
        (sealed(b"DIRC" + struct.pack(">II", 2, 0) + b"link" + struct.pack(">I", 3) + b"abc"), "too short"),
        (sealed(b"DIRC" + struct.pack(">II", 2, 1) + bytes(64)), "has no path"),
        (sealed(b"DIRC" + struct.pack(">II", 4, 1) + bytes(62) + b"\x05a\0"), "takes more"),
        (sealed(b"DIRC" + struct.pack(">II", 4, 1) + bytes(62) + b"\xff"), "ends too early"),
        (sealed(b"DIRC" + struct.pack(">II", 4, 1) + bytes(62) + b"\xff" * 99 + b"\0"), "larger than any file"),
        (sealed(b"DIRC" + struct.pack(">II", 4, 3000) + (bytes(63) + b"a\0") * 3000), "paths are too long"),
    ],
)
def test_malformed_files_are_told_apart(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "index"
    path.write_bytes(data)
    with pytest.raises(MalformedIndex, match=why) as caught:
        read_index(str(path))
    assert caught.value.path == str(path)
    assert why in caught.value.why


def bitmap(*words: int) -> bytes:
    return struct.pack(f">II{len(words)}QI", 64, len(words), *words, 0)


@pytest.mark.parametrize(
    ("bitmaps", "why"),
    [
        (bitmap(1 | 0xFFFFFFFF << 1) + bitmap(0), "too long"),
        (bitmap(1 << 33, 1 << 63) + bitmap(0), "too long"),
        (bitmap(0), "ends too early"),
        (bitmap(0) + bitmap(0)[:-1], "ends too early"),
        (bitmap(0) + bitmap(1 << 33, 1), "replaces other entries"),
    ],
)
def test_malformed_bitmaps(repo: Path, bitmaps: bytes, why: str) -> None:
    path = repo / ".git" / "index"
    checksum = path.read_bytes()[-20:]
    path.rename(repo / ".git" / f"sharedindex.{checksum.hex()}")
    extension = b"link" + struct.pack(">I", 20 + len(bitmaps)) + checksum + bitmaps
    path.write_bytes(sealed(b"DIRC" + struct.pack(">II", 2, 0) + extension))
    with pytest.raises(MalformedIndex, match=why):
        index_of(repo)


def test_damaged_bytes_never_raise_anything_else(repo: Path) -> None:
    path = repo / ".git" / "index"
    commit_all(repo)
    change_a_split_index(repo)
    whole = path.read_bytes()[:-20]
    dice = random.Random(3)
    for _ in range(2000):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(bytes(data[: dice.choice([len(data), dice.randrange(len(data))])]) + bytes(20))
        try:
            index_of(repo)
        except MalformedIndex:
            continue


def test_tracked_paths(repo: Path) -> None:
    oid = "1234567890123456789012345678901234567890"
    run_git(repo, "update-index", "--add", "--cacheinfo", f"160000,{oid},mods/inner")
    tracked = TrackedPaths.from_index(index_of(repo))
    assert tracked.holds(b"a")
    assert tracked.holds(b"link")
    assert not tracked.holds(b"dir")
    assert not tracked.holds(b"mods/inner")
    assert tracked.below(b"")
    assert tracked.below(b"dir")
    assert tracked.below(b"dir/sub")
    assert tracked.below(b"mods")
    assert tracked.below(b"mods/inner")
    assert not tracked.below(b"mods/inner/x")
    assert not tracked.below(b"a")
    assert not tracked.below(b"di")
    assert not tracked.below(b"zzz")
    assert not TrackedPaths(()).below(b"")


def test_tracked_paths_of_a_subfolder_and_of_a_nested_repository(repo: Path) -> None:
    index = index_of(repo)
    inside = TrackedPaths.from_index(index, strip=b"dir")
    assert inside.holds(b"one")
    assert inside.holds(b"sub/x")
    assert not inside.holds(b"a")
    assert not inside.holds(b"dir/one")
    assert not inside.holds(b".d/y")
    assert inside == TrackedPaths([b"one", b"two", b"sub/x"])
    outside = TrackedPaths.from_index(index, add=b"vendor/lib")
    assert outside.holds(b"vendor/lib/dir/one")
    assert outside.below(b"vendor")


@pytest.mark.parametrize("version", ["2", "4"])
def test_eighty_thousand_entries_are_read_quickly(repo: Path, version: str) -> None:
    oid = run_git(repo, "rev-parse", ":a").strip()
    lines = b"".join(b"100644 %s\tsrc/package%d/module%d/f_%d.py\n" % (oid, n % 50, n % 300, n) for n in range(80_000))
    run_git(repo, "update-index", "--index-version", version, "--index-info", input=lines)
    began = time.process_time()
    index = index_of(repo)
    assert time.process_time() - began < 0.5
    assert len(index.paths) > 80_000


def many_entries(root: Path, *options: str) -> Path:
    """A repository whose index has several blocks."""
    new_repository(root, *options)
    for number in range(150):
        path = root / f"many-{number % 7}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{number}\n")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "all")
    return root


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)])
@pytest.mark.parametrize("seed", range(amount(3, 40)))
def test_the_same_paths(tmp_path: Path, options: tuple[str, ...], seed: int) -> None:
    """What git does to its index: whether it has the same paths, judged by reading all of it."""
    chosen = random.Random(seed)
    root = many_entries(tmp_path / "repo", *options)
    hash_size = 32 if options else 20
    path = os.fsencode(root / ".git" / "index")
    some_id = run_git(root, "rev-parse", "HEAD").decode().strip()
    operations: dict[str, Callable[[str], object]] = {
        "edit": lambda name: (root / name).write_text(f"{chosen.random()}\n") and run_git(root, "add", name),
        "touch": lambda name: os.utime(root / name, ns=(0, chosen.randrange(10**18))),
        "commit": lambda _: run_git(root, "commit", "-qam", "one", "--allow-empty"),
        "status": lambda _: run_git(root, "status"),
        "executable": lambda name: run_git(root, "update-index", "--chmod=+x", name),
        "remove": lambda name: run_git(root, "update-index", "--force-remove", name),
        "copy": lambda name: shutil.copy(root / name, root / f"{name}.x") and run_git(root, "add", f"{name}.x"),
        "new": lambda name: (root / f"{name}.new").write_text("") or run_git(root, "add", "-N", f"{name}.new"),
        "link": lambda name: run_git(root, "update-index", "--cacheinfo", f"160000,{some_id},{name}"),
        "skip": lambda name: run_git(root, "update-index", "--skip-worktree", name),
        "version": lambda _: run_git(root, "update-index", "--index-version", chosen.choice("24")),
    }
    known = index_of(root, hash_size)
    for _ in range(25):
        what = chosen.choice([*operations, "edit", "commit", "status"])
        names = [name for name in run_git(root, "ls-files", "-z", "many*").decode().split("\0") if name]
        name = chosen.choice([name for name in names if (root / name).is_file()])
        operations[what](name)
        now = index_of(root, hash_size)
        same = TrackedPaths.from_index(now) == TrackedPaths.from_index(known)
        if known.places is not None:
            places = same_paths(path, known.places, hash_size=hash_size)
            assert places is None or same
            lie_alike = now.places is not None and shape(now.places) == shape(known.places)
            assert (places is not None) == (same and lie_alike)
            if places is not None:
                # what is found later is the same as after a reading of all of it
                assert places == now.places
        known = now


def shape(places: EntryPlaces) -> tuple[bytes, list[int], int, bool]:
    return places.start, [start for start, _, _ in places.blocks], places.end, places.sparse


def test_only_what_changed_is_taken_apart(tmp_path: Path) -> None:
    root = many_entries(tmp_path / "repo")
    index = index_of(root)
    assert index.places is not None
    (root / "many-3" / "3.txt").write_text("changed\n")
    run_git(root, "add", "many-3/3.txt")
    changed = index.paths.index(b"many-3/3.txt") // 64
    # another block that were taken apart would not have these paths
    blocks = [(*block[:2], block[2] if at == changed else 0) for at, block in enumerate(index.places.blocks)]
    assert len(blocks) > 2
    places = attrs.evolve(index.places, blocks=blocks)
    assert same_paths(os.fsencode(root / ".git" / "index"), places) is not None


def test_damage_is_no_proof_of_the_same_paths(tmp_path: Path) -> None:
    """Where bytes of a path change, a whole reading has to say what there is."""
    root = many_entries(tmp_path / "repo")
    path = root / ".git" / "index"
    before = index_of(root)
    assert before.places is not None
    data = path.read_bytes()
    for at in range(0, before.places.end, 5):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        if same_paths(os.fsencode(path), before.places) is not None:
            # nothing but stat data, an id or flags
            assert not any(start <= at < start + len(name) for start, name in places_of_names(before))
    path.write_bytes(data[:-30])
    assert same_paths(os.fsencode(path), before.places) is None


def places_of_names(index: GitIndex) -> list[tuple[int, bytes]]:
    found = []
    at = 12
    for name, head in zip(index.paths, index.heads, strict=True):
        found.append((at + len(head), name))
        at += (len(head) + len(name) + 8) & ~7
    return found
