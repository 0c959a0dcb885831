"""The objects of a store: read, compared with each other, and stored together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from snapd.model.errors import StoreCorrupt
from snapd.model.paths import parents
from snapd.model.snapshot import SYMLINK, TREE, Change, Entry, ObjectId, RelPath, Snapshot, TreeEntry
from snapd.model.timeline import SnapshotId, State
from snapd.model.trees import changes, drop_out_of_sight
from snapd.store.adopt import adopt
from snapd.store.objects.codec import NUMBERS, ObjectKind, encode_tree, object_id
from snapd.store.objects.libgit2 import SuppliedObjects, supplied
from snapd.store.objects.loose import LooseWriter, encode_loose
from snapd.store.objects.pack_entry import pack_object, packed_blob
from snapd.store.objects.pack_index import KnownPacks
from snapd.store.objects.pack_writer import PackWriter
from snapd.store.repository import ShadowRepository

LOOSE_COUNT = 320
LOOSE_BYTES = 4 << 20
"""More objects or bytes are written as a pack at once; fewer go to the journal, which one sync makes durable."""


class ObjectBatch:
    """Collects objects and stores them at `commit`; after an error, no object is half written.

    A context manager: objects that were not committed are discarded. Not safe to use from several threads at once.
    """

    packing = packed_blob.__module__

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._seen: set[ObjectId] = set()
        self._pending: list[tuple[ObjectId, ObjectKind, bytes]] = []
        self._pending_bytes = 0
        self._pack: PackWriter | None = None
        self._loose = LooseWriter(repository.objects)
        self._fresh: bool | None = None
        self._packs: KnownPacks | None = None

    def __enter__(self) -> ObjectBatch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pack is not None:
            self._pack.discard()
            self._pack = None

    def blob(self, data: bytes) -> ObjectId:
        """Adds the content of a file."""
        return self._add("blob", data)

    def blob_stream(self, size: int, chunks: Iterator[bytes]) -> ObjectId:
        """Adds the content of a large file, in chunks; raises `ValueError` if these have another size in total."""
        return self._loose.write("blob", size, chunks)

    def add_packed_blob(self, oid: ObjectId, packed: bytes) -> None:
        """Adds a blob that another process packed with `pack_entry.packed_blob`; worth it only for many blobs."""
        if not self._is_stored(oid):
            (self._pack or self._begin_pack()).add(oid, packed)

    def encoded_tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""
        return self._add("tree", data)

    def commit_object(self, data: bytes) -> ObjectId:
        """Adds a commit, given as its bytes."""
        return self._add("commit", data)

    def commit(self) -> None:
        """Stores everything that was added: a pack durably, a few objects durably with the next event."""
        if self._pack is not None:
            self._pack.finish()
            self._pack = None
        if self._pending:
            self._repository.journal.add({oid: encode_loose(kind, data) for oid, kind, data in self._pending})
        self._pending.clear()
        self._pending_bytes = 0
        self._loose.sync()

    def _add(self, kind: ObjectKind, data: bytes) -> ObjectId:
        oid = object_id(kind, data)
        if self._is_stored(oid):
            return oid
        if self._pack is not None:
            self._pack.add(oid, pack_object(kind, data))
            return oid
        self._pending.append((oid, kind, data))
        self._pending_bytes += len(data)
        if len(self._pending) > LOOSE_COUNT or self._pending_bytes > LOOSE_BYTES:
            self._begin_pack()
        return oid

    def _is_stored(self, oid: ObjectId) -> bool:
        """Whether an object is in the repository or was added before; from now on it counts as added."""
        if oid in self._seen:
            return True
        self._seen.add(oid)
        if self._fresh is None:
            # not earlier: objects may have been adopted since the batch was made
            self._fresh = self._repository.is_empty()
        if self._fresh:
            return False
        if self._packs is None:
            self._packs = self._repository.packs.now()
        # the objects of a pack that is removed meanwhile are in another pack
        return self._repository.has(oid, self._packs)

    def _begin_pack(self) -> PackWriter:
        pack = self._pack = PackWriter(self._repository.pack_directory)
        for oid, kind, data in self._pending:
            pack.add(oid, pack_object(kind, data))
        self._pending.clear()
        self._pending_bytes = 0
        return pack


_SIMILAR_PERCENT = 50
_CANDIDATES = 1000


def renames(
    repository: ShadowRepository, old: ObjectId, new: ObjectId, differing: Iterable[Change] | None = None
) -> dict[RelPath, RelPath]:
    """Finds moved files between two trees, as `git diff -M` does (half of the text is the same): old paths by new ones.

    `differing` is the difference to search; None for all of it.
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
    backend = SuppliedObjects(repository)
    handle = supplied(backend)
    try:
        # libgit2 would read every directory of both trees
        before, after = (handle[pygit2.Oid(raw=_tree_of(files, backend))] for files in (gone, come))
        assert isinstance(before, pygit2.Tree)
        assert isinstance(after, pygit2.Tree)
        diff = before.diff_to_tree(after, flags=DiffOption.NORMAL)
        how = DiffFind.FIND_RENAMES | DiffFind.FIND_DONT_IGNORE_WHITESPACE
        diff.find_similar(how, rename_threshold=_SIMILAR_PERCENT, rename_limit=_CANDIDATES)
        result = {
            delta.new_file.raw_path: delta.old_file.raw_path
            for delta in diff.deltas
            if delta.status == DeltaStatus.RENAMED
        }
        return result | _moved_links(diff)
    except (KeyError, pygit2.GitError) as error:
        if backend.error is not None:
            raise backend.error from error
        raise StoreCorrupt(
            f"trees {old.hex()} and {new.hex()} cannot be compared: {error}", object=new.hex()
        ) from error


