"""What git says about the history of a project, in a repository of snapd's own.

That one borrows the objects of the project and has nothing else of it: no configuration, no attributes, no references.
So nothing that anybody put into the project can make git run a program, or fetch what a partial clone does not have.
"""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.errors import IoError, os_errors
from snapd.remotes.program import Bounds
from snapd.store.objects.codec import batch_objects
from snapd.store.sharing.outgoing import make_bare
from snapd.worktree.fs.stable_read import read_small
from snapd.worktree.git.objects import object_directories
from snapd.worktree.git.quoting import unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from snapd.core.call import Call
    from snapd.remotes.program import Finished, GitProgram
    from snapd.worktree.git.repository import Repository

BOUNDS = Bounds(seconds=20)
_ENDED = (-signal.SIGXCPU, -signal.SIGKILL)
"""How a process ends that needed more than its bounds."""
_SHA256 = 32
_LAST_SECOND = 253_402_300_799
"""Of the year 9999: a commit may claim any time, and what comes later has no RFC 3339."""


class TooMuch(IoError):
    """Git needed more than the bounds."""


@attrs.frozen
class Brought:
    """Lines that one commit brought, one after the other.

    Attributes:
        commit: its hash.
        seconds: when its author made it, since 1970.
        file: the name that the file had in it.
        there: the first of the lines in it, from 1.
        here: the first of the lines in the version that was asked about, from 1.
        count: how many lines.
    """

    commit: str
    seconds: int
    file: bytes
    there: int
    here: int
    count: int


@attrs.frozen
class History:
    """The history of a project.

    Args:
        path: the repository that borrows its objects.
        git: the program.
        bounds: the most that a command may use.
    """

    path: str
    git: GitProgram
    bounds: Bounds

    @classmethod
    @contextmanager
    def of(cls, repository: Repository, git: GitProgram, bounds: Bounds = BOUNDS) -> Iterator[History]:
        """Opens the history of a project for the block; raises `IoError`, `StorageFull`."""
        objects = object_directories(os.path.join(repository.common_dir, b"objects"))
        # where history was cut off: git would look for the parents of these commits
        shallow = read_small(os.path.join(repository.common_dir, b"shallow"))
        with tempfile.TemporaryDirectory(prefix="snapd-notes-") as path:
            with os_errors(path):
                make_bare(path, map(os.fsdecode, objects))
                if repository.hash_size == _SHA256:
                    with open(os.path.join(path, "config"), "a") as config:
                        config.write("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tobjectFormat = sha256\n")
                if shallow is not None:
                    with open(os.path.join(path, "shallow"), "wb") as file:
                        file.write(shallow)
            yield cls(path, git, bounds)

    def found(self, names: Sequence[bytes], call: Call) -> list[tuple[bytes, int] | None]:
        """Finds blobs; raises `IoError`, `TooMuch`, `Cancelled`.

        Args:
            names: as git reads them, such as `HEAD:a.txt`, without line feeds.
            call: the request.

        Returns:
            The id of each and its size in bytes; None for what is no blob.
        """
        if not names:
            return []
        lines = self._ask(["cat-file", "--batch-check"], call, b"".join(name + b"\n" for name in names)).splitlines()
        words = [line.split(b" ") for line in lines]
        return [(each[0], int(each[2])) if each[1:2] == [b"blob"] and len(each) == 3 else None for each in words]

    def blobs(self, ids: Sequence[bytes], call: Call) -> Iterator[bytes]:
        """The bytes of blobs that there are; raises `IoError`, `TooMuch`, `Cancelled`."""
        if not ids:
            return
        out = self._ask(["cat-file", "--batch"], call, b"".join(oid + b"\n" for oid in ids))
        yield from (data for _, _, data in batch_objects(out))

    def brought(self, commit: str, file: bytes, call: Call) -> list[Brought]:
        """Which commits brought the lines of a file, by `git blame`; raises `IoError`, `TooMuch`, `Cancelled`.

        Args:
            commit: the version that is asked about.
            file: the name that it has there.
            call: the request.
        """
        words = ["blame", "--incremental", "--no-textconv", commit, "--", os.fsdecode(file)]
        return list(_brought(self._ask(words, call)))

    def _ask(self, words: Sequence[str], call: Call, data: bytes = b"") -> bytes:
        done = self.git.run(self.path, words, call, data=data, bounds=self.bounds)
        if done.is_cut or done.code in _ENDED:
            hint = "'git blame' shows the commits"
            raise TooMuch("git needs too long for the history of this file", hint=hint, errno="EIO", path="git")
        if done.code:
            raise _failed(done)
        return done.out


def _failed(done: Finished) -> IoError:
    said = (done.said.splitlines() or [f"it ended with {done.code}"])[0].removeprefix("fatal: ")
    return IoError(f"git: {said}", hint="'git fsck' checks the repository", errno="EIO", path="git")


def _brought(told: bytes) -> Iterator[Brought]:
    """Reads what `git blame --incremental` says: of each commit it says only once when it was made."""
    times: dict[str, int] = {}
    commit, numbers = "", (0, 0, 0)
    for line in told.split(b"\n"):
        word, _, rest = line.partition(b" ")
        if word == b"author-time":
            times[commit] = min(max(int(rest), 0), _LAST_SECOND)
        elif word == b"filename":
            there, here, count = numbers
            yield Brought(commit, times[commit], unquoted(rest), there, here, count)
            commit = ""
        elif not commit and line:
            commit = word.decode("ascii")
            there, here, count = map(int, rest.split(b" "))
            numbers = there, here, count
