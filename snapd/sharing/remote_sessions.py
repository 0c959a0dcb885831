"""Other machines, as one workspace knows them."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import attrs

from snapd.core.seams import OtherSessions
from snapd.model.errors import InvalidParams, os_errors
from snapd.model.paths import shown
from snapd.remotes.address import is_relative, resolve, without_secret
from snapd.remotes.program import GitProgram
from snapd.store.files.durable import make_directories, names_if_there, read_if_there, write_file
from snapd.store.maintenance.erase import MIRROR_INDEX, MIRRORS
from snapd.worktree.git.config import access_settings, signing_settings
from snapd.worktree.git.repository import find_repository, named_remotes, own_object_directories

from .bundle import Bundle
from .commits import ProjectCommits
from .fetched import HandoverChain, ListedSession, LocalSide
from .index import SessionIndex
from .inspection import Limits
from .mirror import Mirror, Upkeep
from .remote import Remote
from .signing import Checks, Signer, program_of, signer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from snapd.core.seams import SessionListing
    from snapd.model.call import Call
    from snapd.model.handover import Handover, SignatureStatus
    from snapd.model.snapshot import ObjectId, RelPath
    from snapd.model.timeline import SessionId, StepQuery
    from snapd.store.store import Store
    from snapd.store.timeline.timeline import FetchedTimeline
    from snapd.worktree.git.config import GitUser
    from snapd.worktree.git.repository import Repository

    from .index import IndexedSession

_ADDRESS = "address"
_ALL = (1 << 63) - 1
Carrier = Remote | Bundle
"""What carries sessions to other machines, and back: a git repository, or a file."""

MOST_OPEN = 32
"""How many fetched sessions stay in memory once they were read: those that were used last."""


@attrs.frozen
class Machine:
    """This machine, as git needs to know it.

    Attributes:
        host: its name.
        environment: of this process.
        user: where the user's git configuration lies.
    """

    host: str
    environment: Mapping[str, str]
    user: GitUser


class RemoteSessions:
    """Other machines, as the workspace of a folder knows them. Safe to use from several threads.

    What was fetched from a remote lies in a repository of its own below the store, so that nothing that came from
    elsewhere is among the snapshots of the folder.

    Args:
        root: the folder.
        store: of the workspace.
        machine: this one.
        beside: opens the sessions of another folder of this machine, given by its absolute path, for a block; nothing
            in that folder is changed. It raises `InvalidParams` if it is this folder itself or has no snapshots,
            `StoreLocked` if another process has it open, and `WorkspaceRefused`, `StoreCorrupt`, `StorageFull` or
            `IoError` if it cannot be opened.
        limits: the most that is fetched at once.

    Attributes:
        beside: as given.
        host: the name of this machine.
        lineage: the handovers of the folder.
        note_sent: notes that blobs, and messages by their ids, were sent to an address.
        sent: gives the addresses that any of these were sent to, or anything.
    """

    def __init__(
        self,
        root: bytes,
        store: Store,
        machine: Machine,
        beside: Callable[[bytes], AbstractContextManager[OtherSessions]],
        limits: Limits | None = None,
    ) -> None:
        self.beside = beside
        self._root = root
        self._store = store
        self._machine = machine
        self._limits = limits or Limits()
        self._lock = threading.RLock()
        self._index = SessionIndex(os.path.join(store.path, MIRROR_INDEX))
        self.host = machine.host
        self.lineage = HandoverChain(store.notes)
        self.note_sent, self.sent = self._index.note_sent, self._index.sent
        self._mirrors: dict[str, Mirror] = {}
        self._upkeep: dict[str, Upkeep] = {}
        self._sessions: OrderedDict[tuple[str, str, ObjectId], tuple[OtherSessions, FetchedTimeline]] = OrderedDict()

    def remote(self, named: str, mirror: Callable[[], Mirror] | None = None) -> Remote:
        """A remote, by its address or by the name that the project's git has for it; raises `InvalidParams`.

        Args:
            named: the address or the name.
            mirror: makes what takes what is fetched; None for the mirror of the workspace.
        """
        repository = self._repository()
        user = self._machine.user
        address = resolve(named, {} if repository is None else _addresses(repository, user))
        return Remote(
            address,
            self._here(address, GitProgram(self._machine.environment, access_settings(user)), mirror),
            lambda: [entry.name for entry in self.lineage.all()[-1:] if entry.is_own],
        )

    def preview_fetch(
        self, named: str, session_ids: Collection[SessionId] | None, call: Call
    ) -> Sequence[ListedSession]:
        """What `fetch` of a remote would give; nothing of it is kept. Raises as that, and as `remote`."""
        self._refresh()
        known = {(indexed.chain, indexed.head) for indexed in self._index.page(0, _ALL)}
        with tempfile.TemporaryDirectory(prefix="snapd-fetch-") as path, ExitStack() as stack:
            index = SessionIndex(os.path.join(path, "index"))
            stack.callback(index.close)
            mirror = Mirror(os.path.join(path, "mirror"), index)
            stack.callback(mirror.close)
            found = self.remote(named, lambda: mirror).fetch(session_ids, call)
        return [each for each in found if (each.indexed.chain, each.indexed.head) not in known]

    def bundle(self, path: str) -> Bundle:
        """A file that sessions are written to, all at once, or read from; raises `InvalidParams`."""
        if not os.path.isabs(path) or "\0" in path:
            raise InvalidParams(
                f"file: {path!r} is no absolute path", hint="give the whole path, from the root on", field="file"
            )
        address = os.path.normpath(path)
        return Bundle(address, self._here(address, GitProgram(self._machine.environment)), self._store.path)

    def _here(self, address: str, git: GitProgram, mirror: Callable[[], Mirror] | None = None) -> LocalSide:
        return LocalSide(
            git,
            mirror or partial(self._mirror, address),
            self._borrowed,
            self.host,
            self.project,
            self._limits,
            self._checks,
        )

    def signer(self, key: str | None) -> Signer:
        """Who signs.

        Args:
            key: an ssh key: a public key, or the absolute path of a file; None for that of the user's git.

        Raises:
            InvalidParams: there is no such key.
        """
        settings = signing_settings(self._machine.user)
        program = program_of(settings, self._machine.environment)
        return signer_of(key, settings, program, self._machine.user.home)

    def signatures(self, listed: Sequence[SessionListing], call: Call) -> Sequence[SignatureStatus | None]:
        """What is known of the signatures of sessions that were fetched, one for each; None for one without.

        Raises:
            IoError, StorageFull, Cancelled: it could not be read which there are.
        """
        mirrors = self._known_mirrors()
        chains: dict[str, list[IndexedSession]] = {}
        for each in listed:
            assert isinstance(each, ListedSession)
            chains.setdefault(each.indexed.mirror, []).append(each.indexed)
        found = {
            indexed.place: (mirrors[name], signature)
            for name in chains.keys() & mirrors.keys()
            if (there := mirrors[name].signatures.of([indexed.chain for indexed in chains[name]]))
            for indexed in chains[name]
            if (signature := there.get(indexed.chain)) is not None and signature.head == indexed.head
        }
        checks = self._checks() if found else None
        return [
            checks.of(*found[each.place], call) if checks is not None and each.place in found else None
            for each in listed
        ]

    def _checks(self) -> Checks:
        settings = signing_settings(self._machine.user)
        return Checks(settings, program_of(settings, self._machine.environment))

    @property
    def project(self) -> ProjectCommits:
        """The commits of the project."""
        return ProjectCommits(self._root, self._repository(), GitProgram(self._machine.environment, protocols=()))

    def page(self, after: int, limit: int) -> Sequence[ListedSession]:
        """The sessions that were fetched, at most `limit`, in the order of their places, which are above `after`."""
        self._refresh()
        return self._listed(self._index.page(after, limit))

    def with_steps(self, wanted: StepQuery, after: int, limit: int) -> Sequence[ListedSession]:
        """Those with a step that a query may mean, as `page`; its `session_id` and `parent` do not count."""
        self._refresh()
        return self._listed(self._index.with_steps(wanted, after, limit))

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The ids of each kind in what was fetched that come right before and after one, as far as there are any."""
        return self._index.neighbours(name) if self._known_mirrors() else ()

    def session(self, session_id: SessionId) -> ListedSession | None:
        """A session that was fetched, by its name."""
        self._refresh()
        found = self._index.of_session(session_id)
        return None if found is None else self._listed([found])[0]

    def read(self, listed: SessionListing) -> OtherSessions:
        """Reads a session at its first use; a few of them stay in memory."""
        assert isinstance(listed, ListedSession)
        indexed = listed.indexed
        key = (indexed.mirror, indexed.chain, indexed.head)
        with self._lock:
            found = self._sessions.get(key)
            if found is None:
                mirror = self._known_mirrors()[indexed.mirror]
                timeline = mirror.timeline(indexed.chain, indexed.head)
                fetched = OtherSessions(listed.remote, listed.host, mirror.objects, timeline)
                found = self._sessions[key] = fetched, timeline
            self._sessions.move_to_end(key)
            while len(self._sessions) > MOST_OPEN:
                _, (_, oldest) = self._sessions.popitem(last=False)
                # whoever still reads it has it read again
                oldest.close()
            return found[0]

    def handovers(self) -> Sequence[tuple[str, Handover]]:
        """The records of all handovers that were fetched, each with the address that it came from."""
        return [
            (self._shown(address), handover)
            for name, mirror in sorted(self._known_mirrors().items())
            if (address := self._mirror_address(name)) is not None
            for handover in mirror.handovers()
        ]

    def clean(self, before: int, call: Call) -> int:
        """Drops sessions that were fetched, and makes room.

        Args:
            before: milliseconds since 1970; sessions that nobody added to since then, and that were fetched before, go.
            call: the request.

        Returns:
            How many sessions were dropped.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: the rest goes the next time.
        """
        return sum(upkeep.keep(before, call) for upkeep in self._upkeeps().values())

    def clean_while_idle(self, before: int, call: Call) -> int:
        """Does some of the same, as long as nobody fetches; a part of it may go on afterwards."""
        return sum(upkeep.keep_in_background(before, call) for upkeep in self._upkeeps().values())

    def purge(
        self,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
        *,
        dry_run: bool,
    ) -> tuple[int, Collection[str]]:
        """Drops what was fetched with any of some files, blobs or messages, and all that is left of it.

        Args:
            paths: files and directories.
            contents: blobs.
            messages: their ids.
            call: the request.
            dry_run: whether only to look.

        Returns:
            How many sessions and handovers it drops, and the addresses that have any of it: it came from there, or was
            sent there.

        Raises:
            StoreCorrupt, StorageFull, IoError, Cancelled: some may be left; the same again drops it.
        """
        dropped, remotes = 0, self.sent([*contents, *(message.encode() for message in messages)])
        for name, upkeep in self._upkeeps().items():
            names = upkeep.with_any(paths, contents, messages, call)
            if names:
                remotes.add(self._shown(self._mirror_address(name) or ""))
            if not dry_run:
                # what was dropped before may still be there
                upkeep.purge(names, call)
            dropped += len(names)
        if not dry_run:
            self._index.forget_sent(contents)
        return dropped, sorted(remotes)

    def close(self) -> None:
        """Lets go of what was read."""
        with self._lock:
            for upkeep in self._upkeep.values():
                upkeep.close()
            for _, timeline in self._sessions.values():
                timeline.close()
            for mirror in self._mirrors.values():
                mirror.close()
            self._upkeep.clear()
            self._sessions.clear()
            self._mirrors.clear()
            self._index.close()

    def _refresh(self) -> None:
        mirrors = self._known_mirrors()
        for mirror in mirrors.values():
            mirror.refresh()
        for name in self._index.mirrors() - mirrors.keys():
            self._index.remove(name)

    def _listed(self, found: Sequence[IndexedSession]) -> list[ListedSession]:
        addresses = {name: self._mirror_address(name) for name in {indexed.mirror for indexed in found}}
        # one that was purged meanwhile has no address
        return [
            ListedSession.of(self._shown(address), indexed)
            for indexed in found
            if (address := addresses[indexed.mirror]) is not None
        ]

    @staticmethod
    def _shown(address: str) -> str:
        return shown(os.fsencode(without_secret(address)))

    def _upkeeps(self) -> dict[str, Upkeep]:
        with self._lock:
            for name, mirror in self._known_mirrors().items():
                if name not in self._upkeep or self._upkeep[name].mirror is not mirror:
                    self._upkeep[name] = Upkeep(mirror)
            return dict(self._upkeep)

    def _known_mirrors(self) -> dict[str, Mirror]:
        """All mirrors, by name."""
        with self._lock:
            names = names_if_there(self._mirror_path(""))
            for name in names:
                if name not in self._mirrors and (address := self._mirror_address(name)) is not None:
                    self._mirror(address)
            # they are gone if everything was purged
            self._mirrors = {name: mirror for name, mirror in self._mirrors.items() if name in names}
            return dict(self._mirrors)

    def _repository(self) -> Repository | None:
        with os_errors(os.fsdecode(self._root)):
            return find_repository(self._root)

    def _borrowed(self) -> list[str]:
        """The `objects` directories of all that this machine has of the project, with everything in them as files."""
        self._store.settle()
        project = [os.fsdecode(directory) for directory in own_object_directories(self._root)]
        mirrors = [os.path.join(self._mirror_path(name), "objects") for name in names_if_there(self._mirror_path(""))]
        return [os.path.join(self._store.path, "objects"), *project, *sorted(mirrors)]

    def _mirror(self, address: str) -> Mirror:
        name = hashlib.sha1(address.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        with self._lock:
            path = self._mirror_path(name)
            mirror = self._mirrors.get(name)
            if mirror is None or not os.path.isdir(path):
                make_directories(path)
                # before anything that was fetched from there
                write_file(os.path.join(path, _ADDRESS), address.encode("utf-8", "surrogateescape"))
                mirror = self._mirrors[name] = Mirror(path, self._index)
            return mirror

    def _mirror_address(self, name: str) -> str | None:
        data = read_if_there(os.path.join(self._mirror_path(name), _ADDRESS))
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def _mirror_path(self, name: str) -> str:
        return os.path.join(self._store.path, MIRRORS, name) if name else os.path.join(self._store.path, MIRRORS)


def _addresses(repository: Repository, user: GitUser) -> dict[str, str]:
    """The addresses of the remotes of a project, by name; git takes a relative path from the root of the project."""
    root = os.fsdecode(repository.root)
    return {
        name: os.path.normpath(os.path.join(root, url)) if is_relative(url) else url
        for name, url in named_remotes(repository, user).items()
    }
