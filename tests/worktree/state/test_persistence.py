"""The memory of a work tree on disk: it comes back whole or not at all, and only what a look confirms counts."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from snapd.model.ignore import IgnoreStack
from snapd.model.snapshot import SkipReason
from snapd.worktree.fs import stable_read as disk
from snapd.worktree.fs.listing import SIGNATURE
from snapd.worktree.ignore import DirectoryRules, Scope
from snapd.worktree.state.file_state import seeded_record
from snapd.worktree.state.nodes import DirectoryNode, SavedState, Uncaptured, load, save
from snapd.worktree.state.tree_state import TreeState
from tests.support.git import run_git
from tests.support.workspace import Symlink, make, write
from tests.worktree.changes import (
    Edit,
    check,
    disguise,
    exchange,
    link,
    make_executable,
    put,
    put_all,
    remove,
    rename,
    scanner_of,
    together,
)

LIMIT = 1 << 20
TREE, RULES = b"t" * 20, b"r" * 20
ODD = (b"\xff\xfe", b"new\nline", b" ", b"-", b"caf\xe9", b"caf\xc3\xa9", b"\x01", b"n" * 255, b"a.b", b"a-b", b"a0")

Kept = dict[bytes, tuple[object, ...]]


def kept(root: DirectoryNode) -> Kept:
    """All that is kept of each directory, in an order that does not depend on the order of insertion but for files."""
    found: Kept = {}
    for path, node in root.walk():
        rules = None if node.rules is None else (node.rules.scope, node.rules.key)
        above = None if node.parent is None else node.parent.name
        directories = sorted(node.directories)
        found[path] = (node.name, above, node.inode, node.files, directories, node.others, node.tree, rules)
    return found


def random_state(seed: int) -> TreeState:
    """Directories of all kinds."""
    dice = random.Random(seed)
    state = TreeState(lambda _: None)
    nodes = [state.root]
    for number in range(40):
        above = dice.choice(nodes)
        name = dice.choice(ODD)
        if name in above.directories:
            continue
        nodes.append(state.put_directory(above, name, 0))
        for other in dice.sample(ODD, k=dice.randrange(5)):
            signature = SIGNATURE.pack(0o100644, dice.randrange(1 << 40), -number, dice.randrange(1 << 60), number)
            state.put_file(nodes[-1], other + b"f", seeded_record(signature, dice.randbytes(20), dice.random() < 0.5))
        for why in (*Uncaptured, *SkipReason):
            if dice.random() < 0.2:
                state.put_other(nodes[-1], dice.choice(ODD) + b"o%d" % number, why)
    for node in nodes:
        node.inode = dice.randrange(1 << 64)
        key = dice.choice((b"k", b"l", b"m")) * 20
        node.rules = DirectoryRules(dice.choice(list(Scope)), IgnoreStack(), (), key)
        node.tree = dice.choice((None, dice.randbytes(20)))
    return state


def saved_at(path: Path, state: TreeState) -> bytes:
    save(str(path), SavedState(TREE, RULES, state.root, state.looked_at, state.uncaptured.known))
    return path.read_bytes()


# -- the file


@pytest.mark.parametrize("seed", range(12))
def test_what_was_kept_comes_back(tmp_path: Path, seed: int) -> None:
    state = random_state(seed)
    saved_at(tmp_path / "m", state)
    found = load(str(tmp_path / "m"))
    assert found is not None
    assert (found.tree, found.rules_digest) == (TREE, RULES)
    assert kept(found.root) == kept(state.root)
    assert [*tmp_path.iterdir()] == [tmp_path / "m"]
    assert os.stat(tmp_path / "m").st_mode & 0o777 == 0o600
    again = TreeState(lambda _: None)
    again.recall(found)
    assert again.count == state.count


def test_what_was_not_judged_agrees_with_no_rules(tmp_path: Path) -> None:
    """A directory without verdict comes back with a key that no rules have: all in it is judged anew."""
    state = TreeState(lambda _: None)
    state.put_directory(state.root, b"below", 0).rules = None
    state.root.rules = DirectoryRules(Scope.RULES, IgnoreStack(), (), b"k" * 20)
    saved_at(tmp_path / "m", state)
    found = load(str(tmp_path / "m"))
    assert found is not None
    below = found.root.directories[b"below"].rules
    assert below is not None
    assert below.key == bytes(20)
    assert not state.root.rules.decides_as(below)


def test_an_empty_memory_comes_back(tmp_path: Path) -> None:
    state = TreeState(lambda _: None)
    saved_at(tmp_path / "m", state)
    found = load(str(tmp_path / "m"))
    assert found is not None
    assert [path for path, _ in found.root.walk()] == [b""]
    assert (found.root.files, found.root.others, found.root.tree) == ({}, {}, None)


def same(found: SavedState | None, whole: SavedState) -> bool:
    """Whether nothing came back, or all of it."""
    if found is None:
        return True
    return (found.tree, found.rules_digest, kept(found.root)) == (whole.tree, whole.rules_digest, kept(whole.root))


def test_what_is_cut_off_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m"
    data = saved_at(path, random_state(1))
    assert len(data) > 2000
    for end in range(0, len(data), 97):
        path.write_bytes(data[:end])
        assert load(str(path)) is None
    path.write_bytes(data + b"\0")
    assert load(str(path)) is None


def test_what_is_damaged_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m"
    data = saved_at(path, random_state(2))
    whole = load(str(path))
    assert whole is not None
    dice = random.Random(2)
    for at in (*range(60), *dice.sample(range(len(data)), 300)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        assert same(load(str(path)), whole)
        assert load(str(path)) is None


@pytest.mark.parametrize(
    "data", [b"", b"x", b"DIRC" + bytes(200), b"snapd memory 1\n\0", b"snapd memory 1\n\0" + bytes(90)]
)
def test_a_foreign_file_is_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m").write_bytes(data)
    assert load(str(tmp_path / "m")) is None


def test_a_missing_file_is_nothing(tmp_path: Path) -> None:
    assert load(str(tmp_path / "m")) is None
    (tmp_path / "m").mkdir()
    assert load(str(tmp_path / "m")) is None


# -- what changes while no process looks


@pytest.fixture
def _old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is racy: all that was captured is believed as long as its signature is the same."""
    monkeypatch.setattr(disk, "TICK_NS", -(1 << 62))
    monkeypatch.setattr(disk, "COARSE_NS", -(1 << 62))


