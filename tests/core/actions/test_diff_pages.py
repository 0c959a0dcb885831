"""What a comparison reads, and how it goes on where a page ended: judged by sorted dicts."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from snapd.model.call import Call
from snapd.model.errors import StoreCorrupt
from snapd.model.snapshot import EMPTY_TREE, EXECUTABLE, REGULAR, TREE, TreeEntry
from snapd.model.trees import changes, count_files, files, is_among
from snapd.store.objects.codec import decode_tree, differing_entries
from snapd.store.store import Store
from tests.core.compare.test_diffs import both, moved_text
from tests.support.trees import encode_tree
from tests.support.workspace import Items, make

if TYPE_CHECKING:
    from pathlib import Path

    from snapd.model.snapshot import ObjectId

NAMES = [b"a", b"a.b", b"a-b", b"a0", b"ab", b"a\x01", b"a\xff", b"A", b"a b", b"\xc3\xa9"]
"""Names whose order as directories is not their order as files: `/` stands between `.` and `0`."""

Model = dict[bytes, tuple[int, bytes]]


class Trees:
    """Trees in memory, and how often each was read."""

    def __init__(self) -> None:
        self.stored: dict[ObjectId, tuple[TreeEntry, ...]] = {}
        self.paths: dict[ObjectId, set[bytes]] = {}
        self.reads: Counter[ObjectId] = Counter()

    def read(self, oid: ObjectId) -> tuple[TreeEntry, ...]:
        self.reads[oid] += 1
        return self.stored[oid]

    def add(self, model: Model, at: bytes = b"") -> ObjectId:
        """Stores files as a tree."""
        below: dict[bytes, Model] = {}
        entries = []
        for path, (mode, oid) in model.items():
            first, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(first, {})[rest] = (mode, oid)
            else:
                entries.append(TreeEntry(first, mode, oid))
        entries += [TreeEntry(name, TREE, self.add(inner, at + name + b"/")) for name, inner in below.items()]
        oid = hashlib.sha1(encode_tree(entries)).digest() if entries else EMPTY_TREE
        self.stored[oid] = tuple(sorted(entries, key=lambda entry: entry.sort_key))
        self.paths.setdefault(oid, set()).add(at)
        return oid


def random_model(dice: random.Random) -> Model:
    """Files three directories deep under names that collide with each other."""
    model: Model = {}
    for _ in range(40):
        path = b"/".join(dice.choices(NAMES, k=dice.randrange(1, 4)))
        # a file is no directory, and the other way round
        if any(path == other or path.startswith(other + b"/") or other.startswith(path + b"/") for other in model):
            continue
        model[path] = (dice.choice((REGULAR, EXECUTABLE)), hashlib.sha1(b"%d" % dice.randrange(3)).digest())
    return model


def differing(old: Model, new: Model) -> list[bytes]:
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


@pytest.mark.parametrize("seed", range(40))
def test_a_walk_goes_on_where_it_ended(seed: int) -> None:
    dice = random.Random(seed)
    trees = Trees()
    before, behind = random_model(dice), random_model(dice)
    for path in dice.sample(sorted(before), k=min(5, len(before))):
        if not any(path == other or path.startswith(other + b"/") or other.startswith(path + b"/") for other in behind):
            behind[path] = before[path]
    old, new = trees.add(before), trees.add(behind)
    wanted = differing(before, behind)
    found = list(changes(trees.read, old, new))
    assert [change.path for change in found] == wanted
    for change in found:
        for entry, model in ((change.old, before), (change.new, behind)):
            assert (None if entry is None else (entry.mode, entry.oid)) == model.get(change.path)
    assert count_files(trees.read, new) == len(behind)
    ends = {*wanted, *before, *behind, *NAMES, b"", b"a/", b"a/a", b"zzz", b"a.", b"a/\xff"}
    for after in sorted(ends):
        assert [change.path for change in changes(trees.read, old, new, after=after)] == [
            path for path in wanted if path > after
        ], after
        assert [path for path, _ in files(trees.read, new, after=after)] == sorted(
            path for path in behind if path > after
        )


@pytest.mark.parametrize("seed", range(20))
def test_trees_compared_as_bytes_differ_as_read_ones_do(seed: int) -> None:
    dice = random.Random(seed)
    trees = Trees()
    before, behind = random_model(dice), random_model(dice)
    for path in dice.sample(sorted(before), k=len(before) // 2):
        if not any(path == other or path.startswith(other + b"/") or other.startswith(path + b"/") for other in behind):
            behind[path] = before[path]
    old, new = trees.add(before), trees.add(behind)
    encoded = {oid: encode_tree(entries) for oid, entries in trees.stored.items()}

    def as_bytes(ours: ObjectId, theirs: ObjectId) -> Any:
        return differing_entries((ours, encoded[ours]), (theirs, encoded[theirs]))

    for after in (None, *differing(before, behind)):
        assert list(changes(trees.read, old, new, after=after, differing=as_bytes)) == list(
            changes(trees.read, old, new, after=after)
        )


@pytest.mark.parametrize("damage", [b"x", b"100644 a\0short", b"100644 \0" + b"\1" * 20, b"a b\0" + b"\1" * 20])
def test_what_is_no_tree_is_not_compared(damage: bytes) -> None:
    good = b"100644 b\0" + b"\2" * 20
    assert differing_entries((b"\1" * 20, good), (b"\2" * 20, good)) == []
    for bad in (damage, good + damage, damage + good):
        with pytest.raises(StoreCorrupt, match="01" * 20):
            differing_entries((b"\1" * 20, bad), (b"\2" * 20, good))
        with pytest.raises(StoreCorrupt, match="02" * 20):
            differing_entries((b"\1" * 20, good), (b"\2" * 20, bad))
        with pytest.raises(StoreCorrupt):
            decode_tree(bad, b"\1" * 20)


@pytest.mark.parametrize("seed", range(20))
def test_only_what_is_asked_about(seed: int) -> None:
    dice = random.Random(seed)
    trees = Trees()
    before, behind = random_model(dice), random_model(dice)
    old, new = trees.add(before), trees.add(behind)
    wanted = differing(before, behind)
    ways = {path[:cut] for path in wanted for cut in range(1, len(path)) if path[cut : cut + 1] == b"/"}
    for _ in range(20):
        only = dice.sample(sorted({*wanted, *ways}), k=dice.randrange(1, 4))
        trees.reads.clear()
        after = dice.choice([None, *wanted])
        found = [change.path for change in changes(trees.read, old, new, after=after, only=only)]
        assert found == [path for path in wanted if is_among(path, only) and (after is None or path > after)]
        for oid in trees.reads:
            assert any(
                is_among(at.rstrip(b"/"), only) or any(asked.startswith(at) for asked in only)
                for at in trees.paths[oid]
            )


def test_a_page_reads_no_directory_that_ends_before_it() -> None:
    trees = Trees()
    before: Model = {}
    behind: Model = {}
    for directory in range(50):
        for file in range(4):
            name = b"d%02d/s/%d" % (directory, file)
            before[name] = (REGULAR, hashlib.sha1(b"%d old %d" % (directory, file)).digest())
            behind[name] = (REGULAR, hashlib.sha1(b"%d new %d" % (directory, file)).digest())
    before[b"same/x"] = behind[b"same/x"] = (REGULAR, b"\1" * 20)
    old, new = trees.add(before), trees.add(behind)
    next(changes(trees.read, old, new, after=b"d48/s/3"))
    # on either side the root, where the page ended (d48 and its s), and what comes next (d49 and its s)
    assert sum(trees.reads.values()) == 2 * (1 + 2 + 2)
    trees.reads.clear()
    assert len(list(changes(trees.read, old, new))) == 200
    assert set(trees.reads.values()) == {1}
    assert sum(trees.reads.values()) == 2 * (1 + 50 + 50)


class Counted:
    """What is asked of a store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, store: Store, *names: str) -> None:
        self.asked: dict[str, Counter[Any]] = {name: Counter() for name in names}
        for name in names:
            monkeypatch.setattr(store, name, self._counting(name, getattr(store, name)))

    def _counting(self, name: str, original: Any) -> Any:
        def counting(*arguments: Any) -> Any:
            self.asked[name][arguments] += 1
            return original(*arguments)

        return counting

    def clear(self) -> None:
        for counter in self.asked.values():
            counter.clear()


