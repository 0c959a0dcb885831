"""The notes of one project: who wrote the lines of its files, by the commits that brought them.

Git is not asked where the project has no such reference by its files. It says which commits brought lines in a
repository of snapd's own. That one borrows the objects of the project and has nothing else of it: no configuration, no
attributes, no references. So nothing that anybody put into the project can make git run a program, or fetch what a
partial clone does not have.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections import OrderedDict, defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from snapd.core.seams import GitCommit, NotedCommit, NotedLines, NoteProblem
from snapd.model.errors import IoError, os_errors
from snapd.model.paths import is_utf8
from snapd.model.snapshot import TEN_MIB
from snapd.remotes.program import Bounds
from snapd.sharing.outgoing import make_bare
from snapd.store.objects.codec import batch_objects
from snapd.worktree.fs.stable_read import read_small
from snapd.worktree.git.repository import find_repository, object_directories, unquoted

from .note import NOTES, BadNoteError, Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from snapd.core.seams import Claim
    from snapd.model.call import Call
    from snapd.model.snapshot import RelPath
    from snapd.remotes.program import Finished, GitProgram
    from snapd.worktree.git.repository import Repository


BOUNDS = Bounds(seconds=20)
_ENDED = (-signal.SIGXCPU, -signal.SIGKILL)
"""How a process ends that needed more than its bounds."""
_SHA256 = 32
_LAST_SECOND = 253_402_300_799
"""Of the year 9999: a commit may claim any time, and what comes later has no RFC 3339."""

_FILES = 16
"""How many files are remembered: an editor asks again with every change."""
_KEPT = 1 << 20
"""Bytes of text that are remembered of one: a larger one is read again."""
_LARGEST = 1 << 20
"""Bytes of a note."""
_ALL = 32 << 20
"""Bytes of all notes for one file: what anybody may push must not keep snapd at work for long."""
_DEEPEST = 4
"""How often git may have divided the directory of notes by two digits of the commit: four times are enough for 2^32."""
_SHOWN = 20
"""How many notes that cannot be read are named one by one."""


class LimitExceeded(IoError):
    """Git needed more than the bounds."""


@attrs.frozen
class CommitLines:
    """Lines that one commit brought, one after the other.

    Attributes:
        commit: that one.
        file: the name that the file had in it.
        there: the first of the lines in it, from 1.
        here: the first of the lines in the version that was asked about, from 1.
        count: how many lines.
    """

    commit: GitCommit
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
        objects = object_directories(repository.objects)
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
        """Finds blobs; raises `IoError`, `LimitExceeded`, `Cancelled`.

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
        """The bytes of blobs that there are; raises `IoError`, `LimitExceeded`, `Cancelled`."""
        if not ids:
            return
        out = self._ask(["cat-file", "--batch"], call, b"".join(oid + b"\n" for oid in ids))
        yield from (data for _, _, data in batch_objects(out))

    def blame_commits(self, commit: str, file: bytes, call: Call) -> list[CommitLines]:
        """Which commits brought the lines of a file, by `git blame`; raises `IoError`, `LimitExceeded`, `Cancelled`.

        Args:
            commit: the version that is asked about.
            file: the name that it has there.
            call: the request.
        """
        # a bare repository would take the map of names from its `HEAD`, and this one has none
        names = ["-c", f"mailmap.blob={commit}:.mailmap"]
        words = [*names, "blame", "--incremental", "--no-textconv", commit, "--", os.fsdecode(file)]
        return list(_parse_blame(self._ask(words, call)))

    def _ask(self, words: Sequence[str], call: Call, data: bytes = b"") -> bytes:
        done = self.git.run(self.path, words, call, data=data, bounds=self.bounds)
        if done.is_cut or done.code in _ENDED:
            hint = "'git blame' shows the commits"
            raise LimitExceeded("git needs too long for the history of this file", hint=hint, errno="EIO", path="git")
        if done.code:
            raise _failed(done)
        return done.out


def _failed(done: Finished) -> IoError:
    said = (done.stderr.splitlines() or [f"it ended with {done.code}"])[0].removeprefix("fatal: ")
    return IoError(f"git: {said}", hint="'git fsck' checks the repository", errno="EIO", path="git")


