"""The memory of a work tree against a dict of paths, in random order."""

from __future__ import annotations

import random

import attrs
import pytest

from snapd.model.ignore import IgnoreFile, IgnoreStack
from snapd.model.snapshot import RuleText, SkipReason
from snapd.worktree.fs.listing import SIGNATURE
from snapd.worktree.git.index import TrackedPaths
from snapd.worktree.ignore import DirectoryRules, Scope, WorkspaceRules
from snapd.worktree.state import tree_state as state
from snapd.worktree.state.file_state import Record, inode_of, seeded_record
from snapd.worktree.state.nodes import DirectoryNode, NodeIdentity, Uncaptured
from snapd.worktree.state.tree_state import TreeState

NAMES = (b"a", b"b", b".gitignore", b"caf\xe9", b"new\nline")
WHY: tuple[Uncaptured | SkipReason, ...] = (
    *Uncaptured,
    SkipReason.TOO_LARGE,
    SkipReason.SPECIAL,
    SkipReason.UNREADABLE,
)
RULES = WorkspaceRules(b"", IgnoreStack(), TrackedPaths(()), ())
TREE = b"t" * 20


def record(mode: int = 0o100644, inode: int = 1, oid: bytes = b"o" * 20, size: int = 3) -> Record:
    return seeded_record(SIGNATURE.pack(mode, size, 5, 6, inode), oid, False)


@attrs.define
class Model:
    """What a memory should say, by path.

    Attributes:
        files: records of the captured files.
        directories: with the root, whose path is empty.
        others: names that are not captured.
        unread: files that are to be read.
        linked: files with several names.
        texts: ignore rules, by their directory.
        fresh: the directories whose tree is known.
    """

    files: dict[bytes, Record] = attrs.field(factory=dict)
    directories: set[bytes] = attrs.field(factory=lambda: {b""})
    others: dict[bytes, Uncaptured | SkipReason] = attrs.field(factory=dict)
    unread: dict[bytes, bool] = attrs.field(factory=dict)
    linked: set[bytes] = attrs.field(factory=set)
    texts: dict[bytes, bytes] = attrs.field(factory=dict)
    fresh: set[bytes] = attrs.field(factory=set)

    def touch(self, folder: bytes) -> None:
        """What lies at or above a directory has to be computed."""
        self.fresh -= {above for above in self.fresh if above == folder or not above or folder.startswith(above + b"/")}

    def drop(self, path: bytes) -> set[bytes]:
        """Forgets a path and all below it; gives the directories that went."""
        if path in self.files or path in self.directories:
            self.touch(path.rpartition(b"/")[0])
        gone = {folder for folder in self.directories if _within(folder, path)}
        for held in (self.files, self.others, self.unread, self.texts):
            for one in [one for one in held if _within(one, path)]:
                del held[one]
        self.linked = {one for one in self.linked if not _within(one, path)}
        self.directories -= gone
        self.fresh -= gone
        return gone

    def empty(self) -> tuple[bytes, ...]:
        """The directories that hold nothing."""
        above = {path.rpartition(b"/")[0] for path in (*self.files, *self.others, *(self.directories - {b""}))}
        return tuple(sorted(self.directories - above - {b""}))


def _within(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder + b"/")


def _join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


