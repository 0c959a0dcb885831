"""The commits of a project, as its git tells them. Without git, or without commits, there are none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from snapd.worktree.git.repository import own_object_directories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.model.call import Call
    from snapd.model.snapshot import ObjectId
    from snapd.remotes.program import GitProgram
    from snapd.worktree.git.repository import Repository


_NEAR = 1_000
"""How many commits before HEAD are looked at for one that a branch of a remote names."""


@attrs.frozen
class ProjectCommits:
    """The commits of a project.

    Args:
        root: the folder.
        repository: of the project; None without git.
        git: the program.
    """

    root: bytes
    repository: Repository | None
    git: GitProgram

    @property
    def directories(self) -> Sequence[bytes]:
        """The git `objects` directories of the project."""
        return own_object_directories(self.root)

    def branches(self, call: Call) -> frozenset[ObjectId]:
        """The newest commits of its branches, of those of its remotes, and HEAD; raises `IoError`, `Cancelled`."""
        listed = self._ask(["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"], call)
        return frozenset([*_first(listed), *self._ids(["rev-parse", "--verify", "--quiet", "HEAD"], call)])

    def published(self, call: Call) -> tuple[ObjectId, ...]:
        """What the branches of its remotes pointed to when last seen, newest first; raises `IoError`, `Cancelled`."""
        words = ["for-each-ref", "--sort=-committerdate", "--format=%(objectname) %(refname)", "refs/remotes"]
        return tuple(_first(self._ask(words, call)))

    def likely_shared(self, call: Call) -> ObjectId | None:
        """The commit that is nearest to HEAD and that others are likely to have; None if there is none.

        It is one that a branch of a remote names, or from which one goes on; in a project without these, that of HEAD.

        Raises:
            IoError, Cancelled: git did not say.
        """
        published = self.published(call)
        if not published:
            return next(iter(self.newest(0, call)), None)
        near = self._ids(["rev-list", f"--max-count={_NEAR}", "HEAD", "--"], call)
        named = next((commit for commit in near if commit in set(published)), None)
        # otherwise HEAD has other commits than all of these, or is behind them
        return named or next(iter(self._ids(["merge-base", "HEAD", published[0].hex()], call)), None)

    def newest(self, most: int, call: Call) -> tuple[ObjectId, ...]:
        """The commit that is checked out, and up to `most` before it, newest first; raises `IoError`, `Cancelled`."""
        return self._ids(["rev-list", "--first-parent", f"--max-count={most + 1}", "HEAD", "--"], call)

    def common(self, commits: Sequence[ObjectId], call: Call) -> ObjectId | None:
        """The newest commit that the one checked out goes on from, and the first known one of `commits` as well."""
        data = b"".join(b"%s\n" % commit.hex().encode() for commit in commits)
        lines = self._ask(["cat-file", "--batch-check=%(objectname) %(objecttype)"], call, data).splitlines()
        known = [line.split(b" ")[0].decode() for line in lines if line.endswith(b" commit")]
        return next(iter(self._ids(["merge-base", "HEAD", known[0]], call)), None) if known else None

    def tree(self, commit: ObjectId, call: Call) -> ObjectId | None:
        """The tree of a commit; raises `IoError`, `Cancelled`."""
        return next(iter(self._ids(["rev-parse", "--verify", "--quiet", f"{commit.hex()}^{{tree}}"], call)), None)

    def _ids(self, words: Sequence[str], call: Call) -> tuple[ObjectId, ...]:
        return tuple(bytes.fromhex(line.decode()) for line in self._ask(words, call).splitlines())

    def _ask(self, words: Sequence[str], call: Call, data: bytes = b"") -> bytes:
        """What git says; nothing if it has no answer, such as in a project without commits."""
        if self.repository is None:
            return b""
        done = self.git.run(os.fsdecode(self.repository.git_dir), words, call, data=data)
        return b"" if done.code else done.out


def _first(lines: bytes) -> list[ObjectId]:
    """The object at the beginning of each line."""
    return [bytes.fromhex(line.partition(b" ")[0].decode()) for line in lines.splitlines()]
