"""Small steps are durable by one sync: power cuts, torn and damaged journals, disks that fail, expiry between."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import re
import shutil
import subprocess
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest

from snapd import failpoints
from snapd.model.call import Call
from snapd.model.errors import IoError, SnapdError, StorageFull
from snapd.model.snapshot import (
    REGULAR,
    Coverage,
    ObjectId,
    RuleText,
    Skip,
    SkipReason,
    Snapshot,
    TreeEntry,
)
from snapd.model.timeline import Event, SessionStarted
from snapd.store import store as store_module
from snapd.store.fsck.checkers import check_closed
from snapd.store.journal import journal
from snapd.store.journal.frames import Frame, decode_frames, encode_frame, file_start
from snapd.store.journal.journal import Journal
from snapd.store.objects.codec import encode_commit, object_id
from snapd.store.objects.loose import encode_loose, object_path
from tests.rpc.machine import wait_until
from tests.store.fsck import damage
from tests.store.steps import Disk, Files, Steps, expire_all, read_files
from tests.support.amounts import amount
from tests.support.trees import encode_tree

BASE: Files = {"a": b"first\n", "d/b": b"second\n" * 50, "d/e/c": b"third\n"}
OTHER = Coverage(
    prefix=b"x/\xff",
    empty_dirs=(b"empty",),
    skipped=(Skip(b"big", SkipReason.TOO_LARGE),),
    rules=(RuleText("global", b"", b"*.o\n"),),
    forced=(b"d/b",),
)


def step(number: int) -> Files:
    return {**BASE, "d/e/c": b"step %d\n" % number * 30}


def journals(steps: Steps) -> list[Path]:
    return sorted((steps.path / "journal").glob("[0-9]*"), key=lambda path: int(path.name))


# -- what it costs


def test_a_step_is_one_sync(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.take(step(0))
    disk = Disk(steps.path, monkeypatch)
    for number in range(1, 40):
        disk.syncs = 0
        steps.take(step(number))
        assert disk.syncs == 1
    disk.syncs = 0
    # a new coverage is a blob and a reference more
    steps.take(step(0), OTHER)
    disk.close()
    assert disk.syncs == 1


def test_a_step_that_changed_nothing_is_no_sync(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut may take it: the snapshot is there all the same."""
    monkeypatch.setattr(journal, "publish_later", lambda _: None)
    steps.take(step(0))
    disk = Disk(steps.path, monkeypatch)
    for _ in range(5):
        take_again(steps)
    assert disk.syncs == 0
    steps.take(step(1))
    disk.close()
    assert disk.syncs == 1


@pytest.mark.parametrize("publishes", [False, True])
def test_a_step_is_not_kept_without_the_unsynced_one_before_it(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch, publishes: bool
) -> None:
    monkeypatch.setattr(journal, "publish_later", lambda _: None)
    disk = Disk(steps.path, monkeypatch)
    steps.take(step(0))
    take_again(steps)
    refused: list[str] = []

    def broken(name: str) -> None:
        if name == "journal.sync" and not refused:
            refused.append(name)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "listener", broken)
        if publishes:
            steps.store.repository.journal.publish_in_background()
        else:
            tree = steps.store_files(step(1))
            with pytest.raises(IoError):
                steps.store.record(Snapshot(tree, Coverage()), "track")
    assert refused
    # what the failed sync covers may never come to the disk, whatever a later one says
    for inode in [inode for inode, data in disk.contents.items() if data.startswith(file_start())]:
        disk.contents[inode] = b""
    steps.take(step(2))
    steps.kill(disk.after_a_cut(tmp_path / "after", names_stay=False))
    monkeypatch.undo()
    disk.close()
    steps.check()


