"""Copies of sessions on their way into a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snapd.remotes.bundles import Header
from snapd.store.sharing.outgoing import look_at_trees

from .new_file import make_file
from .prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.outgoing import OutgoingRepository

    from .commits import ProjectCommits

_WORTH_IT = 16 << 10
"""A file that would be larger by less than this (bytes) has no prerequisite: whoever gets it can read it."""
_CHUNK = 1 << 20


class BundledCopies(Prepared):
    """Copies of sessions for a file; implements `core.ports.sharing.Outgoing`.

    The file leaves out what one commit of the project has, if others likely have this commit and it makes a difference.
    `git bundle create` cannot be asked for that: it leaves out only what the sessions go on from, and a session goes on
    from no commit of the project.

    Args:
        repository: holds them.
        git: the program.
        project: the commits of the project.
        path: of the file.
    """

    def __init__(self, repository: OutgoingRepository, git: GitProgram, project: ProjectCommits, path: str) -> None:
        super().__init__(repository, git, project)
        self._path = path
        self._parts: tuple[bytes, str] | None = None

    def weigh(self, call: Call) -> int:
        """The size of the file, bytes."""
        header, pack = self._written(call)
        return len(header) + os.path.getsize(pack)

    def push(self, call: Call) -> None:
        """Makes the file.

        Raises:
            InvalidParams: there is one of this name.
            StorageFull, IoError, Cancelled: there is none.
        """
        header, pack = self._written(call)
        make_file(self._path, _chunks(header, pack), call)

    def _written(self, call: Call) -> tuple[bytes, str]:
        """The header of the file, and where its pack is."""
        if self._parts is None:
            needed = self._needed(call)
            # summaries of packs would have git leave out what older commits have, too
            look_at_trees(self._repository.path, needed)
            header = Header(needed, self._repository.heads).encode()
            self._parts = header, self._weighing().pack_beside(needed, call)
        return self._parts

    def _public(self, call: Call) -> list[ObjectId]:
        return [*self._project.published(call), *self._needed(call)]

    def _needed(self, call: Call) -> list[ObjectId]:
        """The commits of which the file leaves out what they have."""
        weighing, shared = self._weighing(), self._project.likely_shared(call)
        candidates = [] if shared is None else weighing.there([shared], call)
        return [commit for commit in candidates if weighing.bytes_of(commit, call) >= _WORTH_IT]


def _chunks(header: bytes, pack: str) -> Iterator[bytes]:
    yield header
    with open(pack, "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
