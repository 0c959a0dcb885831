"""What the rows of a run share: the tree, the two sides that keep snapshots of it, and a place to work in."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .daemon import Daemon, track
from .edits import Editor
from .git_algorithm import ShadowGit
from .measure import agree

if TYPE_CHECKING:
    from typing import Self

    from snapd_client import Client


class Pair:
    """A work tree that snapd and the git algorithm both keep snapshots of. Both have taken the first.

    Args:
        tree: the work tree.
        directory: an empty one for the daemon and the shadow repository.
    """

    def __init__(self, tree: str, directory: str) -> None:
        self.tree = tree
        self.daemon = Daemon(os.path.join(directory, "d"))
        self.shadow = ShadowGit(os.path.join(directory, "shadow.git"), tree)
        os.makedirs(self.daemon.directory)
        self.daemon.start()
        try:
            self.client: Client = self.daemon.connect(tree)
            agree(track(self.client), self.shadow.first_track())
            self.files = self.shadow.files()
        except BaseException:
            self.daemon.stop()
            raise
        self.editor = Editor(tree, self.files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client and the daemon."""
        self.client.close()
        self.daemon.stop()

    def restart(self) -> None:
        """Ends the daemon and starts another on the same store; it is left without a client."""
        self.client.close()
        self.daemon.stop()
        self.daemon.start()

    def reconnect(self) -> None:
        """Makes a client again after `restart`."""
        self.client = self.daemon.connect(self.tree)

    def track(self) -> str:
        """Has both sides take a snapshot.

        Returns:
            The tree's id.

        Raises:
            WrongResult: they do not agree.
        """
        tree_id = track(self.client)
        agree(tree_id, self.shadow.track())
        return tree_id

    def track_with_snapd(self) -> str:
        """Has snapd alone take a snapshot."""
        return track(self.client)


@dataclass(frozen=True)
class Counts:
    """How much is measured.

    Attributes:
        repetitions: of what takes milliseconds.
        heavy: repetitions of what takes seconds.
        warm_rounds: steps before the memory of the daemon is looked at.
        memory_rounds: steps over which it may grow.
        steps: over which the growth of the stores is measured.
        many: files that are changed for diffs and restores.
        clients: that work at the same time.
        crowd: the same, where they are many.
        slice_seconds: for which they do.
        idle_seconds: over which an idle daemon is watched.
        status_tracks: of one changed file each, before the daemon is asked for its status.
        review_steps: before it is asked what they left pending.
        blame_steps: that change a file before it is asked who wrote it.
        sessions: at a remote of which one is fetched.
        storm_files: files a second that an agent writes, for `storm_seconds`.
    """

    repetitions: int = 30
    heavy: int = 3
    warm_rounds: int = 200
    memory_rounds: int = 2000
    steps: int = 50
    many: int = 1000
    clients: int = 8
    crowd: int = 64
    slice_seconds: float = 4.0
    idle_seconds: float = 10.0
    status_tracks: int = 500
    review_steps: int = 10_000
    blame_steps: int = 1000
    sessions: int = 10_000
    storm_files: int = 1000
    storm_seconds: float = 60.0


class Bench:
    """One run on one tree.

    Args:
        tree: the work tree, a git project, that may be changed.
        work: a directory for everything else.
        cache: where generated trees are kept.
        counts: how much is measured.
    """

    def __init__(self, tree: str, work: str, cache: str, counts: Counts) -> None:
        self.tree = tree
        self.work = work
        self.cache = cache
        self.counts = counts
        self._pair: Pair | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pair is not None:
            self._pair.close()

    def scratch(self) -> str:
        """A new empty directory, with a short path: a socket may lie in it."""
        return tempfile.mkdtemp(dir=self.work)

    def pair(self) -> Pair:
        """Both sides on the tree, the same for all rows that do not need fresh ones."""
        if self._pair is None:
            self._pair = Pair(self.tree, self.scratch())
        return self._pair

    @staticmethod
    def at_most(count: int, files: list[str]) -> int:
        """How many files are changed where so many are wanted: never more than half of them."""
        return min(count, len(files) // 2)
