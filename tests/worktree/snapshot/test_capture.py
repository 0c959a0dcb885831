from __future__ import annotations

import errno
import itertools
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from snapd.model.call import Call
from snapd.model.errors import Cancelled, IoError, WorkspaceGone
from snapd.model.snapshot import Signature, SkipReason
from snapd.worktree.fs import listing
from snapd.worktree.fs import stable_read as disk
from tests.support.git import run_git
from tests.support.workspace import Bench, Executable, Item, Items, Symlink, git_tree_hash, make, without_rights, write

ODD_NAMES: Items = {
    "new\nline": b"1",
    'quo"te\\s': b"2",
    "-rf": b"3",
    "*": b"4",
    ":(top)x": b"5",
    "\udcff\udcfe latin": b"6",
    "n" * 255: b"7",
    "é/日本/\t": b"8",
    " ": b"9",
    "git~2": b"10",
    ".gitx": b"11",
    "snapd-tmp": b"12",
}
ATTRIBUTES = b"* text=auto eol=crlf ident filter=boom working-tree-encoding=UTF-16\n"

TREES: dict[str, Items] = {
    "nothing": {},
    "only an empty directory": {"empty/": None},
    "one file at the top": {"a": b"x"},
    "an empty file": {"a": b""},
    "odd names": ODD_NAMES,
    "tree order": {"a/b": b"1", "a.b": b"2", "a-b": b"3", "a0": b"4", "A": b"5", "b": b"", "b.": b"7", "b-/x": b"8"},
    "modes": {"run": Executable(b"#!/bin/sh\n"), "d/run": Executable(b""), "plain": b"#!/bin/sh\n"},
    "symlinks": {
        "to": Symlink("a"),
        "dangling": Symlink("/no/where"),
        "d/up": Symlink(".."),
        "bytes": Symlink(b"\xff"),
    },
    "attributes": {".gitattributes": ATTRIBUTES, "crlf": b"a\r\nb\r\n", "id": b"$Id$\n", "utf16": "é".encode("utf-16")},
    "nested attributes": {"d/.gitattributes": ATTRIBUTES, "d/crlf": b"a\r\nb\n", "d/id": b"$Id: x $\n"},
    "nested empty directories": {"a/b/c/": None, "a/d": b"x", "e/f/": None},
    "a directory named as a rule file": {".gitignore/x": b"1", "d/.gitignore/.gitignore": b"z\n", ".gitmodules": b"?"},
    "deep": {"d/" * 200 + "x": b"deep"},
    "wide": {f"{at % 7}/{at}": b"%d" % at for at in range(300)},
}


@pytest.mark.parametrize("items", TREES.values(), ids=TREES.keys())
def test_the_hash_is_gits(tmp_path: Path, items: Items) -> None:
    bench = make(tmp_path, items)
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, items)
    assert bench.track() == tree
    bench.reopen()
    assert bench.track() == tree
    assert bench.names(tree) == sorted((name for name, item in items.items() if item is not None), key=os.fsencode)
    bench.git("fsck", "--strict", "--no-dangling")


def test_git_add_agrees(tmp_path: Path) -> None:
    """A second oracle: what `git add` makes of the same folder where the store's own attributes hold."""
    items = {**ODD_NAMES, **TREES["attributes"], **TREES["modes"], **TREES["symlinks"]}
    bench = make(tmp_path, items)
    tree = bench.track()
    bench.git(f"--work-tree={bench.root}", "-c", "core.bare=false", "add", "--all", "--force", ".")
    assert bench.git("write-tree").decode().strip() == tree.hex()


def random_items(dice: random.Random) -> dict[str, Item]:
    names = ["a", "a.b", "a-b", "é", "x y", "b", "c\n", "-", "\udcff"]
    items: dict[str, Item] = {}
    for _ in range(dice.randrange(1, 25)):
        path = "/".join(dice.choice(names) for _ in range(dice.randrange(1, 5)))
        data = dice.randbytes(dice.choice((0, 1, 30)))
        taken = any(path == old or path.startswith(old + "/") or old.startswith(path + "/") for old in items)
        if not taken:
            items[path] = dice.choice((data, data, Executable(data), Symlink(data.hex() or "t")))
    return items


