"""What the work tree needs of a store in order to use the objects of the project's own git; `store` provides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from snapd.core.model import ObjectId


class Adopt(Protocol):
    """`Objects.adopt` as a function."""

    def __call__(self, directories: Sequence[bytes], wanted: Collection[ObjectId], /) -> frozenset[ObjectId]:
        """Copies wanted objects from other git `objects` directories; gives those that are stored now."""


class ProjectBlobs(Protocol):
    """Blobs in the project's own git, which may be missing, damaged or malicious."""

    def sizes(self, wanted: Collection[ObjectId], /) -> dict[ObjectId, int]:
        """The sizes in bytes that those which exist declare; raises `IoError`."""

    def read(self, oid: ObjectId, most: int, /) -> bytes | None:
        """The bytes of a blob, None if it is missing, damaged or has more than `most`; raises `IoError`."""


class OpenBlobs(Protocol):
    """`Store.project_blobs` as a function."""

    def __call__(self, directories: Sequence[bytes], /) -> ProjectBlobs:
        """Opens the blobs in git `objects` directories; reads nothing yet."""
