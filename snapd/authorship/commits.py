"""Commits of the project's git as data: which ones are meant, and which lines each of them brought."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from snapd.core.call import Call
from snapd.core.compare.edits import edits, split_lines
from snapd.core.compare.text import DirectDiffer, is_binary
from snapd.core.errors import InvalidParams
from snapd.core.model import EXECUTABLE, REGULAR, TEN_MIB
from snapd.staging.git import GitFailed
from snapd.store.objects.codec import batch_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from snapd.staging.repository import Repository

_AT_ONCE = 32 << 20
"""Bytes of files that are read with one command, at least one file."""
_FILES = frozenset({b"%o" % REGULAR, b"%o" % EXECUTABLE})
_FORMAT = "--format=%P%x00%at%x00%ct"


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


def named(repository: Repository, word: str | None) -> tuple[list[Commit], bool]:
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
            return list(_described(repository, [commit.encode("ascii")])), False
        if ".." in name:
            listed = repository.git.attempt(repository.top, "rev-list", "--reverse", "--topo-order", name, "--")
            if listed.code == 0:
                return list(_described(repository, listed.out.split())), True
    if word is None:
        raise InvalidParams(
            f"{os.fsdecode(repository.top)}: there is no commit yet", hint="make one with 'git commit'", field="COMMIT"
        )
    hint = "name a commit as git does, such as HEAD~2, or a range such as main..HEAD"
    raise InvalidParams(f"git knows no commit {word!r}", hint=hint, field="COMMIT")


def _verified(repository: Repository, name: str) -> str:
    """The hash that a name stands for; empty if it stands for none."""
    return repository.git.attempt(repository.top, "rev-parse", "--verify", "--quiet", name).out.decode("ascii").strip()


def _described(repository: Repository, names: Sequence[bytes]) -> Iterator[Commit]:
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
            brought = _brought(text, [b"" if blob is None else blobs.get(blob, b"") for blob in change.before])
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
        if group and size + more > _AT_ONCE:
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


def _brought(text: bytes, before: Sequence[bytes]) -> set[int]:
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