def _parse_blame(told: bytes) -> Iterator[CommitLines]:
    """Reads what `git blame --incremental` says: it describes each commit only once."""
    commits: dict[bytes, GitCommit] = {}
    oid, numbers, fields = b"", (0, 0, 0), dict[bytes, bytes]()
    for line in told.split(b"\n"):
        word, _, rest = line.partition(b" ")
        if word == b"filename":
            commit = commits.get(oid) or commits.setdefault(oid, _commit(oid, fields))
            there, here, count = numbers
            yield CommitLines(commit, unquoted(rest), there, here, count)
            oid, fields = b"", {}
        elif oid:
            fields[word] = rest
        elif line:
            oid = word
            there, here, count = map(int, rest.split(b" "))
            numbers = there, here, count


def _commit(oid: bytes, fields: Mapping[bytes, bytes]) -> GitCommit:
    author, email, summary = (
        fields.get(name, b"").decode("utf-8", "replace") for name in (b"author", b"author-mail", b"summary")
    )
    seconds = min(max(int(fields[b"author-time"]), 0), _LAST_SECOND)
    return GitCommit(oid.decode("ascii"), author, email.removeprefix("<").removesuffix(">"), seconds, summary)


class ProjectNotes:
    """The history of a project in git, and its notes; implements `core.seams.Notes`. Safe to use from several threads.

    Args:
        root: the folder, absolute and canonical.
        git: the program.
        bounds: the most that one of its commands may use.
    """

    def __init__(self, root: bytes, git: GitProgram, bounds: Bounds = BOUNDS) -> None:
        self._root = root
        self._git = git
        self._bounds = bounds
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, ...], _CommittedFile] = OrderedDict()

    def of(self, names: Sequence[RelPath], call: Call) -> _CommittedFile | None:
        """See `core.seams.Notes`."""
        repository = self._repository(names[0])
        if repository is None:
            return None
        places = _places(self._root, repository.root, names)
        newest = self._newest(repository, call)
        if newest is None or not places:
            return None
        key = (os.fsdecode(repository.git_dir), *map(str, newest), *map(os.fsdecode, names))
        with self._lock:
            found = self._known.pop(key, None) or _CommittedFile(repository, self._git, self._bounds, newest, places)
            self._known[key] = found
            if len(self._known) > _FILES:
                self._known.popitem(last=False)
        return found

    def _repository(self, path: RelPath) -> Repository | None:
        """The repository that a file belongs to, as git in its directory finds it; it may be one within the folder."""
        folder = os.path.dirname(os.path.join(self._root, path))
        while not os.path.isdir(folder) and len(folder) > len(self._root):
            folder = os.path.dirname(folder)
        with os_errors(folder):
            return find_repository(folder)

    def _newest(self, repository: Repository, call: Call) -> tuple[str, str | None] | None:
        """The commit that is checked out, None if there is none; and that of the notes, if there are any."""
        # it looks at references alone: what a partial clone lacks, git would fetch
        words = ["rev-parse", "--revs-only", "--quiet", "HEAD", NOTES]
        found = self._git.run(os.fsdecode(repository.git_dir), words, call).out.decode("utf-8", "replace").split()
        return (found[0], found[1] if len(found) > 1 else None) if found else None


def _places(root: bytes, top: bytes, names: Sequence[RelPath]) -> dict[RelPath, bytes]:
    """Where files of a folder are in its repository, without those that git cannot be asked about line by line."""
    beginning = top.rstrip(b"/") + b"/"
    full = {name: os.path.join(root, name) for name in names}
    return {
        name: path.removeprefix(beginning)
        for name, path in full.items()
        if path.startswith(beginning) and b"\n" not in path
    }


