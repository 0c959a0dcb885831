"""Runs the git program; and why nothing was staged."""

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
"""What git sets for its hooks and aliases: it may be about another repository than that of the folder."""

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
    """What a git command left behind.

    Attributes:
        code: its exit code.
        out: its standard output.
        said: its standard error, as text.
    """

    code: int
    out: bytes
    said: str


@attrs.frozen
class Git:
    """The git program, as the user would run it.

    Args:
        environment: of its processes, without what is about one repository.
    """

    environment: Mapping[str, str]

    @classmethod
    def of_user(cls, environment: Mapping[str, str]) -> Git:
        """The git of a user with this environment; variables that name a repository do not count."""
        return cls({name: value for name, value in environment.items() if name not in _OF_ONE_REPOSITORY})

    def attempt(
        self, cwd: bytes, *words: str | bytes, data: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> GitResult:
        """Runs a command to its end.

        Args:
            cwd: where it runs.
            words: its arguments.
            data: its standard input.
            variables: what its environment has besides.

        Raises:
            GitFailed: there is no git.
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
        """Runs a command that has to succeed, and gives its standard output. Arguments as of `attempt`.

        Raises:
            GitFailed: it failed, or there is no git.
        """
        done = self.attempt(cwd, *words, data=data, variables=variables)
        if done.code:
            raise failed(words, done)
        return done.out


def failed(words: tuple[str | bytes, ...], done: GitResult) -> GitFailed:
    """The error of a command that failed, with what git said first about it."""
    command = next((os.fsdecode(word) for word in words if os.fsdecode(word)[:1] != "-"), "")
    lines = done.said.splitlines() or [f"it ended with {done.code}"]
    # warnings may come before it; in other languages it has another beginning
    first = next((line for line in lines if line.startswith(_WRONG)), lines[0])
    for beginning in _WRONG:
        first = first.removeprefix(beginning)
    return GitFailed(f"git {command}: {first}", said=done.said)
