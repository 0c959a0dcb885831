"""The commits of a project, read from its git. Without git, or without commits, there are none."""

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
"""How many commits before HEAD may be searched for one that a remote branch points to."""


@attrs.frozen
class ProjectCommits:
    """The commits of a project; `repository` is None without git. Methods raise `IoError`, `Cancelled`."""

    root: bytes
    repository: Repository | None
    git: GitProgram

    @property
    def directories(self) -> Sequence[bytes]:
        """The git `objects` directories of the project."""
        return own_object_directories(self.root)

    def branches(self, call: Call) -> frozenset[ObjectId]:
        """Returns the newest commits of local and remote branches, and HEAD."""
        listed = self._ask(["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/remotes"], call)
        return frozenset([*_first(listed), *self._ids(["rev-parse", "--verify", "--quiet", "HEAD"], call)])

    def published(self, call: Call) -> tuple[ObjectId, ...]:
        """Returns what the branches of its remotes pointed to when last seen, newest first."""
        words = ["for-each-ref", "--sort=-committerdate", "--format=%(objectname) %(refname)", "refs/remotes"]
        return tuple(_first(self._ask(words, call)))

    def likely_shared(self, call: Call) -> ObjectId | None:
        """Returns the commit nearest to HEAD that others likely have; None if there is none.

        A branch of a remote points to it or to a descendant; in a project without such branches it is HEAD.
        """
        published = self.published(call)
        if not published:
            return next(iter(self.newest(0, call)), None)
        near = self._ids(["rev-list", f"--max-count={_NEAR}", "HEAD", "--"], call)
        named = next((commit for commit in near if commit in set(published)), None)
        # otherwise HEAD has diverged from all of these, or is behind them
        return named or next(iter(self._ids(["merge-base", "HEAD", published[0].hex()], call)), None)

    def newest(self, most: int, call: Call) -> tuple[ObjectId, ...]:
        """Returns HEAD and up to `most` commits before it, newest first."""
        return self._ids(["rev-list", "--first-parent", f"--max-count={most + 1}", "HEAD", "--"], call)

    def common(self, commits: Sequence[ObjectId], call: Call) -> ObjectId | None:
        """Returns the merge base of HEAD and the first of `commits` that the project has; None if there is none."""
        data = b"".join(b"%s\n" % commit.hex().encode() for commit in commits)
        lines = self._ask(["cat-file", "--batch-check=%(objectname) %(objecttype)"], call, data).splitlines()
        known = [line.split(b" ")[0].decode() for line in lines if line.endswith(b" commit")]
        return next(iter(self._ids(["merge-base", "HEAD", known[0]], call)), None) if known else None

    def tree(self, commit: ObjectId, call: Call) -> ObjectId | None:
        """Returns the tree of a commit."""
        return next(iter(self._ids(["rev-parse", "--verify", "--quiet", f"{commit.hex()}^{{tree}}"], call)), None)

    def _ids(self, words: Sequence[str], call: Call) -> tuple[ObjectId, ...]:
        return tuple(bytes.fromhex(line.decode()) for line in self._ask(words, call).splitlines())

    def _ask(self, words: Sequence[str], call: Call, data: bytes = b"") -> bytes:
        """Returns what git prints; nothing if it fails, such as in a project without commits."""
        if self.repository is None:
            return b""
        done = self.git.run(os.fsdecode(self.repository.git_dir), words, call, data=data)
        return b"" if done.code else done.out


def _first(lines: bytes) -> list[ObjectId]:
    """Returns the object at the beginning of each line."""
    return [bytes.fromhex(line.partition(b" ")[0].decode()) for line in lines.splitlines()]
