"""The notes of one project: who wrote the lines of its files, by the commits that brought them.

Git is not asked where the project has no such reference by its files.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING

from snapd.core.errors import os_errors
from snapd.core.model import TEN_MIB
from snapd.core.paths import is_utf8
from snapd.core.ports.notes import NotedCommit, NotedLines, NoteProblem
from snapd.worktree.fs.stable_read import read_small
from snapd.worktree.git.repository import find_repository

from .history import BOUNDS, History, TooMuch
from .note import NOTES, BadNoteError, Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from snapd.core.call import Call
    from snapd.core.model import RelPath
    from snapd.core.ports.notes import Claim
    from snapd.remotes.program import Bounds, GitProgram
    from snapd.worktree.git.repository import Repository

    from .history import Brought


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
_TOLD = 20
"""How many notes that cannot be read are named one by one."""


class ProjectNotes:
    """The notes of a project; implements `core.ports.notes.Notes`. Safe to use from several threads.

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
        """See `core.ports.notes.Notes`."""
        repository = self._repository(names[0])
        if repository is None or not may_have(repository, NOTES):
            return None
        places = _places(self._root, repository.root, names)
        newest = self._newest(repository, call)
        if newest is None or not places:
            return None
        key = (os.fsdecode(repository.git_dir), *newest, *map(os.fsdecode, names))
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

    def _newest(self, repository: Repository, call: Call) -> tuple[str, str] | None:
        """The commit that is checked out, and that of the notes; None if one of them is missing."""
        # it looks at references alone: what a partial clone lacks, git would fetch
        done = self._git.run(os.fsdecode(repository.git_dir), ["rev-parse", "HEAD", NOTES], call)
        found = done.out.decode("utf-8", "replace").split()
        return (found[0], found[1]) if done.code == 0 and len(found) == 2 else None


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
    """Implements `core.ports.notes.CommittedFile`; what git said once, it would say again."""

    def __init__(
        self,
        repository: Repository,
        git: GitProgram,
        bounds: Bounds,
        newest: tuple[str, str],
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
        """See `core.ports.notes.CommittedFile`."""
        with call.holding(self._lock):
            if self._texts is not None:
                return self._texts
            with History.of(self._repository, self._git, self._bounds) as history:
                found = self._read(history, call)
            if sum(map(len, found.values())) <= _KEPT:
                self._texts = found
            return found

    def noted(self, name: RelPath, call: Call) -> NotedLines:
        """See `core.ports.notes.CommittedFile`."""
        with call.holding(self._lock):
            if name not in self._noted:
                with History.of(self._repository, self._git, self._bounds) as history:
                    try:
                        brought = history.brought(self._head, self._places[name], call)
                        self._noted[name] = self._look_up(history, brought, call)
                    except TooMuch as error:
                        # the next time, it would be the same
                        self._noted[name] = NotedLines({}, (NoteProblem(None, error.message),))
            return self._noted[name]

    def _read(self, history: History, call: Call) -> dict[RelPath, bytes]:
        asked = [b"%s:%s" % (self._head.encode("ascii"), place) for place in self._places.values()]
        found = zip(self._places, history.found(asked, call), strict=True)
        ids = {name: blob[0] for name, blob in found if blob is not None and blob[1] <= TEN_MIB}
        return dict(zip(ids, history.blobs(list(ids.values()), call), strict=True))

    def _look_up(self, history: History, brought: Sequence[Brought], call: Call) -> NotedLines:
        by_commit: dict[str, list[Brought]] = defaultdict(list)
        for each in brought:
            by_commit[each.commit].append(each)
        problems: list[NoteProblem] = []
        lines: dict[int, NotedCommit] = {}
        for commit, data in self._read_notes(history, list(by_commit), problems, call):
            call.check()
            try:
                lines |= _claimed(Note.parse(data), by_commit[commit])
            except BadNoteError as error:
                problems.append(NoteProblem(commit, f"its note {error}"))
        more = len(problems) - _TOLD
        if more > 0:
            problems[_TOLD:] = [NoteProblem(None, f"{more} more notes cannot be read")]
        return NotedLines(lines, tuple(problems))

    def _read_notes(
        self, history: History, commits: Sequence[str], problems: list[NoteProblem], call: Call
    ) -> Iterator[tuple[str, bytes]]:
        """The notes of commits; adds what is wrong with the others to `problems`."""
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


def _claimed(note: Note, brought: Sequence[Brought]) -> dict[int, NotedCommit]:
    """What a note says about lines of the newest version, from 0, that its commit brought.

    Raises:
        BadNoteError: the note breaks the standard.
    """
    found: dict[int, NotedCommit] = {}
    # thousands of lines may be of one agent
    told: dict[Claim, NotedCommit] = {}
    by_file: dict[bytes, dict[int, tuple[int, Brought]]] = defaultdict(dict)
    for each in brought:
        by_file[each.file] |= {each.there + shift: (each.here + shift, each) for shift in range(each.count)}
    for file, lines in by_file.items():
        if is_utf8(file):
            for line, claim in note.claims(file.decode("utf-8"), sorted(lines)).items():
                number, each = lines[line]
                if claim not in told:
                    told[claim] = NotedCommit(each.commit, each.seconds, claim)
                found[number - 1] = told[claim]
    return found


def may_have(repository: Repository, name: str) -> bool:
    """Whether a repository may have a reference; raises `IoError`.

    Args:
        repository: of the project.
        name: of a reference that all of its work trees share.
    """
    shared, reference = repository.common_dir, os.fsencode(name)
    if os.path.lexists(os.path.join(shared, reference)) or os.path.isdir(os.path.join(shared, b"reftable")):
        return True
    packed = read_small(os.path.join(shared, b"packed-refs")) or b""
    return b" %s\n" % reference in packed
