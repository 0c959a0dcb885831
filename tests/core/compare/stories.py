"""Stories of a step and of others, as trees of a store, and taking the step back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import attrs
import pygit2

from snapd.core.attribution import Delta, own_moves
from snapd.core.compare.threeway import Overlay, StepReversal, take_back
from snapd.core.compare.threeway import merge as merge_files
from snapd.model.snapshot import EXECUTABLE, NO_COVERAGE, REGULAR, SYMLINK, Entry, ObjectId, OnConflict, RelPath
from snapd.model.timeline import Effect, SnapshotId, Span
from snapd.model.trees import changes, files
from snapd.store.coverage import encode
from snapd.store.object_store import ObjectStore, renames
from snapd.store.repository import ShadowRepository
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
        self.objects = ObjectStore(ShadowRepository(str(folder / "store")))
        self._handle = pygit2.Repository(self.objects.path)

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
        data = self.objects.read_blob(entry.oid)
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
        found = changes(self.objects.read_tree, self.tree(old), self.tree(new))
        return {change.path: Delta(change.old, change.new, ("other",) if shared else ()) for change in found}

    def renames(self, old: State, new: State) -> dict[RelPath, RelPath]:
        return renames(self.objects.repository, self.tree(old), self.tree(new))

    def moved(self, old: State, new: State) -> dict[RelPath, RelPath]:
        return {before: after for after, before in self.renames(old, new).items()}

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        return merge_files(self.objects, base, ours, theirs)

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
            self.objects.path,
            *("-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"),
            *(str(one) for one in two),
        ).split(b"\0")
        found = files(self.objects.read_tree, bytes.fromhex(said[0].decode()))
        merged = {path.decode(): self.item(entry) for path, entry in found}
        # what cannot keep its name is put aside, under one with a tilde
        names = {name.decode().partition("~")[0] for name in said[1:] if name}
        return {name: item for name, item in merged.items() if "~" not in name}, names

    def _commit(self, state: State, *parents: pygit2.Oid) -> pygit2.Oid:
        who = pygit2.Signature("Author", "author@example.com", 0, 0)
        return self._handle.create_commit(None, who, who, "", pygit2.Oid(raw=self.tree(state)), list(parents))


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
        coverage = objects.objects.store_blob(encode(NO_COVERAGE))
        ids = [SnapshotId(objects.tree(state), coverage) for state in (self.before, *self.turns)]
        spans = [Span(old, new, ("step",)) for old, new in list(pairwise(ids))[::2]]
        return own_moves(spans, objects.objects.renames)

    @property
    def left(self) -> State:
        """What the step left in the end."""
        return self.turns[-1 - (len(self.turns) % 2 == 0)]

    @property
    def now(self) -> State:
        return self.turns[-1]


def take(
    objects: Objects, story: Story, on_conflict: OnConflict = "merge", overlay: Overlay | None = None
) -> StepReversal:
    deltas = story.deltas(objects)
    return take_back(
        objects.overlay(story.now) if overlay is None else overlay,
        deltas,
        story.moves(objects),
        lambda: objects.moved(story.left, story.now),
        objects.merge,
        on_conflict,
    )


def told(taken: StepReversal) -> str:
    return ", ".join(
        f"{one.path.decode()} {one.outcome}" + (f":{one.reason}" if one.reason else "") for one in taken.outcomes
    )


def undo(objects: Objects, overlay: Overlay, states: Sequence[State], steps: Sequence[int]) -> list[StepReversal]:
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
