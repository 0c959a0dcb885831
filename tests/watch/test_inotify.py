from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.watch import queues
from snapd.watch.queues import (
    ATTRIB,
    CLOSE_WRITE,
    CREATE,
    DELETE,
    DELETE_SELF,
    IGNORED,
    MODIFY,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    Event,
    Inotify,
    Unsupported,
)
from tests.support.processes import descriptors
from tests.watch.places import opened

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")
_DIRECTORY = 0x40000000


@pytest.fixture
def queue() -> Iterator[Inotify]:
    queue = Inotify()
    yield queue
    queue.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def add(queue: Inotify, folder: Path) -> int:
    with opened(folder) as descriptor:
        return queue.add(descriptor)


def test_each_kind_of_change_is_an_event(queue: Inotify, folder: Path) -> None:
    watch = add(queue, folder)
    (folder / "outside").parent.parent.joinpath("out").write_bytes(b"")
    assert list(queue.read()) == []
    (folder / "a").write_bytes(b"x")
    assert list(queue.read()) == [Event(watch, mask, b"a") for mask in (CREATE, MODIFY, CLOSE_WRITE)]
    os.chmod(folder / "a", 0o600)
    assert list(queue.read()) == [Event(watch, ATTRIB, b"a")]
    os.utime(folder / "a", ns=(1, 1))
    assert list(queue.read()) == [Event(watch, ATTRIB, b"a")]
    os.rename(folder / "a", folder / "b")
    moved = list(queue.read())
    assert [event[:3] for event in moved] == [(watch, MOVED_FROM, b"a"), (watch, MOVED_TO, b"b")]
    assert moved[0].cookie == moved[1].cookie != 0
    os.truncate(folder / "b", 0)
    assert Event(watch, MODIFY, b"b") in list(queue.read())
    os.link(folder / "b", folder / "c")
    assert Event(watch, CREATE, b"c") in list(queue.read())
    os.symlink("a", folder / "s")
    assert list(queue.read()) == [Event(watch, CREATE, b"s")]
    os.mkdir(folder / "d")
    assert list(queue.read()) == [Event(watch, CREATE | _DIRECTORY, b"d")]
    os.unlink(folder / "b")
    assert Event(watch, DELETE, b"b") in list(queue.read())
    os.rename(folder, folder.parent / "elsewhere")
    assert list(queue.read()) == [Event(watch, MOVE_SELF, b"")]


def test_reading_is_no_change(queue: Inotify, folder: Path) -> None:
    (folder / "a").write_bytes(b"x")
    add(queue, folder)
    (folder / "a").read_bytes()
    os.listdir(folder)
    os.stat(folder / "a")
    assert list(queue.read()) == []


@pytest.mark.parametrize("name", [b"x", b"\xff\xfe", b"new\nline", b" ", b"n" * 255, b"n" * 16, b"n" * 15, b"\xc3\xa9"])
def test_names_are_bytes(queue: Inotify, folder: Path, name: bytes) -> None:
    watch = add(queue, folder)
    os.mkdir(os.path.join(os.fsencode(folder), name))
    assert list(queue.read()) == [Event(watch, CREATE | _DIRECTORY, name)]


def test_more_events_than_one_read_takes(queue: Inotify, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "READ_BYTES", 600)
    watch = add(queue, folder)
    made = [b"%d" % at + b"n" * (at % 200) for at in range(100)]
    for name in made:
        os.mkdir(os.path.join(os.fsencode(folder), name))
    assert list(queue.read()) == [Event(watch, CREATE | _DIRECTORY, name) for name in made]
    assert list(queue.read()) == []


def test_what_returned_is_in_the_queue(queue: Inotify, folder: Path) -> None:
    watch = add(queue, folder)
    for at in range(2000):
        name = b"%d" % (at % 7)
        with open(os.path.join(os.fsencode(folder), name), "ab") as file:
            file.write(b"x")
            file.flush()
            assert Event(watch, MODIFY, name) in list(queue.read())


def test_the_same_directory_has_the_same_watch(queue: Inotify, folder: Path) -> None:
    watch = add(queue, folder)
    os.rename(folder, folder.parent / "moved")
    assert add(queue, folder.parent / "moved") == watch


def test_a_watch_ends(queue: Inotify, folder: Path) -> None:
    watch = add(queue, folder)
    folder.rmdir()
    assert list(queue.read()) == [Event(watch, DELETE_SELF, b""), Event(watch, IGNORED, b"")]
    queue.remove(watch)
    folder.mkdir()
    assert add(queue, folder) != watch


def test_what_cannot_be_watched(queue: Inotify, folder: Path) -> None:
    (folder / "file").write_bytes(b"")
    descriptor = os.open(folder / "file", os.O_RDONLY)
    with pytest.raises(NotADirectoryError, match="inotify_add_watch"):
        queue.add(descriptor)
    os.close(descriptor)


def test_trouble_with_the_queue_is_told() -> None:
    queue = Inotify()
    queue.close()
    with pytest.raises(OSError, match="inotify_rm_watch"):
        queue.remove(1)
    with pytest.raises(OSError, match="descriptor"):
        list(queue.read())


def test_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptors()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Unsupported):
        Inotify()
    assert descriptors() == before
