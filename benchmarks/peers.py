"""The strongest alternatives to snapd that existing tools allow: git with a monitor, and an undo made of libraries."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from . import fsmonitor_hook
from .git_algorithm import MonitoredGit
from .library_peer import LibraryShadow
from .watchman import Watchman, WatchmanServer, has_watchman

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .git_algorithm import ShadowGit

NAMES = {
    "fsmonitor": "git with fsmonitor and untracked cache",
    "library": "the best of libraries",
    "durable": "the best of libraries, durable",
}
"""What the table calls the peers, by key."""


class Peer(NamedTuple):
    """Somebody else who keeps snapshots of the work tree.

    Attributes:
        key: one of `NAMES`.
        name: for the table.
        shadow: what takes the snapshots.
        project: the project's `.git`, where it has one.
    """

    key: str
    name: str
    shadow: ShadowGit
    project: str | None

    def first_track(self) -> str:
        """Takes the first snapshot, with the help of what the project's repository knows."""
        return self.shadow.first_track(self.project)


def available() -> list[str]:
    """Returns the keys of the peers that can be measured; without Watchman, none, and a message says why."""
    if has_watchman():
        return list(NAMES)
    print("bench: watchman is not installed: the only peer is plain git", file=sys.stderr)
    return []


@contextmanager
def peers(tree: str, directory: str, keys: list[str]) -> Iterator[list[Peer]]:
    """Peers that share a Watchman server while this lasts. Nobody watches the tree before one of them looks at it.

    Args:
        tree: the work tree.
        directory: an empty one with a short path.
        keys: some of `available`.
    """
    repository = os.path.join(tree, ".git")
    project = repository if os.path.isdir(repository) else None
    with ExitStack() as stack:
        server = WatchmanServer(directory)
        if keys:
            stack.enter_context(server)

        def shadow(key: str) -> ShadowGit:
            path = os.path.join(directory, f"{key}.git")
            if key == "fsmonitor":
                hook = shlex.join([sys.executable, "-IS", fsmonitor_hook.__file__, server.path, tree])
                return MonitoredGit(path, tree, f"exec {hook}")
            watchman = stack.enter_context(Watchman(server.path, tree))
            return LibraryShadow(path, tree, watchman, durable=key == "durable")

        yield [Peer(key, NAMES[key], shadow(key), project) for key in keys]
