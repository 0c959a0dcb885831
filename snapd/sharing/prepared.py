"""Copies of sessions that are about to leave this machine, whatever carries them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from snapd.core.errors import SigningFailed, StoreCorrupt
from snapd.core.model import EMPTY_TREE, TREE
from snapd.remotes.weighing import Weighing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from snapd.core.call import Call
    from snapd.core.model import Coverage, ObjectId, RelPath, TreeEntry
    from snapd.core.ports.sharing import Signer
    from snapd.core.timeline.handover import Handover
    from snapd.core.timeline.model import Event, SessionId, SnapshotId
    from snapd.core.trees import ReadTree
    from snapd.remotes.program import GitProgram
    from snapd.store.sharing.outgoing import OutgoingRepository
    from snapd.store.sharing.signature_tag import SignatureTag

    from .commits import ProjectCommits


class Prepared(ABC):
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

    def new_files(self, read_tree: ReadTree, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """The files that whoever gets the copies did not have; see `core.ports.sharing.Outgoing`."""
        public, weighing = self._public(call), self._weighing()
        blobs, trees = weighing.new_objects(public, call)
        found = {(path, oid) for path, oid in self._repository.effects if oid in blobs}
        pending = [(tree, b"") for tree in self._repository.snapshots]
        seen: set[tuple[RelPath, ObjectId]] = set()
        while pending:
            call.check()
            tree, above = pending.pop()
            for entry in self.read_tree(tree) or read_tree(tree) if tree in trees and tree != EMPTY_TREE else ():
                file = above + entry.name, entry.oid
                if entry.mode != TREE and entry.oid in blobs:
                    found.add(file)
                elif entry.mode == TREE and file not in seen:
                    seen.add(file)
                    pending.append((entry.oid, file[0] + b"/"))
        committed = weighing.committed({path for path, _ in found}, public, call)
        return [(path, oid, blobs[oid]) for path, oid in sorted(found) if oid not in committed]

    @abstractmethod
    def _public(self, call: Call) -> Collection[ObjectId]:
        """The commits that whoever gets the copies has, or had; also some that this machine does not have."""

    def _weighing(self) -> Weighing:
        return Weighing(self._git, self._repository.path, tuple(self._repository.heads.values()))
