"""Notes in a file that objects are to be swept: from before references are removed until their objects are gone.

Without it, a crash would leave unreachable objects in the store until the next time that something is dropped.
"""

from __future__ import annotations

import os

from snapd.core.errors import os_errors
from snapd.store.files.durable import remove_if_there, sync_directory, write_file
from snapd.store.files.walking import read_if_there

NAME = "unswept"

_PARTLY = b"partly\n"
_WHOLLY = b"wholly\n"


class PendingSweep:
    """The note of a store.

    Args:
        directory: the store's, which the caller owns.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, NAME)

    def note(self, *, wholly: bool) -> None:
        """Notes durably that references are about to be removed.

        Args:
            wholly: whether no pack may keep their objects, whatever it costs to rewrite it.

        Raises:
            StorageFull, IoError: the note was not written.
        """
        write_file(self._path, _WHOLLY if wholly or self.wholly else _PARTLY)

    def __bool__(self) -> bool:
        """Whether a sweep is pending; raises `IoError`."""
        with os_errors(self._path):
            return os.path.exists(self._path)

    @property
    def wholly(self) -> bool:
        """Whether a sweep is pending that was noted with `wholly`; raises `IoError`."""
        return read_if_there(self._path) == _WHOLLY

    def forget(self) -> None:
        """Removes the note, after a sweep; raises `IoError`."""
        with os_errors(self._path):
            remove_if_there(self._path)
            sync_directory(self._directory)
