"""A project in git with agents in it, and the authors of what its commits brought."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from snapd.authorship.commits import AttributedFile, Attribution, Commit, files, resolve_commits
from snapd.staging.repository import Git, Repository
from tests.staging.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.workspace import Items


@attrs.frozen
class Committing:
    """Whoever commits in a project, and asks for authors.

    Attributes:
        project: the project, with the sessions `A` and `B`.
    """

    project: Project

    @classmethod
    def made(cls, folder: Path, items: Items, **settings: str) -> Committing:
        """Makes a project with files that are committed; arguments as of `Project.made`."""
        return cls(Project.made(folder, items, **settings))

    @property
    def repository(self) -> Repository:
        """Its repository, as a command finds it."""
        home = str(self.project.bench.home)
        environment = {"PATH": os.environ["PATH"], "HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}
        return Repository.around(os.fsencode(os.path.realpath(self.project.bench.root)), Git.of_user(environment))

    def git(self, *words: str, data: bytes | None = None) -> bytes:
        return self.project.git(*words, data=data)

    def commits(self, word: str | None = None) -> list[Commit]:
        return resolve_commits(self.repository, word)[0]

    def attributed(self, commit: Commit) -> Iterator[tuple[AttributedFile, list[bytes]]]:
        """Each file of a commit, with its lines as git has them."""
        repository = self.repository

        attribution = Attribution(self.project.ask, repository.top)
        for file in files(repository, commit):
            text = self.git("cat-file", "blob", f"{commit.name}:{os.fsdecode(file.path)}")
            yield attribution.of(commit, file), text.splitlines(keepends=True)

    def authors(self, word: str | None = None) -> dict[str, dict[int, str]]:
        """For each file of one commit the author of each line that it brought: a session, `user` or `unknown`."""
        (commit,) = self.commits(word)
        found = {}
        for file, _ in self.attributed(commit):
            lines = found[os.fsdecode(file.path)] = {}
            for where, author in file.lines:
                lines |= dict.fromkeys(range(where.first, where.last + 1), author.session_id or author.kind)
        return found


def by_blame(committing: Committing, commit: str) -> dict[str, list[int]]:
    """The lines that a commit brought, by `git blame`, of the files that it has."""
    found = {}
    for name in committing.git("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")[:-1]:
        told = committing.git("blame", "--root", "-l", "-s", commit, "--", name).splitlines()
        lines = [at for at, line in enumerate(told, 1) if line.startswith(commit.encode())]
        if lines:
            found[name] = lines
    return found