def test_a_step_stores_no_more_than_git(tmp_path: Path, steps: Steps) -> None:
    """git's are loose objects at zlib level 1, and no commit."""
    source = Path(argparse.__file__).read_bytes()[:15_000]
    assert 10_000 < len(source) < 20_000
    files = {"drivers/net/one.c": source, **{f"drivers/net/{at}.c": b"%d" % at for at in range(20)}}
    steps.take(files)
    steps.take({"x": b"x"})
    before = steps.store.bytes_on_disk()
    steps.take({**files, "drivers/net/one.c": source + b"/* more */\n"})
    grown = steps.store.bytes_on_disk() - before
    kinds = steps.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").split(b"\n")
    listed = steps.git("ls-tree", "-r", "-t", list(steps.answered)[-1].hex())
    tree = list(steps.answered)[-1]
    new = {line.split()[2].decode() for line in listed.splitlines() if line.split()[1] == b"tree"} | {tree.hex()}
    new.add(steps.git("rev-parse", f"{tree.hex()}:drivers/net/one.c").decode().strip())
    theirs = 0
    for kind, name in (line.decode().split() for line in kinds if line):
        if name in new:
            data = subprocess.run(
                ["git", "--git-dir=.", "cat-file", kind, name], cwd=steps.path, check=True, capture_output=True
            ).stdout
            theirs += len(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data, 1))
    assert len(new) == 4
    assert grown <= theirs


# -- power cuts


@pytest.mark.parametrize("is_published", [False, True])
@pytest.mark.parametrize("names_stay", [False, True], ids=["nothing unsynced stays", "names stay, empty"])
@pytest.mark.parametrize("happens", ["nothing", "checkpoint", "reopen", "expiry", "rotation", "kill"])
def test_a_power_cut_takes_nothing_that_was_answered(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch, happens: str, names_stay: bool, is_published: bool
) -> None:
    if not is_published:
        monkeypatch.setattr(journal, "publish_later", lambda _: None)
    if happens == "rotation":
        monkeypatch.setattr(journal, "FILE_FRAMES", 3)
    disk = Disk(steps.path, monkeypatch)
    for number in range(7):
        steps.take(step(number), OTHER if number % 3 == 1 else Coverage())
        if number % 2:
            take_again(steps)
    if happens == "checkpoint":
        steps.store.repository.journal.checkpoint()
    elif happens == "reopen":
        steps.reopen()
    elif happens == "kill":
        steps.kill()
    elif happens == "expiry":
        last = list(steps.answered)[-1]
        assert expire_all(steps.store)[0] == 9
        steps.answered = {last: steps.answered[last]}
    settle_behind()
    for number in range(10, 13):
        steps.take(step(number), OTHER)
    take_again(steps)
    # what nobody was told of may go
    steps.store_files({"unanswered": b"x"})
    settle_behind()
    steps.kill(disk.after_a_cut(tmp_path / "after", names_stay))
    monkeypatch.undo()
    disk.close()
    steps.check()
    for number in range(20, 23):
        steps.take({**step(number), "unanswered": b"x"})
    steps.check()
    steps.reopen()
    assert journals(steps) == []
    steps.check()


def take_again(steps: Steps) -> None:
    """Nothing changed since the last snapshot."""
    tree = list(steps.answered)[-1]
    assert steps.take(*steps.answered[tree]) == tree


def settle_behind() -> None:
    for thread in threading.enumerate():
        if thread.name == "snapd journal":
            thread.join()


@pytest.mark.parametrize("first", [True, False])
def test_a_power_cut_after_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool) -> None:
    """It is in no journal: its file, and all names that lead there, are on the disk before the answer."""
    steps = Steps(tmp_path / "large")
    disk = Disk(steps.path, monkeypatch)
    if not first:
        steps.take(step(1))
    data = b"large" * 1000
    with steps.store.batch() as batch:
        oid = batch.blob_stream(len(data), iter([data]))
        tree = batch.encoded_tree(encode_tree([TreeEntry(b"big", REGULAR, oid)]))
        batch.commit()
    steps.store.record(Snapshot(tree, Coverage()), "track")
    where = disk.after_a_cut(tmp_path / "after", False)
    monkeypatch.undo()
    disk.close()
    steps.kill(where)
    assert read_files(steps.store, tree) == {"big": data}
    steps.store.close()


@pytest.mark.parametrize("command", [["pack-refs", "--all"], ["repack", "-adq"]])
def test_a_power_cut_after_git_packed_and_the_journal_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    steps = Steps(tmp_path / "packed")
    disk = Disk(steps.path, monkeypatch)
    for number in range(3):
        steps.take(step(number))
    steps.git(*command)
    steps.git("prune-packed", "-q")
    # git syncs the files that it makes, and no directory
    for path in [*steps.path.glob("objects/pack/*"), *steps.path.glob("packed-refs")]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    steps.store.repository.journal.checkpoint()
    where = disk.after_a_cut(tmp_path / "after", False)
    monkeypatch.undo()
    disk.close()
    steps.kill(where)
    steps.check()
    steps.store.close()


