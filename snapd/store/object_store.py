"""The objects of a repository as the core uses them: read, compared, merged, added, and followed to other paths."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from snapd.core.errors import StoreCorrupt
from snapd.core.model import SYMLINK, TREE, Snapshot, TreeEntry
from snapd.core.paths import parents
from snapd.core.trees import changes, in_sight
from snapd.store.objects.codec import NUMBERS, encode_tree, object_id
from snapd.store.objects.libgit2 import Supplied, supplied

from .adopt import adopt
from .batch import ObjectBatch, store_blob
from .merging import merge
from .repository import ShadowRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from snapd.core.model import Change, Entry, ObjectId, RelPath
    from snapd.core.timeline.model import State


_SIMILAR_PERCENT = 50
_CANDIDATES = 1000

P = ParamSpec("P")
T = TypeVar("T")


def renames(
    repository: ShadowRepository, old: ObjectId, new: ObjectId, differing: Iterable[Change] | None = None
) -> dict[RelPath, RelPath]:
    """Finds files that were moved, as `git diff -M` does: at least half of their text is the same.

    Args:
        repository: holds both trees.
        old: tree id.
        new: tree id.
        differing: what differs between them; None for all that does.

    Returns:
        The old path by the new one.

    Raises:
        StoreCorrupt: an object is missing or damaged.
        IoError: one cannot be read now.
    """
    gone: dict[RelPath, Entry] = {}
    come: dict[RelPath, Entry] = {}
    for change in differing or changes(repository.read_tree, old, new, differing=repository.differing):
        if change.new is None and change.old is not None:
            gone[change.path] = change.old
        elif change.old is None and change.new is not None:
            come[change.path] = change.new
    if not gone or not come:
        return {}
    backend = Supplied(repository)
    handle = supplied(backend)
    try:
        # libgit2 would read every directory of both trees
        before, after = (handle[pygit2.Oid(raw=_tree_of(files, backend))] for files in (gone, come))
        assert isinstance(before, pygit2.Tree)
        assert isinstance(after, pygit2.Tree)
        diff = before.diff_to_tree(after, flags=DiffOption.NORMAL)
        how = DiffFind.FIND_RENAMES | DiffFind.FIND_DONT_IGNORE_WHITESPACE
        diff.find_similar(how, rename_threshold=_SIMILAR_PERCENT, rename_limit=_CANDIDATES)
        found = {
            delta.new_file.raw_path: delta.old_file.raw_path
            for delta in diff.deltas
            if delta.status == DeltaStatus.RENAMED
        }
        return found | _moved_links(diff)
    except (KeyError, pygit2.GitError) as error:
        if backend.error is not None:
            raise backend.error from error
        raise StoreCorrupt(
            f"trees {old.hex()} and {new.hex()} cannot be compared: {error}", object=new.hex()
        ) from error


def _tree_of(files: Mapping[RelPath, Entry], backend: Supplied) -> ObjectId:
    """Makes the trees of some files in memory, and gives the id of the root."""
    folders: dict[bytes, list[TreeEntry]] = {b"": []}
    for path, entry in files.items():
        folder, _, name = path.rpartition(b"/")
        folders.setdefault(folder, []).append(TreeEntry(name, entry.mode, entry.oid))
        for above in parents(path):
            folders.setdefault(above, [])
    oid = b""
    # the deepest first: each is then an entry of the one above
    for folder in sorted(folders, key=lambda folder: (folder != b"", folder.count(b"/")), reverse=True):
        data = encode_tree(folders[folder])
        oid = object_id("tree", data)
        backend.objects[oid] = NUMBERS["tree"], data
        if folder:
            above, _, name = folder.rpartition(b"/")
            folders[above].append(TreeEntry(name, TREE, oid))
    return oid


def _moved_links(diff: pygit2.Diff) -> dict[RelPath, RelPath]:
    """Symlinks that were removed and added with the same target: libgit2 compares regular files only."""
    gone: dict[pygit2.Oid, list[RelPath]] = {}
    for delta in diff.deltas:
        if delta.status == DeltaStatus.DELETED and delta.old_file.mode == SYMLINK:
            gone.setdefault(delta.old_file.id, []).append(delta.old_file.raw_path)
    return {
        delta.new_file.raw_path: gone[delta.new_file.id].pop(0)
        for delta in diff.deltas
        if delta.status == DeltaStatus.ADDED and delta.new_file.mode == SYMLINK and gone.get(delta.new_file.id)
    }


def part(name: str, method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[ObjectStore, P], T]:
    """The method of a store that calls a method of one of its parts.

    Args:
        name: of the attribute that holds the part.
        method: of the class of the part.
    """

    @wraps(method)
    def call(store: ObjectStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(getattr(store, name), *args, **kwargs)

    return call


def _tree(state: State) -> ObjectId:
    return state if isinstance(state, bytes) else state.tree


class ObjectStore:
    """The objects of a repository; implements `core.ports.Objects`.

    Args:
        repository: holds them.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository

    check_present = part("_repository", ShadowRepository.check_present)
    read_tree = part("_repository", ShadowRepository.read_tree)
    entry_in = part("_repository", ShadowRepository.entry_in)
    differing = part("_repository", ShadowRepository.differing)
    read_blob = part("_repository", ShadowRepository.read_blob)
    read_small_blob = part("_repository", ShadowRepository.read_small_blob)
    blob_size = part("_repository", ShadowRepository.blob_size)
    blob_chunks = part("_repository", ShadowRepository.blob_chunks)

    def batch(self) -> ObjectBatch:
        """A batch of objects to be stored together."""
        return ObjectBatch(self._repository)

    def adopt(self, directories: Sequence[bytes], wanted: Collection[ObjectId]) -> frozenset[ObjectId]:
        """Copies or links objects of the user's own git into the store, durably.

        Args:
            directories: absolute `objects` directories; they are only read.
            wanted: ids of 20 bytes.

        Returns:
            Those of `wanted` that the store holds now.

        Raises:
            StorageFull, IoError: the store could not be written.
        """
        return adopt(self._repository, directories, wanted)

    def left_out(self, state: State) -> Mapping[RelPath, ObjectId]:
        """What a snapshot left out because of its rules; see `Coverage`."""
        return dict(state.coverage.left_out) if isinstance(state, Snapshot) else {}

    def changes(
        self, old: State, new: State, *, after: RelPath | None = None, only: Collection[RelPath] = ()
    ) -> Iterator[Change]:
        """Lists what differs between two snapshots, without what only went out of sight; see `trees.changes`."""
        trees = _tree(old), _tree(new)
        found = changes(self.read_tree, *trees, after=after, only=only, differing=self.differing)
        if trees[0] == trees[1]:
            return found
        went, came = self.left_out(new), self.left_out(old)
        return in_sight(found, went, came) if went or came else found

    def renames(self, old: State, new: State) -> dict[RelPath, RelPath]:
        """The old path of each file that was moved, by its new one."""
        return renames(self._repository, _tree(old), _tree(new), self.changes(old, new))

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges a file three ways and stores the result; None if the changes overlap."""
        return merge(self._repository, base, ours, theirs)

    def store_blob(self, data: bytes) -> ObjectId:
        """Stores the bytes of a file that no work tree had."""
        return store_blob(self._repository, data)

    def discard(self) -> frozenset[ObjectId]:
        """Drops objects that were added and could not be made durable; returns their ids."""
        return self._repository.journal.discard()
