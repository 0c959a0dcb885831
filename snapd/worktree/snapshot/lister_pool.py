"""Lists many directories at once, in processes of their own: building objects from statuses needs the interpreter lock.

Two processes take half the time of one; they live for one look. They get paths below an open directory and follow no
symlink. They watch each directory before they list it, where the clock shares its queues with them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

from snapd.model.snapshot import RelPath
from snapd.watch.clock import Clock
from snapd.workers.pool import WorkerPool
from snapd.workers.processes import ChildProcess
from snapd.worktree.fs.listing import Listing, decode

from .lister_process import PATH

T = TypeVar("T")

logger = logging.getLogger(__name__)

_PROCESSES = 2
_AHEAD = 96
"""How many listings each process may still owe before it gets no more questions."""


class ListerPool(WorkerPool[T, Listing]):
    """Some processes that list directories.

    Args:
        root: descriptor of the directory that paths are relative to.
        clock_queues: where each directory is watched before it is listed, see `Clock.share_queues`; empty to watch
            none.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self, root: int, clock_queues: Sequence[int] = ()) -> None:
        shared = [root, *clock_queues]

        def start() -> ChildProcess:
            argument = " ".join(map(str, shared))
            return ChildProcess("snapd.worktree.snapshot.lister_process", argument, share=shared, is_quiet=True)

        super().__init__(_PROCESSES, start, decode, _AHEAD)

    def list_directory(self, path: RelPath, tag: T) -> None:
        """Asks for a directory's listing.

        Args:
            path: below the root.
            tag: comes back with the listing.

        Raises:
            WorkerLost: a process has ended.
        """
        self.ask(PATH.pack(len(path)) + path, (tag,))


def start_lister(root: int, clock: Clock) -> ListerPool[T] | None:
    """Starts the processes that list directories for a look; returns None where they cannot be started.

    Args:
        root: descriptor of the workspace.
        clock: watches every directory before it is listed.
    """
    try:
        return ListerPool(root, clock.share_queues())
    except OSError as error:
        logger.warning("cannot start processes that list directories, this process lists them: %s", error)
        stop_lister(None, clock)
        return None


def stop_lister(lister: ListerPool[T] | None, clock: Clock) -> None:
    """Ends the processes, if there are any, and takes the clock's queues back."""
    if lister is not None:
        lister.close()
    clock.end_sharing()
