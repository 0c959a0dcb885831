"""Taking a step back: what becomes of each file, whatever others did to it since."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import attrs
import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.core.compare.threeway import Overlap, Overlay, TakenBack, combined, inverse, net, take_back, three_way
from snapd.core.model import EXECUTABLE, REGULAR, SYMLINK, Entry, ObjectId, OnConflict, RelPath
from snapd.core.timeline.attribution import Delta, own_moves
from snapd.core.timeline.model import Effect, SnapshotId, Span
from snapd.core.trees import changes, files
from snapd.store.merging import merge as merge_files
from snapd.store.renames import renames
from snapd.store.repository import ShadowRepository
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.workspace import Executable, Item, Symlink

State = Mapping[str, Item]


def lines(*words: int | str) -> bytes:
    return b"".join(b"line %s\n" % str(word).encode() for word in words)


OLD = lines(*range(12))
STEP = lines("step", *range(1, 12))  # the step changed the first line
USER = lines(*range(11), "user")  # the user the last
BOTH = lines("step", *range(1, 11), "user")  # each its own
CLASH = lines("user", *range(1, 12))  # the user the line that the step had changed
OTHER = b"something else\nof two lines\n"
BIN, BIN_STEP, BIN_USER = b"\0" + OLD, b"\0" + STEP, b"\0" + BOTH


class Objects:
    """Trees and blobs, in a store as the product has it."""

    def __init__(self, folder: Path) -> None:
        self.repository = ShadowRepository(str(folder / "store"))
        self._handle = pygit2.Repository(self.repository.path)

    def entry(self, item: Item) -> Entry | None:
        match item:
            case None:
                return None
            case Symlink(target):
                return Entry(SYMLINK, self._blob(target))
            case Executable(data):
                return Entry(EXECUTABLE, self._blob(data))
            case _:
                return Entry(REGULAR, self._blob(item))

    def item(self, entry: Entry) -> Item:
        data = self.repository.read_blob(entry.oid)
        if entry.mode == SYMLINK:
            return Symlink(data)
        assert entry.mode in (REGULAR, EXECUTABLE)
        return Executable(data) if entry.mode == EXECUTABLE else data

    def _blob(self, data: bytes) -> bytes:
        return bytes(self._handle.create_blob(data).raw)

    def tree(self, state: State) -> ObjectId:
        index = pygit2.Index()
        for name, item in state.items():
            entry = self.entry(item)
            assert entry is not None
            index.add(pygit2.IndexEntry(name, pygit2.Oid(raw=entry.oid), pygit2.enums.FileMode(entry.mode)))
        return bytes(index.write_tree(self._handle).raw)

    def deltas(self, old: State, new: State, shared: bool = False) -> dict[RelPath, Delta]:
        found = changes(self.repository.read_tree, self.tree(old), self.tree(new))
        return {change.path: Delta(change.old, change.new, shared) for change in found}

    def renames(self, old: State, new: State) -> dict[RelPath, RelPath]:
        return renames(self.repository, self.tree(old), self.tree(new))

    def moved(self, old: State, new: State) -> dict[RelPath, RelPath]:
        return {before: after for after, before in self.renames(old, new).items()}

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        return merge_files(self.repository, base, ours, theirs)

    def overlay(self, state: State) -> Overlay:
        files = {name.encode(): self.entry(item) for name, item in state.items()}
        return Overlay(files.get, lambda path: [name for name in files if name.startswith(path + b"/")])

    def after(self, state: State, effects: Sequence[Effect]) -> State:
        """What a state becomes, where each effect has to fit."""
        found = dict(state)
        for effect in effects:
            name = effect.path.decode()
            assert self.entry(found.pop(name, None)) == effect.old
            if effect.new is not None:
                found[name] = self.item(effect.new)
        for name in found:
            assert not any(other.startswith(name + "/") for other in found), "a file and a directory"
        return found

    def git_merge(self, base: State, ours: State, theirs: State) -> tuple[State, set[str]]:
        """What `git merge` makes of it, and the names that conflict."""
        root = self._commit(base)
        two = [self._commit(state, root) for state in (ours, theirs)]
        said = run_git(
            self.repository.path,
            *("-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"),
            *(str(one) for one in two),
        ).split(b"\0")
        found = files(self.repository.read_tree, bytes.fromhex(said[0].decode()))
        merged = {path.decode(): self.item(entry) for path, entry in found}
        # what cannot keep its name is put aside, under one with a tilde
        names = {name.decode().partition("~")[0] for name in said[1:] if name}
        return {name: item for name, item in merged.items() if "~" not in name}, names

    def _commit(self, state: State, *parents: pygit2.Oid) -> pygit2.Oid:
        who = pygit2.Signature("Author", "author@example.com", 0, 0)
        return self._handle.create_commit(None, who, who, "", pygit2.Oid(raw=self.tree(state)), list(parents))


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    return Objects(tmp_path_factory.mktemp("objects"))


@attrs.frozen
class Story:
    """What happened, in turns: the step, others, the step, others, and so on."""

    before: State
    turns: tuple[State, ...]
    shared: bool = False

    def deltas(self, objects: Objects) -> dict[RelPath, list[Delta]]:
        found: dict[RelPath, list[Delta]] = {}
        for at, (old, new) in enumerate(pairwise((self.before, *self.turns))):
            if at % 2 == 0:
                for path, delta in objects.deltas(old, new, self.shared).items():
                    found.setdefault(path, []).append(delta)
        return found

    def moves(self, objects: Objects) -> dict[RelPath, RelPath]:
        ids = [SnapshotId(objects.tree(state), b"") for state in (self.before, *self.turns)]
        spans = [Span(old, new, ("step",)) for old, new in list(pairwise(ids))[::2]]
        return own_moves(spans, lambda old, new: renames(objects.repository, old, new))

    @property
    def left(self) -> State:
        """What the step left in the end."""
        return self.turns[-1 - (len(self.turns) % 2 == 0)]

    @property
    def now(self) -> State:
        return self.turns[-1]


def take(
    objects: Objects, story: Story, on_conflict: OnConflict = "merge", overlay: Overlay | None = None
) -> TakenBack:
    deltas = story.deltas(objects)
    return take_back(
        objects.overlay(story.now) if overlay is None else overlay,
        deltas,
        story.moves(objects),
        lambda: objects.moved(story.left, story.now),
        objects.merge,
        on_conflict,
    )


def told(taken: TakenBack) -> str:
    return ", ".join(
        f"{one.path.decode()} {one.outcome}" + (f":{one.reason}" if one.reason else "") for one in taken.outcomes
    )


@attrs.frozen
class Row:
    """A case.

    Attributes:
        before: what the step began with.
        left: what it left.
        now: what others made of that.
        wanted: what is there when the step is taken back; None: what was there now.
        said: of each file.
        unlike_git: why git's own merge of `left`, `now` and `before` is another.
    """

    before: State
    left: State
    now: State
    wanted: State | None
    said: str
    unlike_git: str = ""


def f(before: Item, left: Item, now: Item, wanted: Item, said: str, unlike_git: str = "") -> Row:
    """A case of the file f, beside one that nobody touches."""
    then, between, since, after = (
        {"witness": b"1"} if item is None else {"witness": b"1", "f": item} for item in (before, left, now, wanted)
    )
    return Row(then, between, since, after, f"f {said}", unlike_git)


X = Executable
CHANGED, DELETED = "conflict:changedSince", "conflict:deletedSince"
CRLF = [text.replace(b"\n", b"\r\n") for text in (OLD, STEP, BOTH, USER)]
LATIN = [text.replace(b"line", b"l\xefne") for text in (OLD, STEP, BOTH, USER)]

CASES: dict[str, Row] = {
    # the step changed a text
    "changed; nobody since": f(OLD, STEP, STEP, OLD, "restored"),
    "changed; others elsewhere in it": f(OLD, STEP, BOTH, USER, "merged"),
    "changed; others the same lines": f(OLD, STEP, CLASH, CLASH, CHANGED),
    "changed; others took it back": f(OLD, STEP, OLD, OLD, "unchanged"),
    "changed; others took it back and changed it elsewhere": f(OLD, STEP, USER, USER, "unchanged"),
    "changed; others deleted it": f(OLD, STEP, None, None, DELETED),
    "changed; others emptied it": f(OLD, STEP, b"", b"", CHANGED),
    "changed; others wrote it anew": f(OLD, STEP, OTHER, OTHER, CHANGED),
    "changed; others made it binary": f(OLD, STEP, BIN, BIN, CHANGED),
    "changed; others made it a symlink": f(OLD, STEP, Symlink("x"), Symlink("x"), CHANGED),
    "emptied; nobody since": f(OLD, b"", b"", OLD, "restored"),
    "emptied; others wrote into it": f(OLD, b"", OTHER, OTHER, CHANGED),
    "filled; others wrote more": f(b"", STEP, BOTH, BOTH, CHANGED),
    "newline at the end taken away; others elsewhere": f(OLD, OLD[:-1], CLASH[:-1], CLASH, "merged"),
    "line ends CRLF; others elsewhere": f(CRLF[0], CRLF[1], CRLF[2], CRLF[3], "merged"),
    "line ends made CRLF; others elsewhere": f(OLD, CRLF[0], CRLF[3], CRLF[3], CHANGED),
    "not UTF-8; others elsewhere": f(LATIN[0], LATIN[1], LATIN[2], LATIN[3], "merged"),
    # a binary file is one piece
    "binary changed; nobody since": f(BIN, BIN_STEP, BIN_STEP, BIN, "restored"),
    "binary changed; others elsewhere in it": f(BIN, BIN_STEP, BIN_USER, BIN_USER, CHANGED),
    "binary changed; others took it back": f(BIN, BIN_STEP, BIN, BIN, "unchanged"),
    "binary changed; others deleted it": f(BIN, BIN_STEP, None, None, DELETED),
    "binary changed; others made it text": f(BIN, BIN_STEP, OLD, OLD, CHANGED),
    "binary changed; others its mode": f(BIN, BIN_STEP, X(BIN_STEP), X(BIN), "merged"),
    "text made binary; nobody since": f(OLD, BIN, BIN, OLD, "restored"),
    "text made binary; others changed that": f(OLD, BIN, BIN_USER, BIN_USER, CHANGED),
    # modes
    "mode; nobody since": f(OLD, X(OLD), X(OLD), OLD, "restored"),
    "mode; others took it back": f(OLD, X(OLD), OLD, OLD, "unchanged"),
    "mode; others the text": f(OLD, X(OLD), X(USER), USER, "merged"),
    "mode; others the text, and the mode back": f(OLD, X(OLD), USER, USER, "unchanged"),
    "mode; others deleted it": f(OLD, X(OLD), None, None, DELETED),
    "mode of a binary; others the bytes": f(BIN, X(BIN), X(BIN_USER), BIN_USER, "merged"),
    "text; others the mode": f(OLD, STEP, X(STEP), X(OLD), "merged"),
    "text; others mode and text elsewhere": f(OLD, STEP, X(BOTH), X(USER), "merged"),
    "text; others mode and the same lines": f(OLD, STEP, X(CLASH), X(CLASH), CHANGED),
    "text and mode; nobody since": f(X(OLD), STEP, STEP, X(OLD), "restored"),
    "text and mode; others the text elsewhere": f(X(OLD), STEP, BOTH, X(USER), "merged"),
    "text and mode; others the mode back": f(X(OLD), STEP, X(STEP), X(OLD), "restored"),
    "text and mode; others the text back": f(X(OLD), STEP, OLD, X(OLD), "restored"),
    # created and deleted
    "created; nobody since": f(None, STEP, STEP, None, "deleted"),
    "created; others deleted it": f(None, STEP, None, None, "unchanged"),
    "created; others changed it": f(None, STEP, BOTH, BOTH, CHANGED),
    "created; others its mode": f(None, STEP, X(STEP), X(STEP), CHANGED),
    "created; others made it a symlink": f(None, STEP, Symlink("x"), Symlink("x"), CHANGED),
    "created empty; nobody since": f(None, b"", b"", None, "deleted"),
    "created empty; others wrote into it": f(None, b"", OTHER, OTHER, CHANGED),
    "deleted; nobody since": f(OLD, None, None, OLD, "restored"),
    "deleted; others made the same again": f(OLD, None, OLD, OLD, "unchanged"),
    "deleted; others made another": f(OLD, None, OTHER, OTHER, "conflict:occupied"),
    "deleted; others made it again with another mode": f(OLD, None, X(OLD), X(OLD), "conflict:occupied"),
    "deleted; others made a symlink there": f(OLD, None, Symlink("x"), Symlink("x"), "conflict:occupied"),
    "binary deleted; nobody since": f(BIN, None, None, BIN, "restored"),
    "executable deleted; nobody since": f(X(OLD), None, None, X(OLD), "restored"),
    # symlinks
    "symlink created; nobody since": f(None, Symlink("x"), Symlink("x"), None, "deleted"),
    "symlink created; others moved it elsewhere": f(None, Symlink("x"), Symlink("y"), Symlink("y"), CHANGED),
    "symlink deleted; nobody since": f(Symlink("x"), None, None, Symlink("x"), "restored"),
    "symlink deleted; others made it again": f(Symlink("x"), None, Symlink("x"), Symlink("x"), "unchanged"),
    "symlink changed; nobody since": f(Symlink("x"), Symlink("y"), Symlink("y"), Symlink("x"), "restored"),
    "symlink changed; others too": f(Symlink("x"), Symlink("y"), Symlink("z"), Symlink("z"), CHANGED),
    "symlink changed; others back": f(Symlink("x"), Symlink("y"), Symlink("x"), Symlink("x"), "unchanged"),
    "symlink changed; others deleted it": f(Symlink("x"), Symlink("y"), None, None, DELETED),
    "symlink changed; others made it a file": f(Symlink("x"), Symlink("y"), OLD, OLD, CHANGED),
    "file made a symlink; nobody since": f(OLD, Symlink("x"), Symlink("x"), OLD, "restored"),
    "file made a symlink; others changed that": f(OLD, Symlink("x"), Symlink("y"), Symlink("y"), CHANGED),
    "symlink made a file; nobody since": f(Symlink("x"), OLD, OLD, Symlink("x"), "restored"),
    "symlink made a file; others changed that": f(Symlink("x"), OLD, USER, USER, CHANGED),
    # files and directories
    "file made a directory; nobody since": Row(
        {"d": OLD}, {"d/f": OTHER}, {"d/f": OTHER}, {"d": OLD}, "d restored, d/f deleted"
    ),
    "file made a directory; others added to it": Row(
        {"d": OLD},
        {"d/f": OTHER},
        {"d/f": OTHER, "d/user": b"1"},
        {"d/user": b"1"},
        "d conflict:occupied, d/f deleted",
    ),
    "file made a directory; others changed what is in it": Row(
        {"d": OLD},
        {"d/f": OTHER},
        {"d/f": b"user"},
        None,
        "d conflict:occupied, d/f conflict:changedSince",
    ),
    "directory made a file; nobody since": Row(
        {"d/f": OLD, "d/g": OTHER},
        {"d": BIN},
        {"d": BIN},
        {"d/f": OLD, "d/g": OTHER},
        "d deleted, d/f restored, d/g restored",
    ),
    "directory made a file; others changed that": Row(
        {"d/f": OLD},
        {"d": OTHER},
        {"d": b"user"},
        None,
        "d conflict:changedSince, d/f conflict:occupied",
        "the file in the way is the one that conflicts there",
    ),
    "directory deleted; others made a file there": Row(
        {"d/e/f": OLD},
        {},
        {"d": OTHER},
        None,
        "d/e/f conflict:occupied",
        "the file in the way is the one that conflicts there",
    ),
    "file deleted; others made a directory there": Row(
        {"d": OLD},
        {},
        {"d/e/f": OTHER},
        None,
        "d conflict:occupied",
    ),
    "file deleted; others made a directory there, and it went": Row({"d": OLD}, {}, {}, {"d": OLD}, "d restored"),
    "a name that another begins with is no directory": Row(
        {"d": OLD}, {}, {"d.txt": b"1", "dd/f": b"1"}, {"d": OLD, "d.txt": b"1", "dd/f": b"1"}, "d restored"
    ),
    # the step moved a file
    "moved; nobody since": Row({"a": OLD}, {"b": OLD}, {"b": OLD}, {"a": OLD}, "a restored, b deleted"),
    "moved; others changed it": Row({"a": OLD}, {"b": OLD}, {"b": USER}, {"a": USER}, "a merged, b deleted"),
    "moved and changed; nobody since": Row({"a": OLD}, {"b": STEP}, {"b": STEP}, {"a": OLD}, "a restored, b deleted"),
    "moved and changed; others changed it elsewhere": Row(
        {"a": OLD}, {"b": STEP}, {"b": BOTH}, {"a": USER}, "a merged, b deleted"
    ),
    "moved and changed; others the same lines": Row(
        {"a": OLD},
        {"b": STEP},
        {"b": CLASH},
        None,
        "a conflict:changedSince, b conflict:changedSince",
        "the old name alone conflicts there",
    ),
    "moved; others its mode": Row({"a": OLD}, {"b": OLD}, {"b": X(OLD)}, {"a": X(OLD)}, "a merged, b deleted"),
    "moved and its mode; others changed it": Row(
        {"a": OLD}, {"b": X(OLD)}, {"b": X(USER)}, {"a": USER}, "a merged, b deleted"
    ),
    "moved; others made another at the old name": Row(
        {"a": OLD},
        {"b": OLD},
        {"a": OTHER, "b": OLD},
        None,
        "a conflict:occupied, b conflict:occupied",
        "the old name alone conflicts there",
    ),
    "moved; others made the same at the old name": Row(
        {"a": OLD},
        {"b": OLD},
        {"a": OLD, "b": OLD},
        {"a": OLD},
        "a unchanged, b deleted",
    ),
    "moved; others made the same at the old name and changed the new": Row(
        {"a": OLD},
        {"b": OLD},
        {"a": OLD, "b": USER},
        None,
        "a unchanged, b conflict:changedSince",
        "the file at the old name is written over there",
    ),
    "moved; others deleted it": Row(
        {"a": OLD},
        {"b": OLD},
        {},
        None,
        "a conflict:deletedSince, b conflict:deletedSince",
        "the old name alone conflicts there",
    ),
    "moved; others moved it back": Row({"a": OLD}, {"b": OLD}, {"a": OLD}, {"a": OLD}, "a unchanged, b unchanged"),
    "moved; others moved it back and changed it": Row(
        {"a": OLD}, {"b": OLD}, {"a": USER}, {"a": USER}, "a unchanged, b unchanged"
    ),
    "moved and changed; others moved it back and changed it": Row(
        {"a": OLD}, {"b": STEP}, {"a": BOTH}, {"a": USER}, "a merged, b unchanged"
    ),
    "moved; others moved it on": Row(
        {"a": OLD},
        {"b": OLD},
        {"c": OLD},
        None,
        "a conflict:renamedSince, b conflict:renamedSince",
        "all three names conflict there",
    ),
    "moved into a directory of its name": Row(
        {"a": OLD}, {"a/b": OLD}, {"a/b": USER}, {"a": USER}, "a merged, a/b deleted"
    ),
    "moved into a directory of its name; others added to it": Row(
        {"a": OLD},
        {"a/b": OLD},
        {"a/b": OLD, "a/c": b"1"},
        None,
        "a conflict:occupied, a/b conflict:occupied",
        "the old name alone conflicts there",
    ),
    "moved out of a directory; others made a file of its name": Row(
        {"d/a": OLD},
        {"b": OLD},
        {"b": OLD, "d": b"1"},
        None,
        "b conflict:occupied, d/a conflict:occupied",
        "the file in the way is the one that conflicts there",
    ),
    "moved out of the way of another; others took the old name": Row(
        {"q": OTHER, "z/f": OLD},
        {"b": OLD, "z": OTHER},
        {"b": OLD, "z": OTHER, "q/user": b"1"},
        None,
        "b conflict:occupied, q conflict:occupied, z conflict:occupied, z/f conflict:occupied",
        "the first of them alone conflicts there",
    ),
    "symlink moved; nobody since": Row(
        {"a": Symlink("x")}, {"b": Symlink("x")}, {"b": Symlink("x")}, {"a": Symlink("x")}, "a restored, b deleted"
    ),
    "symlink moved; others changed it": Row(
        {"a": Symlink("x")},
        {"b": Symlink("x")},
        {"b": Symlink("y")},
        {"a": Symlink("y")},
        "a merged, b deleted",
    ),
    "two moved; others changed one": Row(
        {"a": OLD, "b": OTHER},
        {"d/a": OLD, "d/b": OTHER},
        {"d/a": USER, "d/b": OTHER},
        {"a": USER, "b": OTHER},
        "a merged, b restored, d/a deleted, d/b deleted",
    ),
    "an empty file is not taken for moved": Row(
        {"a": b""},
        {"b": b""},
        {"b": OTHER},
        {"a": b"", "b": OTHER},
        "a restored, b conflict:changedSince",
    ),
    # others moved it since
    "changed; others moved it": Row(
        {"a": OLD}, {"a": STEP}, {"b": STEP}, {"b": OLD}, "a unchanged:renamedSince, b restored"
    ),
    "changed; others moved it and changed it elsewhere": Row(
        {"a": OLD}, {"a": STEP}, {"b": BOTH}, {"b": USER}, "a unchanged:renamedSince, b merged"
    ),
    "changed; others moved it and changed the same lines": Row(
        {"a": OLD}, {"a": STEP}, {"b": CLASH}, None, "a unchanged:renamedSince, b conflict:changedSince"
    ),
    "mode; others moved it and changed it": Row(
        {"a": OLD}, {"a": X(OLD)}, {"b": X(USER)}, {"b": USER}, "a unchanged:renamedSince, b merged"
    ),
    "created; others moved it": Row(
        {}, {"a": STEP}, {"b": STEP}, {}, "a unchanged:renamedSince, b deleted", "moved and deleted conflict there"
    ),
    "created; others moved it and changed it": Row(
        {}, {"a": STEP}, {"b": BOTH}, None, "a unchanged:renamedSince, b conflict:changedSince"
    ),
    "created empty; others deleted it and made another empty one": Row({}, {"a": b""}, {"b": b""}, None, "a unchanged"),
    "binary changed; others moved it": Row(
        {"a": BIN}, {"a": BIN_STEP}, {"b": BIN_STEP}, {"b": BIN}, "a unchanged:renamedSince, b restored"
    ),
    "directory; others moved it": Row(
        {"d/a": OLD, "d/b": OTHER},
        {"d/a": STEP, "d/b": OTHER},
        {"e/a": STEP, "e/b": OTHER},
        {"e/a": OLD, "e/b": OTHER},
        "d/a unchanged:renamedSince, e/a restored",
    ),
    # several files
    "each by itself": Row(
        {"a": OLD, "b": OLD, "c": OLD},
        {"a": STEP, "b": STEP, "d": BIN},
        {"a": STEP, "b": CLASH, "d": BIN, "user": b"1"},
        {"a": OLD, "b": CLASH, "c": OLD, "user": b"1"},
        "a restored, b conflict:changedSince, c restored, d deleted",
    ),
    "what the step did not touch is not touched": Row(
        {"a": OLD, "b": OLD, "c": OLD},
        {"a": STEP, "b": OLD, "c": OLD},
        {"a": STEP, "b": USER},
        {"a": OLD, "b": USER},
        "a restored",
    ),
    "nothing": Row({"a": OLD}, {"a": OLD}, {"a": USER}, {"a": USER}, ""),
}


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_one_step(objects: Objects, row: Row) -> None:
    story = Story(row.before, (row.left, row.now))
    for on_conflict in ("merge", "fail"):
        overlay = objects.overlay(story.now)
        taken = take(objects, story, on_conflict, overlay)
        assert told(taken) == row.said
        assert objects.after(row.now, taken.effects) == (row.now if row.wanted is None else row.wanted)
        assert overlay.effects() == taken.effects
        assert combined(overlay, [taken]) == taken.outcomes


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_git_merges_it_likewise(objects: Objects, row: Row) -> None:
    merged, conflicts = objects.git_merge(row.left, row.now, row.before)
    wanted = row.now if row.wanted is None else row.wanted
    ours = {one.split()[0] for one in row.said.split(", ") if "conflict" in one}
    alike = conflicts == ours and {n: i for n, i in merged.items() if n not in ours} == {
        n: i for n, i in wanted.items() if n not in ours
    }
    assert alike is not bool(row.unlike_git), (merged, conflicts)


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_overwrite_brings_back_what_was_there(objects: Objects, row: Row) -> None:
    story = Story(row.before, (row.left, row.now))
    taken = take(objects, story, "overwrite")
    found = objects.after(row.now, taken.effects)
    blocked = {one.path.decode() for one in taken.outcomes if one.outcome == "conflict"}
    assert {one.reason for one in taken.outcomes if one.outcome == "conflict"} <= {"occupied"}
    for path in story.deltas(objects):
        name = path.decode()
        if name not in blocked:
            assert found.get(name) == row.before.get(name)
    for name in row.now.keys() - {path.decode() for path in story.deltas(objects)}:
        assert found[name] == row.now[name]


@pytest.mark.parametrize("row", CASES.values(), ids=CASES.keys())
def test_shared_changes_are_a_conflict(objects: Objects, row: Row) -> None:
    story = Story(row.before, (row.left, row.now), shared=True)
    taken = take(objects, story)
    assert taken.effects == ()
    reasons = {one.reason for one in taken.outcomes if one.outcome == "conflict"}
    assert reasons <= {"shared", "deletedSince", "renamedSince", "occupied"}
    assert {one.outcome for one in taken.outcomes} <= {"conflict", "unchanged"}
    assert (
        take(objects, story, "overwrite").effects
        == take(objects, Story(row.before, (row.left, row.now)), "overwrite").effects
    )


# the step and others in turns, the step first; what is there when it is taken back (None: what was there), what is said
TURNS: dict[str, tuple[State, tuple[State, ...], State | None, str]] = {
    "others elsewhere between": (
        {"f": OLD},
        ({"f": STEP}, {"f": BOTH}, {"f": lines("twice", *range(1, 11), "user")}),
        {"f": USER},
        "f merged",
    ),
    "others the same lines between": (
        {"f": OLD},
        ({"f": STEP}, {"f": CLASH}, {"f": lines("twice", *range(1, 12))}),
        None,
        "f conflict:changedSince",
    ),
    "the later change could be taken back, the earlier not": (
        {"f": OLD},
        ({"f": STEP}, {"f": CLASH}, {"f": lines("user", *range(1, 11), "step")}),
        None,
        "f conflict:changedSince",
    ),
    "others made of it what it was before": (
        {"f": OLD},
        ({"f": STEP}, {"f": CLASH}, {"f": OTHER}, {"f": OLD}),
        None,
        "f unchanged",
    ),
    "made, deleted by others, made again": ({}, ({"f": STEP}, {}, {"f": BOTH}), {}, "f deleted"),
    "made, changed by others, deleted": ({}, ({"f": STEP}, {"f": BOTH}, {}), None, "f unchanged"),
    "changed, changed by others, deleted": ({"f": OLD}, ({"f": STEP}, {"f": BOTH}, {}), {"f": USER}, "f merged"),
    "deleted, another made by others, deleted": ({"f": OLD}, ({}, {"f": OTHER}, {}), None, "f conflict:changedSince"),
    "changed, deleted by others, made again": (
        {"f": OLD},
        ({"f": STEP}, {}, {"f": OTHER}),
        None,
        "f conflict:changedSince",
    ),
    "deleted, another made by others, changed": (
        {"f": OLD},
        ({}, {"f": OTHER}, {"f": OTHER + b"step\n"}),
        None,
        "f conflict:changedSince",
    ),
    "changed, moved by others, changed": (
        {"a": OLD},
        ({"a": STEP}, {"b": STEP}, {"b": lines("step", *range(1, 11), "step")}),
        {"b": STEP},
        "a conflict:deletedSince, b restored",
    ),
    "changed, changed by others, moved": (
        {"a": OLD},
        ({"a": STEP}, {"a": BOTH}, {"b": BOTH}),
        {"a": USER},
        "a merged, b deleted",
    ),
    "moved, changed by others, changed": (
        {"a": OLD},
        ({"b": OLD}, {"b": USER}, {"b": BOTH}),
        {"a": USER},
        "a merged, b deleted",
    ),
    "made, changed by others, moved": (
        {},
        ({"a": STEP}, {"a": BOTH}, {"b": BOTH}),
        None,
        "a conflict:changedSince, b conflict:changedSince",
    ),
    "made, changed by others, moved, deleted by others": (
        {},
        ({"a": STEP}, {"a": BOTH}, {"b": BOTH}, {}),
        None,
        "a unchanged, b unchanged",
    ),
    "moved, changed by others, deleted": (
        {"a": OLD},
        ({"b": OLD}, {"b": USER}, {}),
        {"a": USER},
        "a merged, b unchanged",
    ),
    "moved, changed by others, deleted, another made by others": (
        {"a": OLD},
        ({"b": OLD}, {"b": USER}, {}, {"b": OTHER}),
        None,
        "a conflict:occupied, b conflict:occupied",
    ),
    "deleted, a directory by others, deleted": (
        {"d": OLD},
        ({}, {"d/f": OTHER}, {}),
        {"d/f": OTHER},
        "d conflict:occupied, d/f restored",
    ),
    "directory deleted, a file by others, changed": (
        {"d/f": OLD},
        ({}, {"d": OTHER}, {"d": OTHER + b"step\n"}),
        {"d": OTHER},
        "d restored, d/f conflict:occupied",
    ),
    "mode, text by others, mode": ({"f": OLD}, ({"f": X(OLD)}, {"f": X(USER)}, {"f": USER}), None, "f unchanged"),
}


@pytest.mark.parametrize(("before", "turns", "wanted", "said"), TURNS.values(), ids=TURNS.keys())
def test_a_step_in_turns_with_others(
    objects: Objects, before: State, turns: tuple[State, ...], wanted: State | None, said: str
) -> None:
    story = Story(before, turns)
    taken = take(objects, story)
    assert told(taken) == said
    assert objects.after(story.now, taken.effects) == (story.now if wanted is None else wanted)


@pytest.mark.parametrize("at", range(3))
def test_nothing_is_merged_into_a_symlink(objects: Objects, at: int) -> None:
    sides: list[Item] = [OLD, STEP, OTHER]
    sides[at] = Symlink("x")

    def merge(*_: Entry | None) -> Entry | None:
        raise AssertionError("that is no text")

    base, ours, theirs = map(objects.entry, sides)
    assert three_way(base, ours, theirs, merge) == Overlap("changedSince")


def test_others_moves_are_asked_for_once_and_only_where_a_file_is_missing(objects: Objects) -> None:
    asked = []

    def moved() -> dict[bytes, bytes]:
        asked.append(1)
        return {}

    before: State = {"a": OLD, "b": OLD}
    left: State = {"a": STEP, "b": STEP, "c": b"", "d": OTHER}
    for now, times in (({**left, "a": CLASH}, 0), ({}, 1), ({"a": STEP, "b": STEP, "d": OTHER}, 0)):
        asked.clear()
        deltas = Story(before, (left, now)).deltas(objects)
        take_back(objects.overlay(now), deltas, {}, moved, objects.merge, "merge")
        assert len(asked) == times


def test_a_file_that_was_moved_and_went_is_deleted(objects: Objects) -> None:
    deltas = Story({"a": OLD}, ({"a": STEP}, {})).deltas(objects)
    taken = take_back(objects.overlay({}), deltas, {}, lambda: {b"a": b"b"}, objects.merge, "merge")
    assert told(taken) == "a conflict:deletedSince"


def test_a_move_that_the_changes_do_not_bear_out_is_none(objects: Objects) -> None:
    before, left = {"a": OLD, "c": OLD}, {"a": STEP, "b": OLD, "c": STEP}
    deltas = Story(before, (left, left)).deltas(objects)
    renames = {b"b": b"a", b"c": b"a", b"x": b"a", b"b2": b"y"}
    taken = take_back(objects.overlay(left), deltas, renames, dict, objects.merge, "merge")
    assert told(taken) == "a restored, b deleted, c restored"


def test_two_that_need_each_others_place(objects: Objects) -> None:
    # at different times, the step deleted the file d and a file of the directory d that others made
    deltas = {b"d": [Delta(objects.entry(OLD), None)], b"d/f": [Delta(objects.entry(OTHER), None)]}
    taken = take_back(objects.overlay({}), deltas, {}, dict, objects.merge, "overwrite")
    assert told(taken) == "d conflict:occupied, d/f restored"


# -- several steps


def undo(objects: Objects, overlay: Overlay, states: Sequence[State], steps: Sequence[int]) -> list[TakenBack]:
    """Takes steps back, each from a state to the next."""
    return [
        take_back(
            overlay,
            Story(states[at], (states[at + 1],)).deltas(objects),
            objects.renames(states[at], states[at + 1]),
            partial(objects.moved, states[at + 1], states[-1]),
            objects.merge,
            "merge",
        )
        for at in steps
    ]


def test_a_middle_step_that_a_later_one_moved(objects: Objects) -> None:
    states: list[State] = [{"a": OLD}, {"a": STEP}, {"b": STEP}, {"b": BOTH}]
    overlay = objects.overlay(states[-1])
    assert told(undo(objects, overlay, states, [0])[0]) == "a unchanged:renamedSince, b merged"
    assert objects.after(states[-1], overlay.effects()) == {"b": USER}
    overlay = objects.overlay(states[-1])
    said = combined(overlay, undo(objects, overlay, states, [1, 0]))
    assert [(one.path, one.outcome) for one in said] == [(b"a", "merged"), (b"b", "deleted")]
    assert objects.after(states[-1], overlay.effects()) == {"a": USER}


# states, the steps in the order in which they are taken back, what is said in all
COMBINED: dict[str, tuple[list[State], list[int], str]] = {
    "both": ([{"f": b"1"}, {"f": b"2"}, {"f": b"3"}], [1, 0], "f restored"),
    "one of them": (
        [{"f": b"1", "g": b"1"}, {"f": b"2", "g": b"1"}, {"f": b"2", "g": b"2"}],
        [1, 0],
        "f restored, g restored",
    ),
    "there and back": ([{"f": b"1"}, {"f": b"2"}, {"f": b"1"}], [1, 0], "f unchanged"),
    "made and changed": ([{}, {"f": b"2"}, {"f": b"3"}], [1, 0], "f deleted"),
    "made and deleted": ([{}, {"f": b"2"}, {}], [1, 0], "f unchanged"),
    "a conflict first": ([{"f": OLD}, {"f": STEP}, {"f": OTHER}, {"f": BIN}], [1, 0], "f conflict:changedSince"),
    "a conflict last": ([{"f": OLD}, {"f": b"2\n"}, {"f": CLASH}, {"f": STEP}], [2, 0], "f conflict:changedSince"),
}


@pytest.mark.parametrize(("states", "steps", "wanted"), COMBINED.values(), ids=COMBINED.keys())
def test_what_is_said_of_several(objects: Objects, states: list[State], steps: list[int], wanted: str) -> None:
    overlay = objects.overlay(states[-1])
    said = combined(overlay, undo(objects, overlay, states, steps))
    assert told(TakenBack(said, ())) == wanted


# what a session's steps changed, each from a state to the next; None: that was the user
NETS: dict[str, tuple[list[tuple[State, State]], dict[str, tuple[Item, Item]]]] = {
    "nothing": ([], {}),
    "one": ([({"f": OLD}, {"f": STEP})], {"f": (OLD, STEP)}),
    "two on end": ([({"f": OLD}, {"f": STEP}), ({"f": STEP}, {"f": BOTH})], {"f": (OLD, BOTH)}),
    "there and back": ([({"f": OLD}, {"f": STEP}), ({"f": STEP}, {"f": OLD})], {}),
    "made and deleted": ([({}, {"f": STEP}), ({"f": STEP}, {})], {}),
    "the user elsewhere between": (
        [({"f": OLD}, {"f": STEP}), ({"f": BOTH}, {"f": lines("twice", *range(1, 11), "user")})],
        {"f": (OLD, lines("twice", *range(1, 12)))},
    ),
    "the user the same lines between": ([({"f": OLD}, {"f": STEP}), ({"f": CLASH}, {"f": OTHER})], {"f": (OLD, OTHER)}),
    "the user deleted it between": ([({"f": OLD}, {"f": STEP}), ({}, {"f": OTHER})], {"f": (OLD, OTHER)}),
    "two files": ([({"f": OLD}, {"f": STEP}), ({}, {"a": X(OTHER)})], {"a": (None, X(OTHER)), "f": (OLD, STEP)}),
}


@pytest.mark.parametrize(("steps", "wanted"), NETS.values(), ids=NETS.keys())
def test_the_net_of_several(
    objects: Objects, steps: list[tuple[State, State]], wanted: dict[str, tuple[Item, Item]]
) -> None:
    found = net(({path: [delta] for path, delta in objects.deltas(*step).items()} for step in steps), objects.merge)
    assert list(found) == sorted(found)
    assert found == {
        name.encode(): Delta(objects.entry(old), objects.entry(new)) for name, (old, new) in wanted.items()
    }


def test_the_net_is_shared_where_one_is(objects: Objects) -> None:
    one, two = objects.entry(OLD), objects.entry(STEP)
    assert net([{b"f": [Delta(None, one, shared=True)]}, {b"f": [Delta(one, two)]}], objects.merge) == {
        b"f": Delta(None, two, shared=True)
    }


# -- any history

ITEMS: st.SearchStrategy[Item] = st.sampled_from(
    [OLD, STEP, USER, BOTH, CLASH, OTHER, b"", BIN, BIN_STEP, X(OLD), X(BOTH), Symlink("x"), Symlink("y")]
)
NAMES = ["a", "b", "c", "d", "d/e", "d/f"]


@st.composite
def state(draw: st.DrawFn, names: Sequence[str] = NAMES) -> State:
    found: dict[str, Item] = draw(st.dictionaries(st.sampled_from(names), ITEMS))
    return {name: item for name, item in found.items() if not (name == "d" and found.keys() & {"d/e", "d/f"})}


@given(st.lists(state(), min_size=3, max_size=5), st.data())
@settings(deadline=None, max_examples=amount(60, 1000))
def test_undo_and_redo(objects: Objects, states: list[State], data: st.DataObject) -> None:
    """Any steps of some are taken back, whatever the others did; redone, all is as it was."""
    steps = sorted(data.draw(st.sets(st.integers(0, len(states) - 2), min_size=1)), reverse=True)
    now = states[-1]
    overlay = objects.overlay(now)
    taken = undo(objects, overlay, states, steps)
    after = objects.after(now, overlay.effects())
    # each effect follows on the one before
    so_far = now
    for one in taken:
        so_far = objects.after(so_far, one.effects)
    assert so_far == after

    named = {path for at in steps for path in objects.deltas(states[at], states[at + 1])}
    moved = {new for at in steps for new in objects.renames(states[at + 1], now)}
    assert {effect.path for effect in overlay.effects()} <= named | moved
    said = {one.path: one.outcome for one in combined(overlay, taken)}
    changed = {effect.path for effect in overlay.effects()}
    assert changed <= said.keys()
    assert {path for path, outcome in said.items() if outcome in ("restored", "deleted", "merged")} <= changed
    assert {path for path, outcome in said.items() if outcome == "unchanged"}.isdisjoint(changed)

    again = objects.overlay(after)
    for at, one in zip(reversed(steps), reversed(taken), strict=True):
        back = objects.moved(states[at], states[at + 1])
        redone = take_back(again, inverse(one.effects), back, dict, objects.merge, "fail")
        assert "conflict" not in told(redone)
        assert redone.effects == tuple(Effect(it.path, it.new, it.old) for it in one.effects)
    assert objects.after(after, again.effects()) == now


@given(st.lists(state(), min_size=2, max_size=5))
@settings(deadline=None, max_examples=amount(50, 1000))
def test_all_steps_taken_back_are_as_if_they_had_not_been(objects: Objects, states: list[State]) -> None:
    overlay = objects.overlay(states[-1])
    taken = undo(objects, overlay, states, range(len(states) - 2, -1, -1))
    assert objects.after(states[-1], overlay.effects()) == states[0]
    assert "conflict" not in " ".join(map(told, taken))
    chains = ({p: [d] for p, d in objects.deltas(*pair).items()} for pair in pairwise(states))
    assert net(chains, objects.merge) == objects.deltas(states[0], states[-1])


def of_its_own(name: str, item: Item) -> Item:
    """The same, unlike any file of another name: git takes the alike for moved, and cannot be told not to."""
    match item:
        case Symlink(target):
            return Symlink(name.encode() + target)
        case Executable(data):
            return Executable(data.replace(b"\n", name.encode() * 9 + b"\n"))
        case None:
            return None
        case _:
            return item.replace(b"\n", name.encode() * 9 + b"\n")


FLAT = state(["a", "b", "c"]).map(lambda found: {name: of_its_own(name, item) for name, item in found.items()})


@given(FLAT, FLAT, FLAT)
@settings(deadline=None, max_examples=amount(60, 1000))
def test_without_moves_it_is_gits_merge(objects: Objects, before: State, left: State, now: State) -> None:
    taken = take(objects, Story(before, (left, now)))
    merged, conflicts = objects.git_merge(left, now, before)
    ours = {one.path.decode() for one in taken.outcomes if one.outcome == "conflict"}
    # an empty file where another has to return is in its way here; git writes into it
    nothing = (b"", Executable(b""))
    made = {name for name in now if not isinstance(left.get(name), (bytes, Executable))}
    empty = {name for name in made if now[name] in nothing or before.get(name) in nothing}
    assert ours - empty == conflicts - empty
    after = objects.after(now, taken.effects)
    for name in {"a", "b", "c"} - empty:
        wanted = now if name in conflicts else merged
        assert after.get(name) == wanted.get(name)


# -- the product's merge of text

LINES = st.lists(st.sampled_from([b"", b"}", b"x", b"y", b"z"]), max_size=14)
TEXTS = st.builds(
    lambda found, nl, end: nl.join(found) + end, LINES, st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([b"", b"\n"])
)


def merge_file(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


@given(TEXTS, TEXTS, TEXTS)
@settings(deadline=None, max_examples=amount(100, 1000))
def test_texts_merge_as_with_git_merge_file(
    objects: Objects, tmp_path_factory: pytest.TempPathFactory, base: bytes, ours: bytes, theirs: bytes
) -> None:
    wanted = merge_file(tmp_path_factory.getbasetemp(), base, ours, theirs)
    story = Story({"f": theirs}, ({"f": base}, {"f": ours}))
    taken = take(objects, story)
    if theirs == base:
        assert taken.outcomes == ()
        return
    assert (objects.after(story.now, taken.effects)["f"] if "conflict" not in told(taken) else None) == wanted