EDITS: dict[str, Edit] = {
    "same size": disguise("src/a.py", b"AAAA\n"),
    "replaced by another with the same times": together(
        lambda bench: shutil.copy2(bench.path("src/a.py"), bench.path("aside")),
        disguise("aside", b"BBBB\n"),
        rename("aside", "src/a.py"),
    ),
    "directory renamed": rename("src", "moved"),
    "directories swapped": exchange("src", "lib"),
    "files swapped": exchange("src/a.py", "src/b.py"),
    "nested": put_all({"new/er/still/deep.txt": b"deep\n", "src/sub/empty/": None, "src/sub/x": b"x"}),
    "deleted": remove("src/a.py", "lib", "link"),
    "ignored by now": put(".gitignore", b"*.log\nlib\n"),
    "not ignored any more": put(".gitignore", b"\n"),
    "ignore file gone": remove(".gitignore"),
    "ignore file below": put("src/.gitignore", b"b.py\nsub\n"),
    "kinds": together(
        remove("src/a.py", "lib", "link"),
        put_all({"src/a.py/now": b"a directory\n", "lib": b"a file\n", "link": b"no link\n"}),
        put_all({"src/b.py": Symlink(b"a.py")}),
    ),
    "mode": make_executable("src/a.py"),
    "grown": put_all({"src/a.py": bytes(LIMIT + 1), "large": b"small by now\n"}),
    "second name": together(link("src/a.py", "second"), disguise("second", b"ZZ")),
    "nothing": together(),
}

ITEMS: dict[str, Any] = {
    ".gitignore": b"*.log\nbuild/\n",
    "src/a.py": b"aaaa\n",
    "src/b.py": b"bbbb\n",
    "src/sub/c.py": b"c\n",
    "src/kept.log": b"log\n",
    "build/out": b"out\n",
    "lib/a.py": b"lib\n",
    "lib/b.py": b"lib b\n",
    "vacant/": None,
    "large": bytes(LIMIT + 1),
    "link": Symlink(b"src/a.py"),
}


@pytest.mark.usefixtures("_old_files")
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("watcher", ["auto", "none"])
def test_what_changed_while_nobody_looked_is_in_the_first_snapshot(tmp_path: Path, edit: Edit, watcher: Any) -> None:
    bench = make(tmp_path, ITEMS, watcher=watcher)
    check(bench)
    bench.close()
    edit(bench)
    bench.open()
    check(bench)
    # and nothing of the old memory is left to be wrong later
    bench.write({"later": b"later\n"})
    check(bench)


