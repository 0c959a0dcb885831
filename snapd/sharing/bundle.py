"""A file that sessions are written to and read from: a git bundle."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO

from snapd.model.errors import InvalidParams, RemoteFailed, os_errors
from snapd.model.paths import shown
from snapd.remotes.bundles import Header, read_header, unpack
from snapd.remotes.exchange import SizeEstimate
from snapd.store.files.durable import PRIVATE_FILE, write_all
from snapd.store.refs.database import PACKED, encode_packed
from snapd.store.timeline.chain import SESSIONS, chain_of_session
from snapd.worktree.export import writable_by_others
from snapd.worktree.fs.system import rename_no_replace

from .copies import Copies
from .fetched import ListedSession, chosen
from .formats import HANDOVERS, signature_of
from .outgoing import OutgoingRepository, look_at_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from snapd.model.call import Call
    from snapd.model.snapshot import ObjectId
    from snapd.model.timeline import SessionId
    from snapd.remotes.program import GitProgram

    from .commits import ProjectCommits
    from .fetched import LocalSide
    from .mirror import FetchedHandover, Mirror


_WORTH_IT = 16 << 10
"""Bytes that prerequisites must save: without any, every recipient can read the file."""
_CHUNK = 1 << 20

_OTHER_NAME = "give the name of a file that does not exist yet"


class BundledCopies(Copies):
    """Copies of sessions for a file.

    The file omits what one commit of the project has, if others likely have this commit and it saves enough. `git
    bundle create` cannot do that: it omits only the ancestors of sessions, and no commit of the project is one.
    """

    def __init__(self, repository: OutgoingRepository, git: GitProgram, project: ProjectCommits, path: str) -> None:
        super().__init__(repository, git, project)
        self._path = path
        self._parts: tuple[bytes, str] | None = None

    def weigh(self, call: Call) -> int:
        """Returns the size of the file in bytes."""
        header, pack = self._written(call)
        return len(header) + os.path.getsize(pack)

    def push(self, call: Call) -> None:
        """Makes the file; raises `InvalidParams` if it exists. After any error it was not made."""
        header, pack = self._written(call)
        make_file(self._path, _chunks(header, pack), call)

    def _written(self, call: Call) -> tuple[bytes, str]:
        """Returns the header of the file, and the path of its pack."""
        if self._parts is None:
            needed = self._needed(call)
            # pack summaries would let git also omit what older commits have
            look_at_trees(self._repository.path, needed)
            header = Header(needed, self._repository.heads).encode()
            self._parts = header, self._weighing().write_push_pack(needed, call)
        return self._parts

    def _public(self, call: Call) -> list[ObjectId]:
        return [*self._project.published(call), *self._needed(call)]

    def _needed(self, call: Call) -> list[ObjectId]:
        """Returns the commits whose contents the file omits."""
        weighing, shared = self._weighing(), self._project.likely_shared(call)
        candidates = [] if shared is None else weighing.there([shared], call)
        return [commit for commit in candidates if weighing.bytes_of(commit, call) >= _WORTH_IT]


def _chunks(header: bytes, pack: str) -> Iterator[bytes]:
    yield header
    with open(pack, "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


class Bundle:
    """A file that sessions are written to, all at once, or read from; `store` is the workspace's store directory."""

    def __init__(self, path: str, here: LocalSide, store: str) -> None:
        self.address = path
        self._shown = shown(os.fsencode(path))
        self._here = here
        self._store = store

    @contextmanager
    def outgoing(self) -> Iterator[BundledCopies]:
        """Like `Remote.outgoing`; raises `InvalidParams`, `IoError` if the file cannot be made."""
        check_new(self.address, os.path.dirname(self._store))
        with OutgoingRepository(self._here.borrowed(), self._here.host) as repository:
            yield BundledCopies(repository, self._here.git, self._here.project, self.address)

    def fetch(self, session_ids: Collection[SessionId] | None, call: Call) -> Sequence[ListedSession]:
        """Like `Remote.fetch`; raises `InvalidParams` if there is no such file.

        Raises `RemoteFailed` if the file requires a commit of the project that this machine does not have.
        """
        names = None if session_ids is None else set(map(chain_of_session, session_ids))

        def is_wanted(name: str) -> bool:
            return name.startswith(SESSIONS) if names is None else name in names

        mirror, fresh = self._take(is_wanted, call)
        return [ListedSession.of(self._shown, indexed) for indexed in mirror.listed(fresh)]

    def fetch_handover(self, name: str | None, call: Call) -> FetchedHandover:
        """Like `Remote.fetch_handover`; raises the errors of `fetch`, too."""
        mirror, _ = self._take(lambda reference: reference.startswith(HANDOVERS), call)
        with os_errors(self.address), self._opened() as file:
            there = read_header(file, self._shown).heads
        return chosen(self._shown, mirror, there, name, self._here.checks(), call)

    def mark_taken_over(self, taken: FetchedHandover, milliseconds: int, call: Call) -> bool:
        """Does nothing: the author of the file could not see it."""
        del taken, milliseconds, call
        return False

    def _take(self, is_wanted: Callable[[str], bool], call: Call) -> tuple[Mirror, dict[str, ObjectId]]:
        """Imports what is wanted by its reference; returns what is new."""
        with ExitStack() as stack:
            with os_errors(self.address):
                file = stack.enter_context(self._opened())
                header = read_header(file, self._shown)
            heads = {name: head for name, head in header.heads.items() if is_wanted(name)}
            signatures = {
                own: tag for name in heads if (tag := header.heads.get(own := signature_of(name))) is not None
            }
            mirror = self._here.mirror()
            borrowed = self._here.borrowed()
            with mirror.changing, mirror.quarantine(borrowed, tuple(heads)) as quarantine:
                self._check_needed(header, quarantine, call)
                unpack(self._here.git, quarantine, file, self._shown, self._here.limits.bytes, call)
                _name(quarantine, {**heads, **signatures})
                return mirror, mirror.take(quarantine, heads.__contains__, borrowed, self._here.limits, call)

    def _opened(self) -> BinaryIO:
        try:
            # O_NONBLOCK: opening a pipe must not wait for a writer
            descriptor = os.open(self.address, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InvalidParams(
                f"file: there is no file {self._shown}", hint="check the path of the file", field="file"
            ) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InvalidParams(
                f"file: {self._shown} is not a file",
                hint="give the file that 'snapd bundle' wrote; 'snapd fetch' takes the folder of a git repository",
                field="file",
            )
        return open(descriptor, "rb")

    def _check_needed(self, header: Header, quarantine: str, call: Call) -> None:
        """Raises `RemoteFailed` unless the project has the commits that the file requires."""
        needed = header.prerequisites
        missing = set(needed).difference(SizeEstimate(self._here.git, quarantine, ()).there(needed, call))
        if missing:
            commit = min(missing).hex()
            raise RemoteFailed(
                f"{self._shown} builds on commit {commit} of the project, which this machine does not have",
                hint=f"fetch the commits of the project first ('git fetch' brings {commit[:12]} if a remote has it), "
                "then try again",
                remote=self.address,
                reason="refused",
                commit=commit,
            )


def _name(quarantine: str, heads: dict[str, ObjectId]) -> None:
    """Writes the references of a quarantine: only those that came out of a file."""
    with os_errors(quarantine), open(os.path.join(quarantine, PACKED), "wb") as file:
        file.write(encode_packed(f"{head.hex()} {name}\n".encode() for name, head in sorted(heads.items())))


def check_new(path: str, stores: str) -> None:
    """Checks, as far as possible, that a file can be made; `stores` is the directory of all stores.

    Raises `InvalidParams` if it exists, if its folder does not, or if only git or snapd may write there.
    """
    folder = os.path.dirname(path)
    if not os.path.basename(path):
        raise _refused(path, "it is a folder", _OTHER_NAME)
    with os_errors(path):
        if os.path.lexists(path):
            raise _exists(path)
        if not os.path.isdir(folder):
            raise _refused(path, f"there is no folder {shown(os.fsencode(folder))}", "make the folder first")
    why = writable_by_others(os.path.realpath(os.fsencode(folder)), os.path.realpath(os.fsencode(stores)))
    if why is not None:
        raise _refused(path, why, "name a file outside of it")


def make_file(path: str, chunks: Iterable[bytes], call: Call) -> None:
    """Makes a file durably, readable by the user only: all or nothing; raises `InvalidParams` if it exists."""
    above, name = os.path.split(os.fsencode(path))
    temporary = f".snapd-{secrets.token_hex(8)}.tmp".encode()
    with os_errors(path):
        directory = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, PRIVATE_FILE, dir_fd=directory)
            try:
                try:
                    for chunk in chunks:
                        call.check()
                        write_all(descriptor, chunk)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                rename_no_replace(directory, temporary, directory, name)
            except BaseException:
                os.unlink(temporary, dir_fd=directory)
                raise
            os.fsync(directory)
        except FileExistsError as error:
            raise _exists(path) from error
        finally:
            os.close(directory)


def _exists(path: str) -> InvalidParams:
    return _refused(path, "it exists already", _OTHER_NAME)


def _refused(path: str, why: str, hint: str) -> InvalidParams:
    return InvalidParams(f"file: cannot write {shown(os.fsencode(path))}: {why}", hint=hint, field="file")
