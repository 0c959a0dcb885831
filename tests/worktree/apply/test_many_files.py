"""Many files at once: one sync makes all of them durable, and threads change them."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from snapd.model.errors import IoError, StorageFull
from snapd.worktree.apply import files
from snapd.worktree.fs import system
from tests.support.workspace import Items, make, outcomes

pytestmark = pytest.mark.skipif(system.syncs is None, reason="there is no syncfs here")

COUNT = 40


def texts(text: bytes, count: int = COUNT, directories: int = 3) -> Items:
    return {f"d{at % directories}/f{at}": b"%b %d\n" % (text, at) for at in range(count)}


class Syncs:
    """Counts what makes files durable, and may have it fail.

    Attributes:
        calls: how often each call was made, on what is below the workspace.
        fails: the error that each call gives, by name.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        self.fails: dict[str, int] = {}
        real = system.syncs
        assert real is not None
        fsync = os.fsync

        def counted(descriptor: int) -> None:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(root)):
                self.calls["fsync"] += 1
            fsync(descriptor)

        def watched(name: str) -> Any:
            def call(*arguments: Any) -> int:
                self.calls[name] += 1
                if name in self.fails:
                    ctypes.set_errno(self.fails[name])
                    return -1
                return int(getattr(real, name)(*arguments))

            return call

        watching = system.SystemSync(watched("syncfs"), real.fstatfs, watched("sync_file_range"))
        monkeypatch.setattr(system, "syncs", watching)
        monkeypatch.setattr(os, "fsync", counted)
        # whatever else this machine does
        monkeypatch.setattr(system, "bytes_waiting", lambda: 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        if not system.can_sync_together(descriptor):
            pytest.skip("one call does not sync this file system")
    finally:
        os.close(descriptor)
    return tmp_path


@pytest.mark.parametrize("count", [COUNT, 4 * COUNT])
def test_syncs_do_not_grow_with_the_number_of_files(folder: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    bench = make(folder, texts(b"one", count))
    tree = bench.track()
    bench.write(texts(b"two", count))
    syncs = Syncs(bench.root, monkeypatch)
    bench.restore(tree)
    assert bench.read() == texts(b"one", count)
    # the names in three directories
    assert syncs.calls == {"syncfs": 1, "sync_file_range": count, "fsync": 3}


def test_syncs_do_not_grow_with_the_number_of_directories(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(folder, texts(b"one", directories=COUNT))
    tree = bench.track()
    bench.write(texts(b"two", directories=COUNT))
    syncs = Syncs(bench.root, monkeypatch)
    bench.restore(tree)
    assert syncs.calls == {"syncfs": 2, "sync_file_range": COUNT}


def test_few_files_are_synced_one_by_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file must not wait for what others write."""
    few = files.TOGETHER_FROM - 1
    bench = make(folder, texts(b"one", few, 1))
    tree = bench.track()
    bench.write(texts(b"two", few, 1))
    syncs = Syncs(bench.root, monkeypatch)
    bench.restore(tree)
    assert syncs.calls == {"fsync": few + 1}


@pytest.mark.parametrize("why", ["no such call", "another file system", "much of others waits", "it failed"])
def test_where_one_call_is_not_enough_each_file_is_synced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    bench = make(folder, texts(b"one"))
    tree = bench.track()
    bench.write(texts(b"two"))
    syncs = Syncs(bench.root, monkeypatch)
    if why == "no such call":
        monkeypatch.setattr(system, "syncs", system.load_sync("darwin", ctypes.CDLL(None)))
    elif why == "another file system":
        monkeypatch.setattr(system, "LOCAL", frozenset())
    elif why == "much of others waits":
        monkeypatch.setattr(system, "bytes_waiting", lambda: system.MOST_WAITING + 1)
    else:
        # it may be a file of somebody else
        syncs.fails["syncfs"] = errno.EIO
    bench.restore(tree)
    assert bench.read() == texts(b"one")
    assert syncs.calls["fsync"] == COUNT + 3
    assert syncs.calls["sync_file_range"] == 0


@pytest.mark.parametrize(("code", "error"), [(errno.EIO, IoError), (errno.ENOSPC, StorageFull)])
def test_a_file_that_did_not_reach_the_disk_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]
) -> None:
    bench = make(folder, texts(b"one"))
    tree = bench.track()
    bench.write(texts(b"two"))
    bench.remove("d0")
    before = bench.read()
    with monkeypatch.context() as patch:
        Syncs(bench.root, patch).fails["sync_file_range"] = code
        with pytest.raises(error):
            bench.restore(tree)
    assert bench.read() == before
    bench.restore(tree)
    assert bench.read() == texts(b"one")


def test_much_is_synced_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync cannot be cancelled, and takes the longer the more waits for it."""
    items: Items = {f"f{at}": b"%d" % at * 1000 for at in range(COUNT)}
    bench = make(folder, items)
    tree = bench.track()
    bench.become({"other": b""})
    monkeypatch.setattr(files, "SYNC_BYTES", 20_000)
    syncs = Syncs(bench.root, monkeypatch)
    bench.restore(tree)
    assert bench.read() == items
    assert 2 < syncs.calls["syncfs"] < 6
    assert syncs.calls["sync_file_range"] == COUNT


def test_a_file_that_its_owner_may_not_read_is_synced_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It could not be opened again."""
    bench = make(folder, texts(b"one"))
    if os.geteuid() != 0:
        pytest.skip("only root can have such a file captured")
    os.chmod(bench.path("d0/f0"), 0o040)
    tree = bench.track()
    bench.write(texts(b"two"))
    syncs = Syncs(bench.root, monkeypatch)
    bench.restore(tree)
    assert stat.S_IMODE(os.stat(bench.path("d0/f0")).st_mode) & 0o700 == 0
    assert syncs.calls == {"syncfs": 1, "sync_file_range": COUNT - 1, "fsync": 4}


def test_the_names_of_one_file_are_changed_one_after_the_other(tmp_path: Path) -> None:
    """Each name that goes changes the ctime of the file, so that its bytes are compared while that happens again."""
    count = 10 * files.PARALLEL_FROM
    bench = make(tmp_path, {"kept": b"k"})
    then = bench.track()
    bench.write({"n0": b"x" * 100_000})
    for at in range(1, count):
        os.link(bench.path("n0"), bench.path(f"n{at}"))
    full = bench.track()
    assert outcomes(bench.restore(then)) == {f"n{at}": "deleted" for at in range(count)}
    bench.write({"n0": b"y" * 100_000})
    for at in range(1, count):
        os.link(bench.path("n0"), bench.path(f"n{at}"))
    bench.track()
    assert outcomes(bench.restore(full)) == {f"n{at}": "restored" for at in range(count)}
    assert bench.track() == full


def test_each_sync_of_one_file_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"d/a": b"1"})
    tree = bench.track()
    for text in (b"2", b"3"):
        bench.write({"d/a": text})
        bench.track()
        if text == b"2":
            # the first operation of the day makes a directory for its reference
            bench.revert((tree, ["d/a"]))
    synced: list[str] = []

    def noted(name: str) -> Any:
        real = getattr(os, name)

        def call(descriptor: int) -> None:
            path = os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path)
            synced.append(path.split("/")[-1].partition(".")[0] or "aside")
            real(descriptor)

        return call

    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, noted(name))
    bench.revert((tree, ["d/a"]))
    journal = synced[0]
    assert synced == [
        # the snapshot before and the intent, before the first file moves
        journal,
        # the new file, before it takes its name
        "aside",
        # its name, before the event says that it has it
        "d",
        # the snapshot after, and the event
        journal,
    ]
