"""Adds watches to the queues of another process. Imports little: the processes that list directories start with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fanotify import Marker
from .inotify import Inotify

if TYPE_CHECKING:
    from collections.abc import Sequence


class SharedQueues:
    """Queues of another process.

    Args:
        queues: descriptors, as `Clock.share_queues` returns them; at least one.

    Raises:
        Unsupported: this system has no such queues.
    """

    def __init__(self, queues: Sequence[int]) -> None:
        self._inotify = Inotify(queues[0])
        self._markers = [Marker(queue) for queue in queues[1:]]

    def add(self, directory: int) -> int:
        """Watches the directory that a descriptor is open on.

        Returns:
            The number of the watch, for `Clock.adopt_watch`.

        Raises:
            OSError: the system grants no watch.
        """
        watch = self._inotify.add(directory)
        for marker in self._markers:
            marker.add(directory)
        return watch
