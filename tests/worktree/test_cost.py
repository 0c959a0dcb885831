"""What a request asks of the disk, counted call by call: the cost follows what changed, not what is there."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from snapd.store.objects import pack_index as packindex
from snapd.watch import inotify_clock
from snapd.watch.inotify_clock import Mounts
from snapd.watch.queues import Inotify
from snapd.worktree.fs import stable_read as disk
from snapd.worktree.snapshot import walker
from tests.support.git import run_git
from tests.support.system_calls import observed, traced
from tests.support.workspace import Bench, Items, git_tree_hash, make

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify and /proc are of Linux"),
]

LISTS = ("scandir", "listdir")
STATS = ("stat", "lstat", "fstat", "access")
SYNCS = ("fsync", "fdatasync")
CHANGES = ("write", "rename", "link", "unlink", "mkdir", "replace", "symlink", "chmod", "ftruncate")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

DEEP = "one/two/three/four/deep.txt"
FUTURE_NS = 4_102_444_800_000_000_000
"""The year 2100: of a file with such an mtime each read moves the atime, also where the mount says `relatime`."""


@attrs.define
class Work:
    """The calls that were made.

    Attributes:
        root: the work tree.
        calls: function, absolute path (what the descriptor is open on), flags of an `open`, bytes of a `read`.
    """

    root: str
    calls: list[tuple[str, str, int]] = attrs.field(factory=list)

    def count(self, *kinds: str) -> int:
        """How many calls there were."""
        return sum(kind in kinds for kind, _, _ in self.calls)

    def listed(self) -> Counter[str]:
        """How often each directory of the work tree was listed."""
        return self._inside(lambda kind, _: kind in LISTS)

    def opened_files(self) -> Counter[str]:
        """How often each file of the work tree was opened."""
        return self._inside(lambda kind, flags: kind == "open" and not flags & os.O_DIRECTORY)

    def opened_directories(self) -> Counter[str]:
        """How often each directory of the work tree was opened."""
        return self._inside(lambda kind, flags: kind == "open" and bool(flags & os.O_DIRECTORY))

    def watched(self) -> Counter[str]:
        """How often each directory of the work tree was put under watch."""
        return self._inside(lambda kind, _: kind == "watch")

    def bytes_read(self) -> dict[str, int]:
        """Bytes that came from each file of the work tree."""
        total: Counter[str] = Counter()
        for kind, path, size in self.calls:
            if kind == "read" and self._is_inside(path):
                total[os.path.relpath(path, self.root)] += size
        return dict(total)

    def writes(self) -> list[tuple[str, str, int]]:
        """The calls that change the disk, wherever."""
        return [
            call for call in self.calls if call[0] in (*CHANGES, *SYNCS) or (call[0] == "open" and call[2] & WRITING)
        ]

    def summary(self) -> Counter[str]:
        """How often each function was called."""
        return Counter(kind for kind, _, _ in self.calls)

    def _inside(self, counts: Callable[[str, int], bool]) -> Counter[str]:
        return Counter(
            os.path.relpath(path, self.root)
            for kind, path, flags in self.calls
            if counts(kind, flags) and self._is_inside(path)
        )

    def _is_inside(self, path: str) -> bool:
        return path == self.root or path.startswith(self.root + "/")


@contextmanager
def counted(bench: Bench) -> Iterator[Work]:
    """Notes each call of the file system that this process makes through `os` or `open`.

    But for those of threads that ran before, elsewhere: of a store that another test left open one may be at work.
    """
    work = Work(os.path.realpath(bench.root))
    own = os.path.dirname(work.root)
    before = set(threading.enumerate()) - {threading.current_thread()}
    real_readlink = os.readlink

    def where(path: Any, directory: int | None = None) -> str:
        if isinstance(path, int):
            return real_readlink(f"/proc/self/fd/{path}")
        above = real_readlink(f"/proc/self/fd/{directory}") if directory is not None else os.getcwd()
        return os.path.normpath(os.path.join(above, os.fsdecode(path)))

    def note(kind: str, path: str, value: int) -> None:
        if path.startswith(own) or threading.current_thread() not in before:
            work.calls.append((kind, path, value))

    def begin(kind: str, path: Any = ".", *args: Any, **options: Any) -> Callable[[Any], None] | None:
        if kind == "file object":
            mode = str(args[0] if args else options.get("mode", "r"))
            if not isinstance(path, int) and options.get("opener") is None:
                note("open", where(path), os.O_RDONLY if set(mode) <= set("rbt") else os.O_RDWR)
            return None
        there = where(path, options.get("dir_fd", options.get("src_dir_fd")))
        if kind == "read":
            return lambda data: note(kind, there, len(data))
        note(kind, there, args[0] if kind == "open" else 0)
        return None

    def add_noted(inotify: Inotify, directory: int) -> int:
        note("watch", where(directory), 0)
        return real_add(inotify, directory)

    real_add = Inotify.add
    functions = ("open", "read", "readlink", *LISTS, *STATS, *SYNCS, *CHANGES, "file object")
    with observed(begin, *functions), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inotify, "add", add_noted)
        yield work


@pytest.fixture(autouse=True)
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is racy: what a test has just written counts as written long ago. All listing is done in this process.

    Nothing is mounted meanwhile either: tests that do so run beside these, and every clock looks then.
    """
    monkeypatch.setattr(Mounts, "changed", lambda _: False)
    monkeypatch.setattr(disk, "TICK_NS", -(1 << 62))
    monkeypatch.setattr(disk, "COARSE_NS", -(1 << 62))
    monkeypatch.setattr(packindex, "TICK_NS", -(1 << 62))
    monkeypatch.setattr(walker, "LISTER_FROM", 1 << 30)


