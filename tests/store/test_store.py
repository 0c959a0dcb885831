"""The store of a workspace: what it survives, what it refuses, and what a cleanup leaves."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import stat
import time
import weakref
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.errors import FileNotInSnapshot, SnapdError, StorageFull, StoreCorrupt, StoreLocked, UnknownSnapshot
from snapd.model.snapshot import ObjectId
from snapd.store import object_store
from snapd.store import store as store_module
from snapd.store.files import durable
from snapd.store.journal import journal
from snapd.store.store import Store
from tests.support.git import run_git
from tests.support.workspace import Bench, Executable, Item, Items, Symlink, git_tree_hash, make

MANY: Items = {f"{at % 4}/{at}": b"content %d\n" % at * 9 for at in range(60)}
FEW: Items = {"a": b"first\n", "d/b": Executable(b"second\n"), "link": Symlink("a")}


@pytest.fixture(params=["few, loose", "many, packed"])
def items(request: pytest.FixtureRequest) -> Items:
    return FEW if request.param.startswith("few") else MANY


def sound(bench: Bench) -> None:
    """Git has nothing to say against the store."""
    assert b"missing" not in bench.git("fsck", "--strict", "--full", "--no-dangling")


def every_state_comes_back(bench: Bench, states: dict[ObjectId, Items]) -> None:
    for tree, state in states.items():
        bench.become({"stray": b""})
        bench.restore(tree)
        assert bench.read() == state


def test_it_is_private(tmp_path: Path, items: Items) -> None:
    bench = make(tmp_path, items)
    bench.track()
    for above, directories, files in os.walk(tmp_path / "data"):
        for name in directories:
            assert stat.S_IMODE(os.stat(os.path.join(above, name)).st_mode) == 0o700, name
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(above, name)).st_mode) & 0o077 == 0, name


MAINTENANCE = {
    "gc": [("gc", "-q", "--prune=now")],
    "aggressive gc": [("gc", "-q", "--aggressive", "--prune=now", "--cruft")],
    "repack": [("repack", "-q", "-a", "-d")],
    "prune": [("prune", "--expire=now"), ("pack-refs", "--all", "--prune")],
    "summaries": [
        ("repack", "-q", "-d"),
        ("multi-pack-index", "write", "--bitmap"),
        ("commit-graph", "write", "--split"),
    ],
}


@pytest.mark.parametrize("commands", MAINTENANCE.values(), ids=MAINTENANCE.keys())
def test_git_may_be_run_on_it_between_any_two_operations(tmp_path: Path, commands: list[tuple[str, ...]]) -> None:
    bench = make(tmp_path)
    states: dict[ObjectId, Items] = {}

    def keep_house() -> None:
        for command in commands:
            bench.git(*command)

    for state in (FEW, {}, MANY, {**MANY, **FEW}, {"e/": None}):
        bench.become(state)
        states[bench.track()] = state
        keep_house()
    sound(bench)
    every_state_comes_back(bench, states)
    bench.reopen()
    keep_house()
    every_state_comes_back(bench, states)
    bench.become(MANY)
    last = bench.track()
    keep_house()
    assert bench.workspace.upkeep.cleanup(0, Call())[0] > 0
    sound(bench)
    bench.reopen()
    assert bench.workspace.snapshots.status().last == last
    every_state_comes_back(bench, {last: MANY})
    keep_house()
    sound(bench)


def test_git_may_be_run_on_it_while_its_directories_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FEW)
    states = {bench.track(): FEW}
    bench.reopen()
    now: Items = {**FEW, "new": b"2"}
    bench.write(now)
    scandir = os.scandir
    listed: list[os.DirEntry[str]] = []

    def listed_before_git_packs(path: str | int) -> Iterable[os.DirEntry[str]]:
        if path != os.path.join(bench.store, "objects") or listed:
            return scandir(path)
        listed.extend(scandir(path))
        bench.git("gc", "-q", "--prune=now")
        return listed

    monkeypatch.setattr(os, "scandir", listed_before_git_packs)
    states[bench.track()] = now
    assert listed
    sound(bench)
    every_state_comes_back(bench, states)


def test_the_log_survives(tmp_path: Path) -> None:
    bench = make(tmp_path, FEW)
    first = bench.take()
    bench.write({"a": b"2"})
    second = bench.take()
    assert (first.previous, second.previous) == (None, first.tree)
    bench.reopen()
    assert bench.workspace.snapshots.status().last == second.tree
    bench.write({"a": b"first\n"})
    assert (bench.take().tree, bench.workspace.snapshots.status().last) == (first.tree, first.tree)
    bench.reopen()
    assert bench.workspace.snapshots.status().last == first.tree
    assert bench.take().previous == first.tree
    every_state_comes_back(bench, {second.tree: {**FEW, "a": b"2"}, first.tree: FEW})


def test_the_clock_has_no_say_in_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FEW)
    now = time.time()
    trees = []
    for offset in (0, -400 * 86400, 400 * 86400, 86400):
        monkeypatch.setattr(store_module, "time", Clock(now + offset))
        bench.write({"a": b"%d" % offset})
        trees.append(bench.track())
    bench.reopen()
    assert bench.workspace.snapshots.status().last == trees[-1]
    assert bench.take().previous == trees[-1]


class Clock:
    def __init__(self, now: float) -> None:
        self._now = now

    strftime = staticmethod(time.strftime)
    gmtime = staticmethod(time.gmtime)

    def time(self) -> float:
        return self._now

    def time_ns(self) -> int:
        return int(self._now * 10**9)


# -- cleanup


def test_cleanup_keeps_what_is_young(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path)
    now = time.time()
    states: dict[int, tuple[ObjectId, Items]] = {}
    for age in (30, 9, 8, 6, 5, 0):
        monkeypatch.setattr(store_module, "time", Clock(now - age * 86400))
        state: Items = {"age": b"%d" % age, "same": b"x" * 5000, f"{age}/{age}": os.urandom(3000)}
        bench.become(state)
        states[age] = (bench.track(), state)
    monkeypatch.undo()
    size = bench.workspace.snapshots.status().store_bytes
    removed, freed = bench.workspace.upkeep.cleanup(None, Call())
    assert removed == 3
    # a pack has an index of at least 1,072 bytes
    assert freed > 8000
    assert bench.workspace.snapshots.status().store_bytes == size - freed
    sound(bench)
    for reopened in (False, True):
        if reopened:
            bench.reopen()
        for age in (30, 9, 8):
            with pytest.raises(UnknownSnapshot):
                bench.restore(states[age][0])
        every_state_comes_back(
            bench, {tree: state for tree, state in states.values() if state["age"] in (b"6", b"5", b"0")}
        )


def test_cleanup_of_everything_keeps_the_newest(tmp_path: Path, items: Items) -> None:
    bench = make(tmp_path, {**items, "old": os.urandom(20000)})
    old = bench.track()
    bench.become(items)
    new = bench.track()
    removed, freed = bench.workspace.upkeep.cleanup(0, Call())
    assert removed == 1
    assert freed > 15000
    assert bench.workspace.upkeep.cleanup(0, Call()) == (0, 0)
    sound(bench)
    with pytest.raises(UnknownSnapshot):
        bench.names(old)
    every_state_comes_back(bench, {new: items})
    assert bench.git("for-each-ref").count(b"refs/snapd/snapshots/") == 1


def test_what_was_dropped_can_come_again(tmp_path: Path, items: Items) -> None:
    """What libgit2 or the memory of the work tree still knows of the dropped objects must not count."""
    bench = make(tmp_path, items)
    old = bench.track()
    changed: dict[str, Item] = dict.fromkeys(list(items)[: len(items) - 2], b"changed")
    bench.write(changed)
    new = bench.track()
    bench.workspace.upkeep.cleanup(0, Call())
    bench.become(items)
    assert bench.track() == old
    sound(bench)
    bench.reopen()
    every_state_comes_back(bench, {old: items, new: {**items, **changed}})


def test_an_unrecorded_look_does_not_fool_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"a": b"1"})
    bench.track()
    bench.write({"d/b": b"2"})

    def full(*_: object) -> None:
        raise StorageFull("no space left", path="x", errno="ENOSPC")

    monkeypatch.setattr(Store, "append", full)
    with pytest.raises(StorageFull):
        bench.track()
    monkeypatch.undo()
    bench.write({"a": b"3"})
    bench.workspace.comparison.changed(bench.workspace.snapshots.status().last or b"", None, Call())
    monkeypatch.setattr(Store, "append", full)
    bench.write({"e/f": b"4"})
    with pytest.raises(StorageFull):
        bench.track()
    monkeypatch.undo()
    bench.workspace.upkeep.cleanup(0, Call())
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, bench.read())
    sound(bench)
    found = bench.read()
    bench.become({})
    bench.restore(tree)
    assert bench.read() == found


# -- no space


@pytest.mark.parametrize("kind", ["tmp_pack_", "tmp_obj_", ".lock", "journal"])
def test_no_space_for_the_store(tmp_path: Path, items: Items, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(object_store, "LOOSE_COUNT", 32)
    bench = make(tmp_path, FEW)
    first = bench.track()
    bench.become({**items, "new": b"1"})
    real = os.open
    hit = []

    def full(path: str | bytes, flags: int, *args: int, **rest: int) -> int:
        name = os.path.basename(os.fsdecode(path))
        if flags & os.O_CREAT and kind in name and "snapd-tmp" not in name:
            hit.append(name)
            return real("/dev/full", flags & ~(os.O_CREAT | os.O_EXCL))
        return real(path, flags, *args, **rest)

    def full_journal(descriptor: int, _: bytes) -> None:
        hit.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if kind == "journal":
        monkeypatch.setattr(journal, "write_all", full_journal)
    else:
        monkeypatch.setattr(os, "open", full)
    if kind == "tmp_pack_" and items is FEW:
        bench.track()
        assert not hit
        return
    if kind in ("tmp_obj_", ".lock"):
        # the journal has it all
        bench.restore(first)
        assert bench.read() == FEW
    else:
        for _ in range(2):
            with pytest.raises(StorageFull) as error:
                bench.restore(first)
            assert error.value.data["errno"] == "ENOSPC"
        assert bench.read() == {**items, "new": b"1"}
    assert hit
    monkeypatch.undo()
    assert bench.workspace.snapshots.status().last == first
    assert not [
        name
        for _, _, names in os.walk(bench.store)
        for name in names
        if name.startswith("tmp_") or name.endswith(".tmp")
    ]
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, bench.read())
    sound(bench)


# -- damage


def object_file(bench: Bench, oid: ObjectId) -> str:
    return os.path.join(bench.store, "objects", oid.hex()[:2], oid.hex()[2:])


def blob(bench: Bench, tree: ObjectId, path: str) -> ObjectId:
    entry = bench.workspace.snapshots.entry(tree, os.fsencode(path))
    assert entry is not None
    return entry.oid


def delete(path: str) -> None:
    os.unlink(path)


def cut(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def empty(path: str) -> None:
    os.truncate(path, 0)


def flip(path: str) -> None:
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        data[len(data) // 2] ^= 0x10
        file.seek(0)
        file.write(data)


def other_content(path: str) -> None:
    """A sound object of another content."""
    with open(path, "wb") as file:
        file.write(zlib.compress(b"blob 5\0other"))


DAMAGE = [delete, cut, empty, flip, other_content]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_named_before_anything_is_written(tmp_path: Path, damage: Callable[[str], None]) -> None:
    bench = make(tmp_path, FEW)
    tree = bench.track()
    now: Items = {"a": b"now", "d": b"a file", "new": b""}
    bench.become(now)
    bench.track()
    hurt = blob(bench, tree, "d/b")
    os.chmod(object_file(bench, hurt), 0o600)
    damage(object_file(bench, hurt))
    bench.reopen()
    asks: list[Callable[[], object]] = [
        lambda: bench.restore(tree),
        lambda: bench.restore(tree, "merge"),
        lambda: bench.revert((tree, ["a", "d", "d/b"])),
        lambda: bench.workspace.snapshots.file_at(tree, b"d/b"),
        lambda: bench.workspace.comparison.diff(tree, None, (), Call()),
        lambda: bench.workspace.comparison.deltas(tree, None, Call()),
    ]
    for ask in asks:
        with pytest.raises(StoreCorrupt) as error:
            ask()
        assert error.value.data["object"] == hurt.hex()
        assert bench.read() == now
    # what is not damaged is there still
    assert bench.workspace.snapshots.file_at(tree, b"a").data == b"first\n"


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_directory_is_named_before_anything_is_written(tmp_path: Path, damage: Callable[[str], None]) -> None:
    bench = make(tmp_path, FEW)
    tree = bench.track()
    hurt = bytes.fromhex(bench.git("rev-parse", f"{tree.hex()}:d").decode())
    now: Items = {"new": b""}
    bench.become(now)
    bench.track()
    damage(object_file(bench, hurt))
    bench.reopen()
    for ask in (lambda: bench.restore(tree), lambda: bench.revert((tree, ["d"])), lambda: bench.names(tree)):
        with pytest.raises(StoreCorrupt) as error:
            ask()
        assert error.value.data["object"] == hurt.hex()
        assert bench.read() == now
    with pytest.raises(StoreCorrupt):
        bench.workspace.comparison.deltas(tree, None, Call(), renames=True)


@pytest.mark.parametrize("damage", [delete, cut, empty, flip])
def test_a_damaged_pack(tmp_path: Path, damage: Callable[[str], None]) -> None:
    bench = make(tmp_path, MANY)
    tree = bench.track()
    now: Items = {"new": b""}
    bench.become(now)
    bench.track()
    bench.close()
    (pack,) = (tmp_path / "data").rglob("*.pack")
    os.chmod(pack, 0o600)
    damage(str(pack))
    bench.open()
    with pytest.raises(StoreCorrupt) as error:
        bench.restore(tree)
    assert len(error.value.data["object"]) == 40
    assert bench.read() == now
    # new snapshots can be taken all the same
    bench.write({"new": b"2"})
    bench.track()


GONE: dict[str, Callable[[str], object]] = {
    "deleted": shutil.rmtree,
    "emptied": lambda path: (
        [shutil.rmtree(os.path.join(path, name)) for name in ("objects", "refs")]
        + [os.unlink(os.path.join(path, "HEAD"))]
    ),
    "replaced": lambda path: (os.rename(path, f"{path}.old"), shutil.copytree(f"{path}.old", path)),
    "replaced by an empty directory": lambda path: (os.rename(path, f"{path}.old"), os.mkdir(path)),
}


@pytest.mark.parametrize("happens", GONE.values(), ids=GONE.keys())
def test_a_store_that_is_gone_is_no_deletion(tmp_path: Path, happens: Callable[[str], object]) -> None:
    bench = make(tmp_path, FEW)
    tree = bench.track()
    bench.write({"a": b"now", "new": b""})
    found = bench.read()
    happens(bench.store)
    asks: list[Callable[[], object]] = [
        bench.track,
        lambda: bench.restore(tree),
        lambda: bench.revert((tree, ["a", "new"])),
        lambda: bench.workspace.comparison.changed(tree, None, Call()),
        lambda: bench.workspace.upkeep.cleanup(0, Call()),
    ]
    for ask in asks:
        with pytest.raises(StoreCorrupt):
            ask()
        assert bench.read() == found


BROKEN: dict[str, Callable[[str], object]] = {
    "config cut": lambda store: cut(f"{store}/config"),
    "config gone": lambda store: delete(f"{store}/config"),
    "config no text": lambda store: Path(f"{store}/config").write_bytes(b"\0[["),
    "a newer version": lambda store: Path(f"{store}/config").write_text("[core]\nbare = true\n[snapd]\nversion = 99\n"),
    "a torn ref": lambda store: empty(next(str(path) for path in Path(store).glob("refs/snapd/snapshots/*"))),
    "a cut ref": lambda store: cut(next(str(path) for path in Path(store).glob("refs/snapd/snapshots/*"))),
    "a ref to nowhere": lambda store: next(Path(store).glob("refs/snapd/snapshots/*")).write_text("1" * 40 + "\n"),
    "a ref that is no snapshot": lambda store: next(Path(store).glob("refs/snapd/snapshots/*")).write_text(
        run_git(Path(store), "--git-dir=.", "log", "--all", "--format=%T").decode()
    ),
}


def _files(store: str) -> dict[Path, bytes]:
    """All that a store is made of: the database is made from it."""
    made = ("owner.json", "timeline.db")
    return {
        path: path.read_bytes() for path in Path(store).rglob("*") if path.is_file() and not path.name.startswith(made)
    }


@pytest.mark.parametrize("breaks", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_store_is_told_of_when_it_is_opened(tmp_path: Path, breaks: Callable[[str], object]) -> None:
    bench = make(tmp_path, FEW)
    bench.track()
    store = bench.store
    bench.close()
    breaks(store)
    before = _files(store)
    with pytest.raises(StoreCorrupt):
        bench.open()
    assert _files(store) == before
    # and another workspace is none the worse
    make(tmp_path / "other", FEW).track()


def test_one_owner(tmp_path: Path) -> None:
    bench = make(tmp_path, FEW)
    with pytest.raises(StoreLocked) as error:
        Store(bench.store, None)
    assert error.value.data["socket"] is None
    store = bench.store
    bench.close()
    Store(store, "/here").close()
    bench.open()
    bench.track()


def test_a_closed_store_goes_without_the_garbage_collector(tmp_path: Path) -> None:
    """The daemon hardly ever runs it, and what a cycle holds keeps packs open."""
    store = Store(str(tmp_path / "store"), None)
    repository = weakref.ref(store.repository)
    gc.collect()
    gc.disable()
    try:
        store.close()
        del store
        assert repository() is None
    finally:
        gc.enable()


def test_the_users_git_configuration_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home of another"
    home.mkdir()
    (home / ".gitconfig").write_text("[this is broken\n")
    monkeypatch.setenv("HOME", str(home))
    bench = make(tmp_path, FEW)
    assert bench.track() == git_tree_hash(tmp_path, FEW)


def test_a_file_that_is_not_in_a_snapshot(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "big": b"x" * 2000})
    bench.configure(max_file_size=1000)
    tree = bench.track()
    for name, skipped in (("big", True), ("nothing", False), ("a/b", False)):
        with pytest.raises(FileNotInSnapshot) as error:
            bench.workspace.snapshots.file_at(tree, name.encode())
        assert error.value.data["skipped"] is skipped


def test_every_error_here_is_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, FEW)
    bench.track()
    bench.write({"a": b"2"})

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(durable.os, "fsync", broken)
    monkeypatch.setattr(durable.os, "fdatasync", broken)
    for ask in (bench.track, lambda: bench.restore(bench.workspace.snapshots.status().last or b"")):
        with pytest.raises(SnapdError) as error:
            ask()
        assert error.value.data["errno"] == "EIO"
