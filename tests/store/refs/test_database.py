"""References move all together, and stay moved beside a git that somebody runs on the store."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from snapd import failpoints
from snapd.model.errors import StorageFull
from snapd.model.snapshot import ObjectId
from snapd.store.maintenance.sweep import AGE, remove_tempfiles
from snapd.store.refs import database as refdb
from snapd.store.refs.database import ReferenceDatabase, read_references
from tests.store.steps import Steps
from tests.support.git import run_git

NAMES = [f"refs/snapd/sessions/{number:02}" for number in range(20)] + ["refs/snapd/snapshots/2026-01-01"]


def target(number: int) -> ObjectId:
    return hashlib.sha1(b"%d" % number).digest()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    path.mkdir()
    run_git(path, "init", "--quiet", "--bare", ".")
    return path


def git_says(store: Path) -> dict[str, ObjectId]:
    listed = run_git(store, "--git-dir=.", "for-each-ref", "--format=%(refname) %(objectname)").decode()
    return {name: bytes.fromhex(oid) for name, _, oid in (line.partition(" ") for line in listed.splitlines())}


@pytest.mark.slow
def test_none_is_lost_to_a_git_that_packs_them(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "store")
    tree = steps.take({"a": b"1"})
    commits = [bytes.fromhex(steps.git("commit-tree", tree.hex(), "-m", str(at)).decode()) for at in range(50)]
    database = ReferenceDatabase(str(steps.path))
    packer = subprocess.Popen(
        ["sh", "-c", "while git --git-dir=. pack-refs --all --prune; do :; done"],
        cwd=steps.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    model = dict.fromkeys(NAMES, commits[0])
    try:
        database.move(model)
        for number in range(1500):
            moved = {NAMES[(number + more) % len(NAMES)]: commits[(number * 7 + more) % 50] for more in range(3)}
            database.move(moved)
            model |= moved
            found = read_references(str(steps.path)).targets
            assert {name: found.get(name) for name in NAMES} == model
        assert packer.poll() is None
    finally:
        os.killpg(packer.pid, 9)
        packer.wait()
    assert (steps.path / "packed-refs").stat().st_size > 500
    found = git_says(steps.path)
    assert {name: found[name] for name in NAMES} == model
    steps.store.close()


def test_a_lock_that_is_let_go_is_waited_for(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = ReferenceDatabase(str(store))
    database.move({NAMES[0]: target(1)})
    lock = store / f"{NAMES[0]}.lock"
    lock.touch()
    waits = []

    def sleep(seconds: float) -> None:
        waits.append(read_references(str(store)).targets[NAMES[0]])
        if len(waits) == 3:
            lock.unlink()

    monkeypatch.setattr(refdb.time, "sleep", sleep)
    database.move({NAMES[0]: target(2)})
    assert waits == [target(1)] * 3
    assert read_references(str(store)).targets == {NAMES[0]: target(2)}


def test_a_lock_of_the_dead_is_in_the_way_for_a_moment(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refdb, "LOCK_PATIENCE", 0.02)
    lock = store / f"{NAMES[0]}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    ReferenceDatabase(str(store)).move({NAMES[0]: target(1)})
    assert read_references(str(store)).targets == {NAMES[0]: target(1)}
    assert not lock.exists()


@pytest.mark.parametrize("refused", range(4))
def test_all_of_them_or_none(store: Path, monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    database = ReferenceDatabase(str(store))
    before = {name: target(at) for at, name in enumerate(NAMES[:3])}
    database.move(before)
    reached: list[str] = []

    def full(name: str) -> None:
        reached.append(name)
        if len(reached) > refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(failpoints, "listener", full)
    with pytest.raises(StorageFull):
        database.move({name: target(9) for name in NAMES[:3]})
    monkeypatch.undo()
    assert reached == ["refs.write", "refs.write", "refs.write", "refs.move"][: refused + 1]
    assert read_references(str(store)).targets == before
    assert not list(store.rglob("*.lock"))


def test_where_no_journal_has_it_the_new_one_is_on_the_disk_before_it_takes_the_name(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut could leave an empty file there."""
    synced: list[int] = []
    moved: list[bool] = []
    fsync, rename = os.fsync, os.rename

    def noted(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def checked(old: str, new: str) -> None:
        moved.append(os.stat(old).st_ino in synced)
        rename(old, new)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "rename", checked)
    ReferenceDatabase(str(store)).move({name: target(1) for name in NAMES[:3]}, durable=True)
    assert moved == [True] * 3
    assert (store / NAMES[0]).parent.stat().st_ino in synced