def test_random_trees_one_after_the_other(tmp_path: Path) -> None:
    dice = random.Random(7)
    bench = make(tmp_path)
    for turn in range(25):
        items = random_items(dice)
        if turn % 2:
            # from the second look on, only what changed is read: so change a part and not the whole
            items = {name: item for name, item in bench.read().items() if dice.random() < 0.7}
        bench.become(items)
        assert bench.track() == git_tree_hash(tmp_path, items), f"turn {turn}"
        if turn % 8 == 3:
            bench.git("gc", "-q", "--prune=now")
        if turn % 8 == 6:
            bench.git("repack", "-q", "-a", "-d")
    bench.git("fsck", "--strict")


def test_repositories_inside_are_captured_without_their_git(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"lib.c": b"int x;\n"})
    run_git(outside, "init", "-q")
    run_git(outside, "add", ".")
    run_git(outside, "commit", "-q", "-m", "x")
    bench = make(tmp_path, {"top": b"1"}, git=True)
    run_git(bench.root, "init", "-q", "nested")
    run_git(bench.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(outside), "sub")
    run_git(outside, "worktree", "add", "-q", str(bench.root / "linked"))
    run_git(bench.root, "init", "-q", "--bare", "bare.git")
    hook = f"#!/bin/sh\ntouch {tmp_path}/executed\n".encode()
    write(bench.root / "nested", {"n": b"2", ".git/hooks/post-index-change": Executable(hook)})
    run_git(bench.root / "nested", "config", "core.fsmonitor", f"touch {tmp_path}/executed")
    assert (bench.root / "sub" / ".git").is_file()
    assert (bench.root / "linked" / ".git").is_file()
    items = bench.read()
    assert {"sub/lib.c", "linked/lib.c", "nested/n", "bare.git/HEAD", "bare.git/config", ".gitmodules"} <= items.keys()
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, items)
    before = {path: path.read_bytes() for path in bench.root.rglob(".git/*") if path.is_file()}
    bench.write({"nested/n": b"3", "sub/lib.c": b"", "bare.git/HEAD": b"broken"})
    bench.restore(tree)
    assert bench.read() == items
    assert {path: path.read_bytes() for path in bench.root.rglob(".git/*") if path.is_file()} == before
    assert not (tmp_path / "executed").exists()


def test_special_files_are_listed_and_left_alone(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1"})
    tree = bench.track()
    os.mkfifo(bench.path("fifo"))
    listening = socket.socket(socket.AF_UNIX)
    here = os.open(bench.root, os.O_RDONLY)
    listening.bind(f"/proc/self/fd/{here}/sock")
    os.close(here)
    listening.close()
    tracked = bench.take()
    assert tracked.tree == tree
    assert [(skip.path, skip.reason) for skip in tracked.skipped] == [
        (b"fifo", SkipReason.SPECIAL),
        (b"sock", SkipReason.SPECIAL),
    ]
    bench.restore(tree)
    assert sorted(os.listdir(bench.root)) == ["a", "fifo", "sock"]


@pytest.mark.parametrize("name", [".GIT", ".git ", "git~1", "GIT~1", ".git.", ".git::$INDEX_ALLOCATION"])
def test_a_name_that_some_system_takes_for_git_is_listed(tmp_path: Path, name: str) -> None:
    bench = make(tmp_path, {f"d/{name}": b"1", f"{name}/x": b"2", "ok": b"3"})
    tracked = bench.take()
    assert tracked.tree == git_tree_hash(tmp_path, {"ok": b"3"})
    assert {(os.fsdecode(skip.path), skip.reason.value) for skip in tracked.skipped} == {
        (f"d/{name}", "unsupportedName"),
        (name, "unsupportedName"),
    }


def test_a_file_stored_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapd.worktree.snapshot.reader.STREAM_FROM", 1000)
    monkeypatch.setattr(disk, "CHUNK", 256)
    items: Items = {"big": bytes(range(256)) * 10 + b"!", "small": b"x" * 999}
    bench = make(tmp_path, items)
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, items)
    bench.remove("big")
    bench.restore(tree)
    assert bench.read() == items


UNREADABLE = {
    "a file": ("d/secret", 0o000, {"d/secret"}),
    "a directory": ("d", 0o000, {"d"}),
    "a directory that may be entered only": ("d", 0o100, {"d"}),
    "a directory that may be listed only": ("d", 0o400, {"d/secret", "d/other"}),
}


