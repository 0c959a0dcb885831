"""The commits of a project, as its git tells them; implements `core.ports.sharing.ProjectCommits`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from snapd.worktree.repair_sources import own_object_directories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.call import Call
    from snapd.core.model import ObjectId
    from snapd.remotes.program import GitProgram
    from snapd.worktree.git.repository import Repository


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