class _CommittedFile:
    """Implements `core.seams.CommittedFile`; what git said once, it would say again."""

    def __init__(
        self,
        repository: Repository,
        git: GitProgram,
        bounds: Bounds,
        newest: tuple[str, str | None],
        places: Mapping[RelPath, bytes],
    ) -> None:
        self._repository = repository
        self._git = git
        self._bounds = bounds
        self._head, self._notes = newest
        self._places = places
        self._lock = threading.Lock()
        self._texts: dict[RelPath, bytes] | None = None
        self._noted: dict[RelPath, NotedLines] = {}

    def texts(self, call: Call) -> Mapping[RelPath, bytes]:
        """See `core.seams.CommittedFile`."""
        with call.holding(self._lock):
            if self._texts is not None:
                return self._texts
            with History.of(self._repository, self._git, self._bounds) as history:
                found = self._read(history, call)
            if sum(map(len, found.values())) <= _KEPT:
                self._texts = found
            return found

    def noted(self, name: RelPath, call: Call) -> NotedLines:
        """See `core.seams.CommittedFile`."""
        with call.holding(self._lock):
            if name not in self._noted:
                commits: dict[int, GitCommit] = {}
                with History.of(self._repository, self._git, self._bounds) as history:
                    try:
                        blame_commits = history.blame_commits(self._head, self._places[name], call)
                        for each in blame_commits:
                            commits |= dict.fromkeys(range(each.here - 1, each.here - 1 + each.count), each.commit)
                        noted = (
                            self._look_up(history, blame_commits, call) if self._notes is not None else NotedLines({})
                        )
                        self._noted[name] = attrs.evolve(noted, commits=commits)
                    except LimitExceeded as error:
                        # the next time, it would be the same
                        self._noted[name] = NotedLines({}, commits, (NoteProblem(None, error.message),))
            return self._noted[name]

    def _read(self, history: History, call: Call) -> dict[RelPath, bytes]:
        asked = [b"%s:%s" % (self._head.encode("ascii"), place) for place in self._places.values()]
        found = zip(self._places, history.found(asked, call), strict=True)
        ids = {name: blob[0] for name, blob in found if blob is not None and blob[1] <= TEN_MIB}
        return dict(zip(ids, history.blobs(list(ids.values()), call), strict=True))

    def _look_up(self, history: History, blame_commits: Sequence[CommitLines], call: Call) -> NotedLines:
        by_commit: dict[str, list[CommitLines]] = defaultdict(list)
        for each in blame_commits:
            by_commit[each.commit.id].append(each)
        problems: list[NoteProblem] = []
        lines: dict[int, NotedCommit] = {}
        for commit, data in self._read_notes(history, list(by_commit), problems, call):
            call.check()
            try:
                lines |= _claimed(Note.parse(data), by_commit[commit])
            except BadNoteError as error:
                problems.append(NoteProblem(commit, f"its note {error}"))
        more = len(problems) - _SHOWN
        if more > 0:
            problems[_SHOWN:] = [NoteProblem(None, f"{more} more notes cannot be read")]
        return NotedLines(lines, problems=tuple(problems))

    def _read_notes(
        self, history: History, commits: Sequence[str], problems: list[NoteProblem], call: Call
    ) -> Iterator[tuple[str, bytes]]:
        """The notes of commits; adds what is wrong with the others to `problems`."""
        assert self._notes is not None
        tree = self._notes.encode("ascii")
        asked = [(commit, b"%s:%s" % (tree, place)) for commit in commits for place in _note_places(commit)]
        blobs = zip((commit for commit, _ in asked), history.found([name for _, name in asked], call), strict=True)
        left = _ALL
        taken: dict[str, bytes] = {}
        for commit, blob in blobs:
            if blob is None or commit in taken:
                continue
            oid, size = blob
            if size > min(_LARGEST, left):
                most = "1 MB" if size > _LARGEST else "32 MB, together with those before it"
                problems.append(NoteProblem(commit, f"its note is over {most}"))
                continue
            left -= size
            taken[commit] = oid
        yield from zip(taken, history.blobs(list(taken.values()), call), strict=True)


def _note_places(commit: str) -> Iterable[bytes]:
    """Where in the tree of notes the note of a commit may be."""
    name = commit.encode("ascii")
    for depth in range(_DEEPEST + 1):
        yield b"/".join([*(name[at : at + 2] for at in range(0, 2 * depth, 2)), name[2 * depth :]])


def _claimed(note: Note, blame_commits: Sequence[CommitLines]) -> dict[int, NotedCommit]:
    """What a note says about lines of the newest version, from 0, that its commit brought.

    Raises:
        BadNoteError: the note breaks the standard.
    """
    found: dict[int, NotedCommit] = {}
    # thousands of lines may be of one agent
    told: dict[Claim, NotedCommit] = {}
    group_by_file: dict[bytes, dict[int, tuple[int, CommitLines]]] = defaultdict(dict)
    for each in blame_commits:
        group_by_file[each.file] |= {each.there + shift: (each.here + shift, each) for shift in range(each.count)}
    for file, lines in group_by_file.items():
        if is_utf8(file):
            for line, claim in note.claims(file.decode("utf-8"), sorted(lines)).items():
                number, each = lines[line]
                if claim not in told:
                    told[claim] = NotedCommit(each.commit.id, each.commit.seconds, claim)
                found[number - 1] = told[claim]
    return found
