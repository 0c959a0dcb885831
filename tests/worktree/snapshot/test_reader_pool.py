"""Files read by other processes: the snapshot is the same as when this process reads them, whatever lies there."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from snapd import failpoints
from snapd.model.call import Call
from snapd.model.errors import Cancelled, StorageFull
from snapd.model.snapshot import Signature
from snapd.store.object_store import ObjectBatch
from snapd.workers.processes import WorkerLost
from snapd.worktree.fs.stable_read import STREAM_FROM
from snapd.worktree.snapshot import reader as reading
from snapd.worktree.snapshot.reader import ReaderPool, ReadFile
from snapd.worktree.state.file_state import oid_of, signature_of
from tests.support.processes import descriptors, own_children
from tests.support.workspace import Bench, Executable, Items, Symlink, make, without_rights, write
from tests.watch.places import opened
from tests.worktree.oracle import Oracle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux"),
]

LIMIT = STREAM_FROM + (1 << 20)
FILES: Items = {
    **{f"d{at}/e{number}/f": b"%d %d\n" % (at, number) * 50 for at in range(8) for number in range(8)},
    **{f"many/{number}": b"%d" % (number % 150) for number in range(200)},
    **{f"d{at}/e{number}/link": Symlink(f"to {number}") for at in range(8) for number in range(8)},
    "empty": b"",
    "run": Executable(b"#!/bin/sh\n"),
    "link": Symlink("many"),
    "\udcff\udcfe": b"no UTF-8",
    "n" * 255: b"long",
}


@pytest.fixture(autouse=True)
def _worth_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "WORTH_HELP", 1)


@contextmanager
def readers_of(folder: Path, limit: int = LIMIT) -> Iterator[ReaderPool[bytes]]:
    """The processes that read below a folder."""
    with opened(folder) as root, closing(ReaderPool[bytes](root, limit, ObjectBatch.packing)) as readers:
        yield readers


def all_answers(readers: ReaderPool[bytes], directory: bytes, names: list[bytes]) -> dict[bytes, ReadFile | None]:
    """Asks as a capture does: for as many as there is room, then for answers."""
    left = list(names)
    found: dict[bytes, ReadFile | None] = {}
    while left or readers.is_waiting:
        while left and readers.has_room:
            readers.read_files(directory, [(name, name) for name in left[:16]])
            left = left[16:]
        for name, answer in readers.answers(10):
            assert name not in found
            found[name] = answer
    return found


def unpacked(packed: bytes) -> bytes:
    """The bytes of a blob out of its entry in a pack, as gitformat-pack(5) has it."""
    crc, entry = packed[:4], packed[4:]
    assert zlib.crc32(entry) == int.from_bytes(crc, "big")
    assert entry[0] >> 4 & 7 == 3
    size, at = entry[0] & 15, 0
    while entry[at] & 128:
        at += 1
        size |= (entry[at] & 127) << (4 + 7 * (at - 1))
    data = zlib.decompress(entry[at + 1 :])
    assert len(data) == size
    return data


def kill_readers(before: set[int]) -> None:
    """Ends the processes that came since."""
    came = own_children() - before
    assert came
    for child in came:
        os.kill(child, signal.SIGKILL)


def objects(bench: Bench) -> dict[bytes, list[str]]:
    """Of each object in the store its type and size, as git tells."""
    lines = bench.git("cat-file", "--batch-check", "--batch-all-objects").splitlines()
    return {line.split()[0]: line.decode().split()[1:] for line in lines}


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    dice = random.Random(4)
    contents = {b"%d" % size: dice.randbytes(size) for size in (0, 1, 4095, 70_000, STREAM_FROM - 1, STREAM_FROM)}
    for name, data in contents.items():
        (tmp_path / os.fsdecode(name)).write_bytes(data)
    os.utime(tmp_path / "1", ns=(-5, -1_000_000_001))
    with readers_of(tmp_path) as readers:
        found = all_answers(readers, b"", list(contents))
    assert found.pop(b"%d" % STREAM_FROM) is None
    assert len(found) == 5
    for name, answer in found.items():
        assert answer is not None
        there, data = os.lstat(tmp_path / os.fsdecode(name)), contents[name]
        assert unpacked(answer.packed) == data
        assert oid_of(answer.record) == hashlib.sha1(b"blob %d\0%s" % (len(data), data)).digest()
        assert signature_of(answer.record) == Signature(
            there.st_mode, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns
        )


def test_what_is_no_file_to_be_read_is_not(tmp_path: Path) -> None:
    write(tmp_path, {"d/in": b"1", "large": b"x" * 101, "small": b"x" * 100, "link": Symlink("small")})
    os.mkfifo(tmp_path / "fifo")
    with readers_of(tmp_path, limit=100) as readers:
        found = all_answers(readers, b"", [b"d", b"large", b"small", b"link", b"fifo", b"missing", b"n" * 300])
        assert {name for name, answer in found.items() if answer is not None} == {b"small"}
        for directory in (b"missing", b"small", b"link", b"d/none"):
            assert all_answers(readers, directory, [b"in", b"other"]) == {b"in": None, b"other": None}
        # and the processes go on
        assert all_answers(readers, b"d", [b"in"])[b"in"] is not None


def test_a_directory_that_is_a_symlink_by_now_leads_nowhere(tmp_path: Path) -> None:
    write(tmp_path, {"work/d/secret": b"ours", "outside/secret": b"theirs"})
    with readers_of(tmp_path / "work") as readers:
        assert all_answers(readers, b"d", [b"secret"])[b"secret"] is not None
        (tmp_path / "work/d").rename(tmp_path / "work/moved")
        (tmp_path / "work/d").symlink_to(tmp_path / "outside")
        assert all_answers(readers, b"d", [b"secret"]) == {b"secret": None}


@pytest.mark.timeout(60)
def test_more_than_pipes_hold_is_asked_and_answered_without_standing_still(tmp_path: Path) -> None:
    """Long names below long paths, contents that cannot be compressed: 16 MiB in all."""
    dice = random.Random(5)
    deep = "/".join(["n" * 220] * 4)
    names = [f"{at}{'x' * 200}" for at in range(256)]
    write(tmp_path, {f"{deep}/{name}": dice.randbytes(1 << 16) for name in names})
    with readers_of(tmp_path) as readers:
        found = all_answers(readers, os.fsencode(deep), [os.fsencode(name) for name in names])
    assert len(found) == 256
    assert all(answer is not None and len(unpacked(answer.packed)) == 1 << 16 for answer in found.values())


def test_a_capture_with_help_gives_the_same_tree(tmp_path: Path) -> None:
    before = own_children()
    bench = make(tmp_path, {**FILES, "deep/" * 200 + "f": b"deep", "big": b"x" * ((1 << 20) + 1)})
    os.mkfifo(bench.root / "fifo")
    bench.configure(max_file_size=1 << 20)
    oracle = Oracle(bench.root, 1 << 20)
    tracked = bench.take()
    assert tracked.tree == oracle.tree()
    assert oracle.skipped == {(b"big", "tooLarge"), (b"fifo", "special")}
    assert own_children() == before
    bench.git("fsck", "--strict", "--no-dangling")
    stored = objects(bench)
    assert {stored[line.split()[2]][0] for line in oracle.files.values()} == {"blob"}


def test_nothing_is_left_of_the_processes(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    before, open_before = own_children(), descriptors()
    with readers_of(tmp_path) as readers:
        assert len(own_children() - before) == os.cpu_count()
        readers.read_files(b"many", [(b"%d" % at, b"") for at in range(16)])
        # in the middle of it
        next(readers.answers(10))
    assert own_children() == before
    assert descriptors() == open_before


def test_a_large_file_and_one_that_may_not_be_read_are_for_this_process(tmp_path: Path) -> None:
    with without_rights() as folder:
        bench = make(folder, FILES)
        bench.configure(max_file_size=1 << 30)
        bench.write({"large": b"0123456789abcdef" * (STREAM_FROM >> 4), "closed": b"1"})
        os.chmod(bench.root / "closed", 0)
        tracked = bench.take()
        assert [(skipped.path, skipped.reason.value) for skipped in tracked.skipped] == [(b"closed", "unreadable")]
        os.unlink(bench.root / "closed")
        assert tracked.tree == Oracle(bench.root, 1 << 30).tree()


@pytest.mark.parametrize("answers", [0, 10, 200])
def test_processes_that_are_killed_cost_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    before = own_children()
    bench = make(tmp_path, FILES)
    real, given = ReaderPool.answers, [0]

    def killed(readers: ReaderPool[Any], seconds: float) -> Iterator[tuple[Any, ReadFile | None]]:
        for answer in real(readers, seconds):
            if given[0] == answers:
                kill_readers(before)
            given[0] += 1
            yield answer

    monkeypatch.setattr(ReaderPool, "answers", killed)
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()
    assert given[0] > answers
    bench.git("fsck", "--strict", "--no-dangling")
    assert own_children() == before


@pytest.mark.parametrize("questions", [0, 1, 30])
def test_processes_that_are_gone_when_they_are_asked_cost_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: int
) -> None:
    before = own_children()
    bench = make(tmp_path, FILES)
    real, calls = ReaderPool.read_files, [0]

    def ask(readers: ReaderPool[Any], path: bytes, files: Any) -> None:
        if calls[0] == questions:
            for child in own_children() - before:
                os.kill(child, signal.SIGKILL)
                # it stays there to be waited for
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        calls[0] += 1
        real(readers, path, files)

    monkeypatch.setattr(ReaderPool, "read_files", ask)
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()
    assert calls[0] > questions
    assert own_children() == before


def test_a_killed_process_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1"})
    before = own_children()
    with readers_of(tmp_path) as readers:
        kill_readers(before)
        with pytest.raises(WorkerLost):
            all_answers(readers, b"", [b"a"] * 10)
    assert own_children() == before


def test_where_no_process_can_be_started_this_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FILES)
    before, open_before, begun = own_children(), descriptors(), [0]
    real = subprocess.Popen

    def second_fails(*args: Any, **options: Any) -> Any:
        begun[0] += 1
        if begun[0] % 2 == 0:
            raise OSError(errno.EAGAIN, "no more processes")
        return real(*args, **options)

    monkeypatch.setattr(subprocess, "Popen", second_fails)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()
    assert begun[0] >= 2
    assert own_children() == before
    assert [path for path in descriptors().values() if path.startswith("pipe:")] == [
        path for path in open_before.values() if path.startswith("pipe:")
    ]


def test_a_file_that_goes_or_changes_while_it_is_read_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make(tmp_path, FILES)
    real, changed = ReaderPool.read_files, [False]

    def ask(readers: ReaderPool[Any], path: bytes, files: Any) -> None:
        if not changed[0]:
            changed[0] = True
            bench.remove("d3", "many/7")
            bench.write({"d4/e4/f": b"another", "d3": b"a file by now", "new/er": b"2"})
            (bench.root / "d5/e5").rename(bench.root / "d5/moved")
        real(readers, path, files)

    monkeypatch.setattr(ReaderPool, "read_files", ask)
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()
    assert changed[0]


@pytest.mark.parametrize("after", [0, 40, 200])
def test_cancelled_while_processes_read(tmp_path: Path, after: int) -> None:
    before = own_children()
    bench = make(tmp_path, {"a": b"1"})
    first = bench.track()
    bench.write(FILES)

    def report(message: str, done: int, total: int | None) -> None:
        if message == "hashing" and done >= after:
            call.cancel()

    call = Call(report)
    with pytest.raises(Cancelled):
        bench.take(call=call)
    assert own_children() == before
    assert bench.workspace.snapshots.status().last == first
    assert not [name for name in os.listdir(os.path.join(bench.store, "objects/pack")) if name.startswith("tmp_")]
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()


def test_a_request_that_is_taken_back_while_a_process_hangs_ends(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    before = own_children()
    hung = []

    def report(message: str, done: int, total: int | None) -> None:
        if message == "hashing" and not hung:
            hung.extend(own_children() - before)
            for child in hung:
                os.kill(child, signal.SIGSTOP)
            timer.start()

    call = Call(report)
    timer = threading.Timer(0.3, call.cancel)
    with pytest.raises(Cancelled):
        bench.take(call=call)
    assert hung
    assert own_children() == before
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()


@pytest.mark.parametrize("point", ["pack.begin", "pack.add", "pack.seal"])
def test_a_full_disk_leaves_nothing_and_what_was_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    bench = make(tmp_path, FILES)
    come, before = [0], own_children()

    def full(name: str) -> None:
        if name == point:
            come[0] += 1
            if come[0] in (1, 100):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(failpoints, "listener", full)
    with pytest.raises(StorageFull):
        bench.track()
    assert own_children() == before
    assert not os.listdir(os.path.join(bench.store, "objects/pack"))
    monkeypatch.setattr(failpoints, "listener", None)
    assert bench.track() == Oracle(bench.root, 1 << 20).tree()
    bench.git("fsck", "--strict", "--no-dangling")


def test_what_is_stored_is_not_stored_again(tmp_path: Path) -> None:
    bench = make(tmp_path, FILES)
    bench.track()
    known = objects(bench)
    bench.write({f"copies/{name}": data for name, data in FILES.items() if isinstance(data, bytes)})
    oracle = Oracle(bench.root, 1 << 20)
    assert bench.track() == oracle.tree()
    came = [described for oid, described in objects(bench).items() if oid not in known]
    assert {kind for kind, _ in came} == {"tree", "commit"}
    packs = [name for name in os.listdir(os.path.join(bench.store, "objects/pack")) if name.endswith(".idx")]
    listed = [
        line.split()[0]
        for name in packs
        for line in bench.git("verify-pack", "-v", f"{bench.store}/objects/pack/{name}").splitlines()
        if b" blob " in line
    ]
    assert len(listed) == len(set(listed))
    # each content once, though many files have it
    assert set(listed) == {line.split()[2] for line in oracle.files.values()}