@pytest.mark.parametrize("harm", ["removed", "set back"])
def test_what_somebody_else_did_to_a_reference_is_mended_when_it_is_settled(store: Path, harm: str) -> None:
    database = ReferenceDatabase(str(store))
    database.move({NAMES[0]: target(1)})
    if harm == "set back":
        (store / "packed-refs").write_text(f"# pack-refs with: peeled \n{target(1).hex()} {NAMES[0]}\n")
    database.move({NAMES[0]: target(2), NAMES[1]: target(3)})
    (store / NAMES[0]).unlink()
    database.settle([NAMES[0]])
    assert read_references(str(store)).targets == {NAMES[0]: target(2), NAMES[1]: target(3)}


def test_a_reference_that_was_let_go_stays_gone(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "store")
    steps.take({"a": b"1"})
    repository = steps.store.repository
    head = next(iter(git_says(steps.path).values()))
    repository.references.move({NAMES[0]: head})
    steps.git("pack-refs", "--all", "--prune")
    repository.references.delete(NAMES[0])
    repository.references.settle([NAMES[0]])
    assert NAMES[0] not in git_says(steps.path)
    steps.store.close()


def test_of_packed_ones_one_is_removed_and_the_others_stay(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "store")
    tree = steps.take({"a": b"1"})
    tag = "refs/tags/users"
    steps.git("tag", "-a", "-m", "has a line of its own below it", "users", tree.hex())
    database = ReferenceDatabase(str(steps.path))
    commit = next(iter(read_references(str(steps.path)).targets.values()))
    database.move(dict.fromkeys(NAMES, commit))
    steps.git("tag", "-a", "-m", "likewise", "zz", tree.hex())
    steps.git("pack-refs", "--all", "--prune")
    model = git_says(steps.path)
    assert tag in model
    for name in (NAMES[0], NAMES[5], NAMES[19]):
        database.delete(name)
        del model[name]
        assert git_says(steps.path) == model
    database.move({NAMES[5]: commit})
    database.delete(NAMES[5])
    database.delete(NAMES[5])
    assert git_says(steps.path) == model
    assert steps.git("fsck", "--strict") == b""
    assert not list(steps.path.rglob("*.lock"))
    assert all(path.stat().st_mode & 0o077 == 0 for path in (steps.path / "refs/snapd").rglob("*"))
    steps.store.close()


def test_a_damaged_one_hides_what_was_packed(store: Path) -> None:
    (store / "packed-refs").write_text(f"{target(1).hex()} {NAMES[0]}\n{target(2).hex()} {NAMES[1]}\n")
    damaged = store / NAMES[0]
    damaged.parent.mkdir(parents=True)
    damaged.write_text("1234\n")
    found = read_references(str(store))
    assert found.targets == {NAMES[1]: target(2)}
    assert found.damaged == (NAMES[0],)


def test_what_a_killed_process_left_is_cleared_at_once_and_what_git_holds_is_not(store: Path) -> None:
    ours, gits = store / f"{NAMES[0]}.lock", store / f"{NAMES[1]}.lock"
    ours.parent.mkdir(parents=True)
    ours.write_text(f"{target(1).hex()}\n")
    gits.touch()
    ReferenceDatabase(str(store)).clear_locks()
    assert not ours.exists()
    assert gits.exists()


def test_old_locks_are_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(tmp_path / "store")
    steps.take({"a": b"1"})
    locks = [steps.path / "packed-refs.lock", steps.path / "refs/snapd/snapshots/2026-01-01.lock"]
    for lock in locks:
        lock.touch()
    assert remove_tempfiles(str(steps.path)) == 0
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + (AGE + 60) * 10**9)
    assert remove_tempfiles(str(steps.path)) == 2
    assert not any(lock.exists() for lock in locks)
    steps.store.close()