@pytest.mark.usefixtures("_old_files")
@pytest.mark.parametrize("seed", range(6))
def test_many_changes_in_a_row_each_with_a_new_process(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    bench = make(tmp_path, ITEMS)
    check(bench)
    for _ in range(12):
        bench.close()
        for edit in dice.sample([*EDITS.values()], k=2):
            try:
                edit(bench)
            except OSError:
                # an edit before it took away what it needs
                continue
        bench.open()
        check(bench)


@pytest.mark.usefixtures("_old_files")
def test_what_the_index_holds_by_now_is_captured(tmp_path: Path) -> None:
    bench = make(tmp_path, ITEMS, git=True)
    run_git(bench.root, "add", ".gitignore", "src")
    check(bench)
    bench.close()
    run_git(bench.root, "add", "-f", "src/kept.log", "build/out")
    bench.open()
    check(bench)
    bench.close()
    run_git(bench.root, "rm", "-q", "--cached", "src/kept.log", "build/out")
    bench.open()
    check(bench)


@pytest.mark.usefixtures("_old_files")
def test_what_the_request_forces_is_captured_by_a_new_process(tmp_path: Path) -> None:
    bench = make(tmp_path, ITEMS)
    check(bench)
    bench.reopen()
    check(bench, "build/out")
    bench.reopen()
    check(bench)


# -- whose memory it is


@pytest.fixture
def read_names(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The names of the files that are read, in order."""
    names: list[bytes] = []
    real = disk.read_stable

    def noting(directory: int, name: bytes, *args: Any) -> Any:
        names.append(name)
        return real(directory, name, *args)

    monkeypatch.setattr("snapd.worktree.snapshot.reader.read_stable", noting)
    return names


FILES = {b".gitignore", b"a.py", b"b.py", b"c.py"}


@pytest.mark.usefixtures("_old_files")
def test_it_is_believed_where_its_tree_is_a_snapshot(tmp_path: Path, read_names: list[bytes]) -> None:
    bench = make(tmp_path, ITEMS)
    check(bench)
    assert set(read_names) == FILES
    del read_names[:]
    bench.reopen()
    assert scanner_of(bench).stored_tree is not None
    check(bench)
    assert read_names == []


def test_what_was_racy_is_racy_for_a_new_process_too(
    tmp_path: Path, read_names: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "TICK_NS", 1 << 62)
    bench = make(tmp_path, ITEMS)
    check(bench)
    bench.close()
    monkeypatch.setattr(disk, "TICK_NS", -(1 << 62))
    monkeypatch.setattr(disk, "COARSE_NS", -(1 << 62))
    del read_names[:]
    bench.open()
    check(bench)
    assert set(read_names) == FILES
    # and now that it was read long after, it counts
    del read_names[:]
    bench.reopen()
    check(bench)
    assert read_names == []


@pytest.mark.usefixtures("_old_files")
def test_another_store_makes_it_worth_nothing(tmp_path: Path, read_names: list[bytes]) -> None:
    """The store was removed but for the memory, or replaced by that of another project."""
    bench = make(tmp_path, ITEMS)
    check(bench)
    store = bench.store
    bench.close()
    state = Path(store, "worktree").read_bytes()
    shutil.rmtree(store)
    bench.open()
    Path(bench.store, "worktree").write_bytes(state)
    bench.reopen()
    del read_names[:]
    tree = check(bench)
    assert set(read_names) == FILES
    bench.git("fsck", "--strict", "--no-dangling")
    assert bench.git("cat-file", "-t", tree.hex()) == b"tree\n"


@pytest.mark.usefixtures("_old_files")
def test_expired_snapshots_make_it_worth_nothing(tmp_path: Path, read_names: list[bytes]) -> None:
    bench = make(tmp_path, ITEMS)
    check(bench)
    store = bench.store
    bench.close()
    for line in run_git(store, "--git-dir=.", "for-each-ref", "--format=%(refname)").decode().split():
        run_git(store, "--git-dir=.", "update-ref", "-d", line)
    run_git(store, "--git-dir=.", "prune", "--expire=now")
    del read_names[:]
    bench.open()
    check(bench)
    assert set(read_names) == FILES
    bench.git("fsck", "--strict", "--no-dangling")


@pytest.mark.usefixtures("_old_files")
def test_another_folder_at_the_same_path_is_not_what_is_remembered(tmp_path: Path, read_names: list[bytes]) -> None:
    bench = make(tmp_path, ITEMS)
    check(bench)
    bench.close()
    os.rename(bench.root, tmp_path / "before")
    write(bench.root, {"other": b"1\n", "src/a.py": b"aaaa\n"})
    del read_names[:]
    bench.open()
    assert scanner_of(bench).stored_tree is None
    check(bench)
    assert sorted(read_names) == [b"a.py", b"other"]


@pytest.mark.usefixtures("_old_files")
def test_a_damaged_file_costs_reading_and_nothing_else(tmp_path: Path, read_names: list[bytes]) -> None:
    bench = make(tmp_path, ITEMS)
    tree = check(bench)
    path = Path(bench.store, "worktree")
    bench.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    del read_names[:]
    bench.open()
    assert check(bench) == tree
    assert set(read_names) == FILES
