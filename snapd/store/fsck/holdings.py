"""What an `objects` directory holds, and which copies of it are damaged: an object is read past its damaged copies."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.store.loose import loose_files, object_path
from snapd.store.packindex import PackIndex

from .loosefile import check_loose, inflate_loose, read_loose
from .madeindex import MadeIndex
from .packfile import Damaged, PackFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId

UNINDEXED = "its index is missing or damaged"
"""What is wrong with a pack that may be sound itself."""


class Pack:
    """A pack, and where its objects lie.

    Args:
        path: of both files, without an ending.
        index: where its objects lie: its own index, or one that was made because that is missing or damaged.

    Attributes:
        path: see above.
        name: its name, without an ending.
        index: see above.
        file: the pack, None where it cannot be opened.
        damaged: the objects in it that are not what they should be.
        flaw: what is wrong with the pack as a whole, None where nothing is known to be.
    """

    def __init__(self, path: str, index: PackIndex | MadeIndex) -> None:
        self.path = path
        self.name = os.path.basename(path)
        self.index = index
        self.damaged: set[ObjectId] = set()
        self.flaw: str | None = None
        self.file: PackFile | None = None
        try:
            self.file = PackFile(f"{path}.pack", index)
        except OSError as error:
            self.flaw = "its index is there without it" if isinstance(error, FileNotFoundError) else str(error.strerror)

    def has(self, oid: ObjectId) -> bool:
        """Whether a copy is in it that is not known to be damaged."""
        return self.file is not None and oid not in self.damaged and oid in self.index

    def read(self, oid: ObjectId) -> tuple[str, bytes] | None:
        """Its kind and bytes, which match the id; None where it has no sound copy: that is noted."""
        if self.file is None or oid in self.damaged or oid not in self.index:
            return None
        found = self.file.read(oid)
        if found is None:
            self.damaged.add(oid)
        return found


class Holdings:
    """The objects in one `objects` directory; a context manager that lets go of them.

    Args:
        directory: the `objects` directory.

    Attributes:
        directory: see above.
        packs: the packs, by name; those whose index is missing or damaged from `index_anew` on.
        unindexed: the paths of these, without an ending, by name; whether they have a damaged one.
        damaged_loose: the loose objects that are not what they should be, and what is wrong.
        journal: the bytes of the loose files of objects that a journal has, and the next opening places.

    Raises:
        IoError: it cannot be listed.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.packs: dict[str, Pack] = {}
        self.unindexed: dict[str, tuple[str, bool]] = {}
        self.journal: dict[ObjectId, bytes] = {}
        self.damaged_loose: dict[ObjectId, str] = {}
        above = os.path.join(directory, "pack")
        with os_errors(above):
            try:
                names = set(os.listdir(above))
            except FileNotFoundError:
                names = set()
        for name in sorted({name.rpartition(".")[0] for name in names if name.endswith((".pack", ".idx"))}):
            if not name.startswith("pack-"):
                continue
            path = os.path.join(above, name)
            index = PackIndex.load_alone(f"{path}.idx", f"{path}.pack")
            if index is not None:
                self.packs[name] = Pack(path, index)
            else:
                self.unindexed[name] = (path, f"{name}.idx" in names)

    def __enter__(self) -> Holdings:
        return self

    def __exit__(self, *_: object) -> None:
        for pack in self.packs.values():
            if pack.file is not None:
                pack.file.close()

    def index_anew(self, call: Call) -> None:
        """Has packs without a sound index tell themselves what is in them.

        Args:
            call: what this is for.

        Raises:
            Cancelled: it is not wanted any more.
        """
        for name, (path, _) in self.unindexed.items():
            with contextlib.suppress(OSError):
                # one of which nothing is there but a damaged index has nothing to tell
                pack = Pack(path, MadeIndex(f"{path}.pack", call))
                pack.flaw = UNINDEXED
                self.packs[name] = pack

    def has(self, oid: ObjectId) -> bool:
        """Whether there is a copy that is not known to be damaged."""
        if any(pack.has(oid) for pack in self.packs.values()):
            return True
        if oid in self.journal:
            return self.read(oid) is not None
        return oid not in self.damaged_loose and os.path.exists(object_path(self.directory, oid))

    def is_there(self, oid: ObjectId) -> bool:
        """Whether there is any copy, sound or not."""
        if any(oid in pack.index for pack in self.packs.values()):
            return True
        return os.path.exists(object_path(self.directory, oid))

    def read(self, oid: ObjectId) -> tuple[str, bytes] | None:
        """The kind and the bytes of an object, which match its id, from the first sound copy; None without one."""
        for pack in self.packs.values():
            found = pack.read(oid)
            if found is not None:
                return found
        return self.loose_copy(oid)

    def loose_copy(self, oid: ObjectId) -> tuple[str, bytes] | None:
        """As `read`, from its own file or the journal alone."""
        if oid not in self.damaged_loose:
            try:
                return read_loose(object_path(self.directory, oid), oid)
            except FileNotFoundError:
                pass
            except Damaged as error:
                self.damaged_loose[oid] = str(error)
        return inflate_loose(self.journal.get(oid, b""), oid)

    def loose(self) -> Iterator[tuple[ObjectId, str]]:
        """The loose objects and their files; raises `IoError`."""
        for oid, entry in loose_files(self.directory):
            yield oid, entry.path

    def check_one(self, oid: ObjectId, path: str) -> tuple[str, int, bytes] | None:
        """Reads a loose object: its kind, size and, of a commit, its bytes; None where it is damaged or just went."""
        try:
            return check_loose(path, oid)
        except FileNotFoundError:
            return None
        except Damaged as error:
            self.damaged_loose[oid] = str(error)
            return None


class Sources:
    """Object directories of the user's own git, read and never written.

    Args:
        directories: absolute; those that are missing or cannot be read have nothing.
    """

    def __init__(self, directories: tuple[bytes, ...]) -> None:
        self._stack = contextlib.ExitStack()
        self._holdings: list[Holdings] = []
        for directory in directories:
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.stat(directory).st_mode):
                    self._holdings.append(self._stack.enter_context(Holdings(os.fsdecode(directory))))

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, oid: ObjectId) -> tuple[str, bytes] | None:
        """The kind and the bytes of an object, which match its id; None where none of them has it."""
        for holdings in self._holdings:
            found = holdings.read(oid)
            if found is not None:
                return found
        return None