class Play:
    """A memory and its model, to which the same is done."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.model = Model()
        self.gone: list[DirectoryNode] = []
        self.state = TreeState(self.gone.append)
        self.doubted: dict[DirectoryNode, None] = {}

    def step(self) -> None:
        """Does something at random."""
        folder = self.dice.choice(sorted(self.model.directories))
        node = self.state.root.directory(folder)
        assert node is not None
        name = self.dice.choice(NAMES)
        path = _join(folder, name)
        self.doubted[node] = None
        act = self.dice.choice(
            (
                self.file,
                self.file,
                self.file,
                self.directory,
                self.other,
                self.drop,
                self.drop_file,
                self.link,
                self.read,
            )
        )
        act(node, folder, name, path)

    def file(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        if path in self.model.directories or path in self.model.others:
            self.drop(node, folder, name, path)
        new = record(
            self.dice.choice((0o100644, 0o100755)), self.dice.randrange(40), self.dice.choice((b"o", b"p")) * 20
        )
        known = self.model.files.get(path)
        if known is None or (known[:4], known[36:56]) != (new[:4], new[36:56]):
            self.model.touch(folder)
        self.model.files[path] = new
        self.state.put_file(node, name, new)

    def read(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        if path not in self.model.files:
            self.file(node, folder, name, path)
        is_link = self.dice.random() < 0.3
        self.state.mark_unread(node, name, is_link)
        self.model.unread[path] = is_link
        if self.dice.random() < 0.6:
            self.state.put_read_file(node, name, self.model.files[path])
            del self.model.unread[path]

    def directory(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        if folder.count(b"/") > 2:
            return
        self.drop(node, folder, name, path)
        self.model.touch(folder)
        self.model.directories.add(path)
        made = self.state.put_directory(node, name, 0)
        self.doubted[made] = None

    def other(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        why = self.dice.choice(WHY)
        was_linked = path in self.model.linked
        if self.model.others.get(path) is not why:
            gone = self.model.drop(path)
            self.model.others[path] = why
            if was_linked and isinstance(why, SkipReason):
                self.model.linked.add(path)
            self.forgotten(gone, lambda: self.state.put_other(node, name, why))
        else:
            self.state.put_other(node, name, why)

    def drop(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        gone = self.model.drop(path)
        self.forgotten(gone, lambda: self.state.drop(node, name))

    def drop_file(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        if path in self.model.files:
            self.model.drop(path)
        self.model.linked.discard(path)
        self.state.drop_file(node, name)

    def link(self, node: DirectoryNode, folder: bytes, name: bytes, path: bytes) -> None:
        if path not in self.model.files:
            return
        linked = self.dice.random() < 0.7
        assert self.state.set_linked(node, name, linked) is (linked != (path in self.model.linked))
        (self.model.linked.add if linked else self.model.linked.discard)(path)

    def forgotten(self, gone: set[bytes], act: object) -> None:
        nodes = {self.state.root.directory(folder) for folder in gone}
        del self.gone[:]
        assert callable(act)
        act()
        assert set(self.gone) == nodes
        assert len(self.gone) == len(nodes)
        assert all(node.parent is None and not self.state.holds(node) for node in self.gone)
        assert all(self.state.path_of(node) is None for node in self.gone)

    def compute(self) -> None:
        """Has all trees known, as after a snapshot."""
        for path, node in self.state.root.walk():
            node.tree = TREE
            self.model.fresh.add(path)

    def use(self) -> None:
        """Says of some directories that they were used: of the others the files may be packed."""
        nodes = [node for _, node in self.state.root.walk()]
        self.state.pack_all_but(self.dice.sample(nodes, self.dice.randrange(len(nodes) + 1)))

    def text(self) -> None:
        """Gives a directory ignore rules."""
        folder = self.dice.choice(sorted(self.model.directories))
        node = self.state.root.directory(folder)
        assert node is not None
        text = b"*.%d\n" % self.dice.randrange(3)
        node.gitignore = IgnoreFile.parse(text, folder)
        node.rules = DirectoryRules(Scope.RULES, IgnoreStack(), (), bytes(20))
        self.model.texts[folder] = text
        self.doubted[node] = None

    def check(self) -> None:
        """Both say the same."""
        model, state = self.model, self.state
        nodes = dict(state.root.walk())
        assert nodes.keys() == model.directories
        assert {_join(at, n): r for at, node in nodes.items() for n, r in node.files.items()} == model.files
        assert {_join(at, n): w for at, node in nodes.items() for n, w in node.others.items()} == model.others
        assert state.count == len(model.files)
        assert {_join(self.path(node), n): k for node, held in state.unread.items() for n, k in held.items()} == (
            model.unread
        )
        assert {_join(self.path(node), name) for node, names in state.linked.items() for name in names} == model.linked
        assert all(state.unread.values())
        assert all(state.linked.values())
        assert {path for path, node in nodes.items() if node.tree is not None} == model.fresh
        assert all(state.path_of(node) == path and state.holds(node) for path, node in nodes.items())

    def check_coverage(self) -> None:
        """What the tree cannot say, after the directories that were touched were noted."""
        self.state.coverage.update(self.doubted)
        self.doubted.clear()
        found = self.state.coverage.of(RULES, ())
        model = self.model
        assert found.empty_dirs == model.empty()
        assert {(skip.path, skip.reason) for skip in found.skipped} == {
            (path, why) for path, why in model.others.items() if isinstance(why, SkipReason)
        }
        assert [skip.path for skip in found.skipped] == sorted(skip.path for skip in found.skipped)
        assert {(text.base, text.text) for text in found.rules} == {
            (folder, text) for folder, text in model.texts.items() if _join(folder, b".gitignore") not in model.files
        }
        assert self.state.coverage.of(RULES, ()) is found
        inode = self.dice.randrange(40)
        names = self.state.names_of_inodes({inode}).items()
        # nothing is known of the inodes of skipped files
        assert {_join(self.path(node), name) for node, held in names for name in held} == {
            *(path for path, each in model.files.items() if inode_of(each) == inode),
            *(path for path, why in model.others.items() if isinstance(why, SkipReason)),
        }

    def path(self, node: DirectoryNode) -> bytes:
        path = self.state.path_of(node)
        assert path is not None
        return path


@pytest.mark.parametrize("seed", range(30))
def test_it_says_what_was_put_into_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "UNPACKED", 2)
    play = Play(seed)
    for number in range(150):
        play.step()
        play.check()
        play.use()
        play.check()
        if number % 7 == 0:
            play.text()
        if number % 10 == 0:
            play.check_coverage()
            play.compute()
            play.check()
    play.state.clear()
    assert (play.state.count, play.state.unread, play.state.linked) == (0, {}, {})
    assert [path for path, _ in play.state.root.walk()] == [b""]
    assert play.state.root.tree is None


def test_the_other_names_of_a_file_are_found_by_its_inode() -> None:
    state = TreeState(lambda _: None)
    below = state.put_directory(state.root, b"below", 0)
    state.put_file(state.root, b"one", record(inode=7))
    state.put_file(below, b"two", record(inode=7))
    state.put_file(below, b"three", record(inode=8))
    state.put_other(below, b"large", SkipReason.TOO_LARGE)
    state.put_other(below, b"ignored", Uncaptured.IGNORED_FILE)
    state.coverage.update([state.root, below])
    for _ in range(2):
        # many are looked for in another way than few
        for numbers in ({7}, {7, *range(100, 200)}):
            assert state.names_of_inodes(numbers) == {state.root: {b"one"}, below: {b"two", b"large"}}
        assert state.names_of_inodes({9}) == {below: {b"large"}}
        state.root.pack()
        below.pack()
    assert state.root.is_packed
    assert below.is_packed


def test_files_found_together_are_found_by_their_inodes() -> None:
    """Those of a new directory, and those of one that was moved, also after the first question."""
    state = TreeState(lambda _: None)
    state.knows_inodes = True
    assert state.names_of_inodes({7}) == {}
    below = state.put_directory(state.root, b"below", 2)
    state.put_new_files(below, {b"one": record(inode=7)})
    assert state.names_of_inodes({7}) == {below: {b"one"}}
    state.lose(state.root, b"below")
    for number in range(2000):
        # so many that the index is made anew, without the lost directory
        state.put_file(state.root, b"other", record(inode=100 + number))
    assert state.names_of_inodes({7}) == {}
    moved = state.put_directory(state.root, b"moved", 2)
    assert moved is below
    assert state.names_of_inodes({7}) == {moved: {b"one"}}


def test_a_skipped_file_is_looked_for_by_its_inode() -> None:
    state = TreeState(lambda _: None)
    state.put_other(state.root, b"large", SkipReason.TOO_LARGE)
    state.coverage.update([state.root])
    state.uncaptured.known[b"large"] = NodeIdentity(mtime_ns=1, size=3, inode=7, is_directory=False)
    assert state.names_of_inodes({7, 8}) == {state.root: {b"large"}}
    assert state.names_of_inodes({8}) == {}


def test_an_inode_that_no_file_had_is_looked_for_in_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that came and went again must not cost what is there."""
    state = TreeState(lambda _: None)
    for number in range(50):
        state.put_file(state.put_directory(state.root, b"%d" % number, number + 1), b"file", record(inode=number + 100))
    state.names_of_inodes({7})
    walked: list[DirectoryNode] = []
    monkeypatch.setattr(DirectoryNode, "of_inodes", lambda node, _: walked.append(node) or [])
    assert state.names_of_inodes({8, 9}) == {}
    assert walked == []
    state.names_of_inodes({8, 100})
    assert len(walked) == 51


