"""What the work tree needs of a store in order to use the objects of the project's own git; `store` provides it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from snapd.core.model import ObjectId

Adopt = Callable[[Sequence[bytes], Collection[ObjectId]], frozenset[ObjectId]]
"""Copies wanted objects from other git `objects` directories, as `Objects.adopt` does; gives those stored now."""


class ProjectBlobs(Protocol):
    """Blobs in the project's own git, which may be missing, damaged or malicious."""

    def sizes(self, wanted: Collection[ObjectId], /) -> dict[ObjectId, int]:
        """The sizes in bytes that those declare which can be taken over cheaply; raises `IoError`."""

    def read(self, oid: ObjectId, most: int, /) -> bytes | None:
        """The bytes of a blob, None if it is missing, damaged or has more than `most`; raises `IoError`."""


OpenBlobs = Callable[[Sequence[bytes]], ProjectBlobs]
"""Opens the blobs in git `objects` directories; reads nothing yet."""
