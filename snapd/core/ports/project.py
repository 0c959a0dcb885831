"""What the work tree needs of a store to believe the objects of the project's own git; `store` provides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from snapd.core.model import ObjectId


class Adopt(Protocol):
    """`Store.adopt`, by itself."""

    def __call__(self, directories: Sequence[bytes], wanted: Collection[ObjectId], /) -> frozenset[ObjectId]:
        """Takes objects over from other git `objects` directories; gives those wanted that are stored now."""


class ProjectBlobs(Protocol):
    """Blobs in the project's own git, which may be missing, damaged, or made to do harm."""

    def sizes(self, wanted: Collection[ObjectId], /) -> dict[ObjectId, int]:
        """The sizes in bytes of those that are there, as they say themselves; raises `IoError`."""

    def read(self, oid: ObjectId, most: int, /) -> bytes | None:
        """The bytes of a blob, None where there is none, it is damaged, or has more than `most`; raises `IoError`."""


class OpenBlobs(Protocol):
    """`Store.project_blobs`, by itself."""

    def __call__(self, directories: Sequence[bytes], /) -> ProjectBlobs:
        """The blobs in git `objects` directories; nothing is read yet."""