@pytest.mark.parametrize("names_stay", [False, True])
def test_a_power_cut_at_any_sync(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch, names_stay: bool
) -> None:
    """What a cut leaves is kept after each sync of a run with steps, a rotation, an expiry and a close."""
    monkeypatch.setattr(journal, "FILE_FRAMES", 2)
    # one thread, so that what is found does not hang on which is faster
    monkeypatch.setattr(journal.Journal, "settle_in_background", lambda _: None)
    disk = Disk(steps.path, monkeypatch)
    found: list[tuple[Path, dict[ObjectId, tuple[Files, Coverage]], bool]] = []
    expired = False
    note = disk.note

    def cut(descriptor: int) -> None:
        note(descriptor)
        where = disk.after_a_cut(tmp_path / f"after {len(found)}", names_stay)
        found.append((where, dict(steps.answered), expired))

    monkeypatch.setattr(disk, "note", cut)
    for number in range(4):
        steps.take(step(number), OTHER if number == 2 else Coverage())
        take_again(steps)
    steps.store.repository.journal.checkpoint()
    steps.take(step(7))
    last = list(steps.answered)[-1]
    expired = True
    expire_all(steps.store)
    steps.answered = {last: steps.answered[last]}
    steps.take(step(8))
    steps.store.close()
    monkeypatch.undo()
    disk.close()
    assert len(found) > 50
    found = found[:: amount(6, 1)]
    path, answered = steps.path, steps.answered
    do_not_sync(monkeypatch)
    for where, known, was_expired in found:
        steps.path = where
        steps.open()
        # an expiry under way may or may not have happened
        steps.answered = {tree: what for tree, what in known.items() if not was_expired or steps.store.knows(tree)}
        assert list(steps.answered)[-1:] == list(known)[-1:]
        for tree, (files, coverage) in steps.answered.items():
            assert steps.store.find(tree).coverage == coverage
            assert read_files(steps.store, tree) == files
        steps.store.close()
        assert b"missing" not in steps.git("fsck", "--strict", "--full", "--no-dangling")
        shutil.rmtree(where)
    steps.path, steps.answered = path, answered
    steps.open()
    steps.check()


def do_not_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at from here on is not about what reaches the disk."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _: None)


def test_a_kill_leaves_it_sound_for_git_at_once(steps: Steps) -> None:
    for number in range(5):
        steps.take(step(number))
        steps.check()
    steps.kill()
    steps.check()
    assert journals(steps) == []


def test_replaying_twice_gives_the_same(tmp_path: Path, steps: Steps) -> None:
    for number in range(4):
        steps.take(step(number), OTHER if number == 1 else Coverage())
    kept = tmp_path / "kept"
    shutil.copytree(steps.path / "journal", kept)
    steps.kill()
    for _ in range(2):
        steps.store.close()
        shutil.rmtree(steps.path / "journal")
        shutil.copytree(kept, steps.path / "journal")
        steps.open()
        steps.check()


# -- a damaged journal


def without_repository(steps: Steps, where: Path, keep: Path) -> None:
    """Copies the store as of `keep`, with the journal as it is now."""
    shutil.copytree(keep, where)
    shutil.rmtree(where / "journal", ignore_errors=True)
    shutil.copytree(steps.path / "journal", where / "journal")


