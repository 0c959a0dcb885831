"""What a dead process may have left undone: a file says so, before references go, until their objects are gone.

Without it, objects that nothing refers to any more would stay until the next time that something is dropped.
"""

from __future__ import annotations

import os

from snapd.core.errors import os_errors
from snapd.store.files.durable import remove_if_there, sync_directory, write_file

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
        """References are about to go.

        Args:
            wholly: whether no pack is to keep what they held, whatever it takes to write it anew.

        Raises:
            StorageFull, IoError: it is not noted.
        """
        write_file(self._path, _WHOLLY if wholly or self.wholly else _PARTLY)

    def __bool__(self) -> bool:
        """Whether something is left to be swept; raises `IoError`."""
        with os_errors(self._path):
            return os.path.exists(self._path)

    @property
    def wholly(self) -> bool:
        """See `note`; raises `IoError`."""
        with os_errors(self._path):
            try:
                with open(self._path, "rb") as file:
                    return file.read() == _WHOLLY
            except FileNotFoundError:
                return False

    def forget(self) -> None:
        """All was swept; raises `IoError`."""
        with os_errors(self._path):
            remove_if_there(self._path)
            sync_directory(self._directory)
