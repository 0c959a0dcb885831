"""Changes to a workspace, as functions of it, and the check that the next snapshot has them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pygit2
import pytest

from snapd.model.snapshot import ObjectId
from snapd.watch.queues import OVERFLOW, Event, Inotify
from snapd.worktree.snapshot.scanner import Scanner
from tests.support.git import run_git
from tests.support.workspace import Bench, Items, Symlink
from tests.worktree.oracle import Oracle

Edit = Callable[[Bench], object]


def lose_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the kernel's queue overflow whenever it has events."""
    read = Inotify.read

    def overflowing(self: Inotify) -> Iterator[Event]:
        if list(read(self)):
            yield Event(-1, OVERFLOW, b"")

    monkeypatch.setattr(Inotify, "read", overflowing)


def stored_files(bench: Bench, tree: bytes) -> dict[bytes, bytes]:
    """The files of a snapshot as libgit2 finds them in the store, each as `Oracle.files` shows it."""
    repository, found = pygit2.Repository(bench.store), {}
    pending = [(b"", pygit2.Oid(raw=tree))]
    while pending:
        path, oid = pending.pop()
        for entry in repository[oid].peel(pygit2.Tree):
            here = path + entry.raw_name
            if entry.filemode == pygit2.enums.FileMode.TREE:
                pending.append((here + b"/", entry.id))
            else:
                found[here] = b"%06o blob %s" % (entry.filemode, str(entry.id).encode())
    return found


def scanner_of(bench: Bench) -> Scanner:
    """What has the state of the work tree."""
    scanner: Scanner = bench.workspace.work_tree.scanner
    return scanner


def check(bench: Bench, *forced: str, exclude: tuple[str, ...] = (), limit: int = 1 << 20) -> ObjectId:
    """Takes a snapshot and checks that it is what the workspace has: the tree, what was skipped, empty directories."""
    bench.configure(*exclude, max_file_size=limit)
    tracked_by_git = frozenset[bytes]()
    if os.path.isdir(bench.path(".git")):
        tracked_by_git = frozenset(run_git(bench.root, "ls-files", "-z").split(b"\0")[:-1])
    oracle = Oracle(
        bench.root, limit, tuple(map(os.fsencode, exclude)), tracked_by_git, tuple(map(os.fsencode, forced))
    )
    tracked = bench.take(*forced)
    expected = oracle.tree()
    assert stored_files(bench, tracked.tree) == oracle.files
    assert tracked.tree == expected
    assert {(skip.path, skip.reason.value) for skip in tracked.skipped} == oracle.skipped
    scanner = scanner_of(bench)
    assert scanner.captured is not None
    assert set(scanner.captured.coverage.empty_dirs) == oracle.empty
    assert scanner.state.count == len(oracle.files)
    return tracked.tree


def put(name: str, data: bytes) -> Edit:
    return put_all({name: data})


def put_all(items: Items) -> Edit:
    return lambda bench: bench.write(items)


def append(name: str, data: bytes = b"+") -> Edit:
    def write(bench: Bench) -> None:
        with open(bench.path(name), "ab") as file:
            file.write(data)

    return write


def disguise(name: str, data: bytes) -> Edit:
    """Other bytes, the same size and the same mtime."""

    def write(bench: Bench) -> None:
        status = os.stat(bench.path(name))
        with open(bench.path(name), "r+b") as file:
            file.write(data)
        os.utime(bench.path(name), ns=(status.st_atime_ns, status.st_mtime_ns))

    return write


def save(name: str, data: bytes) -> Edit:
    """As most editors do."""
    return together(put("d/save~", data), rename("d/save~", name))


def rename(old: str, new: str) -> Edit:
    return lambda bench: os.rename(bench.path(old), bench.path(new))


def exchange(one: str, other: str) -> Edit:
    return together(rename(one, "aside"), rename(other, one), rename("aside", other))


def remove(*names: str) -> Edit:
    return lambda bench: bench.remove(*names)


def link(old: str, new: str) -> Edit:
    return lambda bench: os.link(bench.path(old), bench.path(new), follow_symlinks=False)


def copy_links(old: str, new: str) -> Edit:
    """`cp -al`."""
    return lambda bench: shutil.copytree(bench.path(old), bench.path(new), copy_function=os.link)


def symlink(target: str, name: str) -> Edit:
    return lambda bench: bench.write({name: Symlink(target)})


def make_directory(name: str) -> Edit:
    return lambda bench: os.makedirs(bench.path(name))


def make_executable(name: str) -> Edit:
    return lambda bench: os.chmod(bench.path(name), 0o755)


def git_inside(name: str, *arguments: str) -> Edit:
    return lambda bench: run_git(bench.path(name), *arguments)


def together(*edits: Edit) -> Edit:
    def all_of_them(bench: Bench) -> None:
        for edit in edits:
            edit(bench)

    return all_of_them


def play(bench: Bench, edits: list[Edit], *, at_once: bool) -> None:
    """Makes some edits, and checks the snapshot after each of them, or only after all."""
    for edit in edits:
        edit(bench)
        if not at_once:
            check(bench)
    check(bench)
