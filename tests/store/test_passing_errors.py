"""Errors that pass: what could not be opened or listed for a moment is not taken for missing."""

from __future__ import annotations

import builtins
import contextlib
import errno
import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2
import pytest

from snapd.core.call import Call
from snapd.core.checkup import Checkup
from snapd.core.errors import IoError
from snapd.core.history import Event, SessionStarted
from snapd.core.model import Coverage, Snapshot
from snapd.store.consolidate import consolidate
from snapd.store.fsck.checkers import check_closed
from snapd.store.packindex import PackIndexes
from snapd.store.permission import Permission
from snapd.store.repository import refuse_newer
from tests.store.fsck.damage import blob_id, loose
from tests.store.fsck.test_chains import add_session
from tests.store.steps import Files, Steps


def step(number: int) -> Files:
    return {"a": b"first\n" * 40, "d/e/c": b"step %d\n" % number * 30}


@pytest.fixture
def steps(steps: Steps) -> Steps:
    for number in range(4):
        steps.take(step(number))
    return steps


def refusing(patch: pytest.MonkeyPatch, call: str, ending: str) -> None:
    """Has a call of the system fail for paths with an ending, as where too many files are open."""
    real: Callable[..., Any] = getattr(os, call)

    def refuse(path: Any = ".", *args: Any, **options: Any) -> Any:
        if os.fspath(path).endswith(ending):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
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
    steps.reopen()
    with monkeypatch.context() as patch:
        refusing(patch, "scandir", "refs/snapd/sessions")
        with pytest.raises(IoError):
            steps.store.timeline.sessions()
    started = Event(steps.store.timeline.next_seq, 1_700_000_000_000, None, None, SessionStarted("T", None, None))
    steps.store.tell(started)
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


def test_the_note_of_the_folder_cannot_be_read(steps: Steps) -> None:
    (steps.path / "root.json").mkdir()
    with pytest.raises(IoError):
        steps.store.remember_root(b"/x", (1, 2))
    (steps.path / "root.json").rmdir()
    steps.store.remember_root(b"/x", (1, 2))
    assert steps.store.identify(Snapshot(steps.take(step(5)), Coverage())).tree
    assert steps.store.check(Call(), quick=False, alone=True).problems == ()


# -- the check, and the repair


MANY: Files = {f"m{at % 7}/f{at}": b"file %d\n" % at * 20 for at in range(40)}
PASSING = (errno.EMFILE, errno.ENOMEM, errno.EACCES)


def closed(steps: Steps) -> Checkup:
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
    (steps.path / "notifications").write_bytes(b"x")
    (steps.path / "notifications").chmod(0o600)
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
    assert [problem.kind for problem in found.repaired] == ["damagedNumbers"]
    assert not list(steps.path.glob(f"quarantine/*/*{path.name}"))
    steps.open()
    steps.check()


def test_what_the_disk_has_lost_is_damaged(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    consolidate(steps.store._repository, None, Permission())
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
    config.write_bytes(data.replace(b"version = 1", b"version = 9"))

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