@pytest.mark.parametrize(("name", "mode", "listed"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_listed_and_left_alone(name: str, mode: int, listed: set[str]) -> None:
    with without_rights() as folder:
        bench = make(folder, {"d/secret": b"1", "d/other": b"2", "a": b"3"})
        full = bench.track()
        os.chmod(bench.path(name), mode)
        tracked = bench.take()
        assert {(os.fsdecode(skip.path), skip.reason.value) for skip in tracked.skipped} == {
            (path, "unreadable") for path in listed
        }
        bench.write({"a": b"4"})
        # neither a snapshot with it nor one without it has a say
        assert bench.restore(full).applied
        bench.restore(tracked.tree)
        os.chmod(bench.path(name), 0o644 if name == "d/secret" else 0o700)
        assert bench.read() == {"d/secret": b"1", "d/other": b"2", "a": b"3"}
        # it is readable now, and was there all the time
        bench.restore(tracked.tree)
        assert bench.read() == {"d/secret": b"1", "d/other": b"2", "a": b"3"}


def test_a_write_within_the_same_clock_tick_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even ctime tells: the file system's clock stands still, as that of a coarse one does."""
    real = disk.signature

    def frozen(status: os.stat_result) -> Signature:
        return attrs.evolve(real(status), mtime_ns=moment, ctime_ns=moment)

    def frozen_signature(status: os.stat_result) -> bytes:
        found = frozen(status)
        return listing.pack_signature(
            SimpleNamespace(
                st_mode=found.mode, st_ino=found.ino, st_size=found.size, st_mtime_ns=moment, st_ctime_ns=moment
            )
        )

    bench = make(tmp_path, {"a": b"0"})
    moment = os.stat(bench.path("a")).st_ctime_ns
    monkeypatch.setattr(disk, "file_clock_ns", lambda: moment + 9_000_000)
    monkeypatch.setattr(disk, "signature", frozen)
    monkeypatch.setattr("snapd.worktree.snapshot.classifier.pack_signature", frozen_signature)
    for turn in range(5):
        with open(bench.path("a"), "r+b") as file:
            file.write(b"%d" % turn)
        assert bench.track() == git_tree_hash(tmp_path, {"a": b"%d" % turn})


def test_a_file_that_never_holds_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"log": b"0", "a": b"1"})
    real = disk.read_chunks

    def growing(descriptor: int, size: int) -> object:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("log"):
            with open(bench.path("log"), "ab") as file:
                file.write(b"x")
        return real(descriptor, size)

    monkeypatch.setattr(disk, "read_chunks", growing)
    tracked = bench.take()
    assert [(skip.path, skip.reason) for skip in tracked.skipped] == [(b"log", SkipReason.UNSTABLE)]
    assert bench.names(tracked.tree) == ["a"]
    monkeypatch.undo()
    assert bench.names(bench.track()) == ["a", "log"]
    bench.restore(tracked.tree)
    assert "log" in bench.read()


def test_a_disk_error_gives_no_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"a": b"1", "b": b"2"})
    first = bench.track()
    bench.write({"b": b"3"})

    def broken(descriptor: int, size: int) -> object:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(disk, "read_chunks", broken)
    with pytest.raises(IoError) as error:
        bench.track()
    assert error.value.data["errno"] == "EIO"
    monkeypatch.undo()
    assert bench.workspace.snapshots.status().last == first
    assert bench.track() == git_tree_hash(tmp_path, {"a": b"1", "b": b"3"})


GONE = {
    "moved": lambda root: os.rename(root, f"{root}.moved"),
    "deleted": lambda root: os.rmdir(root) if not os.listdir(root) else __import__("shutil").rmtree(root),
    "replaced": lambda root: (os.rename(root, f"{root}.moved"), os.mkdir(root)),
    "replaced by a symlink": lambda root: (os.rename(root, f"{root}.moved"), os.symlink(f"{root}.moved", root)),
}


@pytest.mark.parametrize("happens", GONE.values(), ids=GONE.keys())
def test_a_workspace_that_is_gone(tmp_path: Path, happens: object) -> None:
    bench = make(tmp_path, {"a": b"1", "d/b": b"2"})
    first = bench.track()
    bench.write({"a": b"2"})
    second = bench.track()
    assert callable(happens)
    happens(str(bench.root))
    before = [path for path in tmp_path.rglob("work*/**/*") if path.is_file()]
    for ask in (
        bench.track,
        lambda: bench.restore(first),
        lambda: bench.revert((first, ["a"])),
        bench.workspace.snapshots.status,
    ):
        with pytest.raises(WorkspaceGone):
            ask()
    assert [path for path in tmp_path.rglob("work*/**/*") if path.is_file()] == before
    # what was recorded can still be looked at
    assert [change.path for change in bench.workspace.comparison.changed(first, second, Call())] == [b"a"]


