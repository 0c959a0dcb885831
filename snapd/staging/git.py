"""Runs the git program, and the errors of staging."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, ClassVar

import attrs

from snapd.model.errors import SnapdError

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        """Runs a command in the directory `cwd`, with extra environment `variables`.

        Raises `GitFailed` if there is no git.
        """
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
    return GitFailed(f"git {command}: {first}", said=done.stderr)
