"""Errors that pass: what could not be opened or listed for a moment is not taken for missing."""

from __future__ import annotations

import builtins
import contextlib
import errno
import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2
import pytest

from snapd.core.compare.threeway import merge
from snapd.folders.former import remember
from snapd.model.call import Call
from snapd.model.check_report import CheckReport
from snapd.model.errors import IoError, StorageFull
from snapd.model.retention import Limits
from snapd.model.snapshot import REGULAR, Coverage, Entry, ObjectId, Snapshot
from snapd.model.timeline import Event, SessionStarted
from snapd.store.adopt import ProjectBlobs
from snapd.store.files.durable import EXHAUSTED
from snapd.store.fsck.checkers import check_closed
from snapd.store.maintenance import packing
from snapd.store.maintenance.packing import NOW
from snapd.store.maintenance.repack import CancelToken, repack
from snapd.store.objects.pack_index import PackIndexes
from snapd.store.repository import FORMAT_VERSION, refuse_newer
from snapd.store.usage.usage import usage
from tests.store.fsck.damage import blob_id, loose
from tests.store.fsck.test_chains import add_session
from tests.store.steps import Files, Steps, read_files

pytestmark = pytest.mark.slow


def step(number: int) -> Files:
    return {"a": b"first\n" * 40, "d/e/c": b"step %d\n" % number * 30}


@pytest.fixture
def steps(steps: Steps) -> Steps:
    for number in range(4):
        steps.take(step(number))
    return steps


def refusing(patch: pytest.MonkeyPatch, call: str, ending: str, number: int = errno.EMFILE) -> None:
    """Has a call of the system fail for paths with an ending, as where too many files are open."""
    real: Callable[..., Any] = getattr(os, call)

    def refuse(path: Any = ".", *args: Any, **options: Any) -> Any:
        if os.fspath(path).endswith(ending):
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **options)

    patch.setattr(os, call, refuse)


