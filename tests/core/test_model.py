"""Random operations on a workspace and on a dict: both have to agree, whatever was done in which order."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snapd.model.call import Call
from tests.support.amounts import amount
from tests.support.workspace import Executable, Item, Symlink, close_all, git_tree_hash, make, outcomes

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["a", "b", "a.b", "é", "x y"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
DATA = st.sampled_from([b"", b"1", b"2\n", b"\0", b"long\n" * 50])
ITEMS: st.SearchStrategy[Item] = st.one_of(DATA, DATA.map(Executable), st.sampled_from([Symlink("a"), Symlink("..")]))
IGNORED = [f"{above}kept.log" for above in ("", "a/", "b/")]

Model = dict[str, Item]


def files(model: Model) -> Model:
    return {name: item for name, item in model.items() if item is not None}


class Machine(RuleBasedStateMachine):
    """Files, deletions, renames and snapshots; the model is what a reader of the folder would find."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="snapd-model-"))
        self.bench = make(self.folder, {".gitignore": b"*.log\n"})
        self.model: Model = {".gitignore": b"*.log\n"}
        self.ignored: dict[str, bytes] = {}
        self.taken: list[tuple[bytes, Model]] = []

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            close_all()
            shutil.rmtree(self.folder)

    # -- the agent's own doing

    def clear_way(self, path: str) -> bool:
        """Whether nothing is where the path leads, or above it, so that it can be made."""
        above = path
        while above := os.path.dirname(above):
            if os.path.lexists(self.bench.path(above)) and not self.is_folder(above):
                return False
        return not self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        full = self.bench.path(path)
        return os.path.isdir(full) and not os.path.islink(full)

    @rule(path=PATHS, item=ITEMS)
    def write(self, path: str, item: Item) -> None:
        if self.clear_way(path):
            self.bench.write({path: item})

    @rule(path=PATHS)
    def make_folder(self, path: str) -> None:
        if self.clear_way(path) and not os.path.lexists(self.bench.path(path)):
            self.bench.write({path + "/": None})

    @rule(path=PATHS)
    def delete(self, path: str) -> None:
        if os.path.lexists(self.bench.path(path)):
            self.bench.remove(path)

    @rule(old=PATHS, new=PATHS)
    def rename(self, old: str, new: str) -> None:
        if os.path.lexists(self.bench.path(old)) and self.clear_way(new) and not new.startswith(old + "/"):
            os.makedirs(os.path.dirname(self.bench.path(new)), exist_ok=True)
            if not (self.is_folder(old) and os.path.lexists(self.bench.path(new))):
                os.rename(self.bench.path(old), self.bench.path(new))

    @rule(name=st.sampled_from(IGNORED), data=DATA)
    def write_ignored(self, name: str, data: bytes) -> None:
        if self.clear_way(name):
            self.bench.write({name: data})

    # -- snapshots

    def look(self) -> None:
        """Takes the folder as it is now into the model."""
        found = self.bench.read()
        self.ignored = {name: item for name, item in found.items() if name.endswith(".log") and isinstance(item, bytes)}
        self.model = {name: item for name, item in found.items() if name not in self.ignored}

    def known(self, tree: bytes, model: Model) -> None:
        # a hash says nothing of empty directories: the latest with this tree counts
        self.taken = [(other, then) for other, then in self.taken if other != tree]
        self.taken.append((tree, model))

    @rule()
    def track(self) -> None:
        self.look()
        tree = self.bench.track()
        assert tree == git_tree_hash(self.folder, self.model)
        self.known(tree, self.model)

    @precondition(lambda self: self.taken)
    @rule(dice=st.randoms(use_true_random=False))
    def restore(self, dice: object) -> None:
        tree, wanted = dice.choice(self.taken)
        self.look()
        before, kept, inodes = self.model, self.ignored, self.stats()
        result = self.bench.restore(tree)
        said = outcomes(result)
        self.look()
        refused = {name for name, word in said.items() if word not in ("restored", "deleted")}
        # only an ignored file may stand in the way of one
        assert all(said[name].startswith("skipped") for name in refused)
        assert not refused or kept
        assert {n: i for n, i in files(self.model).items() if n not in refused} == {
            n: i for n, i in files(wanted).items() if n not in refused
        }
        assert self.ignored == kept
        if not kept and not refused:
            assert self.model == wanted
        self.untouched(inodes, said)
        assert result.before == git_tree_hash(self.folder, before)
        assert result.after == git_tree_hash(self.folder, self.model)
        self.known(result.before, before)
        self.known(result.after, self.model)

    @precondition(lambda self: self.taken)
    @rule(dice=st.randoms(use_true_random=False))
    def revert(self, dice: object) -> None:
        tree, wanted = dice.choice(self.taken)
        changed = [os.fsdecode(change.path) for change in self.bench.workspace.comparison.changed(tree, None, Call())]
        some = sorted(name for name in changed if dice.random() < 0.6)
        self.look()
        before, kept, inodes = self.model, self.ignored, self.stats()
        result = self.bench.revert((tree, some))
        said = outcomes(result)
        self.look()
        for name, word in said.items():
            if word in ("restored", "unchanged"):
                assert self.model.get(name) == wanted.get(name)
            elif word == "deleted":
                assert name not in self.model
                assert name not in wanted
            else:
                assert word.startswith(("skipped", "kept"))
        assert set(some) <= set(said)
        # nothing that was not asked for
        others = {name: item for name, item in files(before).items() if name not in said}
        assert {name: item for name, item in files(self.model).items() if name not in said} == others
        assert self.ignored == kept
        self.untouched(inodes, said)
        self.known(result.before, before)
        self.known(result.after, self.model)

    def stats(self) -> dict[str, tuple[int, int, int]]:
        return {name: self.stat(name) for name in self.bench.read() if not name.endswith("/")}

    def stat(self, name: str) -> tuple[int, int, int]:
        status = os.lstat(self.bench.path(name))
        return status.st_ino, status.st_mtime_ns, status.st_ctime_ns

    def untouched(self, before: dict[str, tuple[int, int, int]], said: dict[str, str]) -> None:
        for name, status in before.items():
            if said.get(name) not in ("restored", "deleted"):
                assert self.stat(name) == status

    @rule()
    def reopen(self) -> None:
        self.bench.reopen()

    @precondition(lambda self: self.taken)
    @rule()
    def clean_up(self) -> None:
        last = self.bench.workspace.snapshots.status().last
        self.bench.workspace.upkeep.cleanup(0, Call())
        self.taken = [(tree, model) for tree, model in self.taken if tree == last]

    @invariant()
    def nothing_is_left_lying_about(self) -> None:
        if hasattr(self, "bench"):
            assert not [name for name in self.bench.read() if "snapd" in name]


Machine.TestCase.settings = settings(
    max_examples=amount(10, 150),
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestModel = Machine.TestCase
