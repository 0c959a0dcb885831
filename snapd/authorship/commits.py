"""Commits of the project's git: which ones are meant, which lines they added, and who wrote those."""

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
from snapd.notes.project import LAST_SECOND
from snapd.staging.repository import GitFailed
from snapd.store.objects.codec import batch_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from snapd.staging.repository import Repository

    Ask = Callable[[str, dict[str, Any]], Any]


AT_ONCE = 32 << 20
"""Bytes of files that one command reads; at least one file."""
_FILES = frozenset({b"%o" % REGULAR, b"%o" % EXECUTABLE})
_FORMAT = "--format=%P%x00%at%x00%ct"


_SECOND = len("2000-01-01T00:00:00")


@attrs.frozen
class Commit:
    """A commit with the hashes of its parents; `authored` and `committed` are in seconds since 1970."""

    name: str
    parents: tuple[str, ...]
    authored: int
    committed: int


@attrs.frozen
class CommittedFile:
    """A text file of a commit; `brought` are the numbers, from 1, ascending, of lines that no parent has."""

    path: bytes
    text: bytes
    brought: tuple[int, ...]


@attrs.frozen
class _Change:
    """A file of a commit, and its blob in each parent; None if the parent lacks it."""

    path: bytes
    blob: bytes
    before: tuple[bytes | None, ...]

    def blobs(self) -> Iterator[bytes]:
        yield self.blob
        yield from (blob for blob in self.before if blob is not None)


def resolve_commits(repository: Repository, word: str | None) -> tuple[list[Commit], bool]:
    """Resolves a commit or a range such as `main..HEAD`; None is `HEAD`.

    Returns the commits, each after its parents, and whether it is a range. Raises `InvalidParams` if there is no such
    commit, and `GitFailed`.
    """
    name = "HEAD" if word is None else word
    # what begins with a hyphen would be an option
    if not name.startswith("-"):
        result = _verified(repository, name)
        # a tag leads to its commit
        commit = result and _verified(repository, f"{result}^{{commit}}")
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
    """Returns the hash of a name; empty if there is none."""
    return repository.git.attempt(repository.top, "rev-parse", "--verify", "--quiet", name).out.decode("ascii").strip()


def _describe(repository: Repository, names: Sequence[bytes]) -> Iterator[Commit]:
    if not names:
        return
    output = repository.ask("rev-list", "--no-walk=unsorted", _FORMAT, "--stdin", data=b"\n".join(names) + b"\n")
    lines = iter(output.decode("ascii").splitlines())
    for header in lines:
        parents, authored, committed = next(lines).split("\0")
        yield Commit(header.removeprefix("commit "), tuple(parents.split()), int(authored), int(committed))


def files(repository: Repository, commit: Commit) -> Iterator[CommittedFile]:
    """Yields the files in which a commit added lines, by path; raises `GitFailed`.

    A line is one that `git diff` shows as added; in a merge, as added to each parent. A moved file is compared with its
    old path. Files over 10 MB or that are not text are skipped.
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


# -- reading git's output


def _changes(repository: Repository, commit: Commit) -> list[_Change]:
    """Returns the files of a commit that differ from all of its parents."""
    # two trees, or for a root commit its only one
    sides: list[tuple[str, ...]] = [(parent, commit.name) for parent in commit.parents]
    sides = sides or [("--root", "--no-commit-id", commit.name)]
    matches = [_compared(repository.ask("diff-tree", "-r", "-z", "--find-renames", *words)) for words in sides]
    paths = sorted(set.intersection(*(set(each) for each in matches)))
    return [_Change(path, matches[0][path][1], tuple(each[path][0] for each in matches)) for path in paths]


def _compared(data: bytes) -> dict[bytes, tuple[bytes | None, bytes]]:
    """Parses `git diff-tree -z`: the blobs of each file before and after, without deleted files."""
    result = {}
    words = iter(data.split(b"\0")[:-1])
    for header in words:
        old_mode, new_mode, old, new, status = header.removeprefix(b":").split(b" ")
        path = next(words)
        if status[:1] in b"RC":
            path = next(words)
        if new_mode in _FILES:
            result[path] = (old if old_mode in _FILES else None), new
    return result


def _together(repository: Repository, changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Groups files whose blobs one command reads; skips those that are too large."""
    names = sorted({blob for change in changes for blob in change.blobs()})
    if not names:
        return
    sizes = dict(_sizes(repository.ask("cat-file", "--batch-check", data=b"\n".join(names) + b"\n")))
    group: list[_Change] = []
    size = 0
    for change in changes:
        if sizes[change.blob] > TEN_MIB:
            continue
        # treat a version that is too large to compare as absent
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


