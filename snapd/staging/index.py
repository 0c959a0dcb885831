"""The index of a repository: read as git lists it, and changed by git, all or nothing."""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_left
from typing import TYPE_CHECKING

import attrs

from snapd.model.paths import parents
from snapd.store.objects.codec import batch_objects

from .repository import GitFailed, GitOperationUnderWay, IndexChanged, IndexLocked, failed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from .repository import Repository

GITLINK = 0o160000
_KIND = 0o170000
_EMPTY = frozenset(
    {"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"}
)
"""The ids of the empty blob, in SHA-1 and SHA-256."""
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@%,=")


@attrs.frozen
class StagedFile:
    """A file in the index; `mode` is as in a tree, and `oid` hexadecimal.

    `apart` is why git ignores the file in the work tree: `skipWorktree` or `assumeUnchanged`; None if it does not.
    """

    mode: int
    oid: str
    apart: str | None = None


@attrs.frozen
class IndexEdit:
    """A change of the index at one path; None is no file."""

    path: bytes
    old: StagedFile | None
    new: StagedFile | None


class Index:
    """The index as it was when it was read; `files` are by path, relative to the root of the work tree."""

    def __init__(self, files: Mapping[bytes, StagedFile]) -> None:
        self.files = files

    @classmethod
    def read(cls, repository: Repository) -> Index:
        """Reads the index, also a split or sparse one; raises `GitOperationUnderWay` if it has conflicts."""
        files: dict[bytes, StagedFile] = {}
        for line in repository.ask("ls-files", "-z", "-v", "-s").split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            tag, mode, oid, stage = head.decode("ascii").split(" ")
            if stage != "0":
                raise GitOperationUnderWay(
                    f"{os.fsdecode(path)} has conflicts in the index that are not resolved",
                    hint="resolve them and 'git add' the files first; 'git status' lists them",
                    operation="a merge",
                )
            apart = "skipWorktree" if tag in "Ss" else "assumeUnchanged" if tag.islower() else None
            files[path] = StagedFile(int(mode, 8), oid, apart)
        return cls(files)

    @staticmethod
    def committed(repository: Repository) -> dict[bytes, StagedFile]:
        """Returns the files of HEAD as the index would have them; none before the first commit. Raises `GitFailed`."""
        if not repository.has_commit:
            return {}
        files: dict[bytes, StagedFile] = {}
        for line in repository.ask("ls-tree", "-r", "-z", "--full-tree", "HEAD").split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode("ascii").split(" ")
            files[path] = StagedFile(int(mode, 8), oid)
        return files

    def intended(self, repository: Repository, paths: Iterable[bytes]) -> frozenset[bytes]:
        """Returns which of these paths are only intended to be added (`git add -N`)."""
        asked = [path for path in paths if path in self.files and self.files[path].oid in _EMPTY]
        if not asked:
            return frozenset()
        result = repository.ask("diff-files", "-z", "--name-only", "--diff-filter=A").split(b"\0")
        return frozenset(result[:-1]).intersection(asked)

    def clashes(self, puts: Sequence[IndexEdit]) -> list[bytes]:
        """Returns the paths that would need a directory where the index has a file, or the reverse."""
        gone = {put.path for put in puts if put.new is None}
        made = [put.path for put in puts if put.old is None and put.new is not None]
        names = (self.files.keys() - gone) | set(made)
        order = sorted(names) if made else []
        return [path for path in made if not names.isdisjoint(parents(path)) or _has_below(order, path)]


def change(repository: Repository, puts: Collection[IndexEdit]) -> None:
    """Changes the index: all or nothing.

    Git does this under its own lock, and only if each path still has `IndexEdit.old`. New blobs must already be in the
    repository. Raises `IndexLocked` if another git process is changing it, `IndexChanged` if it has other contents, and
    `GitFailed` if git refuses a path or cannot write.
    """
    if not puts:
        return
    patch = b"".join(_patch(put) for put in sorted(puts, key=lambda put: put.path))
    words = ("apply", "--cached", "--whitespace=nowarn", "-")
    done = repository.git.attempt(repository.top, *words, data=patch)
    if done.code == 0:
        return
    if os.path.lexists(repository.lock):
        lock = os.fsdecode(repository.lock)
        raise IndexLocked(f"another git process is at work on the index: {lock} exists", path=lock)
    now = Index.read(repository).files
    if any(_differs(now.get(put.path), put.old) for put in puts):
        raise IndexChanged("the index changed while the changes were merged into it; nothing was staged")
    raise failed(words, done)


def store(repository: Repository, contents: Iterable[bytes]) -> list[str]:
    """Adds blobs to a repository without conversion; returns their ids. Raises `GitFailed`."""
    with tempfile.TemporaryDirectory(prefix="snapd-stage-") as folder:
        names = []
        for number, data in enumerate(contents):
            names.append(b"%d" % number)
            with open(os.path.join(os.fsencode(folder), names[-1]), "wb") as file:
                file.write(data)
        if not names:
            return []
        words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        variables = {"GIT_DIR": os.fsdecode(repository.git_dir)}
        output = repository.git.ask(os.fsencode(folder), *words, data=b"\n".join(names) + b"\n", variables=variables)
        return output.decode("ascii").split()


def blobs(repository: Repository, oids: Iterable[str], variables: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """Reads blobs by hexadecimal id; `variables` may name more places for them. Raises `GitFailed`."""
    wanted = list(dict.fromkeys(oids))
    if not wanted:
        return {}
    output = repository.ask(
        "cat-file", "--batch", data="".join(f"{oid}\n" for oid in wanted).encode(), variables=variables
    )
    result: dict[str, bytes] = {}
    for oid, (_, kind, data) in zip(wanted, batch_objects(output), strict=True):
        if kind != b"blob":
            named = kind.decode("ascii")
            raise GitFailed(f"the object {oid} of the index is {named}, not a blob", hint="'git fsck' says more")
        result[oid] = data
    return result


def _differs(now: StagedFile | None, then: StagedFile | None) -> bool:
    return (now and (now.mode, now.oid)) != (then and (then.mode, then.oid))


def _has_below(order: Sequence[bytes], path: bytes) -> bool:
    at = bisect_left(order, path + b"/")
    return at < len(order) and order[at].startswith(path + b"/")


# -- a patch by blob ids


def _patch(put: IndexEdit) -> bytes:
    """Returns the change of one file as a binary patch, of which git uses only the blob ids."""
    old, new = put.old, put.new
    if old is not None and new is not None and old.mode & _KIND != new.mode & _KIND:
        return _patch(IndexEdit(put.path, old, None)) + _patch(IndexEdit(put.path, None, new))
    left, right = _quoted(b"a/" + put.path), _quoted(b"b/" + put.path)
    lines = [b"diff --git %s %s" % (left, right)]
    known = old or new
    assert known is not None
    none = "0" * len(known.oid)
    if old is None and new is not None:
        lines.append(b"new file mode %06o" % new.mode)
    elif new is None and old is not None:
        lines.append(b"deleted file mode %06o" % old.mode)
    elif old is not None and new is not None and old.mode != new.mode:
        lines += [b"old mode %06o" % old.mode, b"new mode %06o" % new.mode]
    before, after = (none if side is None else side.oid for side in (old, new))
    if before != after:
        lines += [f"index {before}..{after}".encode(), b"GIT binary patch", b"literal 0", b"HcmV?d00001", b""]
    return b"\n".join(lines) + b"\n"


def _quoted(path: bytes) -> bytes:
    """Quotes any path for a patch."""
    return b'"%s"' % b"".join(b"%c" % byte if byte in _PLAIN else b"\\%03o" % byte for byte in path)
