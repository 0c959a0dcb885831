"""Runs the git program."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import attrs

from .errors import GitFailed

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


@attrs.frozen
class Done:
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
    ) -> Done:
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
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())

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


def failed(words: tuple[str | bytes, ...], done: Done) -> GitFailed:
    """The error of a command that failed, with what git said first about it."""
    command = next((os.fsdecode(word) for word in words if os.fsdecode(word)[:1] != "-"), "")
    lines = done.said.splitlines() or [f"it ended with {done.code}"]
    # warnings may come before it; in other languages it has another beginning
    first = next((line for line in lines if line.startswith(_WRONG)), lines[0])
    for beginning in _WRONG:
        first = first.removeprefix(beginning)
    return GitFailed(f"git {command}: {first}", said=done.said)