def test_each_blob_and_each_tree_that_differs_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before: Items = {f"d{at % 20}/s{at % 7}/f{at}": b"%d\nold\n" % at for at in range(1000)}
    after: Items = {name: b"%d\nnew\n" % at for at, name in enumerate(before)}
    bench = make(tmp_path)
    same: Items = {f"same/{at}/x": b"%d" % at for at in range(30)}
    old, new = both(bench, {**before, **same}, {**after, **same})
    store = bench.workspace.store
    counted = Counted(monkeypatch, store, "read_small_blob", "differing", "read_blob", "read_tree", "blob_chunks")
    assert len(bench.workspace.comparison.deltas(old, new, Call()).deltas) == 1000
    assert len(counted.asked["read_small_blob"]) == 2000
    # the root, 20 directories and 140 below them; nothing of `same`
    assert len(counted.asked["differing"]) == 1 + 20 + 140
    assert not counted.asked["read_tree"]
    assert not counted.asked["read_blob"]
    assert {times for counter in counted.asked.values() for times in counter.values()} == {1}
    assert not counted.asked["blob_chunks"]
    counted.clear()
    page = bench.workspace.comparison.deltas(old, new, Call(), after=b"d9/s6/f9", limit=10)
    assert len(page.deltas) == sum(counted.asked["read_small_blob"].values()) // 2
    assert sum(counted.asked["differing"].values()) <= 1 + 1 + 7


