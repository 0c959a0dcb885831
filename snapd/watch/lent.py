"""Adds watches to the queues that another process has lent. Imports little: see who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fanotify import Marker
from .inotify import Inotify

if TYPE_CHECKING:
    from collections.abc import Sequence


class Lent:
    """Queues of another process.

    Args:
        queues: descriptors, as `Clock.lend` gives them; at least one.

    Raises:
        Unsupported: this system has no such queues.
    """

    def __init__(self, queues: Sequence[int]) -> None:
        self._inotify = Inotify(queues[0])
        self._markers = [Marker(queue) for queue in queues[1:]]

    def add(self, directory: int) -> int:
        """Watches the directory that a descriptor is open on.

        Returns:
            The number of the watch, for `Clock.claim`.

        Raises:
            OSError: there is none to be had.
        """
        watch = self._inotify.add(directory)
        for marker in self._markers:
            marker.add(directory)
        return watch