def test_an_inode_is_no_part_of_other_numbers() -> None:
    """Bytes that look like it, across the borders of what is packed."""
    dice = random.Random(7)
    state = TreeState(lambda _: None)
    inodes: dict[bytes, int] = {}
    for at in range(200):
        inodes[b"%d" % at] = inode = dice.choice((0, 1, 256, 65536, dice.getrandbits(64), dice.getrandbits(32)))
        state.put_file(state.root, b"%d" % at, record(inode=inode))
    for packed in (False, True):
        for wanted in (0, 1, 2, 256, 1 << 24, *inodes.values()):
            expected = {name for name, inode in inodes.items() if inode == wanted}
            assert state.names_of_inodes({wanted}).get(state.root, set()) == expected
        if not packed:
            state.root.pack()


def settled(state: TreeState) -> bool:
    """The property, as a call: a checker would take what it said once for what it says still."""
    return state.is_settled


def test_it_is_settled_once_all_is_in_a_snapshot() -> None:
    state = TreeState(lambda _: None)
    state.put_file(state.root, b"one", record())
    state.coverage.update([state.root])
    state.coverage.of(RULES, ())
    assert not settled(state)
    state.root.tree = TREE
    assert settled(state)
    state.mark_unread(state.root, b"one", False)
    assert not settled(state)
    state.put_read_file(state.root, b"one", record(size=4))
    assert settled(state)
    state.put_file(state.root, b"one", record(oid=b"p" * 20))
    assert not settled(state)
    state.root.tree = TREE
    state.put_other(state.root, b"large", SkipReason.TOO_LARGE)
    state.coverage.update([state.root])
    assert not settled(state)
    state.coverage.of(RULES, ())
    assert settled(state)