def project(directories: int, files: int = 10) -> dict[str, bytes]:
    """Some files in each of some directories, and one that lies deeper."""
    items = {f"d{at}/f{number}.txt": b"%d %d\n" % (at, number) for at in range(directories) for number in range(files)}
    return {**items, DEEP: b"deep\n"}


def opened(folder: Path, items: Items) -> Bench:
    """A workspace with some snapshots behind it, whose store has what it makes but once."""
    bench = make(folder, items)
    bench.track()
    bench.write({"one/settled.txt": b"so that a journal is begun\n"})
    bench.track()
    for start in range(256):
        os.makedirs(os.path.join(bench.store, "objects", f"{start:02x}"), exist_ok=True)
    return bench


def state(folder: str) -> dict[str, tuple[int, ...]]:
    """What tells whether a file was written to, replaced or read."""
    found: dict[str, tuple[int, ...]] = {}
    for above, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(above, name))
            found[os.path.relpath(os.path.join(above, name), folder)] = (
                status.st_ino,
                status.st_mtime_ns,
                status.st_ctime_ns,
                status.st_atime_ns,
            )
    return found


def objects(bench: Bench) -> dict[str, str]:
    """The kind of each object in the store."""
    lines = (
        bench.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").decode().split("\n")
    )
    return dict(line.split() for line in lines if line)


# -- nothing changed


def test_a_snapshot_of_what_did_not_change_asks_nothing_of_the_folder(tmp_path: Path) -> None:
    bench = opened(tmp_path, project(100))
    known = objects(bench)
    with counted(bench) as work:
        bench.track()
    assert not work.listed()
    assert [call for call in work.calls if call[0] in (*LISTS, "readlink")] == []
    assert not {path for kind, path, _ in work.calls if kind == "read" and "inotify" not in path}
    assert work.opened_files() == {}
    assert all(path.startswith(bench.store) for kind, path, _ in work.calls if kind == "open")
    # what is recorded is that somebody asked
    assert work.count("fdatasync") == 1
    assert Counter(kind for oid, kind in objects(bench).items() if oid not in known) == {"commit": 1}