def test_snapshots_whose_references_cannot_be_listed(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.store.close()
    with monkeypatch.context() as patch:
        refusing(patch, "scandir", "refs/snapd/snapshots")
        with pytest.raises(IoError):
            steps.open()
    steps.open()
    steps.take(step(50))
    steps.check()


def test_sessions_whose_references_cannot_be_listed(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    add_session(steps, "S", 2)
    steps.store.close()
    with monkeypatch.context() as patch:
        refusing(patch, "scandir", "refs/snapd/sessions")
        with pytest.raises(IoError):
            steps.open()
    steps.open()
    started = Event(steps.store.timeline.next_seq, 1_700_000_000_000, None, None, SessionStarted("T", None, None))
    steps.store.append(started)
    steps.reopen()
    assert {session.session_id for session in steps.store.timeline.sessions()} == {"S", "T"}


def test_a_pack_whose_index_cannot_be_opened(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = steps.take({f"m{at % 7}/f{at}": b"file %d\n" % at * 20 for at in range(40)})
    packs = PackIndexes(str(steps.path / "objects" / "pack"))
    with monkeypatch.context() as patch:
        refusing(patch, "open", ".idx")
        with pytest.raises(IoError):
            packs.among({tree})
    assert packs.among({tree}) == {tree}


BESIDE = b"something else\n"


def packed_with_deltas(steps: Steps) -> tuple[ObjectId, Files]:
    """A store with one pack, of which most objects are deltas; opened anew, so that nothing of it is open."""
    lines = [b"line %d\n" % line for line in range(200)]
    contents = {f"f{at}": b"".join([*lines[:at], b"other\n", *lines[at:]]) for at in range(9)}
    steps.take({"beside": BESIDE})
    tree = steps.take(contents)
    steps.store.scheduler.repack_all(Call())
    (pack,) = steps.path.glob("objects/pack/*.pack")
    assert b"chain length" in steps.git("verify-pack", "-v", str(pack))
    return tree, contents


def project(steps: Steps) -> ProjectBlobs:
    """The store as if it were a project's own git."""
    return ProjectBlobs([os.fsencode(steps.path / "objects")])


READS: dict[str, Callable[[Steps, ObjectId, ObjectId], object]] = {
    "a directory": lambda steps, tree, _: steps.store.read_tree(tree),
    "a file": lambda steps, _, blob: steps.store.read_blob(blob),
    "a small file": lambda steps, _, blob: steps.store.read_small_blob(blob, 1 << 20),
    "a size": lambda steps, _, blob: steps.store.blob_size(blob),
    "pieces": lambda steps, _, blob: list(steps.store.blob_chunks(blob)),
    "moved files": lambda steps, tree, _: steps.store.renames(tree, steps.take({"other": b"1\n"})),
    "a merge": lambda steps, _, blob: merge(steps.store, None, Entry(REGULAR, blob), Entry(REGULAR, blob_id(BESIDE))),
    "usage": lambda steps, *_: usage(str(steps.path)),
    "a sweep": lambda steps, *_: steps.store.maintenance.clean(Limits(time.time(), 0), None, Call()),
    "another's": lambda steps, _, blob: project(steps).read(blob, 1 << 20),
    "sizes of another's": lambda steps, _, blob: project(steps).sizes([blob]),
}


@pytest.mark.parametrize("number", sorted(EXHAUSTED), ids=lambda number: errno.errorcode[number])
def test_a_pack_that_cannot_be_opened_is_not_told_as_damage(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    tree, contents = packed_with_deltas(steps)
    answers = {}
    for what, read in READS.items():
        # so that nothing of the pack is open
        steps.store.repository.packs.forget()
        with monkeypatch.context() as patch:
            refusing(patch, "open", ".pack", number)
            with pytest.raises(IoError) as caught:
                read(steps, tree, blob_id(contents["f3"]))
        answers[what] = caught.value.data["errno"]
        assert read_files(steps.store, tree) == contents, what
    assert answers == dict.fromkeys(READS, errno.errorcode[number])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("failed to open pack: Too many open files", "EMFILE"),
        ("failed to write: No space left on device", "ENOSPC"),
        ("failed to write: Disk quota exceeded", "EDQUOT"),
    ],
)
def test_what_libgit2_has_only_words_for(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, message: str, expected: str
) -> None:
    steps.take(MANY)

    def fails(*_: object) -> None:
        raise pygit2.GitError(message)

    monkeypatch.setattr(packing.PathPackBuilder, "write", fails)
    with pytest.raises((IoError, StorageFull)) as caught:
        repack(steps.store.repository, NOW, CancelToken())
    assert caught.value.data["errno"] == expected
    assert not list((steps.path / "packing").iterdir())
    steps.check()


def test_the_note_of_the_folder_cannot_be_read(steps: Steps, tmp_path: Path) -> None:
    (steps.path / "root.json").mkdir()
    with pytest.raises(IoError):
        remember(str(steps.path), str(tmp_path))
    (steps.path / "root.json").rmdir()
    remember(str(steps.path), str(tmp_path))
    assert steps.store.identify(Snapshot(steps.take(step(5)), Coverage())).tree
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()


# -- the check, and the repair


MANY: Files = {f"m{at % 7}/f{at}": b"file %d\n" % at * 20 for at in range(40)}
PASSING = (errno.EMFILE, errno.ENOMEM, errno.EACCES)


def closed(steps: Steps) -> CheckReport:
    return check_closed(str(steps.path), Call(), quick=False, mend=True)


def failing(patch: pytest.MonkeyPatch, call: str, path: Path, times: range, number: int) -> None:
    """Has a call of the system fail for a file, the given times that it is made."""
    real: Callable[..., Any] = getattr(os, call)
    made = itertools.count()

    def fail(file: Any, *args: Any, **options: Any) -> Any:
        name = os.readlink(f"/proc/self/fd/{file}") if isinstance(file, int) else os.fspath(file)
        if name == str(path) and next(made) in times:
            raise OSError(number, os.strerror(number), name)
        return real(file, *args, **options)

    patch.setattr(os, call, fail)


def some_file(steps: Steps, kind: str) -> Path:
    """A loose object, the pack or its index, of a store with something small that a repair has to mend."""
    steps.take(MANY)
    steps.store.close()
    (steps.path / "root.json").write_bytes(b"x")
    (steps.path / "root.json").chmod(0o600)
    if kind == "loose":
        return loose(steps.path, blob_id(step(0)["a"]))
    (found,) = steps.path.glob(f"objects/pack/*.{kind}")
    return found


@pytest.mark.parametrize("number", PASSING, ids=lambda number: errno.errorcode[number])
@pytest.mark.parametrize("kind", ["loose", "pack", "idx"])
@pytest.mark.parametrize("before", range(0, 6, 2))
def test_a_repair_puts_nothing_aside_that_it_could_not_open(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, kind: str, number: int, before: int
) -> None:
    path = some_file(steps, kind)
    data = path.read_bytes()
    with monkeypatch.context() as patch, contextlib.suppress(IoError):
        failing(patch, "open", path, range(before, 1000), number)
        closed(steps)
    assert path.read_bytes() == data
    assert not list(steps.path.glob(f"quarantine/*/*{path.name}"))
    steps.open()
    steps.check()


@pytest.mark.parametrize("number", PASSING, ids=lambda number: errno.errorcode[number])
@pytest.mark.parametrize("kind", ["loose", "pack", "idx"])
def test_a_check_ends_where_something_cannot_be_opened(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, kind: str, number: int
) -> None:
    path = some_file(steps, kind)
    with monkeypatch.context() as patch:
        failing(patch, "open", path, range(1000), number)
        with pytest.raises(IoError) as raised:
            check_closed(str(steps.path), Call(), quick=False, mend=False)
    assert raised.value.data == {"path": str(path), "errno": errno.errorcode[number]}


@pytest.mark.parametrize("kind", ["loose", "pack"])
@pytest.mark.parametrize("at", range(12))
def test_what_the_disk_could_not_read_once_is_read_again(
    steps: Steps, monkeypatch: pytest.MonkeyPatch, kind: str, at: int
) -> None:
    path = some_file(steps, kind)
    with monkeypatch.context() as patch:
        failing(patch, "pread" if kind == "pack" else "open", path, range(at, at + 1), errno.EIO)
        found = closed(steps)
    assert [problem.kind for problem in found.repaired] == ["damagedRoot"]
    assert not list(steps.path.glob(f"quarantine/*/*{path.name}"))
    steps.open()
    steps.check()


def test_what_the_disk_has_lost_is_damaged(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    repack(steps.store.repository, NOW, CancelToken())
    steps.store.close()
    (pack,) = steps.path.glob("objects/pack/*.pack")
    for quick, kind in ((False, "damagedPack"), (True, "lostRecord")):
        with monkeypatch.context() as patch:
            failing(patch, "pread", pack, range(10**6), errno.EIO)
            found = check_closed(str(steps.path), Call(), quick=quick, mend=False)
        assert kind in [problem.kind for problem in found.problems]


@pytest.mark.parametrize("ending", ["pack", "idx"])
def test_a_pack_of_the_users_git_that_may_not_be_read(
    steps: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    steps.take(MANY)
    steps.reopen()
    shutil.copytree(steps.path / "objects", tmp_path / "theirs")
    (refused,) = tmp_path.glob(f"theirs/pack/*.{ending}")
    loose(steps.path, blob_id(step(0)["a"])).unlink()
    with monkeypatch.context() as patch:
        failing(patch, "open", refused, range(1000), errno.EACCES)
        steps.store.repair((bytes(refused.parent.parent),), lambda _: None, Call())
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()
    steps.check()


def test_a_config_that_cannot_be_opened_is_not_written_anew(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    steps.store.close()
    config = steps.path / "config"
    data = config.read_bytes()
    config.write_bytes(data.replace(b"version = %d" % FORMAT_VERSION, b"version = 9"))

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        # libgit2 opens by itself, and says less
        patch.setattr(pygit2, "Config", refuse)
        patch.setattr(builtins, "open", refuse)
        with pytest.raises(IoError):
            refuse_newer(str(steps.path))
    config.write_bytes(data)
    steps.open()
