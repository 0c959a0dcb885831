"""Stores are opened and closed beside each other: nobody waits for another store than the one they asked for."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from snapd.core.workspace import Workspace
from snapd.locations import Locations
from snapd.model.call import Call
from snapd.model.errors import IoError
from snapd.settings.in_force import Base, Options, SettingsFile
from snapd.workspaces import MAX_UNUSED, Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 60.0


@pytest.fixture
def workspaces(tmp_path: Path) -> Iterator[Workspaces]:
    locations = Locations(str(tmp_path / "c"), str(tmp_path / "data"), str(tmp_path / "run"), str(tmp_path / "home"))
    workspaces = Workspaces(locations, None, 0o022, None)
    yield workspaces
    workspaces.close()


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(Base(SettingsFile(str(tmp_path / "c"))), "client")


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], bytes]:
    """Makes a folder."""

    def make(name: str) -> bytes:
        path = tmp_path / "work" / name
        path.mkdir(parents=True)
        (path / "a").write_text("a")
        return os.fsencode(path)

    return make


class Gate:
    """Holds a method up for one folder, and counts who came."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, root: bytes) -> None:
        self.came = threading.Semaphore(0)
        self.calls = 0
        self._open = threading.Event()
        work = getattr(owner, name)

        def held(one: object, *arguments: object) -> object:
            found = one.root if isinstance(one, Workspace) else arguments[0].root  # type: ignore[attr-defined]
            if found == root:
                self.calls += 1
                self.came.release()
                assert self._open.wait(PATIENCE)
            return work(one, *arguments)

        monkeypatch.setattr(owner, name, held)

    def wait_for_one(self) -> None:
        assert self.came.acquire(timeout=PATIENCE)

    def lift(self) -> None:
        self._open.set()


def test_a_store_that_opens_slowly_is_opened_once_and_holds_up_no_other(
    workspaces: Workspaces, options: Options, folder: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, other = folder("slow"), folder("other")
    gate = Gate(monkeypatch, Workspaces, "make", slow)
    with ThreadPoolExecutor(20) as pool:
        crowd = [pool.submit(workspaces.acquire, slow, options) for _ in range(20)]
        gate.wait_for_one()
        # nothing of this waits: it is this thread that would have to open the gate
        found = workspaces.acquire(other, options)
        assert workspaces.all_open == [found]
        assert isinstance(workspaces.try_acquire(slow, options), Future)
        assert workspaces.release(found, options)
        workspaces.close_unused()
        assert workspaces.all_open == []
        gate.lift()
        assert len({future.result(PATIENCE) for future in crowd}) == 1
    assert gate.calls == 1


def test_a_store_that_closes_slowly_holds_up_no_other_and_is_opened_again_after_that(
    workspaces: Workspaces, options: Options, folder: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, other = folder("slow"), folder("other")
    old = workspaces.acquire(slow, options)
    gate = Gate(monkeypatch, Workspace, "close", slow)
    assert workspaces.release(old, options)
    with ThreadPoolExecutor(2) as pool:
        closing = pool.submit(workspaces.close_unused)
        gate.wait_for_one()
        found = workspaces.acquire(other, options)
        assert workspaces.all_open == [found]
        again = workspaces.try_acquire(slow, options)
        assert isinstance(again, Future)
        assert not again.done()
        waiting = pool.submit(workspaces.acquire, slow, options)
        gate.lift()
        closing.result(PATIENCE)
        new = waiting.result(PATIENCE)
    assert new is not old
    new.snapshots.track((), Call())


def test_whoever_waits_for_an_opening_that_fails_is_told_why_and_the_next_one_tries_anew(
    workspaces: Workspaces, options: Options, folder: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = folder("slow")
    gate = threading.Event()
    came = threading.Semaphore(0)

    def fail(*_: object) -> None:
        came.release()
        assert gate.wait(PATIENCE)
        raise IoError("no disk")

    with monkeypatch.context() as failing, ThreadPoolExecutor(1) as pool:
        failing.setattr(Workspaces, "make", fail)
        first = pool.submit(workspaces.acquire, slow, options)
        assert came.acquire(timeout=PATIENCE)
        waiting = workspaces.try_acquire(slow, options)
        assert isinstance(waiting, Future)
        gate.set()
        for future in (first, waiting):
            with pytest.raises(IoError, match="no disk"):
                future.result(PATIENCE)
    assert workspaces.acquire(slow, options).snapshots.track((), Call()).tree


def test_many_unused_are_not_kept_open(
    workspaces: Workspaces, options: Options, folder: Callable[[str], bytes]
) -> None:
    used = workspaces.acquire(folder("used"), options)
    for number in range(MAX_UNUSED + 3):
        assert workspaces.release(workspaces.acquire(folder(f"{number}"), options), options)
    still = {os.path.basename(workspace.root) for workspace in workspaces.all_open}
    assert still == {b"used", *(b"%d" % number for number in range(3, MAX_UNUSED + 3))}
    # what was used last is closed last
    assert workspaces.release(used, options)
    assert used in workspaces.all_open
    assert len(workspaces.all_open) == MAX_UNUSED


def test_two_who_find_the_folder_replaced_open_it_anew_once(
    workspaces: Workspaces, options: Options, folder: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder("replaced")
    old = workspaces.acquire(path, options)
    os.rename(path, path + b"-old")
    folder("replaced")
    gate = Gate(monkeypatch, Workspace, "close", path)
    with ThreadPoolExecutor(8) as pool:
        crowd = [pool.submit(workspaces.acquire, path, options) for _ in range(8)]
        gate.wait_for_one()
        gate.lift()
        found = {future.result(PATIENCE) for future in crowd}
    assert len(found) == 1
    assert old not in found
    assert not workspaces.release(old, options)
    assert workspaces.all_open == list(found)
