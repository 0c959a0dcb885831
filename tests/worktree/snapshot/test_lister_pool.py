"""Directories listed by other processes: the same bytes as when this process lists them, whatever lies in them."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from snapd.workers.processes import WorkerLost
from snapd.worktree.fs.directories import open_directory
from snapd.worktree.fs.listing import Listing, decode, encode, failed, list_directory
from snapd.worktree.snapshot import lister_process, walker
from snapd.worktree.snapshot.walker import ListerPool
from tests.support.git import run_git
from tests.support.processes import descriptors, own_children
from tests.support.workspace import make, without_rights, write
from tests.watch.places import opened
from tests.worktree.oracle import Oracle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux"),
]


@contextmanager
def lister_of(folder: Path) -> Iterator[tuple[int, ListerPool[bytes]]]:
    """The processes that list below a folder, and a descriptor of it."""
    with opened(folder) as root, closing(ListerPool[bytes](root)) as lister:
        yield root, lister


def all_answers(lister: ListerPool[bytes], paths: list[bytes]) -> list[tuple[bytes, Listing]]:
    """Asks as a look does: for as many as there is room, then for answers."""
    pending = list(reversed(paths))
    found = []
    while pending or lister.is_waiting:
        if pending and lister.has_room:
            path = pending.pop()
            lister.list_directory(path, path)
        else:
            found += lister.answers(10)
    return found


def listed_here(root: int, path: bytes) -> Listing:
    """What this process finds there."""
    descriptor = open_directory(root, path)
    try:
        return list_directory(descriptor)
    finally:
        os.close(descriptor)


def may_run(*paths: str) -> bool:
    """Whether the user that this process is just now may read these files."""
    return all(os.access(path, os.R_OK, effective_ids=True) for path in paths)


def odd_directories(folder: Path) -> list[bytes]:
    """Makes directories with what may lie in one; gives their paths."""
    write(folder, {f"many/{number}-{'x' * (number % 60)}": b"" for number in range(3000)})
    write(
        folder,
        {
            "empty/": None,
            "odd/new\nline": b"1",
            "odd/tab\t": b"2",
            "odd/ ": b"3",
            "odd/-": b"4",
            "deep/a/b/c/d/e": b"5",
        },
    )
    write(folder, {"only/below/": None, "large/file": b"x" * 70_000, "linked/one": b"1"})
    odd = os.fsencode(folder / "odd")
    for name in (b"\xff\xfe", b"caf\xe9", b"caf\xc3\xa9", b"\x01", b"n" * 255):
        Path(os.fsdecode(odd + b"/" + name)).write_bytes(name)
    os.mkdir(odd + b"/\xff.d")
    os.symlink(b"nowhere \xff", odd + b"/dangling")
    os.symlink(b".", odd + b"/circle")
    os.link(folder / "linked/one", folder / "linked/two")
    os.mkfifo(folder / "odd/fifo")
    with socket.socket(socket.AF_UNIX) as made:
        # bound by a short name: a socket's address has but a hundred bytes
        above = os.open(folder / "odd", os.O_RDONLY)
        made.bind(f"/proc/self/fd/{above}/socket")
        os.close(above)
    os.utime(folder / "large/file", ns=(-5, -1_000_000_001))
    os.chmod(folder / "only", stat.S_ISVTX | 0o755)
    return [os.path.relpath(above, os.fsencode(folder)) for above, _, _ in os.walk(os.fsencode(folder))]


def test_the_listings_are_the_same_bytes(tmp_path: Path) -> None:
    paths = [b"" if path == b"." else path for path in odd_directories(tmp_path)]
    assert len(paths) == 14
    with lister_of(tmp_path) as (root, lister):
        found = dict(all_answers(lister, paths))
        expected = {path: listed_here(root, path) for path in paths}
    assert found == expected
    assert {path: encode(listing) for path, listing in found.items()} == {
        path: encode(listing) for path, listing in expected.items()
    }
    # and they say what is there
    for path, listing in found.items():
        here = os.path.join(os.fsencode(tmp_path), path)
        assert listing.statuses().keys() == set(os.listdir(here))
        for names in (listing.names, listing.directories):
            in_order = [os.fsdecode(name) for name in names.split(b"\0")[:-1]]
            assert in_order == sorted(in_order)
        for name, status in listing.statuses().items():
            there = os.lstat(os.path.join(here, name))
            assert (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size) == (
                there.st_mode,
                there.st_ino,
                there.st_mtime_ns,
                there.st_ctime_ns,
                there.st_size,
            )
            if not stat.S_ISDIR(there.st_mode):
                assert (status.st_nlink > 1) == (there.st_nlink > 1)


def test_what_may_not_be_looked_at_is_told_as_here() -> None:
    with without_rights() as folder:
        write(folder, {"closed/a": b"1", "names/b": b"2", "names/c/": None, "open/d": b"3"})
        os.chmod(folder / "closed", 0)
        # the names may be read, what they stand for may not be looked at
        os.chmod(folder / "names", 0o400)
        if not may_run(sys.executable, lister_process.__file__):
            pytest.skip("the user whom permissions bind may not run this interpreter")
        with lister_of(folder) as (root, lister):
            found = dict(all_answers(lister, [b"closed", b"names", b"open"]))
            assert found[b"closed"].error == errno.EACCES
            assert found[b"names"] == listed_here(root, b"names")
            assert found[b"names"].denied == b"b\0c\0"
            assert found[b"open"] == listed_here(root, b"open")


def test_what_is_no_directory_has_its_error(tmp_path: Path) -> None:
    write(tmp_path, {"file": b"1", "folder/inner/a": b"2"})
    (tmp_path / "link").symlink_to("folder")
    with lister_of(tmp_path) as (_, lister):
        asked = [b"missing", b"file", b"link", b"link/inner", b"file/below", b"folder/inner", b"folder/" + b"n" * 300]
        found = dict(all_answers(lister, asked))
        codes = {path: listing.error for path, listing in found.items()}
        assert codes == {
            b"missing": errno.ENOENT,
            b"file": errno.ENOTDIR,
            b"link": errno.ENOTDIR,
            b"link/inner": errno.ENOTDIR,
            b"file/below": errno.ENOTDIR,
            b"folder/inner": 0,
            b"folder/" + b"n" * 300: errno.ENAMETOOLONG,
        }
        (tmp_path / "folder/inner/a").unlink()
        (tmp_path / "folder/inner").rmdir()
        (tmp_path / "folder/inner").write_bytes(b"")
        # a new path is asked of each process: what it held open must not be given for what is there now
        (tmp_path / "other").mkdir()
        assert dict(all_answers(lister, [b"other"]))[b"other"].error == 0


def test_each_process_answers_in_the_order_in_which_it_was_asked(tmp_path: Path) -> None:
    paths = [b"d%d" % number for number in range(700)]
    for number in range(len(paths)):
        write(tmp_path, {f"d{number}/": None, **{f"d{number}/{name}": b"" for name in range(number % 5)}})
    with lister_of(tmp_path) as (root, lister):
        found = all_answers(lister, paths)
        assert sorted(path for path, _ in found) == sorted(paths)
        assert dict(found) == {path: listed_here(root, path) for path in paths}


@pytest.mark.timeout(60)
def test_more_paths_than_a_pipe_holds_are_asked_without_standing_still(tmp_path: Path) -> None:
    """Nine hundred bytes each, with listings on the way back that do not fit into a pipe either."""
    deep = "/".join(["n" * 220] * 4)
    write(tmp_path, {f"{deep}/file{number}": b"" for number in range(250)})
    path = os.fsencode(deep)
    with lister_of(tmp_path) as (root, lister):
        found = all_answers(lister, [path] * 800)
        assert len(found) == 800
        expected = listed_here(root, path)
        assert all(listing == expected for _, listing in found)


def test_nothing_is_left_of_the_processes(tmp_path: Path) -> None:
    write(tmp_path, {f"d{number}/f": b"" for number in range(200)})
    open_before, children_before = descriptors(), own_children()
    with lister_of(tmp_path) as (_, lister):
        assert len(own_children() - children_before) == 2
        for number in range(150):
            lister.list_directory(b"d%d" % number, b"")
        # in the middle of it
        next(lister.answers(10))
    assert own_children() == children_before
    assert descriptors() == open_before


def test_a_process_that_cannot_be_started_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_before, children_before = descriptors(), own_children()
    real, begun = subprocess.Popen, [0]

    def second_fails(*args: Any, **options: Any) -> Any:
        begun[0] += 1
        if begun[0] == 2:
            raise OSError(errno.EAGAIN, "no more processes")
        return real(*args, **options)

    monkeypatch.setattr(subprocess, "Popen", second_fails)
    with opened(tmp_path) as root, pytest.raises(BlockingIOError):
        ListerPool(root)
    assert begun == [2]
    assert own_children() == children_before
    assert descriptors() == open_before


def test_a_killed_process_is_told(tmp_path: Path) -> None:
    write(tmp_path, {f"d{number}/f": b"" for number in range(50)})
    before = own_children()
    with lister_of(tmp_path) as (_, lister):
        for child in own_children() - before:
            os.kill(child, signal.SIGKILL)
        with pytest.raises(WorkerLost):
            all_answers(lister, [b"d%d" % number for number in range(50)])
    assert own_children() == before


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_look_over_which_a_process_is_killed_gives_the_right_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr(walker, "LISTER_FROM", 1)
    before = own_children()
    bench = make(tmp_path, {f"d{at}/e{number}/f": b"%d %d" % (at, number) for at in range(20) for number in range(10)})
    real, calls, killed = ListerPool.answers, [0], [0]

    def answers(lister: ListerPool[Any], seconds: float) -> Iterator[tuple[Any, Listing]]:
        if calls[0] == after:
            for child in own_children() - before:
                os.kill(child, signal.SIGKILL)
                killed[0] += 1
        calls[0] += 1
        return real(lister, seconds)

    monkeypatch.setattr(ListerPool, "answers", answers)
    tree = bench.track()
    assert killed[0] == 2
    assert tree == Oracle(bench.root, 1 << 20).tree()
    bench.write({"d3/e3/f": b"later"})
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()
    assert own_children() == before


def test_new_rules_hold_everywhere_though_a_process_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker, "LISTER_FROM", 1)
    files = {f"d{at}/{name}": b"%d" % at for at in range(20) for name in ("kept", "other")}
    bench = make(tmp_path, files, git=True, watcher="none")
    run_git(bench.root, "add", "d3/kept", "d7/kept")
    bench.track()
    real, calls = ListerPool.answers, [0]

    def answers(lister: ListerPool[Any], seconds: float) -> Iterator[tuple[Any, Listing]]:
        calls[0] += 1
        if calls[0] == 1:
            # the root was judged, and nothing below it
            raise WorkerLost
        return real(lister, seconds)

    monkeypatch.setattr(ListerPool, "answers", answers)
    bench.write({".gitignore": b"d*/\n"})
    tree = bench.track()
    assert calls[0] >= 1
    assert bench.names(tree) == [".gitignore", "d3/kept", "d7/kept"]


def test_a_look_with_help_gives_the_same_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker, "LISTER_FROM", 1)
    before = own_children()
    bench = make(tmp_path)
    odd_directories(Path(bench.root))
    oracle = Oracle(bench.root, 1 << 20)
    assert bench.track() == oracle.tree()
    assert own_children() == before


def test_bytes_that_come_in_pieces_are_taken_for_whole_only_when_they_are(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "b/": None})
    with opened(tmp_path) as root:
        listing = list_directory(root)
    refused = failed(OSError(errno.EACCES, "no"))
    data = b"".join((*encode(listing), *encode(refused)))
    first = len(b"".join(encode(listing)))
    for end in range(len(data) + 1):
        found = decode(data[:end], 0)
        assert found == ((listing, first) if end >= first else None)
        assert decode(data[:end], first) == ((refused, len(data)) if end == len(data) else None)
