from __future__ import annotations

import errno
import os
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.watch import queues
from snapd.watch.inotify_clock import file_system
from snapd.watch.queues import Fanotify, Layout, Marker, Overflow, Unsupported, layout_of
from tests.support import places
from tests.support.processes import descriptors
from tests.watch.places import opened

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fanotify is of Linux")


@pytest.fixture(params=["memory", "disk"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory, and one on the disk: their handles are made in different ways."""
    if request.param == "memory":
        yield tmp_path_factory.mktemp("folder")
        return
    with tempfile.TemporaryDirectory(prefix="snapd-fanotify-", dir=places.DISK) as name:
        yield Path(name)


def layout(folder: Path) -> Layout:
    """How handles are made there."""
    with opened(folder) as descriptor:
        return layout_of(descriptor, file_system(descriptor))


@pytest.fixture
def queue(folder: Path) -> Iterator[Fanotify]:
    """A queue, where the system lets us have one."""
    try:
        queue = Fanotify(layout(folder))
        add(queue, folder)
    except OSError as error:
        pytest.skip(f"no fanotify here: {error}")
    yield queue
    queue.close()


def add(queue: Fanotify | Marker, folder: Path) -> None:
    """Marks a directory."""
    with opened(folder) as descriptor:
        queue.add(descriptor)


def test_the_file_is_told_whatever_name_it_was_written_by(queue: Fanotify, folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below/a").write_bytes(b"0")
    inode = os.stat(folder / "below/a").st_ino
    assert queue.read() == set()
    os.link(folder / "below/a", folder / "t")
    for act in (
        lambda: (folder / "t").write_bytes(b"1"),
        lambda: os.chmod(folder / "t", 0o600),
        lambda: os.utime(folder / "t"),
        lambda: os.truncate(folder / "t", 0),
    ):
        act()
        assert queue.read() == {inode}
    with open(folder / "t", "ab", buffering=0) as file:
        os.unlink(folder / "t")
        queue.read()
        file.write(b"by a name that is gone")
        assert queue.read() == {inode}
    assert queue.read() == {inode}


def test_each_write_is_told_before_it_returns(queue: Fanotify, folder: Path) -> None:
    for at in range(500):
        path = folder / f"{at % 7}"
        path.write_bytes(b"x")
        assert queue.read() == {os.stat(path).st_ino}


def test_reading_and_what_happens_to_directories_is_not_told(queue: Fanotify, folder: Path) -> None:
    (folder / "a").write_bytes(b"")
    queue.read()
    (folder / "a").read_bytes()
    (folder / "below").mkdir()
    os.chmod(folder / "below", 0o700)
    os.chmod(folder, 0o755)
    os.rename(folder / "a", folder / "b")
    assert queue.read() == set()


def test_another_process_may_mark(queue: Fanotify, folder: Path) -> None:
    (folder / "below").mkdir()
    for _ in range(2):
        add(Marker(queue.descriptor), folder / "below")
    (folder / "below/a").write_bytes(b"")
    assert queue.read() == {os.stat(folder / "below/a").st_ino}


def test_more_events_than_one_read_takes(queue: Fanotify, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "READ_BYTES", 200)
    for at in range(300):
        (folder / f"{at}").write_bytes(b"")
    assert queue.read() == {entry.inode() for entry in os.scandir(folder)}


def test_a_handle_of_another_kind_counts_as_an_overflow(queue: Fanotify, folder: Path) -> None:
    queue.layout = Layout(4, queue.layout.form)
    (folder / "0").write_bytes(b"2")
    with pytest.raises(Overflow):
        queue.read()


@pytest.mark.parametrize("folder", ["memory"], indirect=True)
def test_an_overflow_is_reported_once(queue: Fanotify, folder: Path) -> None:
    with open("/proc/sys/fs/fanotify/max_queued_events", encoding="ascii") as file:
        length = int(file.read())
    if length > 100_000:
        pytest.skip(f"the queue takes {length} events here")
    for at in range(length + 10):
        # events of the same file would be told together
        (folder / f"{at}").touch()
    with pytest.raises(Overflow):
        queue.read()
    assert queue.read() == set()
    (folder / "0").write_bytes(b"1")
    assert queue.read() == {os.stat(folder / "0").st_ino}


def test_what_cannot_be_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptors()
    with opened(folder) as descriptor:
        for kind in {"nfs4", None, "btrfs", "xfs"} - {file_system(descriptor)}:
            # handles that look otherwise than those of the kind are not believed
            with pytest.raises(Unsupported):
                layout_of(descriptor, kind)
    with pytest.raises(OSError, match="fanotify_mark") as caught:
        Marker(-1).add(-1)
    assert caught.value.errno == errno.EBADF
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(Unsupported):
        Fanotify(Layout(8, struct.Struct("=Q")))
    assert descriptors() == before