def _tree_of(files: Mapping[RelPath, Entry], backend: SuppliedObjects) -> ObjectId:
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
    """Finds symlinks that were removed and added with the same target: libgit2 compares regular files only."""
    gone: dict[pygit2.Oid, list[RelPath]] = {}
    for delta in diff.deltas:
        if delta.status == DeltaStatus.DELETED and delta.old_file.mode == SYMLINK:
            gone.setdefault(delta.old_file.id, []).append(delta.old_file.raw_path)
    return {
        delta.new_file.raw_path: gone[delta.new_file.id].pop(0)
        for delta in diff.deltas
        if delta.status == DeltaStatus.ADDED and delta.new_file.mode == SYMLINK and gone.get(delta.new_file.id)
    }


def _tree(state: State) -> ObjectId:
    return state if isinstance(state, bytes) else state.tree


class ObjectStore:
    """The objects of a repository: read (with methods of `ShadowRepository`), compared, and stored together.

    The parts of a store refer to the repository, never to the store: a cycle would keep the packs of a closed store
    open until the garbage collector runs, which is rare in the daemon.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self.repository = repository
        self.path = repository.path
        self.check_present, self.bytes_on_disk = repository.check_present, repository.bytes_on_disk
        self.read_tree, self.entry_in, self.differing = repository.read_tree, repository.entry_in, repository.differing
        self.read_blob, self.read_small_blob = repository.read_blob, repository.read_small_blob
        self.blob_size, self.blob_chunks = repository.blob_size, repository.blob_chunks
        self.load = repository.load

    def batch(self) -> ObjectBatch:
        """Starts a batch of objects to be stored together."""
        return ObjectBatch(self.repository)

    def adopt(self, directories: Sequence[bytes], wanted: Collection[ObjectId]) -> frozenset[ObjectId]:
        """Copies or links objects of the user's own git into the store, durably; see `adopt`."""
        return adopt(self.repository, directories, wanted)

    def left_out(self, state: State) -> Mapping[RelPath, ObjectId]:
        """Returns what a snapshot left out because of its rules; see `Coverage`."""
        if isinstance(state, SnapshotId):
            state = self.load(state)
        return dict(state.coverage.left_out) if isinstance(state, Snapshot) else {}

    def changes(
        self, old: State, new: State, *, after: RelPath | None = None, only: Collection[RelPath] = ()
    ) -> Iterator[Change]:
        """Lists what differs between two snapshots, without what only went out of sight; see `trees.changes`."""
        trees = _tree(old), _tree(new)
        matches = changes(self.read_tree, *trees, after=after, only=only, differing=self.differing)
        if trees[0] == trees[1]:
            return matches
        went, came = self.left_out(new), self.left_out(old)
        return drop_out_of_sight(matches, went, came) if went or came else matches

    def renames(self, old: State, new: State) -> dict[RelPath, RelPath]:
        """Returns the old path of each moved file, by its new one."""
        return renames(self.repository, _tree(old), _tree(new), self.changes(old, new))

    def store_blob(self, data: bytes) -> ObjectId:
        """Stores the content of a file that no work tree had."""
        with self.batch() as batch:
            oid = batch.blob(data)
            batch.commit()
        return oid

    def discard(self) -> frozenset[ObjectId]:
        """Drops objects that were added and could not be made durable; returns their ids."""
        return self.repository.journal.discard()
