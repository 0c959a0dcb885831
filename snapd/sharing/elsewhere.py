"""Other machines, as one workspace knows them."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import InvalidParams, os_errors
from snapd.core.paths import shown
from snapd.remotes.address import is_relative, resolve, without_secret
from snapd.remotes.program import GitProgram
from snapd.store.files.durable import make_directories, write_file
from snapd.store.files.walking import names_if_there, read_if_there
from snapd.store.sharing.inspection import Limits
from snapd.store.sharing.mirror import Mirror
from snapd.worktree.git.elsewhere import Tips, access_settings, named_remotes, tips
from snapd.worktree.git.repository import find_repository
from snapd.worktree.repair_sources import own_object_directories

from .bundle import Bundle
from .commits import ProjectCommits
from .fetched import FetchedSession
from .lineage import Lineage
from .remote import Remote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from snapd.core.model import ObjectId
    from snapd.core.ports.sharing import Fetched
    from snapd.core.timeline.handover import Handover
    from snapd.store.store import Store
    from snapd.worktree.git.repository import GitUser, Repository

MIRRORS = "mirrors"
_HANDOVERS = "handovers.json"
_ADDRESS = "address"


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


class Elsewhere:
    """Other machines, as the workspace of a folder knows them. Safe to use from several threads.

    What was fetched from a remote lies in a repository of its own below the store, so that nothing that came from
    elsewhere is among the snapshots of the folder.

    Args:
        root: the folder.
        store: of the workspace.
        machine: this one.
        beside: opens the sessions of another folder of this machine, see `core.ports.sharing.Elsewhere.beside`.
        limits: the most that is fetched at once.

    Attributes:
        beside: as given.
    """

    def __init__(
        self,
        root: bytes,
        store: Store,
        machine: Machine,
        beside: Callable[[bytes], AbstractContextManager[Fetched]],
        limits: Limits | None = None,
    ) -> None:
        self.beside = beside
        self._root = root
        self._store = store
        self._machine = machine
        self._limits = limits or Limits()
        self._lock = threading.RLock()
        self._mirrors: dict[str, Mirror] = {}
        self._sessions: dict[tuple[str, str, ObjectId], FetchedSession] = {}

    def remote(self, named: str) -> Remote:
        """See `core.ports.sharing.Elsewhere`."""
        repository = self._repository()
        user = self._machine.user
        address = resolve(named, {} if repository is None else _addresses(repository, user))
        return Remote(
            address,
            GitProgram(self._machine.environment, access_settings(user)),
            lambda: self._mirror(address),
            self._borrowed,
            self._machine.host,
            Tips() if repository is None else tips(repository),
            self._limits,
            lambda: [entry.name for entry in self.lineage.all()[-1:] if entry.is_own],
        )

    def bundle(self, path: str) -> Bundle:
        """See `core.ports.sharing.Elsewhere`."""
        if not os.path.isabs(path) or "\0" in path:
            raise InvalidParams(
                f"file: {path!r} is no absolute path", hint="give the whole path, from the root on", field="file"
            )
        address = os.path.normpath(path)
        repository = self._repository()
        return Bundle(
            address,
            GitProgram(self._machine.environment),
            lambda: self._mirror(address),
            self._borrowed,
            self._machine.host,
            repository,
            self._store.path,
            self._limits,
        )

    @property
    def host(self) -> str:
        """See `core.ports.sharing.Elsewhere`."""
        return self._machine.host

    @property
    def project(self) -> ProjectCommits:
        """See `core.ports.sharing.Elsewhere`."""
        return ProjectCommits(self._root, self._repository(), GitProgram(self._machine.environment))

    @property
    def lineage(self) -> Lineage:
        """See `core.ports.sharing.Elsewhere`."""
        return Lineage(os.path.join(self._store.path, _HANDOVERS))

    def fetched(self) -> Sequence[FetchedSession]:
        """See `core.ports.sharing.Elsewhere`."""
        found: list[FetchedSession] = []
        with self._lock:
            for name, address, mirror in self._all_mirrors():
                for chain, head in mirror.heads().items():
                    key = (name, chain, head)
                    if key not in self._sessions:
                        remote = shown(os.fsencode(without_secret(address)))
                        self._sessions[key] = FetchedSession.of(remote, mirror, chain, head)
                    found.append(self._sessions[key])
        return found

    def handovers(self) -> Sequence[tuple[str, Handover]]:
        """See `core.ports.sharing.Elsewhere`."""
        found: list[tuple[str, Handover]] = []
        with self._lock:
            for _, address, mirror in self._all_mirrors():
                found += [(without_secret(address), handover) for handover in mirror.handovers()]
        return found

    def _all_mirrors(self) -> Iterator[tuple[str, str, Mirror]]:
        """The mirrors of all remotes, with their names and addresses."""
        for name in sorted(names_if_there(self._mirror_path(""))):
            address = self._mirror_address(name)
            if address is not None:
                yield name, address, self._mirror(address)

    def close(self) -> None:
        """See `core.ports.sharing.Elsewhere`."""
        with self._lock:
            for session in self._sessions.values():
                session.log.timeline.close()
            self._sessions.clear()
            self._mirrors.clear()

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
            mirror = self._mirrors.get(name)
            if mirror is None:
                path = self._mirror_path(name)
                make_directories(path)
                # before anything that was fetched from there
                write_file(os.path.join(path, _ADDRESS), address.encode("utf-8", "surrogateescape"))
                mirror = self._mirrors[name] = Mirror(path)
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
