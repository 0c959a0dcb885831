"""The sessions of other machines, as one workspace sees them."""

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
"""Carries sessions between machines: a git repository, or a file."""

MOST_OPEN = 32
"""How many fetched sessions stay in memory: the last ones used."""


@attrs.frozen
class Machine:
    """This machine's name, the environment of this process, and the place of the user's git configuration."""

    host: str
    environment: Mapping[str, str]
    user: GitUser


class RemoteSessions:
    """The sessions of other machines. Safe to use from several threads.

    What was fetched from a remote is in a mirror below the store, never among the snapshots of the folder. `beside`
    opens the sessions of another folder of this machine, read-only, for a block; it raises `InvalidParams` if that is
    this folder or has no snapshots, and `StoreLocked` if another process has it open.
    """

    def __init__(
        self,
        root: bytes,
        store: Store,
        machine: Machine,
        beside: Callable[[bytes], AbstractContextManager[OtherSessions]],
    ) -> None:
        self.beside = beside
        self._root = root
        self._store = store
        self.machine = machine
        self.limits = Limits()
        self._lock = threading.RLock()
        self._index = SessionIndex(os.path.join(store.path, MIRROR_INDEX))
        self.host = machine.host
        self.lineage = HandoverChain(store.notes)
        self.note_sent, self.sent = self._index.note_sent, self._index.sent
        self._mirrors: dict[str, Mirror] = {}
        self._upkeep: dict[str, Upkeep] = {}
        self.open_sessions: OrderedDict[tuple[str, str, ObjectId], tuple[OtherSessions, FetchedTimeline]] = (
            OrderedDict()
        )

    def remote(self, named: str, mirror: Callable[[], Mirror] | None = None) -> Remote:
        """Returns the remote with this address or name; it fetches into `mirror`. Raises `InvalidParams`."""
        repository = self._repository()
        user = self.machine.user
        address = resolve(named, {} if repository is None else _addresses(repository, user))
        return Remote(
            address,
            self._here(address, GitProgram(self.machine.environment, access_settings(user)), mirror),
            lambda: [entry.name for entry in self.lineage.all()[-1:] if entry.is_own],
        )

    def preview_fetch(
        self, named: str, session_ids: Collection[SessionId] | None, call: Call
    ) -> Sequence[ListedSession]:
        """Returns what `Remote.fetch` would return, and keeps nothing; raises the errors of `fetch` and `remote`."""
        self._refresh()
        known = {(indexed.chain, indexed.head) for indexed in self._index.page(0, _ALL)}
        with tempfile.TemporaryDirectory(prefix="snapd-fetch-") as path, ExitStack() as stack:
            index = SessionIndex(os.path.join(path, "index"))
            stack.callback(index.close)
            mirror = Mirror(os.path.join(path, "mirror"), index)
            stack.callback(mirror.close)
            result = self.remote(named, lambda: mirror).fetch(session_ids, call)
        return [each for each in result if (each.indexed.chain, each.indexed.head) not in known]

    def bundle(self, path: str) -> Bundle:
        """Returns a file that sessions are written to, or read from; raises `InvalidParams` for a relative path."""
        if not os.path.isabs(path) or "\0" in path:
            raise InvalidParams(
                f"file: {path!r} is not an absolute path", hint="give the path from the root", field="file"
            )
        address = os.path.normpath(path)
        return Bundle(address, self._here(address, GitProgram(self.machine.environment)), self._store.path)

    def _here(self, address: str, git: GitProgram, mirror: Callable[[], Mirror] | None = None) -> LocalSide:
        return LocalSide(
            git,
            mirror or partial(self._mirror, address),
            self._borrowed,
            self.host,
            self.project,
            self.limits,
            self._checks,
        )

    def signer(self, key: str | None) -> Signer:
        """Returns what signs with an ssh key: a public key, or the absolute path of a key file.

        None is the key that the user's git names. Raises `InvalidParams` if there is no such key.
        """
        settings = signing_settings(self.machine.user)
        program = program_of(settings, self.machine.environment)
        return signer_of(key, settings, program, self.machine.user.home)

    def signatures(self, listed: Sequence[SessionListing], call: Call) -> Sequence[SignatureStatus | None]:
        """Checks the signature of each fetched session; None for an unsigned one."""
        mirrors = self.known_mirrors()
        chains: dict[str, list[IndexedSession]] = {}
        for each in listed:
            assert isinstance(each, ListedSession)
            chains.setdefault(each.indexed.mirror, []).append(each.indexed)
        result = {
            indexed.place: (mirrors[name], signature)
            for name in chains.keys() & mirrors.keys()
            if (there := mirrors[name].signatures.of([indexed.chain for indexed in chains[name]]))
            for indexed in chains[name]
            if (signature := there.get(indexed.chain)) is not None and signature.head == indexed.head
        }
        checks = self._checks() if result else None
        return [
            checks.of(*result[each.place], call) if checks is not None and each.place in result else None
            for each in listed
        ]

    def _checks(self) -> Checks:
        settings = signing_settings(self.machine.user)
        return Checks(settings, program_of(settings, self.machine.environment))

    @property
    def project(self) -> ProjectCommits:
        """The commits of the project."""
        return ProjectCommits(self._root, self._repository(), GitProgram(self.machine.environment, protocols=()))

    def page(self, after: int, limit: int) -> Sequence[ListedSession]:
        """Returns at most `limit` fetched sessions in the order of their places, from the first one above `after`."""
        self._refresh()
        return self._listed(self._index.page(after, limit))

    def with_steps(self, wanted: StepQuery, after: int, limit: int) -> Sequence[ListedSession]:
        """Like `page`, for sessions with a step that may match; ignores `session_id` and `parent` of the query."""
        self._refresh()
        return self._listed(self._index.with_steps(wanted, after, limit))

    def neighbours(self, name: str) -> tuple[str, ...]:
        """Returns the ids of each kind right before and after a name in order, as far as there are any."""
        return self._index.neighbours(name) if self.known_mirrors() else ()

    def session(self, session_id: SessionId) -> ListedSession | None:
        """Returns a fetched session by its id."""
        self._refresh()
        result = self._index.of_session(session_id)
        return None if result is None else self._listed([result])[0]

    def read(self, listed: SessionListing) -> OtherSessions:
        """Returns the contents of a session, read on demand; keeps the last `MOST_OPEN` in memory."""
        assert isinstance(listed, ListedSession)
        indexed = listed.indexed
        key = (indexed.mirror, indexed.chain, indexed.head)
        with self._lock:
            result = self.open_sessions.get(key)
            if result is None:
                mirror = self.known_mirrors()[indexed.mirror]
                timeline = mirror.timeline(indexed.chain, indexed.head)
                fetched = OtherSessions(listed.remote, listed.host, mirror.objects, timeline)
                result = self.open_sessions[key] = fetched, timeline
            self.open_sessions.move_to_end(key)
            while len(self.open_sessions) > MOST_OPEN:
                _, (_, oldest) = self.open_sessions.popitem(last=False)
                # a caller that still uses it reads it again
                oldest.close()
            return result[0]

    def handovers(self) -> Sequence[tuple[str, Handover]]:
        """Returns the records of all fetched handovers, each with the address of its remote."""
        return [
            (self._shown(address), handover)
            for name, mirror in sorted(self.known_mirrors().items())
            if (address := self._mirror_address(name)) is not None
            for handover in mirror.handovers()
        ]

    def clean(self, before: int, call: Call) -> int:
        """Drops sessions fetched and last added to before `before` (milliseconds since 1970); returns how many.

        Frees their space. After an error, the next call continues.
        """
        return sum(upkeep.keep(before, call) for upkeep in self.upkeeps().values())

    def clean_while_idle(self, before: int, call: Call) -> int:
        """Does part of `clean`, unless a fetch is running; a repack may continue after this returns."""
        return sum(upkeep.keep_in_background(before, call) for upkeep in self.upkeeps().values())

    def purge(
        self,
        paths: Collection[RelPath],
        contents: Collection[ObjectId],
        messages: Collection[str],
        call: Call,
        *,
        dry_run: bool,
    ) -> tuple[int, Collection[str]]:
        """Drops what was fetched with any of these files, blobs or messages (by id), with all objects.

        Returns the number of sessions and handovers dropped, and the addresses of the remotes that have any of it,
        because it was fetched from or sent there. After an error some may be left; the same call removes them.
        """
        dropped, remotes = 0, self.sent([*contents, *(message.encode() for message in messages)])
        for name, upkeep in self.upkeeps().items():
            names = upkeep.with_any(paths, contents, messages, call)
            if names:
                remotes.add(self._shown(self._mirror_address(name) or ""))
            if not dry_run:
                # objects of sessions dropped before may still be there
                upkeep.purge(names, call)
            dropped += len(names)
        if not dry_run:
            self._index.forget_sent(contents)
        return dropped, sorted(remotes)

    def close(self) -> None:
        """Closes the mirrors and the index."""
        with self._lock:
            for upkeep in self._upkeep.values():
                upkeep.close()
            for _, timeline in self.open_sessions.values():
                timeline.close()
            for mirror in self._mirrors.values():
                mirror.close()
            self._upkeep.clear()
            self.open_sessions.clear()
            self._mirrors.clear()
            self._index.close()

    def _refresh(self) -> None:
        mirrors = self.known_mirrors()
        for mirror in mirrors.values():
            mirror.refresh()
        for name in self._index.mirrors() - mirrors.keys():
            self._index.remove(name)

    def _listed(self, indexed_sessions: Sequence[IndexedSession]) -> list[ListedSession]:
        addresses = {name: self._mirror_address(name) for name in {indexed.mirror for indexed in indexed_sessions}}
        # a mirror that was purged meanwhile has no address
        return [
            ListedSession.of(self._shown(address), indexed)
            for indexed in indexed_sessions
            if (address := addresses[indexed.mirror]) is not None
        ]

    @staticmethod
    def _shown(address: str) -> str:
        return shown(os.fsencode(without_secret(address)))

    def upkeeps(self) -> dict[str, Upkeep]:
        """Returns the upkeep of each mirror, by the mirror's name."""
        with self._lock:
            for name, mirror in self.known_mirrors().items():
                if name not in self._upkeep or self._upkeep[name].mirror is not mirror:
                    self._upkeep[name] = Upkeep(mirror)
            return dict(self._upkeep)

    def known_mirrors(self) -> dict[str, Mirror]:
        """Returns the mirrors of this store, by name."""
        with self._lock:
            names = names_if_there(self._mirror_path(""))
            for name in names:
                if name not in self._mirrors and (address := self._mirror_address(name)) is not None:
                    self._mirror(address)
            # a purge may have removed some
            self._mirrors = {name: mirror for name, mirror in self._mirrors.items() if name in names}
            return dict(self._mirrors)

    def _repository(self) -> Repository | None:
        with os_errors(os.fsdecode(self._root)):
            return find_repository(self._root)

    def _borrowed(self) -> list[str]:
        """The `objects` directories of everything that this machine has of the project, flushed to files."""
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
                # written before anything is fetched from there
                write_file(os.path.join(path, _ADDRESS), address.encode("utf-8", "surrogateescape"))
                mirror = self._mirrors[name] = Mirror(path, self._index)
            return mirror

    def _mirror_address(self, name: str) -> str | None:
        data = read_if_there(os.path.join(self._mirror_path(name), _ADDRESS))
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def _mirror_path(self, name: str) -> str:
        return os.path.join(self._store.path, MIRRORS, name) if name else os.path.join(self._store.path, MIRRORS)


def _addresses(repository: Repository, user: GitUser) -> dict[str, str]:
    """Returns the remotes' addresses by name; a relative path is relative to the root of the project, as in git."""
    root = os.fsdecode(repository.root)
    return {
        name: os.path.normpath(os.path.join(root, url)) if is_relative(url) else url
        for name, url in named_remotes(repository, user).items()
    }
