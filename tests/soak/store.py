"""A store, as git itself sees it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from tests.support.git import run_git
from tests.support.published import until_published

from .disk import State
from .problems import Broken, holds

_LEFT = re.compile(r"tmp_[a-z]+_[0-9a-f]{16}.*|.+\.[0-9a-f]{12}\.tmp")


class Store:
    """The shadow repository of one folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._trees: dict[str, frozenset[str]] = {}

    def git(self, *arguments: str, said: bytes | None = None) -> bytes:
        until_published(self.path)
        return run_git(self.path, "--git-dir=.", *arguments, input=said)

    def tree(self, tree: str) -> State:
        """The files of a snapshot."""
        found: State = {}
        for row in self.git("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
            about, name = row.split(b"\t", 1)
            mode, _, oid = about.decode().split()
            found[os.fsdecode(name)] = (mode, oid)
        return found

    def blobs(self, oids: Iterable[str]) -> dict[str, bytes]:
        """The bytes of blobs, all of which have to be there."""
        wanted = sorted(set(oids))
        data = self.git("cat-file", "--batch", said="".join(f"{oid}\n" for oid in wanted).encode())
        found = {}
        for oid in wanted:
            head, _, data = data.partition(b"\n")
            words = head.decode().split()
            holds(words[:2] == [oid, "blob"], f"{self.path}: {head!r}")
            size = int(words[2])
            found[oid], data = data[:size], data[size + 1 :]
        return found

    def lacks(self, oids: Iterable[str]) -> set[str]:
        """Those objects that are not there."""
        wanted = sorted(set(oids))
        rows = self.git("cat-file", "--batch-check", said="".join(f"{oid}\n" for oid in wanted).encode())
        return {row.split()[0] for row in rows.decode().splitlines() if row.endswith(" missing")}

    def in_no_snapshot(self, oids: Iterable[str]) -> set[str]:
        """Those blobs that no snapshot has; the newest ones are looked at first."""
        missing = set(oids)
        if not missing:
            return missing
        references = self.git("for-each-ref", "--format=%(refname)", "refs/snapd").decode().split()
        for tree in self.git("log", "--format=%T", *references, "--").decode().split():
            if not missing:
                break
            if tree not in self._trees:
                self._trees[tree] = frozenset(oid for _, oid in self.tree(tree).values())
            missing -= self._trees[tree]
        return missing

    def fsck(self) -> None:
        """Has git look at all of it."""
        told = self.git("fsck", "--strict", "--full", "--no-dangling", "--no-progress").decode()
        holds(not told.strip(), f"git fsck of {self.path}: {told}")

    def leftovers(self) -> list[str]:
        """Temporary files that lie where nothing is under way."""
        found = []
        for above, _, names in os.walk(self.path):
            found += [os.path.join(above, name) for name in names if _LEFT.fullmatch(name)]
        return found

    def size(self) -> int:
        """Bytes on disk."""
        total = 0
        for above, _, names in os.walk(self.path):
            for name in names:
                try:
                    total += os.lstat(os.path.join(above, name)).st_blocks * 512
                except FileNotFoundError:
                    continue
        return total


def store_of(data: str, project: str) -> Store:
    path = os.path.join(data, "snapd", "snapshot", project)
    if not os.path.isdir(path):
        raise Broken(f"no store at {path}")
    return Store(path)
