"""Commits of the project's git as data: which ones are meant, which lines each of them brought, and who wrote those."""

from __future__ import annotations

import os
from base64 import b64encode
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import attrs

from snapd.core.compare.edits import edits, split_lines
from snapd.core.compare.text import DirectDiffer, is_binary
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, PathOutsideWorkspace
from snapd.model.paths import to_uri
from snapd.model.snapshot import EXECUTABLE, REGULAR, TEN_MIB
from snapd.staging.git import GitFailed
from snapd.store.objects.codec import batch_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from snapd.staging.repository import Repository

    Ask = Callable[[str, dict[str, Any]], Any]


AT_ONCE = 32 << 20
"""Bytes of files that are read with one command, at least one file."""
_FILES = frozenset({b"%o" % REGULAR, b"%o" % EXECUTABLE})
_FORMAT = "--format=%P%x00%at%x00%ct"

_LAST_SECOND = 253_402_300_799
"""Of the year 9999: what comes later has no RFC 3339. A commit may claim any time."""

_SECOND = len("2000-01-01T00:00:00")


@attrs.frozen
class Commit:
    """A commit.

    Attributes:
        name: its hash.
        parents: the hashes of its parents, the first parent first.
        authored: when its author made it, seconds since 1970.
        committed: when it was committed, seconds since 1970.
    """

    name: str
    parents: tuple[str, ...]
    authored: int
    committed: int


@attrs.frozen
class CommittedFile:
    """A text file of a commit that has lines which none of its parents has.

    Attributes:
        path: of the file, relative to the root of the work tree.
        text: the file as the commit has it.
        brought: the lines that the commit brought, from 1, in ascending order.
    """

    path: bytes
    text: bytes
    brought: tuple[int, ...]


@attrs.frozen
class _Change:
    """A file of a commit, and the file that it was in each parent; None for no file there."""

    path: bytes
    blob: bytes
    before: tuple[bytes | None, ...]

    def blobs(self) -> Iterator[bytes]:
        yield self.blob
        yield from (blob for blob in self.before if blob is not None)


def resolve_commits(repository: Repository, word: str | None) -> tuple[list[Commit], bool]:
    """Finds the commits that somebody means.

    Args:
        repository: of the project.
        word: a commit, or a range such as `main..HEAD`, as git has them; None for `HEAD`.

    Returns:
        The commits, each after its parents; and whether it is a range, which may have any number of them.

    Raises:
        InvalidParams: there is no such commit.
        GitFailed: git cannot say.
    """
    name = "HEAD" if word is None else word
    # what begins with a hyphen would be an option
    if not name.startswith("-"):
        found = _verified(repository, name)
        # a tag leads to its commit
        commit = found and _verified(repository, f"{found}^{{commit}}")
        if commit:
            return list(_describe(repository, [commit.encode("ascii")])), False
        if ".." in name:
            listed = repository.git.attempt(repository.top, "rev-list", "--reverse", "--topo-order", name, "--")
            if listed.code == 0:
                return list(_describe(repository, listed.out.split())), True
    if word is None:
        raise InvalidParams(
            f"{os.fsdecode(repository.top)}: there is no commit yet", hint="make one with 'git commit'", field="COMMIT"
        )
    hint = "name a commit as git does, such as HEAD~2, or a range such as main..HEAD"
    raise InvalidParams(f"git knows no commit {word!r}", hint=hint, field="COMMIT")


def _verified(repository: Repository, name: str) -> str:
    """The hash that a name stands for; empty if it stands for none."""
    return repository.git.attempt(repository.top, "rev-parse", "--verify", "--quiet", name).out.decode("ascii").strip()


def _describe(repository: Repository, names: Sequence[bytes]) -> Iterator[Commit]:
    if not names:
        return
    told = repository.ask("rev-list", "--no-walk=unsorted", _FORMAT, "--stdin", data=b"\n".join(names) + b"\n")
    lines = iter(told.decode("ascii").splitlines())
    for header in lines:
        parents, authored, committed = next(lines).split("\0")
        yield Commit(header.removeprefix("commit "), tuple(parents.split()), int(authored), int(committed))


