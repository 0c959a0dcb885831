"""What this machine has of one remote: the sessions that were fetched from there, each whole and looked at."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import StoreCorrupt, Untrusted, os_errors
from snapd.core.model import Snapshot
from snapd.failpoints import failpoint
from snapd.store.adopt import adopt
from snapd.store.coverage import Coverages
from snapd.store.files.durable import remove_if_there, sync_directory, sync_if_there, write_file
from snapd.store.files.walking import read_if_there
from snapd.store.object_store import ObjectStore
from snapd.store.refs.database import read_references
from snapd.store.repository import ShadowRepository
from snapd.store.timeline.chain import SESSIONS, host_of, walk
from snapd.store.timeline.fetched import FetchedTimeline

from .inspection import Inspection
from .outgoing import make_bare

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.core.timeline.model import Event, SnapshotId

    from .inspection import Limits

logger = logging.getLogger(__name__)

_PUSHED = "pushed.json"
_ENDINGS = ("pack", "rev", "idx")
"""The files of a pack, the index last: without it, git does not see the others."""


@attrs.frozen
class MirrorLog:
    """The log of a fetched session.

    Attributes:
        timeline: its events.
    """

    _repository: ShadowRepository
    timeline: FetchedTimeline

    def load(self, snapshot: SnapshotId) -> Snapshot:
        """Loads a snapshot that an event names; raises `StoreCorrupt`."""
        return Snapshot(snapshot.tree, Coverages().decoded(snapshot.coverage, self._repository.read_blob))


class Mirror:
    """The sessions of one remote. Safe to use from several threads.

    Args:
        path: its directory; made, private, if it does not exist.

    Attributes:
        repository: has them; their references have the names that they have at the remote.
        objects: of their snapshots.

    Raises:
        StoreCorrupt, StorageFull, IoError: it could not be opened or made.
    """

    def __init__(self, path: str) -> None:
        self.repository = ShadowRepository(path)
        self.objects = ObjectStore(self.repository)
        # two requests may have fetched the same pack, of which one is refused
        self._lock = threading.Lock()

    @property
    def directory(self) -> bytes:
        """The git `objects` directory that holds them."""
        return os.fsencode(self.repository.objects)

    def heads(self) -> dict[str, ObjectId]:
        """The newest commit of each session, by the name of its reference; raises `StoreCorrupt`, `IoError`."""
        found = read_references(self.repository.path).whole()
        return {name: head for name, head in found.items() if name.startswith(SESSIONS)}

    def known(self) -> dict[str, ObjectId]:
        """What the remote was last known to have: `heads`, and what was pushed since."""
        data = read_if_there(os.path.join(self.repository.path, _PUSHED))
        try:
            pushed = {} if data is None else {name: bytes.fromhex(head) for name, head in json.loads(data).items()}
        except (ValueError, AttributeError, TypeError):
            # to know less costs one more question to the remote
            logger.warning("%s of %s is damaged, and is made anew", _PUSHED, self.repository.path)
            pushed = {}
        return {**self.heads(), **pushed}

    def note_pushed(self, heads: Mapping[str, ObjectId]) -> None:
        """Notes that the remote has these now."""
        with self._lock:
            self._write_pushed({**self.known(), **heads})

    def forget(self, names: Collection[str]) -> None:
        """Forgets sessions that the remote does not have any more; raises `StorageFull`, `IoError`."""
        with self._lock:
            self._write_pushed({name: head for name, head in self.known().items() if name not in names})
            for name in names:
                if name in self.heads():
                    self.repository.references.delete(name)

    def events(self, name: str, head: ObjectId) -> tuple[Event, ...]:
        """The events of a session, newest first; raises `StoreCorrupt`."""
        return tuple(link.event for link in walk(name, head, self.repository.read_commit))

    def host(self, head: ObjectId) -> str:
        """The machine that made a commit."""
        return host_of(self.repository.read_commit(head))

    def log(self, name: str, head: ObjectId) -> MirrorLog:
        """The log of a session, of which nothing was read yet."""
        return MirrorLog(self.repository, FetchedTimeline(self.repository, name, head))

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
        with call.holding(self._lock):
            return self._take(quarantine, borrowed, limits, call)

    def _take(self, quarantine: str, borrowed: Sequence[str], limits: Limits, call: Call) -> dict[str, ObjectId]:
        known = self.known()
        had = self.heads()
        fetched = read_references(quarantine).whole()
        fresh = {name: head for name, head in fetched.items() if name.startswith(SESSIONS) and had.get(name) != head}
        directories = [os.fsencode(directory) for directory in borrowed]

        def complete(wanted: Iterable[ObjectId]) -> frozenset[ObjectId]:
            return adopt(self.repository, directories, set(wanted))

        if len(fresh) > limits.sessions:
            raise Untrusted(f"{len(fresh)} sessions are new there, which is over the limit of {limits.sessions}")
        moved = self._move_in(os.path.join(quarantine, "objects", "pack"))
        try:
            inspection = Inspection(self.repository, complete, limits, call)
            for name, head in fresh.items():
                inspection.session(name, head)
                timeline = self.log(name, head).timeline
                try:
                    timeline.check()
                except StoreCorrupt as error:
                    raise Untrusted(f"{name} cannot be used: {error.message}", reference=name) from error
                timeline.close()
            failpoint("mirror.take")
            self.repository.journal.flush(fresh)
            self.repository.journal.checkpoint()
            self._write_pushed({name: head for name, head in known.items() if name not in fresh})
        except BaseException:
            self._remove(moved)
            raise
        return fresh

    def _write_pushed(self, known: Mapping[str, ObjectId]) -> None:
        had = self.heads()
        pushed = {name: head.hex() for name, head in known.items() if had.get(name) != head}
        write_file(os.path.join(self.repository.path, _PUSHED), json.dumps(pushed).encode())

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
