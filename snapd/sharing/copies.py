"""Copies of sessions for other machines: what every carrier does with them, and pushing them to a remote."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from snapd.model.errors import RemoteChanged, SigningFailed, StoreCorrupt
from snapd.model.snapshot import EMPTY_TREE, TREE
from snapd.remotes.address import without_secret
from snapd.remotes.exchange import SizeEstimate

from .formats import HANDOVERS, SIGNATURES, signature_of
from .outgoing import identities, look_at_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from snapd.model.call import Call
    from snapd.model.handover import Handover
    from snapd.model.snapshot import ObjectId, RelPath
    from snapd.model.timeline import Event
    from snapd.model.trees import ReadTree
    from snapd.remotes.exchange import Exchange
    from snapd.remotes.program import GitProgram

    from .commits import ProjectCommits
    from .formats import SignatureTag
    from .mirror import Mirror
    from .outgoing import OutgoingRepository
    from .signing import Signer


class Copies(ABC):
    """Copies of sessions for another machine, with the objects that the workspace's own store does not have."""

    def __init__(self, repository: OutgoingRepository, git: GitProgram, project: ProjectCommits) -> None:
        self._repository = repository
        self._git = git
        self._project = project
        self.tree, self.read_tree, self.snapshot = repository.tree, repository.read_tree, repository.snapshot
        self.add_session, self.finish = repository.add_session, repository.finish

    def add_handover(self, handover: Handover, events: Iterable[Event], replaced: Collection[str]) -> None:
        """Adds a handover with its events, oldest first; it may replace those of its name with ids in `replaced`."""
        del replaced
        self._repository.add_handover(handover, events)

    def sign(self, signer: Signer, call: Call) -> None:
        """Signs each session and handover; call it after all of them were added."""
        for name in tuple(self._repository.heads):
            call.check()
            payload = self._repository.payload(name, time.time_ns() // 1_000_000_000)
            self._sign(name, payload, signer, call)

    def _sign(self, name: str, payload: bytes, signer: Signer, call: Call) -> SignatureTag:
        try:
            return self._repository.add_signature(name, payload, signer.sign(payload, call))
        except StoreCorrupt as error:
            raise SigningFailed(
                "the signing program did not make an ssh signature",
                hint="check gpg.ssh.program of your git configuration",
                reason="noProgram",
            ) from error

    def new_files(self, read_tree: ReadTree, call: Call) -> Sequence[tuple[RelPath, ObjectId, int]]:
        """Returns the path, blob and size of each file that no commit known to the recipient has, by path.

        A remote knows the commits of its branches and tags and their ancestors. The recipient of a file is assumed to
        know those of the branches of the project's remotes, as last seen, and the commits that the file requires. Call
        it before `weigh`, after which git no longer sees older commits.
        """
        public, weighing = self._public(call), self._weighing()
        blobs, trees = weighing.new_objects(public, call)
        matches = {(path, oid) for path, oid in self._repository.effects if oid in blobs}
        pending = [(tree, b"") for tree in self._repository.snapshots]
        seen: set[tuple[RelPath, ObjectId]] = set()
        while pending:
            call.check()
            tree, above = pending.pop()
            for entry in self.read_tree(tree) or read_tree(tree) if tree in trees and tree != EMPTY_TREE else ():
                file = above + entry.name, entry.oid
                if entry.mode != TREE and entry.oid in blobs:
                    matches.add(file)
                elif entry.mode == TREE and file not in seen:
                    seen.add(file)
                    pending.append((entry.oid, file[0] + b"/"))
        committed = weighing.committed({path for path, _ in matches}, public, call)
        return [(path, oid, blobs[oid]) for path, oid in sorted(matches) if oid not in committed]

    @abstractmethod
    def weigh(self, call: Call) -> int:
        """Returns the bytes that a push would send, as far as this machine knows what the remote has."""

    @abstractmethod
    def push(self, call: Call) -> None:
        """Pushes the copies: all or none. After any error the remote is unchanged.

        Raises `RemoteChanged` if the remote has events of a session that the copy lacks, or another machine's handover
        of the same name, and `Untrusted` if the sessions there are malformed.
        """

    @abstractmethod
    def _public(self, call: Call) -> Collection[ObjectId]:
        """Returns the commits that the recipient has or had, including some that this machine lacks."""

    def _weighing(self) -> SizeEstimate:
        return SizeEstimate(self._git, self._repository.path, tuple(self._repository.heads.values()))


class RemoteCopies(Copies):
    """Copies of sessions for one remote; `fetch` fetches references of the remote into the mirror."""

    def __init__(
        self,
        repository: OutgoingRepository,
        git: GitProgram,
        exchange: Exchange,
        mirror: Mirror,
        project: ProjectCommits,
        fetch: Callable[[Sequence[str], Call], object],
    ) -> None:
        super().__init__(repository, git, project)
        self._exchange = exchange
        self._mirror = mirror
        self._fetch = fetch
        self._replaced: frozenset[str] = frozenset()
        self._made: dict[str, tuple[ObjectId, ObjectId, str]] = {}
        self._signed: frozenset[str] = frozenset()
        self._there: frozenset[ObjectId] | None = None

    def add_handover(self, handover: Handover, events: Iterable[Event], replaced: Collection[str]) -> None:
        """Adds a handover that may replace the handovers of its name with the ids `replaced`."""
        super().add_handover(handover, events, replaced)
        self._replaced = frozenset(replaced)

    def sign(self, signer: Signer, call: Call) -> None:
        """Signs sessions and handovers, except those for which the remote already has a signature by this key."""
        heads, made = dict(self._repository.heads), self._mirror.signatures.made
        before = {name: tag for name, head in heads.items() if (tag := _signed_before(made(name), head, signer))}
        there = self._exchange.list_below(self._repository.path, SIGNATURES, call) if before else {}
        self._signed = frozenset(name for name, tag in before.items() if there.get(signature_of(name)) == tag)
        for name in heads.keys() - self._signed:
            call.check()
            payload = self._repository.payload(name, time.time_ns() // 1_000_000_000)
            made_now = self._sign(name, payload, signer, call)
            self._made[name] = (made_now.signed, self._repository.heads[signature_of(name)], made_now.key)

    def weigh(self, call: Call) -> int:
        """Returns the bytes that a push would send, as far as this machine knows what the remote has."""
        weighing = self._weighing()
        there = self._public(call)
        known = weighing.there({*there, *self._mirror.known(self._repository.heads).values()}, call)
        look_at_trees(self._repository.path, there.intersection(known))
        return weighing.push_size(known, call)

    def _public(self, call: Call) -> frozenset[ObjectId]:
        if self._there is None:
            self._there = self._exchange.branches(self._repository.path, call)
        return self._there

    def push(self, call: Call) -> None:
        """Pushes the copies: all or none; raises `RemoteChanged`, `RemoteFailed`."""
        try:
            self._push(call)
        except RemoteChanged:
            # perhaps this machine pushed it but lost its index, or the copy here continues the one there
            copies = tuple(self._repository.commits)
            names = [*copies, *map(signature_of, copies)]
            there = self._exchange.list(self._repository.path, names, call)
            self._fetch(copies, call)
            fetched = {**self._mirror.heads(copies), **self._mirror.handover_heads()}
            # a reference that changed between list and fetch was not inspected: the push must fail
            known = {name: there.get(name) for name in copies if there.get(name) in (None, fetched.get(name))}
            # a signature may be left from a deleted session: nothing is lost by replacing it
            known |= {name: there.get(name) for name in map(signature_of, copies)}
            self._mirror.note_remote_heads(known)
            self._push(call)

    def _push(self, call: Call) -> None:
        ours = self._repository
        known = self._mirror.known([*ours.commits, *map(signature_of, ours.commits)])
        for name, head in self._mirror.heads(ours.commits).items():
            # what was fetched may be deleted there, or replaced by this machine
            if head != known.get(name) or head == ours.heads[name]:
                continue
            if not identities(self._mirror.events(name, head)) <= ours.identities[name]:
                shown = without_secret(self._exchange.address)
                raise RemoteChanged(f"{shown} has steps of a session that this machine does not have", remote=shown)
        self._check_handovers(ours.commits)
        heads = {**dict.fromkeys(self._outdated(known)), **ours.heads}
        self._exchange.push(ours.path, heads, known, call)
        self._mirror.note_remote_heads(heads)
        self._mirror.signatures.note_made(self._made)

    def _outdated(self, known: Mapping[str, ObjectId]) -> Iterator[str]:
        """Yields the signatures at the remote that sign no commit of the new copies."""
        for name, commits in self._repository.commits.items():
            tag = known.get(signature_of(name))
            is_new = signature_of(name) in self._repository.heads or name in self._signed
            if tag is not None and not is_new and self._mirror.signatures.signed(name, tag) not in commits:
                yield signature_of(name)

    def _check_handovers(self, names: Iterable[str]) -> None:
        """Raises `RemoteChanged` if another machine's handover has the name of ours."""
        for reference in names:
            if not reference.startswith(HANDOVERS):
                continue
            name = reference.removeprefix(HANDOVERS)
            there = self._mirror.handover(name)
            if there is not None and there.handover.handover_id not in self._replaced:
                shown = without_secret(self._exchange.address)
                raise RemoteChanged(
                    f"{shown} has a handover {name!r} of {there.handover.host}",
                    hint="choose another name",
                    remote=shown,
                )


def _signed_before(made: tuple[ObjectId, ObjectId, str] | None, head: ObjectId, signer: Signer) -> ObjectId | None:
    """Returns the tag by which a key signed a commit before; None if it did not."""
    if made is None or made[0] != head or made[2] != signer.fingerprint:
        return None
    return made[1]