def test_its_calls_of_stat_do_not_grow_with_the_project(tmp_path: Path) -> None:
    summaries = []
    for directories in (1, 100):
        bench = opened(tmp_path / str(directories), project(directories))
        with counted(bench) as work:
            bench.track()
        summaries.append(work.summary())
    assert summaries[0] == summaries[1], work.calls
    assert summaries[0].total() <= 40


# -- a directory that moved


@pytest.mark.parametrize("name", ["a", "z", "one/two/moved", "d7/moved"])
def test_a_directory_that_moved_is_listed_and_its_files_are_not_read(tmp_path: Path, name: str) -> None:
    bench = opened(tmp_path, {**project(10), "m/f.txt": b"1\n", "m/n/o/g.txt": b"2\n"})
    bench.track()
    os.rename(bench.path("m"), bench.path(name))
    with counted(bench) as work:
        tree = bench.track()
    assert not work.opened_files()
    assert work.listed() == {name: 1, f"{name}/n": 1, f"{name}/n/o": 1}
    assert not work.watched()
    settled = {"one/settled.txt": b"so that a journal is begun\n"}
    moved = {f"{name}/f.txt": b"1\n", f"{name}/n/o/g.txt": b"2\n"}
    assert tree == git_tree_hash(tmp_path, {**project(10), **settled, **moved})
    bench.write({f"{name}/n/o/g.txt": b"changed\n"})
    with counted(bench) as work:
        bench.track()
    assert work.opened_files() == {f"{name}/n/o/g.txt": 1}


def test_directories_that_change_places_are_listed_and_their_files_are_not_read(tmp_path: Path) -> None:
    bench = opened(tmp_path, project(10))
    bench.track()
    for old, new in (("d1", "aside"), ("d2", "d1"), ("aside", "d2")):
        os.rename(bench.path(old), bench.path(new))
    with counted(bench) as work:
        tree = bench.track()
    assert not work.opened_files()
    assert work.listed() == {"d1": 1, "d2": 1}
    items = {**project(10), "one/settled.txt": b"so that a journal is begun\n"}
    other = {"d1": "d2", "d2": "d1"}
    swapped = {
        f"{other.get(above, above)}/{name}": data
        for (above, _, name), data in ((path.partition("/"), data) for path, data in items.items())
    }
    assert tree == git_tree_hash(tmp_path, swapped)


# -- one file


def test_one_changed_file_costs_its_own_path_and_no_more(tmp_path: Path) -> None:
    summaries = []
    for directories in (1, 100):
        bench = opened(tmp_path / str(directories), project(directories))
        known = objects(bench)
        bench.write({DEEP: b"changed\n"})
        with counted(bench) as work:
            bench.track()
        way = {".", "one", "one/two", "one/two/three", "one/two/three/four"}
        assert work.opened_files() == {DEEP: 1}
        assert work.bytes_read() == {DEEP: len(b"changed\n")}
        assert work.opened_directories().keys() == way
        assert not work.listed()
        assert work.count("fdatasync") == 1
        assert work.count("fsync") == 0
        new = [kind for oid, kind in objects(bench).items() if oid not in known]
        # the folders above it, the event, and what keeps its objects
        assert Counter(new) == {"blob": 1, "tree": 5 + 1, "commit": 1}
        summaries.append(work.summary())
    assert summaries[0] == summaries[1], work.calls


def test_a_hundred_changed_files_are_read_once_each(tmp_path: Path) -> None:
    bench = opened(tmp_path, project(100))
    changed = {f"d{at}/f3.txt": b"changed %d\n" % at for at in range(100)}
    bench.write(changed)
    with counted(bench) as work:
        bench.track()
    assert work.opened_files() == dict.fromkeys(changed, 1)
    assert work.bytes_read() == {name: len(data) for name, data in changed.items()}
    assert not work.listed()
    # once to look, once to read
    assert all(count <= 2 for name, count in work.opened_directories().items() if name != ".")
    assert work.opened_directories().keys() == {".", *(f"d{at}" for at in range(100))}


# -- bringing back


