"""Names: those that lead elsewhere, those that git refuses, and those that only look odd."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from snapd_client import SnapdError, from_uri

from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import REGULAR, SYMLINK, TREE, Coverage, Skip, SkipReason, Snapshot, TreeEntry
from snapd.store.store import Store
from tests.hazards.whole import contents, look, touched
from tests.support.trees import encode_tree
from tests.support.workspace import Executable, Symlink, git_tree_hash, outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from snapd.model.snapshot import ObjectId
    from tests.hazards.conftest import Build
    from tests.rpc.machine import Machine
    from tests.support.workspace import Bench

ODD = [b"new\nline", b'"quoted"', b"-rf", b"--", b":(top)x", b"*", b"back\\slash", b" ", b"tab\t", b"~", b"$(touch x)"]
NOT_UTF8 = [b"\xff", b"caf\xe9", b"\xc3\x28", b"d\xfe/\xff\xfe.txt"]
UNSUPPORTED = [".GIT", ".Git", "git~1", "GIT~1", ".git ", ".git.", ".git . "]


def _forge(bench: Bench, *levels: Sequence[tuple[bytes, int]]) -> ObjectId:
    """Stores a snapshot that no capture takes: one directory a level, the first inmost; 'below' is the one before.

    Args:
        bench: a workspace; it is opened anew.
        levels: names and modes.

    Returns:
        The tree.
    """
    bench.close()
    store = Store(bench.store, None)
    with store.batch() as batch:
        file = batch.blob(b"forged\n")
        tree = file
        for level in levels:
            tree = batch.encoded_tree(
                encode_tree(TreeEntry(name, mode, tree if mode == TREE else file) for name, mode in level)
            )
        batch.commit()
    store.record(Snapshot(tree, Coverage()), "track")
    store.close()
    bench.open()
    return tree


def _refuses(bench: Bench, *trees: ObjectId) -> None:
    """A restore is refused, also as a dry run, and touches nothing; a check of the store names each snapshot."""
    before = look(bench.root)
    for tree in trees:
        for dry_run in (True, False):
            with pytest.raises(StoreCorrupt):
                bench.restore(tree, dry_run=dry_run)
    assert {*trees} <= {*bench.workspace.upkeep.check(Call(), quick=False).broken}
    assert touched(before, bench.root) == set()


@pytest.mark.hazard(2)
@pytest.mark.parametrize("link_is_there", [False, True])
def test_a_tree_has_a_file_below_a_symlink_of_the_same_tree(build: Build, outside: Path, link_is_there: bool) -> None:
    bench = build({"x": b"1", **({"d": Symlink(str(outside))} if link_is_there else {})})
    bench.track()
    link = os.fsencode(outside)
    bench.close()
    store = Store(bench.store, None)
    with store.batch() as batch:
        file, target = batch.blob(b"forged\n"), batch.blob(link)
        below = batch.encoded_tree(encode_tree([TreeEntry(b"a", REGULAR, file)]))
        tree = batch.encoded_tree(encode_tree([TreeEntry(b"d", SYMLINK, target), TreeEntry(b"d", TREE, below)]))
        batch.commit()
    store.record(Snapshot(tree, Coverage()), "track")
    store.close()
    bench.open()
    _refuses(bench, tree)


@pytest.mark.hazard(4)
def test_a_tree_has_a_name_that_leads_elsewhere(build: Build) -> None:
    bench = build({"x": b"1"})
    bench.track()
    forged = [
        _forge(bench, [(b"a", REGULAR)], [(name, mode), (b"x", REGULAR)], [(b"sub", TREE)])
        for name in (b"..", b".", b"../outside", b"/tmp", b"a/b", b"x/")
        for mode in (TREE, REGULAR)
    ]
    _refuses(bench, *forged, *(_forge(bench, [(b"a", REGULAR)], [(b"..", mode)]) for mode in (TREE, REGULAR)))


ELSEWHERE = ["", "\0", "a\0b", "..", "a/../..", "../outside/a", "/", "/etc/passwd", ".", "./", "file:///etc/passwd"]


@pytest.mark.hazard(4)
def test_a_request_names_a_path_that_leads_elsewhere(daemon: Machine, folder: Path) -> None:
    client = daemon.client(folder)
    then = client.track()["hash"]
    (folder / "a.txt").write_text("two\n")
    before = look(folder)
    for name in ELSEWHERE:
        with pytest.raises(SnapdError) as caught:
            client.request("snapshot/revert", {"patches": [{"hash": then, "files": ["a.txt", name]}]})
        assert caught.value.kind in ("invalidParams", "pathOutsideWorkspace")
        assert touched(before, folder) == set()


@pytest.mark.hazard(5)
def test_a_tree_has_a_dot_git_at_some_depth(build: Build) -> None:
    bench = build({"x": b"1"})
    bench.track()
    forged = []
    for depth in (0, 1, 3):
        # where a repository is: nothing in it may be written, and nothing of it deleted
        above = [[(b"nested" if at == depth - 1 else b"sub", TREE)] for at in range(depth)]
        forged += [
            _forge(bench, [(b"config", REGULAR)], [(name, TREE)], *above)
            for name in (b".git", b".GIT", b"git~1", b".gIt. ")
        ]
        forged.append(_forge(bench, [(b".git", REGULAR)], *above))
    _refuses(bench, *forged)


@pytest.mark.hazard(5)
def test_a_dot_git_that_no_snapshot_has_is_not_deleted(build: Build) -> None:
    bench = build({"x": b"1"})
    bare = bench.track()
    bench.write({"sub/.git/config": b"theirs", "sub/y": b"2", "file/.git": b"gitdir: elsewhere", "file/y": b"3"})
    before = look(bench.root)
    bench.restore(bare)
    assert touched(before, bench.root) == {"sub/y", "file/y"}


@pytest.mark.hazard(6)
def test_names_that_git_takes_for_dot_git_do_not_spoil_the_others(build: Build, tmp_path: Path) -> None:
    items = {"a": b"1", "d/b": b"2"}
    bench = build(items)
    for name in UNSUPPORTED:
        bench.write({f"d/{name}": b"odd", f"{name}/inside": b"odd"})
    taken = bench.take()
    assert taken.tree == git_tree_hash(tmp_path, {**items, "nested/inner": b"inner\n"})
    listed = [Skip(os.fsencode(name), SkipReason.UNSUPPORTED_NAME) for at in UNSUPPORTED for name in (at, f"d/{at}")]
    assert sorted(taken.skipped, key=lambda skip: skip.path) == sorted(listed, key=lambda skip: skip.path)
    bench.write({"a": b"changed"})
    before = look(bench.root)
    bench.restore(taken.tree)
    assert touched(before, bench.root) == {"a"}


@pytest.mark.hazard(7)
@pytest.mark.parametrize("ask", ["restore", "revert"])
def test_odd_names_stand_for_nothing_but_themselves(build: Build, tmp_path: Path, ask: str) -> None:
    items = {os.fsdecode(name): b"then " + name for name in ODD} | {"d/" + os.fsdecode(name): b"" for name in ODD}
    bench = build({**items, "other": b"1"})
    then = bench.track()
    assert then == git_tree_hash(tmp_path, {**items, "other": b"1", "nested/inner": b"inner\n"})
    bench.write({**dict.fromkeys(items, b"now"), "other": b"2"})
    before = look(bench.root)
    result = bench.restore(then) if ask == "restore" else bench.revert((then, list(items)))
    changed = set(items) | ({"other"} if ask == "restore" else set())
    assert outcomes(result) == dict.fromkeys(changed, "restored")
    assert touched(before, bench.root) == changed
    assert bench.read() == {**items, "other": b"1" if ask == "restore" else b"2", "nested/inner": b"inner\n"}


@pytest.mark.hazard(8)
def test_names_that_are_not_utf8_survive_the_disk_and_json(daemon: Machine, folder: Path) -> None:
    for name in NOT_UTF8:
        path = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"then " + name)
    then = contents(folder)
    client = daemon.client(folder)
    hash_then = client.track()["hash"]
    named = {os.fsencode(from_uri(name)) for name in client.list_files_all(hash_then) if name.startswith("file:")}
    assert {os.path.relpath(name, os.fsencode(folder)) for name in named} == set(NOT_UTF8)
    for name in NOT_UTF8:
        os.unlink(os.path.join(os.fsencode(folder), name))
    # what the daemon said is what a client can ask with
    changed = client.patch(hash_then)
    assert len(changed["files"]) == len(NOT_UTF8)
    client.revert([{"hash": hash_then, "files": changed["files"]}])
    assert contents(folder) == then


@pytest.mark.hazard(9)
def test_a_thousand_directories_whose_path_is_longer_than_a_path_may_be(build: Build) -> None:
    bench = build({"top": b"1"})
    # as a program that changes into each would
    descriptor = os.open(bench.root, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("directory", dir_fd=descriptor)
        below = os.open("directory", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    try:
        _put(descriptor, b"deep")
        then = bench.track()
        _put(descriptor, b"changed")
        assert set(outcomes(bench.restore(then)).values()) == {"restored"}
        with open(os.open("file", os.O_RDONLY, dir_fd=descriptor), "rb") as file:
            assert file.read() == b"deep"
        assert bench.track() == then
    finally:
        os.close(descriptor)
        bench.close()
        # neither pytest nor shutil gets down there
        subprocess.run(["rm", "-rf", str(bench.root)], check=True)


def _put(directory: int, data: bytes) -> None:
    with open(os.open("file", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=directory), "wb") as file:
        file.write(data)


@pytest.mark.hazard(9)
def test_a_name_of_255_bytes(build: Build) -> None:
    long = {"n" * 255: b"1", "\u00e4" * 127: Executable(b"2"), "d" * 255 + "/" + "e" * 255: Symlink("f" * 255)}
    bench = build({"top": b"1"})
    bare = bench.track()
    bench.write(long)
    full = bench.track()
    assert outcomes(bench.restore(bare)) == dict.fromkeys(long, "deleted")
    assert bench.read() == {"top": b"1", "nested/inner": b"inner\n"}
    assert outcomes(bench.restore(full)) == dict.fromkeys(long, "restored")
    assert bench.read() == {"top": b"1", "nested/inner": b"inner\n", **long}
