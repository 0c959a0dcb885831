"""Packing together what a session left in many files: nothing is lost, whenever it ends, and little space is taken."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.model.errors import SnapdError, StoreCorrupt
from snapd.store.maintenance import packing, scheduler
from snapd.store.maintenance import repack as module
from snapd.store.maintenance import repack as packer
from snapd.store.maintenance.packing import NOW, RepackNeed, survey
from snapd.store.maintenance.repack import CancelToken, TokenRevoked, repack
from snapd.store.objects.loose import object_path
from snapd.store.repository import ShadowRepository
from tests.store.steps import Steps, expire_nothing, read_files
from tests.support.git import run_git

ROOT = Path(__file__).parents[3]


def text(rnd: random.Random, lines: int) -> bytes:
    return b"".join(b"%030x\n" % rnd.getrandbits(120) for _ in range(lines))


def session(steps: Steps, count: int, files: int = 60, edits: int = 2) -> None:
    """A folder whose files are edited a line at a time: the first snapshot is a pack, the rest loose objects."""
    rnd = random.Random(7)
    contents = {f"{at % 7}/{at}.c": text(rnd, 60) for at in range(files)}
    steps.take(dict(contents))
    for _ in range(count):
        for path in rnd.sample(sorted(contents), edits):
            lines = contents[path].splitlines(keepends=True)
            lines[rnd.randrange(len(lines))] = b"%030x\n" % rnd.getrandbits(120)
            contents[path] = b"".join(lines)
        steps.take(dict(contents))


def pack_steps(steps: Steps, count: int) -> None:
    """Steps of so many new objects each that each is a pack."""
    for at in range(count):
        steps.take({f"{name}": b"%d %d\n" % (at, name) * 9 for name in range(40)})


def loose(steps: Steps) -> list[Path]:
    return [path for path in (steps.path / "objects").glob("??/*") if len(path.name) == 38]


def packs(steps: Steps) -> list[Path]:
    return sorted((steps.path / "objects" / "pack").glob("*.pack"))


def repository(steps: Steps) -> ShadowRepository:
    return steps.store.repository


def run(steps: Steps, token: CancelToken | None = None) -> int:
    """Consolidates all there is, as a cleanup does, beside an open store."""
    return repack(repository(steps), NOW, token or CancelToken()).count


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs in another process, as the daemon does."""
    monkeypatch.setattr(packer, "can_start", lambda: True)


def size(path: Path) -> tuple[int, int]:
    """Bytes of all files, and of the blocks that they and the directories take."""
    found = [path, *path.rglob("*")]
    return (
        sum(each.stat().st_size for each in found if each.is_file()),
        sum(each.stat().st_blocks * 512 for each in found),
    )


@pytest.mark.parametrize("edits", [1, 2, 20])
def test_a_cleanup_leaves_what_git_gc_leaves(steps: Steps, tmp_path: Path, edits: int) -> None:
    session(steps, 60, files=100, edits=edits)
    listed = {tree: steps.git("ls-tree", "-r", tree.hex()) for tree in steps.answered}
    oracle = tmp_path / "oracle"
    steps.store.close()
    shutil.copytree(steps.path, oracle)
    steps.open()
    run_git(oracle, "--git-dir=.", "gc", "-q", "--prune=now")
    before = steps.store.bytes_on_disk()
    removed, freed = expire_nothing(steps.store)
    assert removed == 0
    assert freed == before - steps.store.bytes_on_disk() > 0
    assert loose(steps) == []
    assert len(packs(steps)) == 1
    steps.reopen()
    for tree, (files, _) in steps.answered.items():
        assert read_files(steps.store, tree) == files
    assert b"missing" not in steps.git("fsck", "--strict", "--full", "--no-dangling")
    assert {tree: steps.git("ls-tree", "-r", tree.hex()) for tree in steps.answered} == listed
    steps.store.close()
    for ours, theirs in zip(size(steps.path), size(oracle), strict=True):
        assert ours <= 1.2 * theirs
    steps.open()


