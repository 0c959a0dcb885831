"""The notes of one project: who wrote the lines of its files, by the commits that added them.

Git runs in a temporary repository that borrows the project's objects and has none of its configuration, attributes or
references. So nothing in the project can make git run a program, or fetch what a partial clone lacks.
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
"""The exit codes of a process that exceeded its bounds."""
_SHA256 = 32
LAST_SECOND = 253_402_300_799
"""The end of the year 9999: RFC 3339 has no later time, but a commit may claim any."""

_FILES = 16
"""How many files are cached: an editor asks again with every change."""
_KEPT = 1 << 20
"""Maximum bytes of cached text per file; a larger one is read again."""
_LARGEST = 1 << 20
"""Maximum bytes of a note."""
_ALL = 32 << 20
"""Maximum bytes of all notes for one file, because anyone may push notes."""
_DEEPEST = 4
"""Maximum levels of fan-out directories in the tree of notes: four are enough for 2^32 notes."""
_SHOWN = 20
"""How many unreadable notes are reported individually."""


class LimitExceeded(IoError):
    """Git exceeded its bounds."""


@attrs.frozen
class CommitLines:
    """Consecutive lines that one commit added to `file`: from line `there` in it, and `here` in the blamed version."""

    commit: GitCommit
    file: bytes
    there: int
    here: int
    count: int


@attrs.frozen
class History:
    """The history of a project, read through a temporary repository that borrows its objects."""

    path: str
    git: GitProgram
    bounds: Bounds

    @classmethod
    @contextmanager
    def of(cls, repository: Repository, git: GitProgram, bounds: Bounds = BOUNDS) -> Iterator[History]:
        """Opens the history of a project for the block; raises `IoError`, `StorageFull`."""
        objects = object_directories(repository.objects)
        # git would look for the parents of the commits at a shallow boundary
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

    def find_all(self, names: Sequence[bytes], call: Call) -> list[tuple[bytes, int] | None]:
        """Returns the id and size in bytes of blobs by names such as `HEAD:a.txt`; None for anything else."""
        if not names:
            return []
        lines = self._ask(["cat-file", "--batch-check"], call, b"".join(name + b"\n" for name in names)).splitlines()
        words = [line.split(b" ") for line in lines]
        return [(each[0], int(each[2])) if each[1:2] == [b"blob"] and len(each) == 3 else None for each in words]

    def blobs(self, ids: Sequence[bytes], call: Call) -> Iterator[bytes]:
        """Yields the bytes of existing blobs; raises `IoError`, `LimitExceeded`, `Cancelled`."""
        if not ids:
            return
        out = self._ask(["cat-file", "--batch"], call, b"".join(oid + b"\n" for oid in ids))
        yield from (data for _, _, data in batch_objects(out))

    def blame_commits(self, commit: str, file: bytes, call: Call) -> list[CommitLines]:
        """Runs `git blame` on a file of a commit; raises `IoError`, `LimitExceeded`, `Cancelled`."""
        # a bare repository reads the mailmap from its `HEAD`, and this one has none
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
    stderr = (done.stderr.splitlines() or [f"it ended with {done.code}"])[0].removeprefix("fatal: ")
    return IoError(f"git: {stderr}", hint="'git fsck' checks the repository", errno="EIO", path="git")


def _parse_blame(data: bytes) -> Iterator[CommitLines]:
    """Parses `git blame --incremental`, which describes each commit only once."""
    commits: dict[bytes, GitCommit] = {}
    oid, numbers, fields = b"", (0, 0, 0), dict[bytes, bytes]()
    for line in data.split(b"\n"):
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
    seconds = min(max(int(fields[b"author-time"]), 0), LAST_SECOND)
    return GitCommit(oid.decode("ascii"), author, email.removeprefix("<").removesuffix(">"), seconds, summary)


class ProjectNotes:
    """The history of a project and its notes; implements `core.seams.Notes`. Safe to use from several threads."""

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
            committed_file = self._known.pop(key, None) or _CommittedFile(
                repository, self._git, self._bounds, newest, places
            )
            self._known[key] = committed_file
            if len(self._known) > _FILES:
                self._known.popitem(last=False)
        return committed_file

    def _repository(self, path: RelPath) -> Repository | None:
        """Finds the repository of a file, which may be nested in the folder."""
        folder = os.path.dirname(os.path.join(self._root, path))
        while not os.path.isdir(folder) and len(folder) > len(self._root):
            folder = os.path.dirname(folder)
        with os_errors(folder):
            return find_repository(folder)

    def _newest(self, repository: Repository, call: Call) -> tuple[str, str | None] | None:
        """Returns HEAD and the commit of the notes (None without notes); None without a commit."""
        # reads references only: git would fetch objects that a partial clone lacks
        words = ["rev-parse", "--revs-only", "--quiet", "HEAD", NOTES]
        result = self._git.run(os.fsdecode(repository.git_dir), words, call).out.decode("utf-8", "replace").split()
        return (result[0], result[1] if len(result) > 1 else None) if result else None


def _places(root: bytes, top: bytes, names: Sequence[RelPath]) -> dict[RelPath, bytes]:
    """Returns the paths of files in their repository, without those that `git cat-file --batch` cannot take."""
    beginning = top.rstrip(b"/") + b"/"
    full = {name: os.path.join(root, name) for name in names}
    return {
        name: path.removeprefix(beginning)
        for name, path in full.items()
        if path.startswith(beginning) and b"\n" not in path
    }


class _CommittedFile:
    """Implements `core.seams.CommittedFile`; caches git's output."""

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
                result = self._read(history, call)
            if sum(map(len, result.values())) <= _KEPT:
                self._texts = result
            return result

    def noted(self, name: RelPath, call: Call) -> NotedLines:
        """See `core.seams.CommittedFile`."""
        with call.holding(self._lock):
            if name not in self._noted:
                commits: dict[int, GitCommit] = {}
                with History.of(self._repository, self._git, self._bounds) as history:
                    try:
                        commits_of_lines = history.blame_commits(self._head, self._places[name], call)
                        for each in commits_of_lines:
                            commits |= dict.fromkeys(range(each.here - 1, each.here - 1 + each.count), each.commit)
                        noted = (
                            self._look_up(history, commits_of_lines, call)
                            if self._notes is not None
                            else NotedLines({})
                        )
                        self._noted[name] = attrs.evolve(noted, commits=commits)
                    except LimitExceeded as error:
                        # it would fail again
                        self._noted[name] = NotedLines({}, commits, (NoteProblem(None, error.message),))
            return self._noted[name]

    def _read(self, history: History, call: Call) -> dict[RelPath, bytes]:
        asked = [b"%s:%s" % (self._head.encode("ascii"), place) for place in self._places.values()]
        result = zip(self._places, history.find_all(asked, call), strict=True)
        ids = {name: blob[0] for name, blob in result if blob is not None and blob[1] <= TEN_MIB}
        return dict(zip(ids, history.blobs(list(ids.values()), call), strict=True))

    def _look_up(self, history: History, commits_of_lines: Sequence[CommitLines], call: Call) -> NotedLines:
        by_commit: dict[str, list[CommitLines]] = defaultdict(list)
        for each in commits_of_lines:
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
        """Yields the notes of commits; adds what is wrong with unreadable ones to `problems`."""
        assert self._notes is not None
        tree = self._notes.encode("ascii")
        asked = [(commit, b"%s:%s" % (tree, place)) for commit in commits for place in _note_places(commit)]
        blobs = zip((commit for commit, _ in asked), history.find_all([name for _, name in asked], call), strict=True)
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
    """Returns the possible paths of a commit's note in the tree of notes."""
    name = commit.encode("ascii")
    for depth in range(_DEEPEST + 1):
        yield b"/".join([*(name[at : at + 2] for at in range(0, 2 * depth, 2)), name[2 * depth :]])


def _claimed(note: Note, commits_of_lines: Sequence[CommitLines]) -> dict[int, NotedCommit]:
    """Returns who wrote lines of the newest version (from 0) that a commit added; raises `BadNoteError`."""
    result: dict[int, NotedCommit] = {}
    # one object per author: thousands of lines may have the same one
    fields: dict[Claim, NotedCommit] = {}
    by_file: dict[bytes, dict[int, tuple[int, CommitLines]]] = defaultdict(dict)
    for each in commits_of_lines:
        by_file[each.file] |= {each.there + shift: (each.here + shift, each) for shift in range(each.count)}
    for file, lines in by_file.items():
        if is_utf8(file):
            for line, claim in note.claims(file.decode("utf-8"), sorted(lines)).items():
                number, each = lines[line]
                if claim not in fields:
                    fields[claim] = NotedCommit(each.commit.id, each.commit.seconds, claim)
                result[number - 1] = fields[claim]
    return result
