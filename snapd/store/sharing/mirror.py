"""What this machine has of one remote: the sessions that were fetched from there, each whole and looked at."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.failpoints import failpoint
from snapd.store.adopt import adopt
from snapd.store.files.durable import remove_if_there, sync_directory, sync_if_there
from snapd.store.refs.database import read_references
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.chain import SESSIONS
from snapd.store.timeline.fetched import FetchedTimeline

from .inspection import Inspection
from .outgoing import make_bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId

    from .inspection import Limits

_ENDINGS = ("pack", "rev", "idx")
"""The files of a pack, the index last: without it, git does not see the others."""


class Mirror:
    """The sessions of one remote.

    Args:
        path: its directory; made, private, if it does not exist.

    Attributes:
        repository: has them; their references have the names that they have at the remote.

    Raises:
        StoreCorrupt, StorageFull, IoError: it could not be opened or made.
    """

    def __init__(self, path: str) -> None:
        self.repository = ShadowRepository(path)

    def heads(self) -> dict[str, ObjectId]:
        """The newest commit of each session, by the name of its reference; raises `StoreCorrupt`, `IoError`."""
        found = read_references(self.repository.path).whole()
        return {name: head for name, head in found.items() if name.startswith(SESSIONS)}

    def timeline(self, name: str, head: ObjectId) -> FetchedTimeline:
        """The timeline of a session, of which nothing was read yet."""
        return FetchedTimeline(self.repository, name, head)

    @contextmanager
    def quarantine(self, borrowed: Sequence[str]) -> Iterator[str]:
        """A repository to fetch into, which is removed at the end of the block.

        Args:
            borrowed: the `objects` directories of what else this machine has of the project.

        Yields:
            Its directory. It knows what was fetched before, so that the remote need not send that again.
        """
        path = tempfile.mkdtemp(prefix="snapd-fetch-")
        try:
            with os_errors(path):
                make_bare(path, [self.repository.objects, *borrowed])
                for name, head in self.heads().items():
                    reference = os.path.join(path, name)
                    os.makedirs(os.path.dirname(reference), exist_ok=True)
                    with open(reference, "w") as file:
                        file.write(f"{head.hex()}\n")
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def take(self, quarantine: str, borrowed: Sequence[str], limits: Limits, call: Call) -> dict[str, ObjectId]:
        """Takes what was fetched, once all of it was looked at.

        Args:
            quarantine: the repository that it was fetched into.
            borrowed: as for `quarantine`.
            limits: the most that is taken.
            call: the request.

        Returns:
            The newest commit of each session that is new or another, by the name of its reference.

        Raises:
            Untrusted: it is not what it says, or over a limit; nothing was taken.
            StorageFull, IoError, Cancelled: nothing was taken.
        """
        known = self.heads()
        fetched = read_references(quarantine).whole()
        fresh = {name: head for name, head in fetched.items() if name.startswith(SESSIONS) and known.get(name) != head}
        directories = [os.fsencode(directory) for directory in borrowed]

        def complete(wanted: Iterable[ObjectId]) -> frozenset[ObjectId]:
            return adopt(self.repository, directories, set(wanted))

        moved = self._move_in(os.path.join(quarantine, "objects", "pack"))
        try:
            inspection = Inspection(self.repository, complete, limits, call)
            for name, head in fresh.items():
                inspection.session(name, head)
                timeline = self.timeline(name, head)
                timeline.check()
                timeline.close()
            failpoint("mirror.take")
            self.repository.journal.flush(fresh)
            self.repository.journal.checkpoint()
        except BaseException:
            self._remove(moved)
            raise
        return fresh

    def _move_in(self, source: str) -> list[str]:
        """Moves the packs of a quarantine in; gives their paths, without an ending."""
        target = self.repository.pack_directory
        moved: list[str] = []
        with os_errors(target):
            for name in sorted(os.listdir(source)):
                if not name.endswith(".idx") or os.path.exists(os.path.join(target, name)):
                    continue
                moved.append(os.path.join(target, name[:-4]))
                for ending in _ENDINGS:
                    path = os.path.join(source, f"{name[:-4]}.{ending}")
                    if sync_if_there(path):
                        shutil.move(path, f"{moved[-1]}.{ending}")
            sync_directory(target)
        self.repository.forget_packs()
        return moved

    def _remove(self, packs: Iterable[str]) -> None:
        with os_errors(self.repository.pack_directory):
            for path in packs:
                for ending in reversed(_ENDINGS):
                    remove_if_there(f"{path}.{ending}")
        self.repository.forget_packs()