@pytest.mark.parametrize("form", ["loose", "packed", "packed as a delta"])
def test_tags_that_somebody_made_are_packed_too(steps: Steps, form: str) -> None:
    steps.take({"a": b"a\n"})
    steps.store.repository.journal.checkpoint()
    head = steps.git("for-each-ref", "--format=%(objectname)", "refs/snapd/snapshots").decode().split()[0]
    for name in ("one", "two"):
        message = "".join(f"line {at}\n" for at in range(200)) + name
        steps.git("tag", "-a", "-m", message, name, head)
    if form != "loose":
        steps.git("-c", "gc.auto=0", "repack", "-q", "-a", "-d", *(["-f"] if form == "packed as a delta" else []))
    before = steps.git("cat-file", "tag", "two")
    steps.store.repository.forget_packs()
    assert run(steps)
    steps.check()
    assert steps.git("cat-file", "tag", "two") == before


def test_what_it_leaves_is_private(steps: Steps) -> None:
    session(steps, 2)
    run(steps)
    for path in steps.path.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_nothing_happens_below_the_limits(steps: Steps) -> None:
    session(steps, 8)
    pack_steps(steps, 3)
    before = {path: path.stat().st_ino for path in [*loose(steps), *packs(steps)]}
    assert steps.store.scheduler.thread is None
    repack(steps.store.repository, RepackNeed(scheduler.LOOSE_LIMIT, scheduler.PACK_LIMIT), CancelToken())
    assert {path: path.stat().st_ino for path in [*loose(steps), *packs(steps)]} == before


def wait(steps: Steps) -> None:
    thread = steps.store.scheduler.thread
    if thread is not None:
        thread.join(60)