def test_a_restore_leaves_what_does_not_differ_alone(tmp_path: Path) -> None:
    items = project(100)
    bench = make(tmp_path, items)
    for name in items:
        os.utime(bench.path(name), ns=(0, FUTURE_NS))
    tree = bench.track()
    changed = {f"d{at}/f3.txt" for at in range(5)}
    bench.write(dict.fromkeys(changed, b"changed\n"))
    bench.track()
    before = state(str(bench.root))
    with counted(bench) as work:
        bench.restore(tree)
    after = state(str(bench.root))
    assert {name for name in after if after[name] != before.get(name)} == changed
    assert not work.listed()
    touched = {name for name in work.opened_files() if not os.path.basename(name).startswith(".snapd-tmp-")}
    assert touched <= changed
    assert bench.track() == tree


# -- what is ignored


def test_what_is_ignored_is_neither_watched_nor_listed(tmp_path: Path) -> None:
    ignored = {f"node_modules/package{at}/lib/index.js": b"%d\n" % at for at in range(150)}
    bench = Bench(tmp_path, "")
    bench.write({**ignored, ".gitignore": b"node_modules/\n", "src/a.js": b"a\n"})
    with counted(bench) as first:
        bench.open()
        bench.track()
    bench.write(dict.fromkeys(ignored, b"another\n"))
    bench.remove("node_modules/package7")
    with counted(bench) as second:
        bench.track()
    assert first.watched() == first.listed() == {".": 1, "src": 1}
    assert not second.watched()
    assert not second.listed()
    for work in (first, second):
        assert not any(name.startswith("node_modules") for name in (*work.opened_files(), *work.opened_directories()))


# -- several names


@contextmanager
def unpacked(bench: Bench) -> Iterator[set[str]]:
    """The directories whose files are unpacked in memory; all are packed before."""
    state = bench.workspace.work_tree.state
    paths = {node: path for path, node in state.root.walk()}
    for node in paths:
        node.pack()
    found: set[str] = set()
    yield found
    found |= {os.fsdecode(path) or "." for node, path in paths.items() if not node.is_packed and state.holds(node)}


def test_a_link_costs_the_directories_of_its_names(tmp_path: Path) -> None:
    summaries = []
    for directories in (10, 200):
        bench = opened(tmp_path / str(directories), project(directories))
        for new, old in (("one/two/t", "d7/f3.txt"), ("one/two/u", "d8/f3.txt")):
            os.link(bench.path(old), bench.path(new))
            with unpacked(bench) as dirty, counted(bench) as work:
                bench.track()
        assert not work.listed()
        assert dirty == {"one/two", "d7", "d8"}
        assert set(work.opened_files()) == {"one/two/u", "d8/f3.txt"}
        summaries.append(work.summary())
    assert summaries[0] == summaries[1]


@pytest.mark.parametrize("go", [os.unlink, lambda path: os.rename(path, f"{path}.other")], ids=["removed", "replaced"])
def test_what_came_and_is_gone_costs_nothing_of_what_is_there(tmp_path: Path, go: Callable[[str], object]) -> None:
    """Where the kernel says which files were written to; else all files are looked at."""
    summaries = []
    for directories in (10, 200):
        bench = opened(tmp_path / str(directories), project(directories))
        if not tells_inodes(bench):
            pytest.skip("no fanotify here")
        bench.write({"d1/t.other": b"0"})
        bench.track()
        bench.write({"d1/t": b"temporary"})
        go(bench.path("d1/t"))
        with unpacked(bench) as dirty, counted(bench) as work:
            bench.track()
        assert not work.listed()
        assert dirty <= {"d1"}
        summaries.append(work.summary())
    assert summaries[0] == summaries[1]