def _sizes(data: bytes) -> Iterator[tuple[bytes, int]]:
    for line in data.splitlines():
        name, kind, *size = line.split(b" ")
        if not size:
            raise GitFailed(
                f"git has no object {name.decode('ascii')} ({kind.decode('ascii')})",
                hint="'git fsck' shows more; in a partial clone, 'git fetch --refetch' gets all objects",
            )
        yield name, int(size[0])


def _read(repository: Repository, names: Iterable[bytes]) -> Mapping[bytes, bytes]:
    output = repository.ask("cat-file", "--batch", data=b"".join(name + b"\n" for name in sorted(names)))
    return {name: data for name, _, data in batch_objects(output)}


# -- lines


def _new_lines(text: bytes, before: Sequence[bytes]) -> set[int]:
    """Returns the numbers, from 1, of the lines of a text that none of the others has."""
    lines = split_lines(text)
    return set.intersection(*(_added([] if is_binary(old) else split_lines(old), lines) for old in before))


def _added(old: list[bytes], new: list[bytes]) -> set[int]:
    positions: set[int] = set()
    shift = 1
    for edit in edits(old, new, DirectDiffer(), Call()):
        start = edit.start + shift
        positions.update(range(start, start + len(edit.lines)))
        shift += len(edit.lines) - (edit.end - edit.start)
    return positions


@attrs.frozen
class Author:
    """Who wrote some lines: an agent's step, the user, or unknown; `agent` is the agent's name, if known."""

    kind: Literal["agent", "user", "unknown"]
    session_id: str = ""
    step_id: str = ""
    agent: str | None = None


UNKNOWN = Author("unknown")


@attrs.frozen
class LineRange:
    """Consecutive lines, from 1; `last` is included."""

    first: int
    last: int


@attrs.frozen
class AttributedFile:
    """All lines that a commit added to a file, in order, with their authors; adjacent ones are one range."""

    path: bytes
    lines: tuple[tuple[LineRange, Author], ...]

    def by(self, key: Callable[[Author], Any]) -> list[tuple[Author, list[LineRange]]]:
        """Groups the lines by author, in order of appearance; authors with the same `key` are one."""
        result: dict[Any, tuple[Author, list[LineRange]]] = {}
        for lines, author in self.lines:
            ranges = result.setdefault(key(author), (author, []))[1]
            if ranges and ranges[-1].last + 1 == lines.first:
                ranges[-1] = LineRange(ranges[-1].first, lines.last)
            else:
                ranges.append(lines)
        return list(result.values())


class Attribution:
    """Determines who wrote the lines of commits, from what snapd recorded of one folder; `ask` sends a request."""

    def __init__(self, ask: Ask, top: bytes) -> None:
        self._ask = ask
        self._top = top
        self._starts: dict[str, str] = {}

    def of(self, commit: Commit, file: CommittedFile) -> AttributedFile:
        """Attributes the lines that a commit added to a file; raises `SnapdError`.

        Files outside the folder are unknown, and so are lines of a step that began after the commit was made: git
        brought them.
        """
        authors = self._authors(file, commit)
        parts = ((line, authors.get(line, UNKNOWN)) for line in file.brought)
        return AttributedFile(file.path, tuple(_ranges(parts)))

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
        """Returns when a step began, to the second; empty if unknown."""
        step_id = run["stepId"]
        if step_id not in self._starts:
            steps = self._ask("step/find", {"prefix": step_id, "sessionId": run["sessionId"], "limit": 1})["steps"]
            self._starts[step_id] = steps[0]["startedAt"][:_SECOND] if steps else ""
        return self._starts[step_id]


def moment(seconds: int) -> str:
    """Formats a commit's time as RFC 3339, clamped to what that can express."""
    when = datetime.fromtimestamp(min(max(seconds, 0), LAST_SECOND), UTC)
    return f"{when.replace(tzinfo=None).isoformat()}Z"


def _author(run: dict[str, Any]) -> Author:
    if run["author"] == "step":
        return Author("agent", run["sessionId"], run["stepId"], run.get("agent"))
    # lines from before snapd may be anyone's
    return Author("user") if run["author"] == "user" else UNKNOWN


def _ranges(lines: Iterable[tuple[int, Author]]) -> Iterator[tuple[LineRange, Author]]:
    for (author, _), group in groupby(enumerate(lines), key=lambda each: (each[1][1], each[1][0] - each[0])):
        numbers = [line for _, (line, _) in group]
        yield LineRange(numbers[0], numbers[-1]), author
