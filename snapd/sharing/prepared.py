"""Copies of sessions that are about to leave this machine, whatever carries them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from snapd.core.errors import SigningFailed, StoreCorrupt
from snapd.remotes.weighing import Weighing
from snapd.store.timeline.pins import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from snapd.core.call import Call
    from snapd.core.model import Coverage, ObjectId, RelPath, TreeEntry
    from snapd.core.ports.sharing import Signer
    from snapd.core.timeline.handover import Handover
    from snapd.core.timeline.model import Event, SessionId, SnapshotId
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.outgoing import OutgoingRepository
    from snapd.store.sharing.signature_tag import SignatureTag

    from .commits import ProjectCommits


class Prepared:
    """Copies of sessions: what of `core.ports.sharing.Outgoing` has nothing to do with where they go.

    Args:
        repository: holds them.
        git: the program.
        project: the commits of the project.
    """

    def __init__(self, repository: OutgoingRepository, git: GitProgram, project: ProjectCommits) -> None:
        self._repository = repository
        self._git = git
        self._project = project

    def tree(self, data: bytes) -> ObjectId:
        """Adds a directory, given as the bytes of its tree object."""
        return self._repository.tree(data)

    def read_tree(self, oid: ObjectId) -> tuple[TreeEntry, ...] | None:
        """The entries of a directory that was added; None for any other."""
        return self._repository.read_tree(oid)

    def snapshot(self, tree: ObjectId, coverage: Coverage) -> SnapshotId:
        """Adds the coverage of a snapshot, and gives the id by which an event names the snapshot."""
        return self._repository.snapshot(tree, coverage)

    def add_session(self, session_id: SessionId, events: Iterable[Event]) -> None:
        """Adds a session, given as all of its events that travel, oldest first."""
        self._repository.add_session(session_id, events)

    def add_handover(self, handover: Handover, events: Iterable[Event], replaced: Collection[str]) -> None:
        """Adds a handover; see `core.ports.sharing.Outgoing`."""
        del replaced
        self._repository.add_handover(handover, events)

    def sign(self, signer: Signer, call: Call) -> None:
        """Signs each session, and a handover; see `core.ports.sharing.Outgoing`."""
        for name in tuple(self._repository.heads):
            call.check()
            payload = self._repository.payload(name, time.time_ns() // 1_000_000_000)
            self._sign(name, payload, signer, call)

    def _sign(self, name: str, payload: bytes, signer: Signer, call: Call) -> SignatureTag:
        try:
            return self._repository.add_signature(name, payload, signer.sign(payload, call))
        except StoreCorrupt as error:
            raise SigningFailed(
                "the program that signs made something else than an ssh signature",
                hint="check gpg.ssh.program of your git configuration",
                reason="noProgram",
            ) from error

    def finish(self) -> None:
        """Completes the copies, so that git can read them."""
        self._repository.finish()

    def new_files(self, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """The files in the copies that no commit of the project has: path, blob and size, each blob once."""
        found = []
        tips = self._project.tips(call)
        for blob in self._weighing().new_blobs({*tips.branches, *tips.tags}, call):
            role, _, path = blob.path.partition(b"/")
            if role == EFFECTS:
                path = self._repository.effects[blob.oid]
            # the coverage of a snapshot lies beside its tree, and is none of the project's files
            if path:
                found.append((path, blob.oid, blob.size))
        return sorted(found)

    def _weighing(self) -> Weighing:
        return Weighing(self._git, self._repository.path, tuple(self._repository.heads.values()))