def is_packed(node: DirectoryNode) -> bool:
    return node.is_packed


def test_the_directories_used_last_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "UNPACKED", 2)
    held = TreeState(lambda _: None)
    nodes = [held.put_directory(held.root, b"%d" % at, at) for at in range(4)]
    for node in nodes:
        held.put_file(node, b"file", record())
    held.pack_all_but(nodes)
    assert [is_packed(node) for node in nodes] == [True, True, False, False]
    assert nodes[0].files == {b"file": record()}
    held.pack_all_but([nodes[0]])
    assert [is_packed(node) for node in nodes] == [False, True, True, False]
    held.pack_all_but([nodes[3], nodes[0], nodes[3]])
    assert [is_packed(node) for node in nodes] == [False, True, True, False]


def test_other_rules_are_another_coverage() -> None:
    state = TreeState(lambda _: None)
    first = state.coverage.of(RULES, ())
    assert state.coverage.of(RULES, (b"forced",)).forced == (b"forced",)
    assert state.coverage.of(attrs.evolve(RULES, prefix=b"sub"), ()).prefix == b"sub"
    own = RuleText("own", b"", b"*.log\n")
    assert state.coverage.of(attrs.evolve(RULES, texts=(own,)), ()).rules == (own,)
    assert state.coverage.of(RULES, ()) == first