@pytest.mark.parametrize("kind", ["loose", "packs"])
def test_it_runs_by_itself_when_it_is_due(steps: Steps, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(scheduler, "LOOSE_LIMIT", 50)
    monkeypatch.setattr(scheduler, "PACK_LIMIT", 5)
    for _ in range(3):
        if kind == "loose":
            session(steps, 25)
        else:
            pack_steps(steps, 8)
        wait(steps)
    assert len(loose(steps)) <= 50 + 3 * 25
    assert len(packs(steps)) <= 7
    steps.check()


def test_objects_are_packed_again_seldom(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """All work together is some multiple of n log n: here, an object is packed about five times and not forty."""
    monkeypatch.setattr(scheduler, "PACK_LIMIT", 10**9)
    packed = 0
    rounds = 40
    for at in range(rounds):
        for inner in range(2):
            steps.take({f"{name}": b"%d %d %d\n" % (at, inner, name) * 3 for name in range(40)})
        packed += repack(repository(steps), RepackNeed(), CancelToken()).count
        counts = [index.count for index in survey(str(steps.path)).packs.values()]
        for place, count in enumerate(counts):
            assert place == 0 or count >= 2 * sum(counts[:place])
    total = rounds * 2 * 41
    assert packed <= 5 * total
    steps.check()


class Boom(OSError):
    pass


CALLS = ("rename", "unlink", "fsync", "mkdir", "rmdir", "chmod")


def test_it_may_end_at_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call that changes the disk fails in its turn; then the store is opened anew."""
    template = Steps(tmp_path / "template")
    session(template, 5, files=45)
    template.store.close()
    counter = [0, -1]

    def wrapped(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **more: object) -> object:
            counter[0] += 1
            if counter[0] == counter[1]:
                raise Boom(5, "pulled out")
            return real(*args, **more)

        return call

    def attempt(at: int) -> bool:
        path = tmp_path / str(at)
        shutil.copytree(template.path, path)
        steps = Steps(path)
        steps.answered = template.answered
        with monkeypatch.context() as patch:
            counter[:] = [0, at]
            for name in CALLS:
                patch.setattr(os, name, wrapped(getattr(os, name)))
            try:
                run(steps)
            except SnapdError:
                done = False
            else:
                done = counter[0] < at
        steps.kill()
        said = steps.git("fsck", "--strict", "--full", "--no-dangling")
        assert b"missing" not in said
        for tree, (files, _) in steps.answered.items():
            assert read_files(steps.store, tree) == files
        # the next one goes through, and clears away what this one left
        run(steps)
        assert list((path / module.PACKING).iterdir()) == []
        assert loose(steps) == []
        steps.store.close()
        shutil.rmtree(path)
        return done

    at = 1
    while not attempt(at):
        at += 1 if at < 14 else 7
    assert at > 20
    template.open()
    template.store.close()


@pytest.mark.usefixtures("apart")
def test_the_pack_lasts_before_anything_goes(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    session(steps, 5)
    before = {path.name for path in packs(steps)}
    done: list[tuple[str, str]] = []

    def noted(name: str) -> None:
        real = getattr(os, name)

        def call(path: str | int, *more: object, **options: object) -> None:
            where = os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else path
            real(path, *more, **options)
            done.append((name, os.fspath(where)))

        monkeypatch.setattr(os, name, call)

    for name in ("fsync", "rename", "unlink"):
        noted(name)
    run(steps)
    monkeypatch.undo()
    moved = [path for name, path in done if name == "rename"]
    assert [Path(path).suffix for path in moved] == [".pack", ".idx"]
    for path in moved:
        assert done.index(("fsync", path)) < done.index(("rename", path))
    lasts = done.index(("fsync", str(steps.path / "objects" / "pack")))
    assert lasts > done.index(("rename", moved[1]))
    gone = [at for at, (name, path) in enumerate(done) if name == "unlink" and "/objects/" in path]
    assert len(gone) > len(before)
    assert lasts < min(gone)


CHILD = """
import os, signal, sys
from snapd.store.maintenance.packing import NOW
from snapd.store.maintenance.repack import repack
from snapd.store.maintenance.repack import CancelToken
from snapd.store.store import Store
at, count = int(sys.argv[2]), 0
store = Store(sys.argv[1], None)
def wrapped(real):
    def call(*args, **more):
        global count
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **more)
    return call
for name in ("rename", "unlink"):
    setattr(os, name, wrapped(getattr(os, name)))
repack(store.repository, NOW, CancelToken())
"""


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 9])
def test_it_may_be_killed(steps: Steps, at: int) -> None:
    session(steps, 5, files=45)
    steps.store.close()
    ended = subprocess.run([sys.executable, "-c", CHILD, str(steps.path), str(at)], cwd=ROOT, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    steps.open()
    steps.check()
    for pack in packs(steps):
        # one without an index may be a git's that is about to name it, but not for long
        os.utime(pack, (1, 1))
    expire_nothing(steps.store)
    steps.check()
    assert len(packs(steps)) == 1
    assert loose(steps) == []


@pytest.mark.parametrize("how", ["cut", "changed", "empty"])
def test_a_damaged_loose_object_stops_it(steps: Steps, how: str) -> None:
    session(steps, 5)
    victim = max(loose(steps), key=lambda path: (path.stat().st_size, path))
    data = victim.read_bytes()
    victim.write_bytes({"cut": data[: len(data) // 2], "changed": data[:-9] + b"123456789", "empty": b""}[how])
    before = {path: path.read_bytes() for path in [*loose(steps), *packs(steps)]}
    with pytest.raises(StoreCorrupt):
        run(steps)
    assert {path: path.read_bytes() for path in [*loose(steps), *packs(steps)]} == before
    victim.write_bytes(data)
    run(steps)
    steps.check()


def test_a_damaged_pack_stops_it(steps: Steps) -> None:
    session(steps, 5)
    (pack,) = packs(steps)
    data = pack.read_bytes()
    middle = len(data) // 2
    pack.write_bytes(data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 40]) + data[middle + 40 :])
    before = set(loose(steps))
    with pytest.raises(StoreCorrupt):
        run(steps)
    assert set(loose(steps)) == before
    assert packs(steps) == [pack]
    pack.write_bytes(data)
    steps.check()


def test_a_pack_that_lacks_an_object_replaces_nothing(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    session(steps, 5)
    real = packing.PathPackBuilder.add_named
    left_out = next(iter(survey(str(steps.path)).loose))

    def add(self: packing.PathPackBuilder, oid: bytes, name: bytes) -> None:
        if oid != left_out:
            real(self, oid, name)

    monkeypatch.setattr(packing.PathPackBuilder, "add_named", add)
    before = [*loose(steps), *packs(steps)]
    with pytest.raises(StoreCorrupt):
        run(steps)
    assert [*loose(steps), *packs(steps)] == before
    steps.check()


def test_what_the_user_s_git_has_too_stays(steps: Steps, tmp_path: Path) -> None:
    session(steps, 5)
    (shared,) = packs(steps)
    alone = loose(steps)[0]
    for path in (shared, alone):
        os.link(path, tmp_path / path.name)
    inodes = shared.stat().st_ino, alone.stat().st_ino
    run(steps)
    assert (shared.stat().st_ino, alone.stat().st_ino) == inodes
    assert loose(steps) == [alone]
    assert len(packs(steps)) == 2
    new = steps.git("verify-pack", "-v", *(str(path) for path in packs(steps) if path != shared))
    assert not {line.split()[0] for line in steps.git("verify-pack", "-v", str(shared)).splitlines()[:40]} & {
        line.split()[0] for line in new.splitlines()
    }
    steps.check()


def test_a_large_loose_object_stays(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "LARGE_BYTES", 10_000)
    big = os.urandom(20_000)
    steps.take({"a": big, "b": b"small\n"})
    run(steps)
    assert [path.stat().st_size > 10_000 for path in loose(steps)] == [True]
    steps.check()


def test_a_revoked_one_changes_nothing(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    session(steps, 5)
    before = [*loose(steps), *packs(steps)]
    token = CancelToken()
    real = packing.PathPackBuilder.write

    def write(self: packing.PathPackBuilder, path: str) -> None:
        real(self, path)
        token.revoke()

    monkeypatch.setattr(packing.PathPackBuilder, "write", write)
    with pytest.raises(TokenRevoked):
        run(steps, token)
    assert [*loose(steps), *packs(steps)] == before
    assert list((steps.path / module.PACKING).iterdir()) == []
    steps.check()


@pytest.mark.usefixtures("apart")
def test_reads_and_steps_go_on_beside_it(steps: Steps) -> None:
    session(steps, 10)
    known = list(steps.answered.items())
    done = threading.Event()
    failures: list[BaseException] = []

    def read(seed: int) -> None:
        rnd = random.Random(seed)
        try:
            while not done.is_set():
                tree, (files, _) = rnd.choice(known)
                assert read_files(steps.store, tree) == files
                entry = steps.store.read_tree(steps.store.read_tree(tree)[0].oid)[0]
                assert steps.store.blob_size(entry.oid) == len(steps.store.read_blob(entry.oid))
        except BaseException as error:
            failures.append(error)

    def pack() -> None:
        try:
            for _ in range(6):
                run(steps)
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(2)] + [threading.Thread(target=pack)]
    for thread in threads:
        thread.start()
    at = 0
    while not done.is_set() and at < 60:
        # also what goes at this moment is said to be there, and is
        steps.take({f"n{at}": b"%d\n" % at, **known[at % len(known)][1][0]})
        at += 1
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert at > 0
    steps.reopen()
    steps.check()


def test_a_failure_is_told_once_and_tried_again_later(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session(steps, 4)
    # only now: else a repack could pack the object before it is damaged
    monkeypatch.setattr(scheduler, "LOOSE_LIMIT", 30)
    victim = min(loose(steps))
    data = victim.read_bytes()
    victim.write_bytes(b"")
    oid = bytes.fromhex(victim.parent.name + victim.name)
    assert Path(object_path(str(steps.path / "objects"), oid)) == victim
    for at in range(40):
        steps.take({f"x{at}": b"%d" % at})
        wait(steps)
    warnings = [record for record in caplog.records if "could not be repacked" in record.getMessage()]
    # each time a file, its folder, and the event with what keeps them
    assert 1 <= len(warnings) <= 1 + 40 * 4 // 30
    victim.write_bytes(data)
    steps.check()


def test_git_may_remove_empty_directories_at_the_same_time(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.take({"a": b"1"})
    empty = [steps.path / "objects" / name for name in ("0f", "f0")]
    for directory in empty:
        directory.mkdir(exist_ok=True)
        for file in directory.iterdir():
            file.unlink()
    listdir = os.listdir
    gone: list[str] = []

    def removed_first(path: str) -> list[str]:
        if path in map(str, empty) and not gone:
            gone.append(path)
            os.rmdir(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", removed_first)
    module.tidy(ShadowRepository(str(steps.path)))
    assert len(gone) == 1
    assert not any(directory.exists() for directory in empty)