def test_renames_are_looked_for_once_for_all_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make(tmp_path)
    before: Items = {f"a/{at}": moved_text(at) for at in range(9)}
    old, new = both(bench, before, {f"b/{at}": moved_text(at) for at in range(9)})
    whole = bench.workspace.comparison.deltas(old, new, Call(), renames=True).deltas
    counted = Counted(monkeypatch, bench.workspace.store, "renames")

    def asked() -> dict[tuple[bytes, ...], int]:
        return {tuple(side.tree for side in sides): times for sides, times in counted.asked["renames"].items()}

    for _ in range(2):
        seen, after = [], None
        while True:
            page = bench.workspace.comparison.deltas(old, new, Call(), renames=True, after=after, limit=2)
            seen += page.deltas
            after = page.after
            if after is None:
                break
        assert tuple(seen) == whole
    # kept while there are pages to come, and no longer
    assert asked() == {(old, new): 2}
    bench.workspace.comparison.deltas(old, new, Call(), renames=True, limit=1)
    bench.workspace.comparison.deltas(new, old, Call(), renames=True, limit=1)
    assert asked() == {(old, new): 3, (new, old): 1}


def test_names_go_on_where_a_page_ended(tmp_path: Path) -> None:
    bench = make(tmp_path)
    bench.become({"a/x": b"1", "a.b": b"1", "a-b": b"1", "a0": b"1", "b/c/d": b"1", "b/c.d": b"1"})
    tree = bench.track()
    seen: list[bytes] = []
    after = None
    while True:
        page = bench.workspace.snapshots.names(tree, Call(), lambda _: True, after, 2)
        seen += page.paths
        after = page.after
        if after is None:
            break
    assert seen == sorted([b"a/x", b"a.b", b"a-b", b"a0", b"b/c/d", b"b/c.d"])
