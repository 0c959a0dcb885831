"""The git repository of a folder: its place, and operations under way in it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import attrs

from snapd.model.errors import os_errors
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK
from snapd.worktree.fs.stable_read import regular

from .git import GitFailed, GitOperationUnderWay, NoGitRepository

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .git import Git

_UNDER_WAY = {
    "rebase-merge": "a rebase",
    "rebase-apply/applying": "'git am'",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or a revert",
    "BISECT_LOG": "a bisect",
}
"""The file or reference that exists during each git operation (see git's `wt_status_get_state`)."""
_PSEUDO_REFERENCES = ("CHERRY_PICK_HEAD", "REVERT_HEAD")
"""Files even in repositories whose references are in a table."""
_TRUE = frozenset({"true", "yes", "on", "1"})


@attrs.frozen
class Repository:
    """A repository with a work tree.

    `top` is the root of the work tree, absolute and canonical; `git_dir` is the directory of this work tree's own
    files, `objects` that of its objects.
    """

    git: Git
    top: bytes
    git_dir: bytes
    objects: bytes

    @classmethod
    def around(cls, folder: bytes, git: Git) -> Repository:
        """Finds the repository of a folder, as git does; raises `NoGitRepository`, `GitFailed`."""
        inside = git.attempt(folder, "rev-parse", "--is-inside-work-tree")
        name = os.fsdecode(folder)
        if inside.code:
            stderr = (inside.stderr.splitlines() or ["git does not say why"])[0].removeprefix("fatal: ")
            # for a repository of another user, git explains what to do
            hint = " ".join(inside.stderr.split()) if "safe.directory" in inside.stderr else None
            raise NoGitRepository(f"{name}: {stderr}", hint=hint, path=name)
        if inside.out.strip() != b"true":
            raise NoGitRepository(f"{name}: the git repository has no work tree here", path=name)
        asked = ("--show-toplevel",), ("--absolute-git-dir",), ("--git-path", "objects")
        # one per command, because a path may contain line feeds
        found = [git.ask(folder, "rev-parse", *words).removesuffix(b"\n") for words in asked]
        return cls(git, *(os.path.realpath(os.path.join(folder, path)) for path in found))

    @property
    def lock(self) -> bytes:
        """The lock file that exists while git changes the index."""
        return os.path.realpath(os.path.join(self.git_dir, b"index")) + b".lock"

    def ask(self, *words: str | bytes, data: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """Runs `Git.ask` at the root of the work tree."""
        return self.git.ask(self.top, *words, data=data, variables=variables)

    def check_idle(self) -> None:
        """Raises `GitOperationUnderWay` if the next commit would be part of a merge, rebase, bisect or the like."""
        for name, operation in _UNDER_WAY.items():
            there = os.path.lexists(os.path.join(self.git_dir, os.fsencode(name)))
            if not there and name in _PSEUDO_REFERENCES:
                there = self.git.attempt(self.top, "rev-parse", "--quiet", "--verify", name).code == 0
            if there:
                raise GitOperationUnderWay(
                    f"{operation} is under way in {os.fsdecode(self.top)}: the next commit belongs to it",
                    operation=operation,
                )

    @property
    def has_commit(self) -> bool:
        """Returns whether there is a commit to compare the index with."""
        return self.git.attempt(self.top, "rev-parse", "--quiet", "--verify", "HEAD").code == 0

    def setting(self, name: str) -> str:
        """Returns the value of a git setting; empty if it is not set."""
        done = self.git.attempt(self.top, "config", "--get", name)
        if done.code > 1:
            raise GitFailed(f"git config: {done.stderr}", said=done.stderr)
        return done.out.decode("utf-8", "replace").removesuffix("\n")

    def is_set(self, name: str, *, default: bool) -> bool:
        """Returns whether a git setting is true."""
        value = self.setting(name).lower()
        return value in _TRUE if value else default

    def ignored(self, paths: Iterable[bytes]) -> frozenset[bytes]:
        """Returns which of these paths, relative to the root, git ignores and does not track."""
        data = b"".join(path + b"\0" for path in paths)
        if not data:
            return frozenset()
        done = self.git.attempt(self.top, "check-ignore", "-z", "--stdin", data=data)
        if done.code > 1:
            raise GitFailed(f"git check-ignore: {done.stderr}", said=done.stderr)
        return frozenset(done.out.split(b"\0")[:-1])

    def read(self, path: bytes) -> tuple[int, bytes] | None:
        """Returns the mode and bytes of a file or symlink in the work tree; None if there is none. Raises `IoError`."""
        full = os.path.join(self.top, path)
        # a path through a symlink would be another file
        if os.path.realpath(os.path.dirname(full)) != os.path.dirname(full):
            return None
        with os_errors(full):
            try:
                status = os.lstat(full)
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(status.st_mode):
                return SYMLINK, os.readlink(full)
            if not stat.S_ISREG(status.st_mode):
                return None
            with open(full, "rb", opener=regular) as file:
                return EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR, file.read()

    def belongs(self, path: bytes) -> bool:
        """Returns whether a path, relative to the root, is in this repository and not in a nested one."""
        if path.startswith(b"../") or path == b"..":
            return False
        above = path
        while above := os.path.dirname(above):
            if os.path.lexists(os.path.join(self.top, above, b".git")):
                return False
        return True
