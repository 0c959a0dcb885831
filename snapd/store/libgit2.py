"""libgit2 as snapd uses it: it writes only packs that others sync, keeps little, and heeds nobody's configuration."""

from __future__ import annotations

import pygit2
from pygit2.enums import ConfigLevel

from snapd.core.errors import StoreCorrupt

WINDOW_BYTES = 1 << 20
MAPPED_BYTES = 16 << 20
"""What is mapped of packs at once, and in all: else every page of a pack that was ever looked at counts for us."""
CACHED_BYTES = 8 << 20
"""What may be kept of small trees and commits that were read."""

pygit2.settings.mwindow_size = WINDOW_BYTES
pygit2.settings.mwindow_mapped_limit = MAPPED_BYTES
pygit2.settings.cache_max_size(CACHED_BYTES)
# nor may a broken file of the user's close a store
for _level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
    pygit2.settings.search_path[_level] = ""


def open_repository(path: str) -> pygit2.Repository:
    """A new handle of a repository.

    Args:
        path: its git directory.

    Raises:
        StoreCorrupt: there is none.
    """
    try:
        return pygit2.Repository(path)
    except pygit2.GitError as error:
        raise StoreCorrupt(f"{path} is no git repository: {error}", object=path) from error
