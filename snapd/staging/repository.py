"""The git repository of a folder: where it is, and what is under way in it."""

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
"""For each operation of git's (its `wt_status_get_state`) the file or reference that shows that it is under way."""
_PSEUDO_REFERENCES = ("CHERRY_PICK_HEAD", "REVERT_HEAD")
"""Where references are kept in a table, these are there."""
_TRUE = frozenset({"true", "yes", "on", "1"})


@attrs.frozen
class Repository:
    """A repository with a work tree.

    Attributes:
        git: runs git.
        top: the root of the work tree, absolute and canonical.
        git_dir: the directory of this work tree's own files.
        objects: the directory of its objects.
    """

    git: Git
    top: bytes
    git_dir: bytes
    objects: bytes

    @classmethod
    def around(cls, folder: bytes, git: Git) -> Repository:
        """The repository that a folder is in, as git finds it.

        Raises:
            NoGitRepository: there is none, it has no work tree there, or git refuses to use it.
            GitFailed: there is no git.
        """
        inside = git.attempt(folder, "rev-parse", "--is-inside-work-tree")
        name = os.fsdecode(folder)
        if inside.code:
            said = (inside.said.splitlines() or ["git does not say why"])[0].removeprefix("fatal: ")
            # a repository that belongs to somebody else: git says what to do
            hint = " ".join(inside.said.split()) if "safe.directory" in inside.said else None
            raise NoGitRepository(f"{name}: {said}", hint=hint, path=name)
        if inside.out.strip() != b"true":
            raise NoGitRepository(f"{name}: the git repository has no work tree here", path=name)
        asked = ("--show-toplevel",), ("--absolute-git-dir",), ("--git-path", "objects")
        # one at a time, because a path may have line feeds
        found = [git.ask(folder, "rev-parse", *words).removesuffix(b"\n") for words in asked]
        return cls(git, *(os.path.realpath(os.path.join(folder, path)) for path in found))

    @property
    def lock(self) -> bytes:
        """The lock of the index, which is there while a git process changes the index."""
        return os.path.realpath(os.path.join(self.git_dir, b"index")) + b".lock"

    def ask(self, *words: str | bytes, data: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """What a git command that has to succeed says at the root of the work tree; as `Git.ask`."""
        return self.git.ask(self.top, *words, data=data, variables=variables)

    def check_idle(self) -> None:
        """Makes sure that the next commit is the user's own, not a part of something else.

        Raises:
            GitOperationUnderWay: a merge, a rebase, a bisect or the like is under way.
        """
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
        """Whether there is a commit to compare the index with; not before the first one."""
        return self.git.attempt(self.top, "rev-parse", "--quiet", "--verify", "HEAD").code == 0

    def setting(self, name: str) -> str:
        """The value of a variable of git's configuration; empty if it is not set."""
        done = self.git.attempt(self.top, "config", "--get", name)
        if done.code > 1:
            raise GitFailed(f"git config: {done.said}", said=done.said)
        return done.out.decode("utf-8", "replace").removesuffix("\n")

    def is_set(self, name: str, *, default: bool) -> bool:
        """Whether a variable of git's configuration is true."""
        value = self.setting(name).lower()
        return value in _TRUE if value else default

    def ignored(self, paths: Iterable[bytes]) -> frozenset[bytes]:
        """Those of some paths, relative to the root, that git ignores and does not track."""
        data = b"".join(path + b"\0" for path in paths)
        if not data:
            return frozenset()
        done = self.git.attempt(self.top, "check-ignore", "-z", "--stdin", data=data)
        if done.code > 1:
            raise GitFailed(f"git check-ignore: {done.said}", said=done.said)
        return frozenset(done.out.split(b"\0")[:-1])

    def read(self, path: bytes) -> tuple[int, bytes] | None:
        """The mode and the bytes of a file in the work tree; None if there is no file or symlink.

        Args:
            path: of the file, relative to the root.

        Raises:
            IoError: it cannot be read.
        """
        full = os.path.join(self.top, path)
        # not through a symlink: that would be another file
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
        """Whether a path, relative to the root, is of this repository and not of one in it."""
        if path.startswith(b"../") or path == b"..":
            return False
        above = path
        while above := os.path.dirname(above):
            if os.path.lexists(os.path.join(self.top, above, b".git")):
                return False
        return True