def files(repository: Repository, commit: Commit) -> Iterator[CommittedFile]:
    """Lists the files in which a commit has lines that it brought itself, ordered by path.

    A line is one that `git diff` shows as added; in a merge, as added to each of its parents. A file that was moved
    is compared with what it was under its old name. What is not text, or over 10 MB, is left out.

    Raises:
        GitFailed: git cannot say.
    """
    for changes in _together(repository, _changes(repository, commit)):
        blobs = _read(repository, {blob for change in changes for blob in change.blobs()})
        for change in changes:
            text = blobs[change.blob]
            if is_binary(text):
                continue
            brought = _new_lines(text, [b"" if blob is None else blobs.get(blob, b"") for blob in change.before])
            if brought:
                yield CommittedFile(change.path, text, tuple(sorted(brought)))


# -- what git says


def _changes(repository: Repository, commit: Commit) -> list[_Change]:
    """The files of a commit that none of its parents has like this."""
    # two trees, or for the first commit of all the one that it has
    sides: list[tuple[str, ...]] = [(parent, commit.name) for parent in commit.parents]
    sides = sides or [("--root", "--no-commit-id", commit.name)]
    found = [_compared(repository.ask("diff-tree", "-r", "-z", "--find-renames", *words)) for words in sides]
    paths = sorted(set.intersection(*(set(each) for each in found)))
    return [_Change(path, found[0][path][1], tuple(each[path][0] for each in found)) for path in paths]


def _compared(told: bytes) -> dict[bytes, tuple[bytes | None, bytes]]:
    """The blobs of each file before and after, from `git diff-tree -z`; without files that went."""
    found = {}
    words = iter(told.split(b"\0")[:-1])
    for header in words:
        old_mode, new_mode, old, new, status = header.removeprefix(b":").split(b" ")
        path = next(words)
        if status[:1] in b"RC":
            path = next(words)
        if new_mode in _FILES:
            found[path] = (old if old_mode in _FILES else None), new
    return found