LOOKING = ("stat", "lstat", "open", "readlink", "listdir", "scandir", "access")


@pytest.mark.slow
def test_a_workspace_that_goes_at_any_moment(tmp_path: Path) -> None:
    """Before each call in turn by which a snapshot looks at the disk: that it is gone is told, or all of it."""
    items: Items = {"a": b"1", "d/b": b"2", ".gitignore": b"x\n", ".git/HEAD": b"no repository"}
    told = 0
    taken = set()
    for at in itertools.count(1):
        bench = make(tmp_path / str(at), items)
        bench.track()
        bench.write({"a": b"2", "d/b": b"3", ".gitignore": b"y\n"})
        with moved_before_call(at, bench.root):
            try:
                taken.add(bench.track())
            except WorkspaceGone:
                told += 1
        if bench.root.exists():
            break
        # a user may have 128 queues of inotify, for all tests that run now
        bench.close()
    # once all has been looked at it may go, but there is only one state that it was in
    assert taken == {bench.track()}
    assert told > 10


@contextmanager
def moved_before_call(number: int, folder: Path) -> Iterator[None]:
    """Has a folder moved away right before one of the calls of the block that look at the disk."""
    left = itertools.count(number, -1)

    def moving(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if next(left) == 1:
                folder.rename(folder.with_suffix(".moved"))
            return real(*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in LOOKING:
            patch.setattr(os, name, moving(getattr(os, name)))
        yield


@pytest.mark.parametrize("stage", ["looking", "hashing"])
def test_cancelled_in_the_middle(tmp_path: Path, stage: str) -> None:
    items: Items = {f"{at % 5}/{at}": b"%d" % at for at in range(400)}
    bench = make(tmp_path, {"a": b"1"})
    first = bench.track()
    bench.write(items)

    def report(message: str, done: int, total: int | None) -> None:
        if message == stage and done > 1:
            call.cancel()

    call = Call(report)
    with pytest.raises(Cancelled):
        bench.take(call=call)
    assert bench.workspace.snapshots.status().last == first
    assert not [name for name in os.listdir(f"{bench.store}/objects/pack") if name.startswith("tmp_")]
    tree = bench.track()
    assert tree == git_tree_hash(tmp_path, {"a": b"1", **items})
    bench.git("fsck", "--strict")
    bench.reopen()
    bench.become({})
    bench.restore(tree)
    assert bench.read() == {"a": b"1", **items}


def test_cleanup_after_a_failed_look_leaves_a_memory_that_holds(tmp_path: Path) -> None:
    bench = make(tmp_path, {"a": b"1", "d/b": b"2"})
    bench.track()
    bench.write({"d/b": b"3"})
    bench.workspace.comparison.changed(bench.track(), None, Call())
    bench.write({"d/b": b"4"})
    # a look that nobody was told of, then one that fails
    bench.workspace.comparison.changed(bench.workspace.snapshots.status().last or b"", None, Call())
    bench.remove("a")
    bench.write({"e/f": b"new"})

    def stop(message: str, done: int, total: int | None) -> None:
        if message == "hashing":
            call.cancel()

    call = Call(stop)
    with pytest.raises(Cancelled):
        bench.take(call=call)
    bench.workspace.upkeep.cleanup(0, Call())
    tree = bench.track()
    bench.git("fsck", "--strict")
    bench.write({"d/b": b"5"})
    bench.restore(tree)
    assert bench.read() == {"d/b": b"4", "e/f": b"new"}


def test_two_threads_at_once(tmp_path: Path) -> None:
    bench = make(tmp_path, {f"{at}": b"%d" % at for at in range(50)})
    trees: list[bytes] = []

    def work(name: str) -> None:
        for turn in range(8):
            bench.write({f"{name}{turn}": name.encode()})
            trees.append(bench.track())

    threads = [threading.Thread(target=work, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(trees) == 16
    assert bench.track() == git_tree_hash(tmp_path, bench.read()) == bench.workspace.snapshots.status().last
    for tree in trees:
        # each is of one moment: a file of a turn is there only with those of the turns before
        names = bench.names(tree)
        for name in ("x", "y"):
            turns = [turn for turn in range(8) if f"{name}{turn}" in names]
            assert turns == list(range(len(turns)))
    bench.git("fsck", "--strict")


def held(bench: Bench, *forced: str) -> set[str]:
    return set(bench.names(bench.track(*forced)))


def test_what_is_ignored_is_not_captured(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home, {".config/git/ignore": b"*.global\n"})
    bench = make(
        tmp_path,
        {
            ".gitignore": b"*.log\n!keep.log\nbuild/\n",
            "d/.gitignore": b"!d.log\n/only\n",
            **dict.fromkeys(("a.log", "keep.log", "build/x", "d/d.log", "d/only", "d/e/only", "x.global"), b""),
            **dict.fromkeys(("info", "own", "build.txt"), b""),
        },
        git=True,
    )
    write(bench.root, {".git/info/exclude": b"/info\n"})
    bench.configure("/own")
    usual = {".gitignore", "keep.log", "d/.gitignore", "d/d.log", "d/e/only", "build.txt"}
    assert held(bench) == usual
    assert held(bench, "build", "a.log") == {*usual, "build/x", "a.log"}
    assert held(bench) == usual
    run_git(bench.root, "add", "-f", "build/x", "info")
    assert held(bench) == {*usual, "build/x", "info"}
    run_git(bench.root, "rm", "-q", "--cached", "build/x", "info")
    bench.write({".gitignore": b""})
    assert held(bench) == {*usual, "a.log", "build/x"}


def test_a_directory_where_the_index_has_an_ignored_file(tmp_path: Path) -> None:
    bench = make(tmp_path, {".gitignore": b"out\n", "out": b"1"}, git=True)
    run_git(bench.root, "add", "-f", "out")
    assert held(bench) == {".gitignore", "out"}
    bench.remove("out")
    bench.write({"out/secret": b"2"})
    assert held(bench) == {".gitignore"}


def test_a_subfolder_as_workspace(tmp_path: Path) -> None:
    outer = tmp_path / "work"
    write(outer, {".gitignore": b"*.log\n/sub/only\n", "sibling": b"1", "sub/a.log": b"2"})
    bench = make(tmp_path, {"a": b"1", "only": b"2", "d/b": b"3"}, inside="sub", git=False)
    run_git(outer, "init", "-q")
    tree = bench.track()
    assert bench.names(tree) == ["a", "d/b"]
    write(outer, {"sibling": b"changed", "new": b"x"})
    bench.write({"a": b"2", "new": b"y", "only": b"z"})
    bench.restore(tree)
    assert bench.read() == {"a": b"1", "only": b"z", "d/b": b"3", "a.log": b"2"}
    assert (outer / "sibling").read_bytes() == b"changed"
    assert (outer / "new").read_bytes() == b"x"


def test_a_look_costs_what_is_there_however_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path, {"d/" * 120 + "leaf": b"deep"})
    bench.track()
    opened = 0
    real = os.open

    def counting(*arguments: Any, **options: Any) -> int:
        nonlocal opened
        opened += 1
        return real(*arguments, **options)

    monkeypatch.setattr(os, "open", counting)
    bench.track()
    # each directory, its .gitignore that is not there, the way to a file that may be racy, and once more to see that
    # nothing moved; a way from the root for each directory would be 7,000
    assert opened < 4 * 121 + 60


@pytest.mark.parametrize("name", [".gitignore", ".snapd.toml", ".git/info/exclude"])
def test_rules_that_the_disk_does_not_give_are_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    bench = make(tmp_path, {"a": b"1", "secret": b"2"})
    run_git(bench.root, "init", "-q")
    Path(bench.root, name).write_text("" if name == ".snapd.toml" else "secret\n")
    tree = bench.track()
    Path(bench.root, name).touch()
    wanted = os.path.basename(name).encode()
    real = os.open

    def failing(path: Any, *arguments: Any, **options: Any) -> int:
        if isinstance(path, bytes) and os.path.basename(path) == wanted:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", failing)
        with pytest.raises(IoError) as error:
            bench.track()
    assert error.value.data["errno"] == "EIO"
    assert bench.track() == tree