def test_a_torn_last_frame(tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.take(step(0))
    steps.reopen()
    keep = tmp_path / "keep"
    shutil.copytree(steps.path, keep)
    steps.take(step(1))
    (file,) = journals(steps)
    whole = file.stat().st_size
    answered = dict(steps.answered)
    steps.take(step(2))
    data = file.read_bytes()
    home = steps.path
    after = list(steps.answered)[-1]
    steps.store.ownership.release()
    assert len(list(decode_frames(data))) == 2
    for end in range(whole, len(data)):
        for torn in (data[:end], data[:end] + b"\0" * (len(data) - end)):
            assert list(decode_frames(torn)) == list(decode_frames(data))[:1]
    do_not_sync(monkeypatch)
    for end in range(whole, len(data), 31):
        for tail in (b"", b"\0" * (len(data) - end)) if end % 7 == 0 else (b"",):
            where = tmp_path / "torn"
            without_repository(steps, where, keep)
            (where / "journal" / "1").write_bytes(data[:end] + tail)
            steps.path = where
            steps.open()
            steps.answered = dict(answered)
            for tree, (files, _) in answered.items():
                assert read_files(steps.store, tree) == files
            assert steps.store.last == list(answered)[-1]
            assert not steps.store.knows(after)
            if end % 3 == 0:
                steps.take(step(2))
                steps.check()
            steps.store.close()
            shutil.rmtree(where)
            steps.path = home
    steps.open()


def test_a_damaged_frame_in_the_middle_costs_no_other(tmp_path: Path, steps: Steps) -> None:
    start = file_start()
    oids = [bytes([at]) * 20 for at in range(4)]
    frames = [
        encode_frame(start, Frame({oid: b"bytes of %d" % at}, {f"refs/{at}": oid})) for at, oid in enumerate(oids)
    ]
    data = start + b"".join(frames)
    assert [list(frame.objects) for frame in decode_frames(data)] == [[oid] for oid in oids]
    begin = len(start) + len(frames[0])
    for at in range(begin, begin + len(frames[1])):
        hurt = bytearray(data)
        hurt[at] ^= 0x41
        assert [list(frame.objects) for frame in decode_frames(bytes(hurt))] == [[oids[0]], [oids[2]], [oids[3]]]
    # a frame in a file of the user, which went into one that was torn, is none
    other = encode_frame(file_start(), Frame({b"x" * 20: b"evil"}, {"refs/x": b"x" * 20}))
    torn = encode_frame(start, Frame({oids[0]: other + b"and more"}, {}))
    assert list(decode_frames(start + torn[:-1])) == []
    assert list(decode_frames(b"")) == list(decode_frames(b"\0" * 100)) == list(decode_frames(start[:-1])) == []


def left_by_a_power_cut(data: bytes) -> dict[str, bytes]:
    """What may be found of a journal file of which nothing was synced: bytes that were never written are zeros."""
    return {
        "empty": b"",
        "zeros": b"\0" * len(data),
        "a page of zeros": b"\0" * 4096,
        "a part of the start": data[:5],
        "a part of the start, then zeros": data[:5] + b"\0" * 500,
        "the start, then zeros": data[:16] + b"\0" * len(data),
        "a torn frame, then zeros": data[: len(data) // 2] + b"\0" * 4096,
    }


@pytest.mark.parametrize("how", left_by_a_power_cut(b"").keys())
def test_what_a_power_cut_leaves_is_no_damage(steps: Steps, how: str) -> None:
    steps.take(step(0))
    steps.reopen()
    steps.take(step(1))
    (file,) = journals(steps)
    data = file.read_bytes()
    # the file of a step that was never acknowledged
    later = file.with_name("2")
    later.write_bytes(left_by_a_power_cut(data)[how])
    later.chmod(0o600)
    steps.store.ownership.release()
    for quick in (True, False):
        assert check_closed(str(steps.path), Call(), quick=quick, mend=False).problems == ()
    steps.open()
    steps.check()
    assert journals(steps) == []
    assert not (steps.path / "quarantine").exists()


@pytest.mark.parametrize("lost", [1, 16, 300])
def test_records_behind_zeros_are_kept_aside(steps: Steps, lost: int) -> None:
    """A disk that lost the start of a file lost what only this tells: which of the rest are frames of ours."""
    steps.reopen()
    steps.take(step(1))
    steps.take(step(2))
    (file,) = journals(steps)
    data = file.read_bytes()
    damaged = b"\0" * lost + data[lost:]
    damage.replace(file, damaged)
    steps.store.ownership.release()
    found = check_closed(str(steps.path), Call(), quick=True, mend=False)
    assert [problem.kind for problem in found.problems] == ["damagedJournal"]
    steps.open()
    steps.check()
    (kept,) = [path for path in (steps.path / "quarantine").rglob("*") if path.is_file() and path.suffix != ".jsonl"]
    assert kept.read_bytes() == damaged


def killed_with_old_journals(steps: Steps, monkeypatch: pytest.MonkeyPatch, where: Path) -> Path:
    """Takes steps, ends the process with all journal files still there, and gives the newest of these."""
    monkeypatch.setattr(journal, "FILE_FRAMES", 3)
    monkeypatch.setattr(journal.Journal, "settle_in_background", lambda _: None)
    for number in range(5):
        steps.take(step(number), OTHER if number == 4 else Coverage())
    shutil.copytree(steps.path, where)
    steps.store.close()
    steps.path = where
    return journals(steps)[-1]


@pytest.mark.parametrize(
    "how", [damage.flip, damage.flip_end, damage.cut, damage.empty, damage.drop], ids=lambda how: how.__name__
)
def test_a_damaged_journal_sets_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: damage.Damage
) -> None:
    """What its lost frames moved stands already, where it was the process alone that died; and is on the disk then."""
    steps = Steps(tmp_path / "store")
    how(killed_with_old_journals(steps, monkeypatch, tmp_path / "killed"))
    found = check_closed(str(steps.path), Call(), quick=False, mend=False)
    assert {problem.kind for problem in found.problems} <= {"damagedJournal"}
    assert found.snapshots == 5
    synced = synced_by(monkeypatch, steps.open)
    steps.check()
    objects = [path for path in (steps.path / "objects").glob("??/*") if path.is_file()]
    references = [path for path in (steps.path / "refs/snapd").rglob("*") if path.is_file()]
    assert {os.stat(path).st_ino for path in (*objects, *references)} <= synced
    steps.take(step(9))
    steps.reopen()
    steps.check()
    steps.store.close()


def synced_by(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> set[int]:
    """The inodes of what is synced while something is done."""
    synced: set[int] = set()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        what()
    return synced


def test_a_purge_is_replayed_though_it_leads_to_nothing_that_was(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its references move to where no chain leads from the old ones; a kill before they move changes nothing."""
    for number in range(3):
        steps.take(step(number))
    (day,) = steps.git("for-each-ref", "--format=%(refname)", "refs/snapd/snapshots").decode().split()
    tree = list(steps.answered)[-1]
    coverage = steps.git("log", "-1", "--format=%B", day).decode()
    data = encode_commit(tree, None, 1, coverage.strip())
    commit = object_id("commit", data)
    repository = steps.store.repository
    with monkeypatch.context() as patch:
        patch.setattr(type(repository.references), "move", lambda *_, **__: None)
        repository.journal.add({commit: encode_loose("commit", data)})
        repository.journal.flush({day: commit})
    steps.kill()
    assert steps.git("rev-parse", day).decode().strip() == commit.hex()


def test_damage_to_files_that_a_crash_left_is_repaired(steps: Steps) -> None:
    for number in range(3):
        steps.take(step(number))
    loose = [path for path in (steps.path / "objects").glob("??/*") if path.is_file()]
    for at, path in enumerate(loose):
        if at % 3 == 0:
            path.unlink()
        else:
            path.write_bytes(b"" if at % 3 == 1 else path.read_bytes()[:5])
    for path in (steps.path / "refs" / "snapd" / "snapshots").iterdir():
        path.write_bytes(b"")
    steps.kill()
    steps.check()


# -- disks that fail


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("failing", ["fdatasync", "write", "part of a write"])
@pytest.mark.parametrize("names_stay", [False, True])
def test_what_fails_is_told_and_made_good_by_the_next(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch, failing: str, number: int, names_stay: bool
) -> None:
    disk = Disk(steps.path, monkeypatch)
    steps.take(step(0))
    real_write = os.write

    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    def part(descriptor: int, data: bytes) -> int:
        if len(data) < 60:
            fail()
        return real_write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write" if "write" in failing else failing, part if failing.startswith("part") else fail)
        for _ in range(3):
            with pytest.raises(StorageFull if number == errno.ENOSPC else IoError):
                steps.take(step(1))
    assert steps.store.last == list(steps.answered)[-1]
    # another step, which takes what the failed ones stored for stored
    steps.take({"again": step(1)["d/e/c"], **step(1)})
    steps.check()
    steps.kill(disk.after_a_cut(tmp_path / "after", names_stay))
    steps.check()
    assert steps.recorded() == [tree.hex() for tree in reversed(steps.answered)]
    disk.close()


@pytest.mark.parametrize("names_stay", [False, True])
def test_a_checkpoint_that_failed_writes_all_anew(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch, names_stay: bool
) -> None:
    disk = Disk(steps.path, monkeypatch)
    for at in range(4):
        steps.take(step(at))

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(IoError):
            steps.store.repository.journal.checkpoint()
    assert len(journals(steps)) == 1
    # the bytes of what was there when the sync failed never reach the disk, whatever a later sync says
    with contextlib.ExitStack() as held:
        files = [path for path in steps.path.rglob("*") if path.is_file() and path.parent.name != "journal"]
        # held open, so that no inode number comes again
        lost = {os.fstat(held.enter_context(open(path, "rb")).fileno()).st_ino for path in files} - set(disk.contents)
        held.callback(disk.close)
        note = disk.note

        def forgetful(descriptor: int) -> None:
            note(descriptor)
            if os.fstat(descriptor).st_ino in lost:
                disk.contents[os.fstat(descriptor).st_ino] = b""

        monkeypatch.setattr(disk, "note", forgetful)
        steps.take(step(9))
        steps.store.repository.journal.checkpoint()
        assert journals(steps) == []
        steps.kill(disk.after_a_cut(tmp_path / "after", names_stay))
        steps.check()


def test_a_close_that_fails_leaves_the_journal(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.take(step(0))

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        steps.store.close()
    assert len(journals(steps)) == 1
    steps.open()
    steps.check()


def test_a_record_that_is_there_makes_what_waits_durable(
    tmp_path: Path, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(steps.path, monkeypatch)
    tree = steps.take(step(0))
    waiting = steps.store_files({"other": b"x"})
    steps.store.record(Snapshot(tree, Coverage()), "track")
    steps.kill(disk.after_a_cut(tmp_path / "after", names_stay=False))
    assert read_files(steps.store, waiting) == {"other": b"x"}
    steps.check()
    disk.close()


def test_what_waits_is_read_without_a_sync(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.take(BASE)
    disk = Disk(steps.path, monkeypatch)
    files = {**BASE, "a": b"it waits\n"}
    tree = steps.store_files(files)
    assert read_files(steps.store, tree) == files
    (entry,) = (entry for entry in steps.store.read_tree(tree) if entry.name == b"a")
    assert steps.store.blob_size(entry.oid) == len(files["a"])
    assert b"".join(steps.store.blob_chunks(entry.oid)) == files["a"]
    assert disk.syncs == 0
    assert not os.path.exists(object_path(str(steps.path / "objects"), entry.oid))
    disk.close()
    steps.take(files)
    steps.check()


def test_what_waits_can_be_read_and_is_bounded(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "WAITING_BYTES", 2000)
    tree = steps.store_files(BASE)
    assert journals(steps) == []
    assert read_files(steps.store, tree) == BASE
    for _ in range(20):
        steps.store_files({"noise": os.urandom(500)})
        assert steps.store.repository.journal.waiting_bytes < 4000
    last = steps.store_files({"noise": b"last"})
    (entry,) = steps.store.read_tree(last)
    assert steps.store.blob_size(entry.oid) == 4
    more = steps.store_files({"noise": b"more"})
    (entry,) = (entry for entry in steps.store.read_tree(more))
    assert b"".join(steps.store.blob_chunks(entry.oid)) == b"more"


@pytest.mark.parametrize("refused", ["journal.append", "journal.sync"])
@pytest.mark.parametrize("gives_up", [False, True])
def test_what_was_refused_is_not_taken_for_lost(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, refused: str, gives_up: bool
) -> None:
    """Neither the record nor the event comes back, whether what else waited is given up or goes with the next step."""
    steps.take(step(0))
    event = Event(steps.store.timeline.next_seq, 1_700_000_000_000, None, None, SessionStarted("A", None, None))

    def full(name: str) -> None:
        if name == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "listener", full)
        with pytest.raises(StorageFull):
            steps.store.append(event)
        tree = steps.store_files(step(1))
        with pytest.raises(StorageFull):
            steps.store.record(Snapshot(tree, Coverage()), "track")
    if gives_up:
        steps.store.discard()
    else:
        # the objects that waited become part of the repository
        steps.store.repository.journal.flush()
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()
    steps.kill()
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()
    steps.store.close()
    assert check_closed(str(steps.path), Call(), quick=False, mend=True).problems == ()
    steps.open()
    assert steps.store.timeline.sessions() == ()
    assert not steps.store.knows(tree)
    steps.store.append(attrs.evolve(event, seq=steps.store.timeline.next_seq))
    steps.take(step(1))
    steps.check()
    assert len(steps.store.timeline.sessions()) == 1


# -- recorded and not published


@pytest.fixture
def publish(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Publishes what was recorded, which nothing else does."""
    real = Journal.publish
    monkeypatch.setattr(Journal, "publish", lambda _: None)
    return lambda: real(steps.store.repository.journal)


@pytest.mark.usefixtures("publish")
@pytest.mark.parametrize("count", [1, 10])
def test_what_is_not_published_is_read_and_outlasts_a_kill(steps: Steps, count: int) -> None:
    for number in range(3):
        steps.take({f"{at}/{number}": b"%d %d" % (at, number) for at in range(count)})
    assert not [*(steps.path / "objects").glob("??/*"), *(steps.path / "objects/pack").iterdir()]
    assert not [path for path in (steps.path / "refs/snapd").rglob("*") if path.is_file()]
    for tree, (files, _) in steps.answered.items():
        assert read_files(steps.store, tree) == files
    assert steps.store.check(Call(), quick=False, alone=False).problems == ()
    steps.kill()
    steps.check()


def test_a_timeline_that_is_read_again_has_what_is_not_published(steps: Steps, publish: Callable[[], None]) -> None:
    steps.take(step(0))
    publish()
    steps.take(step(1))
    steps.store.timeline.reload()
    steps.take(step(2))
    publish()
    steps.check()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a thread publish once the journal rests, as in a daemon."""
    monkeypatch.setattr(journal, "publish_later", journal.Publisher().add)


@pytest.mark.usefixtures("later")
def test_git_sees_all_once_the_journal_rests(steps: Steps) -> None:
    others = [Steps(steps.path.parent / name) for name in ("other", "third")]
    for number in range(3):
        for each in (steps, *others):
            each.take(step(number))
    for each in (steps, *others):
        wait_until(lambda each=each: not each.store.repository.journal, "published")
        assert each.git("fsck", "--strict", "--connectivity-only") == b""
        for tree in each.answered:
            each.git("cat-file", "-e", tree.hex())
        each.check()
    for each in others:
        each.store.close()


def test_a_closed_journal_publishes_nothing(steps: Steps, publish: Callable[[], None]) -> None:
    steps.take(step(0))
    steps.store.repository.journal.close()
    publish()
    assert not [*(steps.path / "objects").glob("??/*")]
    steps.kill()
    steps.check()


@pytest.mark.parametrize(("count", "packs"), [(1, 0), (20, 1)])
def test_many_objects_are_published_as_a_pack(
    steps: Steps, publish: Callable[[], None], count: int, packs: int
) -> None:
    for number in range(count):
        steps.take(step(number))
    publish()
    assert len([*(steps.path / "objects/pack").glob("*.pack")]) == packs
    assert bool([*(steps.path / "objects").glob("??/*")]) is not bool(packs)
    steps.check()
    steps.kill()
    steps.check()


def test_the_size_counts_what_is_not_published(steps: Steps, publish: Callable[[], None]) -> None:
    steps.take(step(0))
    before = steps.store.bytes_on_disk()
    publish()
    moved = sum(path.stat().st_size for path in (steps.path / "refs/snapd").rglob("*") if path.is_file())
    assert steps.store.bytes_on_disk() == before + moved


@pytest.mark.parametrize("refused", ["journal.publish", "loose.place", "loose.name", "refs.write", "refs.move"])
@pytest.mark.parametrize("is_killed", [False, True])
def test_what_cannot_be_published_is_in_the_journal(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, refused: str, is_killed: bool
) -> None:
    """A step that was answered is no worse for it, and goes into the repository once that is possible."""
    steps.take(step(0))

    def full(name: str) -> None:
        if name == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "listener", full)
        for number in (1, 2):
            steps.take(step(number))
    assert "in the journal only" in caplog.text
    if is_killed:
        steps.kill()
    else:
        steps.take(step(3))
    steps.check()
    steps.kill()
    steps.check()


def test_what_cannot_be_published_is_bounded(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "WAITING_BYTES", 2000)
    steps.take(step(0))

    def full(name: str) -> None:
        if name == "loose.place":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "listener", full)
        with contextlib.suppress(StorageFull):
            for _ in range(20):
                steps.take({"noise": os.urandom(500)})
        assert 1 < len(steps.answered) < 10
        with pytest.raises(StorageFull):
            steps.take(step(2))
        assert steps.store.repository.journal.recorded_bytes < 6000
    steps.take(step(1))
    steps.check()


# -- rotation and expiry


@pytest.mark.parametrize("bound", ["FILE_FRAMES", "FILE_BYTES"])
def test_a_new_file_is_begun_and_the_old_one_goes(steps: Steps, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(journal, bound, 4 if bound == "FILE_FRAMES" else 3000)
    reached: list[str] = []
    monkeypatch.setattr(failpoints, "listener", reached.append)
    for number in range(40):
        steps.take(step(number))
    assert 5 <= reached.count("journal.begin") < 40
    settle_behind()
    assert len(journals(steps)) <= 1
    steps.kill()
    steps.check()


def test_a_track_does_not_wait_for_the_checkpoint(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "FILE_FRAMES", 3)
    reached, go = threading.Event(), threading.Event()
    real = journal.sync_if_there

    def slow(path: str) -> bool:
        if threading.current_thread().name == "snapd journal":
            reached.set()
            assert go.wait(60)
        return real(path)

    monkeypatch.setattr(journal, "sync_if_there", slow)
    for number in range(10):
        steps.take(step(number))
    assert reached.wait(60)
    assert len(journals(steps)) >= 3
    steps.check()
    go.set()
    settle_behind()
    assert len(journals(steps)) <= 1
    steps.check()


def test_an_expiry_is_not_undone_by_a_replay(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        steps.take(step(number), OTHER if number < 4 else Coverage())
    dropped = list(steps.answered)[:4]
    last = list(steps.answered)[4]
    assert expire_all(steps.store)[0] == 4
    steps.answered = {last: steps.answered[last]}
    steps.kill()
    steps.check()
    assert not any(steps.store.knows(tree) for tree in dropped)
    steps.take(step(2))
    steps.kill()
    steps.check()
    assert OTHER not in [steps.store.find(tree).coverage for tree in steps.answered]


def test_git_may_pack_everything_while_it_is_open(steps: Steps) -> None:
    for number in range(3):
        steps.take(step(number))
    steps.git("gc", "-q", "--prune=now")
    steps.git("pack-refs", "--all", "--prune")
    steps.take(step(0))
    steps.take(step(5))
    steps.answered = {
        tree: steps.answered[tree] for tree in sorted(steps.answered, key=lambda tree: tree == steps.store.last)
    }
    steps.check()
    steps.kill()
    steps.check()
    steps.git("gc", "-q", "--prune=now")
    steps.reopen()
    steps.check()


def test_several_threads_store_while_one_records(steps: Steps) -> None:
    failed: list[BaseException] = []
    recording = threading.Lock()

    def run(worker: int) -> None:
        try:
            for at in range(25):
                files = {"w": b"%d" % worker, "at": b"%d" % at, "same": b"same %d" % (at % 5)}
                tree = steps.store_files(files)
                with recording:
                    steps.store.record(Snapshot(tree, Coverage()), "track")
                assert read_files(steps.store, tree) == files
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    steps.kill()
    assert len(steps.recorded()) == 100
    assert b"missing" not in steps.git("fsck", "--strict", "--full")


def test_a_failed_step_uses_up_its_number(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the journal has of it, and a later record of another day, must not claim the same place."""
    steps.take(step(0))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "x")))
        with pytest.raises(SnapdError):
            steps.take(step(1))
    now = time.time_ns()
    monkeypatch.setattr(store_module, "time", SimpleNamespace(time_ns=lambda: now + 86400 * 10**9))
    steps.take(step(2))
    steps.kill()
    assert steps.store.last == list(steps.answered)[-1]
    numbers = re.findall(rb'"seq":([0-9]+)', steps.git("log", "--all", "--format=%B"))
    assert len(numbers) > 1
    assert len(numbers) == len(set(numbers))
