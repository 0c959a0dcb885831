"""The objects of a repository as the core uses them: read, compared, merged, added."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .adopt import adopt
from .batch import ObjectBatch, store_blob
from .merging import merge
from .renames import renames
from .repository import ShadowRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from snapd.core.model import Entry, ObjectId, RelPath

P = ParamSpec("P")
T = TypeVar("T")


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

    def renames(self, old: ObjectId, new: ObjectId) -> dict[RelPath, RelPath]:
        """The old path of each file that was moved, by its new one."""
        return renames(self._repository, old, new)

    def merge(self, base: Entry | None, ours: Entry, theirs: Entry) -> Entry | None:
        """Merges a file three ways and stores the result; None if the changes overlap."""
        return merge(self._repository, base, ours, theirs)

    def store_blob(self, data: bytes) -> ObjectId:
        """Stores the bytes of a file that no work tree had."""
        return store_blob(self._repository, data)

    def discard(self) -> frozenset[ObjectId]:
        """Drops objects that were added and could not be made durable; returns their ids."""
        return self._repository.journal.discard()
