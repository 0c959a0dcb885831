"""The git repository of a folder: its place, operations under way in it, and the git program that runs in it."""

from __future__ import annotations

import os
import stat
import subprocess
from typing import TYPE_CHECKING, ClassVar

import attrs

from snapd.model.errors import SnapdError, os_errors
from snapd.model.snapshot import EXECUTABLE, REGULAR, SYMLINK
from snapd.worktree.fs.stable_read import regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OF_ONE_REPOSITORY = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
"""Variables that git sets for its hooks and aliases: they may be about another repository than the folder's."""

_WRONG = ("fatal: ", "error: ")


class NoGitRepository(SnapdError):
    """The folder is in no git repository with a work tree, or git refuses to use it."""

    kind: ClassVar[str] = "noGitRepository"
    default_hint: ClassVar[str] = "run the command in the work tree of a git repository; 'git init' makes one"


class GitOperationUnderWay(SnapdError):
    """A merge, a rebase or the like is under way; `data["operation"]` names it."""

    kind: ClassVar[str] = "gitOperationUnderWay"
    default_hint: ClassVar[str] = "finish it or abort it first; 'git status' says how"


class IndexLocked(SnapdError):
    """Another git process holds the lock of the index; `data["path"]` is the lock."""

    kind: ClassVar[str] = "indexLocked"
    default_hint: ClassVar[str] = (
        "try again when it is done; if no git process runs, one has crashed: then delete the lock"
    )


class IndexChanged(SnapdError):
    """The index changed while the changes were merged into it."""

    kind: ClassVar[str] = "indexChanged"
    default_hint: ClassVar[str] = "run the command again"


class GitFailed(SnapdError):
    """Git ended with an error, or there is no git; the message has what it said."""

    kind: ClassVar[str] = "gitFailed"
    default_hint: ClassVar[str] = "remove the cause that git names, then try again"


class StagingConflict(SnapdError):
    """Some files cannot be staged, so none was; `data["files"]` names each with the reason."""

    kind: ClassVar[str] = "stagingConflict"
    default_hint: ClassVar[str] = "stage the other files with --file, and these by hand: 'git add -p' helps"


@attrs.frozen
class GitResult:
    """The result of a git command; `stderr` is its standard error."""

    code: int
    out: bytes
    stderr: str


@attrs.frozen
class Git:
    """The git program with the user's environment, without variables about one repository."""

    environment: Mapping[str, str]

    @classmethod
    def of_user(cls, environment: Mapping[str, str]) -> Git:
        """Returns the git for this environment; drops variables that name a repository."""
        return cls({name: value for name, value in environment.items() if name not in _OF_ONE_REPOSITORY})

    def attempt(
        self, cwd: bytes, *words: str | bytes, data: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> GitResult:
        """Runs a command in `cwd` with extra environment `variables`; raises `GitFailed` if there is no git."""
        try:
            done = subprocess.run(
                ["git", *words],
                cwd=cwd,
                input=data,
                env={**self.environment, **(variables or {})},
                capture_output=True,
                check=False,
            )
        except (FileNotFoundError, PermissionError) as error:
            if not os.path.isdir(cwd):
                raise
            raise GitFailed("git cannot be run", hint="install git, or put it on the PATH") from error
        return GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())

    def ask(
        self, cwd: bytes, *words: str | bytes, data: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> bytes:
        """Runs a command like `attempt`, and returns its standard output; raises `GitFailed` if it fails."""
        done = self.attempt(cwd, *words, data=data, variables=variables)
        if done.code:
            raise failed(words, done)
        return done.out


def failed(words: tuple[str | bytes, ...], done: GitResult) -> GitFailed:
    """Returns the error for a failed command, with the first line of git's message."""
    command = next((os.fsdecode(word) for word in words if os.fsdecode(word)[:1] != "-"), "")
    lines = done.stderr.splitlines() or [f"it ended with {done.code}"]
    # warnings may come before it, and in other languages it begins differently
    first = next((line for line in lines if line.startswith(_WRONG)), lines[0])
    for beginning in _WRONG:
        first = first.removeprefix(beginning)
    return GitFailed(f"git {command}: {first}", stderr=done.stderr)


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
    """A repository with a work tree at `top`, absolute and canonical; `git_dir` has this work tree's own files."""

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
        matches = [git.ask(folder, "rev-parse", *words).removesuffix(b"\n") for words in asked]
        return cls(git, *(os.path.realpath(os.path.join(folder, path)) for path in matches))

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
            raise GitFailed(f"git config: {done.stderr}", stderr=done.stderr)
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
            raise GitFailed(f"git check-ignore: {done.stderr}", stderr=done.stderr)
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
