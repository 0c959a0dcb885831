"""Compares two git states."""

from __future__ import annotations

import re
from typing import Literal

from snapd.model.git import STAGED, STASH, GitChange, GitStateId, Pair, RefChange
from snapd.model.snapshot import EMPTY_TREE, ObjectId
from snapd.model.trees import changes, file_at, lookup
from snapd.store.object_store import ObjectStore
from snapd.store.objects.codec import object_id

from .index import decode_staged

UNRECORDED = b"unrecorded"
"""The one file of a state that could not be recorded, or was not to be: it has the reason."""
STASH_LOG = b"logs/refs/stash"

_PACKED = re.compile(rb"^([0-9a-f]{40}) (refs/\S+)$", re.MULTILINE)
_OPERATIONS = (
    ("am", b"rebase-apply/applying"),
    ("rebase", b"rebase-apply"),
    ("rebase", b"rebase-merge"),
    ("merge", b"MERGE_HEAD"),
    ("cherry-pick", b"CHERRY_PICK_HEAD"),
    ("revert", b"REVERT_HEAD"),
    ("cherry-pick", b"sequencer"),
    ("bisect", b"BISECT_LOG"),
)
_REFS = (b"refs/heads/", b"refs/tags/", STASH.encode())


class GitState:
    """A recorded git state; reads of it raise as those of the store."""

    def __init__(self, objects: ObjectStore, state: GitStateId) -> None:
        self._objects = objects
        self.tree = state.tree
        self._packed: dict[bytes, bytes] | None = None

    @property
    def reason(self) -> str | None:
        """Why nothing is recorded; None if the state is recorded."""
        reason = self.file(UNRECORDED)
        return None if reason is None else reason.decode()

    def file(self, path: bytes) -> bytes | None:
        """Returns a file of the state; None if it has none, or a directory."""
        entry = file_at(self._objects.entry_in, self.tree, path)
        return None if entry is None else self._objects.read_blob(entry.oid)

    def has(self, path: bytes) -> bool:
        """Whether the state has a file or directory."""
        return lookup(self._objects.entry_in, self.tree, path) is not None

    @property
    def head(self) -> str:
        """The full name of the branch that `HEAD` is on, or the id of a commit."""
        return (self.file(b"HEAD") or b"").removeprefix(b"ref:").strip().decode("utf-8", "replace")

    @property
    def packed(self) -> dict[bytes, bytes]:
        """The refs in `packed-refs`, by name."""
        if self._packed is None:
            self._packed = {name: oid for oid, name in _PACKED.findall(self.file(b"packed-refs") or b"")}
        return self._packed

    def ref(self, name: bytes) -> str | None:
        """Returns the id of a commit or tag, or `ref: NAME`, that a ref has; None for no ref."""
        value = self.file(name)
        value = self.packed.get(name) if value is None else value.strip()
        return None if value is None else value.decode("utf-8", "replace")

    def has_ref_to(self, oid: ObjectId) -> bool:
        """Whether a ref, other than one that leads to another ref, has this object."""
        name = oid.hex().encode()
        # the files of refs need not be read
        loose = object_id("blob", name + b"\n")
        there = (each.new for each in changes(self._objects.read_tree, EMPTY_TREE, self.tree))
        return name in self.packed.values() or any(file is not None and file.oid == loose for file in there)

    def refs_changed(self, after: GitState) -> list[bytes]:
        """Returns the names of the refs that are not as before in a later state, without those in `packed-refs`."""
        moved = changes(self._objects.read_tree, self.tree, after.tree)
        return [each.path for each in moved if each.path.startswith(_REFS)]

    @property
    def staged(self) -> int:
        """How many paths are staged."""
        return len(decode_staged(self.file(STAGED) or b""))

    @property
    def operation(self) -> str:
        """The operation in progress, or "none"."""
        return next((name for name, path in _OPERATIONS if self.has(path)), "none")


def git_change(objects: ObjectStore, before: GitStateId, after: GitStateId) -> GitChange:
    """Compares two states; nothing changed where either is not recorded."""
    old, new = GitState(objects, before), GitState(objects, after)
    if old.tree == new.tree or old.reason is not None or new.reason is not None:
        return GitChange()
    paths = {each.path for each in changes(objects.read_tree, old.tree, new.tree, differing=objects.differing)}
    names = {path for path in paths if path.startswith(_REFS)}
    if b"packed-refs" in paths:
        names |= {name for name, _ in old.packed.items() ^ new.packed.items()}
    entries_changed = STASH_LOG in paths
    if entries_changed:
        names.add(STASH.encode())
    refs = []
    for name in sorted(names):
        was, now = old.ref(name), new.ref(name)
        if was != now or (now is not None and entries_changed and name == STASH.encode()):
            refs.append(RefChange(name.decode("utf-8", "replace"), was, now))
    repository: Literal["created", "deleted"] | None = None
    if EMPTY_TREE in (old.tree, new.tree):
        repository = "created" if old.tree == EMPTY_TREE else "deleted"
    head = None if repository is not None or old.head == new.head else Pair(old.head, new.head)
    return GitChange(
        head,
        tuple(refs),
        Pair(old.staged, new.staged) if STAGED in paths else None,
        None if old.operation == new.operation else Pair(old.operation, new.operation),
        repository,
    )