def test_a_file_that_was_written_to_by_a_name_that_is_gone_is_read_and_nothing_else(tmp_path: Path) -> None:
    bench = opened(tmp_path, project(100))
    if not tells_inodes(bench):
        pytest.skip("no fanotify here")
    os.link(bench.path("d7/f3.txt"), bench.path("one/t"))
    bench.write({"one/t": b"by another name"})
    bench.remove("one/t")
    with unpacked(bench) as dirty, counted(bench) as work:
        tree = bench.track()
    assert work.opened_files() == {"d7/f3.txt": 1}
    assert not work.listed()
    assert dirty == {"one", "d7"}
    assert bench.git("cat-file", "blob", f"{tree.hex()}:d7/f3.txt") == b"by another name"


def tells_inodes(bench: Bench) -> bool:
    """Whether the clock is told which files were written to."""
    queues = bench.workspace.work_tree.clock.queues  # type: ignore[attr-defined]
    return queues is not None and queues.written is not None


# -- watches that ran out


def test_once_there_are_watches_again_a_request_looks_at_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    bench = opened(tmp_path, project(5))
    everywhere = dict.fromkeys({".", *above_all(project(5))}, 1)
    now = time.monotonic()
    monkeypatch.setattr(inotify_clock, "monotonic", lambda: now)

    def used_up(self: Inotify, directory: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def look() -> tuple[str, Counter[str]]:
        with counted(bench) as work:
            bench.track()
        return bench.workspace.snapshots.status().watcher, work.listed()

    def why() -> str:
        full_look = bench.workspace.snapshots.status().full_look
        assert full_look is not None
        assert abs(full_look.at / 1000 - time.time()) < 3600
        return full_look.why

    assert why() == "the folder was opened"
    with monkeypatch.context() as patch:
        patch.setattr(Inotify, "add", used_up)
        bench.write({"new/n.txt": b"?"})
        everywhere["new"] = 1
        bench.track()
    for _ in range(3):
        watcher, listed = look()
        assert watcher == "none"
        # once to look, and those that may have changed within the clock tick once more
        assert listed.keys() == everywhere.keys()
        assert "max_user_watches" in why()
    now += inotify_clock.SHORTEST_PAUSE
    assert look() == ("inotify", everywhere)
    assert why() == "watching again after a pause"
    assert look() == ("inotify", {})
    assert why() == "watching again after a pause"
    bench.write({"new/n.txt": b"!"})
    assert look() == ("inotify", {})
    for said in (
        "max_user_watches",
        "watching again in 30 s",
        "looking at all files: watching again after a pause",
    ):
        assert said in caplog.text


# -- a new process


def test_a_new_process_lists_each_directory_once_and_reads_no_file(tmp_path: Path) -> None:
    items = project(100)
    bench = make(tmp_path, items)
    tree = bench.track()
    bench.reopen()
    with counted(bench) as work:
        again = bench.track()
    assert again == tree
    assert work.listed() == dict.fromkeys({".", *above_all(items)}, 1)
    assert not work.opened_files().keys() & items.keys()


def test_after_a_crash_it_reads_what_changed_since_it_was_kept(tmp_path: Path) -> None:
    items = project(100)
    bench = make(tmp_path, items)
    bench.track()
    bench.reopen()
    kept = tmp_path / "kept"
    shutil.copy(os.path.join(bench.store, "worktree"), kept)
    changed: dict[str, bytes] = {"d1/f1.txt": b"later\n", "new/n.txt": b"new\n", DEEP: b"deeper\n"}
    bench.write(changed)
    tree = bench.track()
    store = bench.store
    bench.close()
    # as it is where the process ended before it could keep what it had learnt
    shutil.copy(kept, os.path.join(store, "worktree"))
    bench.open()
    with counted(bench) as work:
        assert bench.track() == tree
    read = {name: count for name, count in work.opened_files().items() if name in {**items, **changed}}
    assert read == dict.fromkeys(changed, 1)
    assert work.listed() == dict.fromkeys({".", "new", *above_all(items)}, 1)


def above_all(items: Items) -> set[str]:
    """The directories that some files lie in or below."""
    return {str(folder) for name in items for folder in Path(name).parents if folder != Path(".")}


# -- a git project


def test_the_first_snapshot_of_a_clean_project_reads_none_of_its_files(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "")
    items = project(20)
    bench.write(items)
    for name in items:
        os.utime(bench.path(name), ns=(1, 1_500_000_000_000_000_000))
    run_git(bench.root, "init", "-q")
    run_git(bench.root, "add", ".")
    run_git(bench.root, "commit", "-q", "-m", "x")
    run_git(bench.root, "gc", "-q")
    later = time.time_ns() + 10_000_000_000
    os.utime(bench.path(".git/index"), ns=(later, later))
    with counted(bench) as work:
        bench.open()
        tree = bench.track()
    assert tree == git_tree_hash(tmp_path, items)
    assert not work.opened_files().keys() & items.keys()
    assert work.listed()["d7"] == 1
    theirs = {path.stat().st_ino for path in Path(bench.path(".git/objects/pack")).glob("*.pack")}
    ours = {path.stat().st_ino for path in Path(bench.store, "objects/pack").glob("*.pack")}
    assert len(theirs) == 1
    assert theirs <= ours


def test_the_first_snapshot_of_a_project_with_loose_objects_costs_what_reading_costs(tmp_path: Path) -> None:
    """Each file is read once, and no object of the project's git: neither a link nor a sync follows their number."""
    bench = Bench(tmp_path, "")
    items = project(20)
    bench.write(items)
    run_git(bench.root, "init", "-q")
    run_git(bench.root, "add", ".")
    run_git(bench.root, "commit", "-q", "-m", "x")
    later = time.time_ns() + 10_000_000_000
    os.utime(bench.path(".git/index"), ns=(later, later))
    with counted(bench) as work:
        bench.open()
        tree = bench.track()
    assert tree == git_tree_hash(tmp_path, items)
    read = work.opened_files()
    assert {name: read[name] for name in items} == dict.fromkeys(items, 1)
    assert not [name for name in read if re.match(r"\.git/objects/[0-9a-f]{2}/", name)]
    assert work.count("link") == 0
    synced = [path for kind, path, _ in work.calls if kind in SYNCS and "/objects/" in path]
    assert len(synced) == 3, "the pack, its index and their names"
    assert len(list(Path(bench.store, "objects/pack").glob("*.pack"))) == 1


# -- the kernel's own word

OPENS_OR_WRITES = {
    "openat",
    "open",
    "getdents64",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "clone",
    "clone3",
}

CHILD = """
import os, sys
from pathlib import Path
from snapd.store.objects import pack_index as packindex
from snapd.store.journal import journal
from snapd.watch import inotify_clock
from snapd.worktree.fs import stable_read as disk
from tests.support.workspace import make
disk.TICK_NS = disk.COARSE_NS = packindex.TICK_NS = -(1 << 62)
journal.publish_later = lambda _: None
bench = make(Path(sys.argv[1]), {f"d{at}/f{n}.txt": b"%d %d" % (at, n) for at in range(20) for n in range(10)})
bench.track()
bench.write({"d1/f1.txt": b"one"})
bench.track()
os.getppid()
bench.track()
os.getppid()
bench.write({"d2/f2.txt": b"two"})
os.getppid()
bench.track()
os.getppid()
bench.close()
"""


def test_the_kernel_saw_no_more_calls(tmp_path: Path) -> None:
    """Also what a C library asks for, which the counting of this process cannot see."""
    nothing, _, one = traced(CHILD, str(tmp_path / "w"), log=tmp_path / "trace")
    work_tree = os.path.realpath(tmp_path / "w/work")
    assert not [line for line in nothing.of(*OPENS_OR_WRITES) if work_tree in line]
    # that says nothing new: a power cut may take it
    assert nothing.counts()["fdatasync"] == 0
    calls = one.counts()
    assert calls["fdatasync"] == 1
    assert calls["fsync"] == 0
    assert calls["getdents64"] == 0
    assert len([line for line in one.of("openat") if work_tree in line and "O_DIRECTORY" not in line]) == 1
