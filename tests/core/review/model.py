"""A file whose every line says who wrote it: the oracle of the tests of review and blame."""

from __future__ import annotations

import random
from hashlib import sha1
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.text import DirectDiffer
from snapd.core.review.changes import FileChange, LineWriter, Texts, UserOperation
from snapd.core.review.fold import FileFold
from snapd.model.call import Call
from snapd.model.snapshot import REGULAR, Entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.review.changes import Nature


class Memory:
    """The contents of files, in memory."""

    def __init__(self) -> None:
        self._blobs: dict[bytes, bytes] = {}

    def entry(self, lines: list[bytes]) -> Entry:
        """Stores a text."""
        data = b"".join(lines)
        oid = sha1(b"blob %d\0" % len(data) + data).digest()
        self._blobs[oid] = data
        return Entry(REGULAR, oid)

    def read_blob(self, oid: bytes) -> bytes:
        return self._blobs[oid]

    def read_small_blob(self, oid: bytes, most: int) -> bytes | None:
        data = self._blobs[oid]
        return data if len(data) <= most else None

    def blob_size(self, oid: bytes) -> int:
        return len(self._blobs[oid])

    def blob_chunks(self, oid: bytes) -> Iterator[bytes]:
        yield self._blobs[oid]


@attrs.define
class TypedFile:
    """A file whose lines say who wrote them, and the fold that has to find out.

    Attributes:
        lines: of the file.
        fold: what is tested.
    """

    chance: random.Random
    memory: Memory
    lines: list[bytes]
    fold: FileFold
    _count: int = 0

    @classmethod
    def begun(cls, chance: random.Random, length: int) -> TypedFile:
        """Begins with lines that were there before."""
        memory = Memory()
        lines = [b"before %d\n" % at for at in range(length)]
        texts = Texts(memory, DirectDiffer(), Call())
        return cls(chance, memory, lines, FileFold.begun(b"file", memory.entry(lines), texts))

    @property
    def texts(self) -> Texts:
        return Texts(self.memory, DirectDiffer(), Call())

    def typed(self, who: str, start: int, removed: int, added: int) -> list[bytes]:
        """The file after somebody replaced some of its lines."""
        new = []
        for _ in range(added):
            self._count += 1
            new.append(f"{who} {self._count}\n".encode())
        return [*self.lines[:start], *new, *self.lines[start + removed :]]

    def change(self, lines: list[bytes], nature: Nature, who: str, *, is_operation: bool = False) -> None:
        """Makes a change of the file, and adds it to the fold."""
        agent = LineWriter("before") if is_operation else LineWriter("step", (who,))
        by = LineWriter("user") if who == "user" else agent
        old, new = self.memory.entry(self.lines), self.memory.entry(lines)
        if nature == "keep":
            old = None
        operation = UserOperation("undo", ("something",)) if is_operation else None
        self.fold.add(FileChange(b"file", old, new, nature, by, operation), self.texts)
        if nature != "keep":
            self.lines = lines

    @property
    def baseline(self) -> list[bytes]:
        """What is accepted of the file."""
        return self.lines if self.fold.pending is None else self.fold.pending.lines
