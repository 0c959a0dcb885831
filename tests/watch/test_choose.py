from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.watch import choose
from snapd.watch.choose import HintClock, NoClock, open_clock
from snapd.watch.clock import Clock, Marks
from snapd.watch.inotify_clock import InotifyClock
from snapd.watch.queues import Inotify, Unsupported
from tests.support.processes import descriptors
from tests.watch.places import Spot, opened, watch

_SECONDS = 60.0


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    with opened(tmp_path) as descriptor:
        yield descriptor


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")
def test_the_best_on_linux(tmp_path: Path, descriptor: int) -> None:
    clock = open_clock("auto", os.fsencode(tmp_path), descriptor)
    assert isinstance(clock, InotifyClock)
    assert (clock.kind, clock.exact, clock.reason) == ("inotify", True, None)
    clock.close()


@pytest.mark.parametrize(("setting", "kind"), [("watchdog", HintClock), ("none", NoClock)])
def test_what_the_user_wants(
    tmp_path: Path, descriptor: int, setting: choose.WatcherSetting, kind: type[NoClock]
) -> None:
    clock = open_clock(setting, os.fsencode(tmp_path), descriptor)
    assert type(clock) is kind
    assert (clock.kind, clock.exact, clock.reason) == (setting, False, None)
    clock.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere nothing tells of file systems")
@pytest.mark.parametrize("kind", ["nfs4", None])
def test_a_file_system_that_does_not_tell(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch, kind: str | None
) -> None:
    monkeypatch.setattr(choose, "file_system", lambda _: kind)
    clock = open_clock("auto", os.fsencode(tmp_path), descriptor)
    assert (type(clock), clock.kind, clock.exact) == (HintClock, "watchdog", False)
    assert (kind or "unknown") in (clock.reason or "")
    clock.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")
def test_a_system_without_queues(tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    error = Unsupported(errno.ENOSYS, "no inotify in the library")

    def fail(self: Inotify) -> None:
        raise error

    monkeypatch.setattr(Inotify, "__init__", fail)
    before = descriptors()
    clock = open_clock("auto", os.fsencode(tmp_path), descriptor)
    assert (type(clock), clock.kind, clock.exact) == (NoClock, "none", False)
    assert str(error) in (clock.reason or "")
    clock.close()
    assert descriptors() == before


@pytest.mark.parametrize("setting", ["watchdog", "none"])
def test_a_clock_that_cannot_say_says_everything(
    tmp_path: Path, descriptor: int, setting: choose.WatcherSetting
) -> None:
    clock: Clock = open_clock(setting, os.fsencode(tmp_path), descriptor)
    spot = watch(clock, tmp_path, Spot("root"))
    for _ in range(3):
        assert clock.take() == Marks(everything=True)
    clock.put_back(Marks(names={spot: {b"a"}}))
    clock.forget(spot)
    assert clock.take().everything
    assert spot.watch == -1
    clock.close()


@pytest.mark.parametrize("setting", ["watchdog", "none"])
def test_a_listener_is_told_and_leaves_nothing_behind(
    tmp_path: Path, descriptor: int, monkeypatch: pytest.MonkeyPatch, setting: choose.WatcherSetting
) -> None:
    (tmp_path / "d").mkdir()
    clock = open_clock(setting, os.fsencode(tmp_path), descriptor)
    monkeypatch.setattr(choose, "POLL_SECONDS", 0.01)
    told = threading.Event()
    before, threads = descriptors(), threading.active_count()
    for at in range(3):
        clock.listen(told.set)
        (tmp_path / f"d/{at}").write_bytes(b"x")
        assert told.wait(_SECONDS)
        clock.stop_listening()
        told.clear()
        assert (descriptors(), threading.active_count()) == (before, threads)
        (tmp_path / f"d/{at}").write_bytes(b"y")
        assert not told.is_set()
    clock.listen(told.set)
    clock.close()
    clock.close()
    assert (descriptors(), threading.active_count()) == (before, threads)


def test_reading_is_no_hint(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    clock = HintClock(os.fsencode(tmp_path))
    told: list[None] = []
    came = threading.Event()

    def tell() -> None:
        told.append(None)
        came.set()

    clock.listen(tell)
    (tmp_path / "a").read_bytes()
    assert told == []
    (tmp_path / "b").mkdir()
    assert came.wait(_SECONDS)
    clock.close()


def test_hints_that_there_are_none_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder cannot be watched: the listener is called every now and then."""
    from watchdog.observers import Observer

    def fail(self: object, *arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Observer, "schedule", fail)
    monkeypatch.setattr(choose, "POLL_SECONDS", 0.01)
    clock = HintClock(os.fsencode(tmp_path))
    told = threading.Event()
    before, threads = descriptors(), set(threading.enumerate())
    clock.listen(told.set)
    assert told.wait(_SECONDS)
    clock.stop_listening()
    for thread in set(threading.enumerate()) - threads:
        thread.join(_SECONDS)
    assert (descriptors(), set(threading.enumerate())) == (before, threads)
    clock.close()