def _together(repository: Repository, changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Files whose blobs are read with one command; without those that are too large."""
    names = sorted({blob for change in changes for blob in change.blobs()})
    if not names:
        return
    sizes = dict(_sizes(repository.ask("cat-file", "--batch-check", data=b"\n".join(names) + b"\n")))
    group: list[_Change] = []
    size = 0
    for change in changes:
        if sizes[change.blob] > TEN_MIB:
            continue
        # what was too large to compare is as if it had not been there
        before = tuple(None if blob is None or sizes[blob] > TEN_MIB else blob for blob in change.before)
        readable = attrs.evolve(change, before=before)
        more = sum(sizes[blob] for blob in readable.blobs())
        if group and size + more > AT_ONCE:
            yield group
            group, size = [], 0
        group.append(readable)
        size += more
    if group:
        yield group


def _sizes(told: bytes) -> Iterator[tuple[bytes, int]]:
    for line in told.splitlines():
        name, kind, *size = line.split(b" ")
        if not size:
            raise GitFailed(
                f"git has no object {name.decode('ascii')} ({kind.decode('ascii')})",
                hint="'git fsck' tells more; in a partial clone, 'git fetch --refetch' gets all objects",
            )
        yield name, int(size[0])


def _read(repository: Repository, names: Iterable[bytes]) -> Mapping[bytes, bytes]:
    told = repository.ask("cat-file", "--batch", data=b"".join(name + b"\n" for name in sorted(names)))
    return {name: data for name, _, data in batch_objects(told)}


# -- lines


def _new_lines(text: bytes, before: Sequence[bytes]) -> set[int]:
    """The lines of a text, from 1, that none of some others has."""
    lines = split_lines(text)
    return set.intersection(*(_added([] if is_binary(old) else split_lines(old), lines) for old in before))


def _added(old: list[bytes], new: list[bytes]) -> set[int]:
    found: set[int] = set()
    shift = 1
    for edit in edits(old, new, DirectDiffer(), Call()):
        start = edit.start + shift
        found.update(range(start, start + len(edit.lines)))
        shift += len(edit.lines) - (edit.end - edit.start)
    return found


@attrs.frozen
class Author:
    """Who wrote some lines.

    Attributes:
        kind: an agent, the user, or nobody knows.
        session_id: the agent's session.
        step_id: the agent's step.
        agent: what the agent is called, if that is known.
    """

    kind: Literal["agent", "user", "unknown"]
    session_id: str = ""
    step_id: str = ""
    agent: str | None = None


UNKNOWN = Author("unknown")


@attrs.frozen
class LineRange:
    """Lines that follow each other, from 1.

    Attributes:
        first: the first line.
        last: the last line.
    """

    first: int
    last: int


@attrs.frozen
class AttributedFile:
    """The lines that a commit brought to a file, all of them, with their authors.

    Attributes:
        path: of the file, relative to the root of the work tree.
        lines: in their order; those of one author that follow each other are one range.
    """

    path: bytes
    lines: tuple[tuple[LineRange, Author], ...]

    def by(self, key: Callable[[Author], Any]) -> list[tuple[Author, list[LineRange]]]:
        """The lines of each author, whoever comes first in the file first.

        Args:
            key: authors with the same key count as one.
        """
        found: dict[Any, tuple[Author, list[LineRange]]] = {}
        for lines, author in self.lines:
            ranges = found.setdefault(key(author), (author, []))[1]
            if ranges and ranges[-1].last + 1 == lines.first:
                ranges[-1] = LineRange(ranges[-1].first, lines.last)
            else:
                ranges.append(lines)
        return list(found.values())


class Attribution:
    """Says who wrote the lines of commits, by what snapd knows of one folder.

    Args:
        ask: sends a request about the folder, and gives the result.
        top: the root of the work tree.
    """

    def __init__(self, ask: Ask, top: bytes) -> None:
        self._ask = ask
        self._top = top
        self._starts: dict[str, str] = {}

    def of(self, commit: Commit, file: CommittedFile) -> AttributedFile:
        """Attributes the lines that a commit brought to a file; raises `SnapdError`.

        What is outside of the folder is nobody's, and so is what git brought: a commit that is older than the step.
        """
        authors = self._authors(file, commit)
        told = ((line, authors.get(line, UNKNOWN)) for line in file.brought)
        return AttributedFile(file.path, tuple(_ranges(told)))

    def _authors(self, file: CommittedFile, commit: Commit) -> dict[int, Author]:
        content = b64encode(file.text).decode("ascii")
        name = to_uri(os.path.join(self._top, file.path))
        params = {"file": name, "content": content, "encoding": "base64", "at": moment(commit.authored)}
        try:
            runs = self._ask("snapshot/blame", params)["lines"]
        except PathOutsideWorkspace:
            return {}
        made = moment(max(commit.authored, commit.committed))
        return {
            line: UNKNOWN if run["author"] == "step" and made[:_SECOND] < self._start(run) else _author(run)
            for run in runs
            for line in range(run["start"], run["start"] + run["count"])
        }

    def _start(self, run: dict[str, Any]) -> str:
        """When the step of some lines began, to the second; empty if nobody knows."""
        step_id = run["stepId"]
        if step_id not in self._starts:
            steps = self._ask("step/find", {"prefix": step_id, "sessionId": run["sessionId"], "limit": 1})["steps"]
            self._starts[step_id] = steps[0]["startedAt"][:_SECOND] if steps else ""
        return self._starts[step_id]


def moment(seconds: int) -> str:
    """A time of a commit as RFC 3339; the nearest one that has a form."""
    when = datetime.fromtimestamp(min(max(seconds, 0), _LAST_SECOND), UTC)
    return f"{when.replace(tzinfo=None).isoformat()}Z"


def _author(run: dict[str, Any]) -> Author:
    if run["author"] == "step":
        return Author("agent", run["sessionId"], run["stepId"], run.get("agent"))
    # what was there before snapd watched may be anybody's
    return Author("user") if run["author"] == "user" else UNKNOWN


def _ranges(lines: Iterable[tuple[int, Author]]) -> Iterator[tuple[LineRange, Author]]:
    for (author, _), group in groupby(enumerate(lines), key=lambda each: (each[1][1], each[1][0] - each[0])):
        numbers = [line for _, (line, _) in group]
        yield LineRange(numbers[0], numbers[-1]), author
