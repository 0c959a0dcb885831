"""The same scenario, played by plain means in a git repository: what files and timeline have to be."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import attrs

from tests.support.git import run_git

from .scenarios.actions import Edit, Shell, Write


@attrs.frozen
class Change:
    """What became of a file: A(dded), M(odified) or D(eleted), and by how many lines."""

    status: str
    file: str
    additions: int
    deletions: int

    def __str__(self) -> str:
        return f"{self.status} {self.file} +{self.additions} -{self.deletions}"


def git_state(project: Path) -> str:
    """What git says of a repository: its refs, but for remote-tracking ones, `HEAD`, the stash, what is staged."""
    if not (project / ".git").exists():
        return "no repository"
    # what is missing or damaged makes it fail
    run_git(project, "fsck", "--full", "--strict", "--no-dangling")
    asked = (
        "for-each-ref refs/heads refs/tags refs/stash",
        "symbolic-ref HEAD",
        "stash list",
        # what is untracked is compared with all files
        "status --porcelain=v2 --untracked-files=no",
        "config --local --list",
    )
    return "".join(run_git(project, "--no-optional-locks", *words.split()).decode() for words in asked)


class Oracle:
    """A copy of the project in which each action is a commit.

    Args:
        project: to begin with; a git repository.
        folder: that the copy is made in.
        temporary: the folder for temporary files.
    """

    def __init__(self, project: Path, folder: Path, temporary: Path) -> None:
        self.folder = folder
        self._environment = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
        run_git("/", "clone", "-q", str(project), str(folder))

    def carry_out(self, action: Write | Edit | Shell) -> str:
        """Does what an action does; gives the commit."""
        if isinstance(action, Write):
            self._write(action.file, action.text)
        elif isinstance(action, Edit):
            path = self.folder / action.file
            before, found, after = path.read_text().partition(action.old)
            assert found, action
            path.write_text(before + action.new + after)
        else:
            command = ["sh", "-c", action.command]
            subprocess.run(command, cwd=self.folder, env=self._environment, check=False, timeout=60)
        return self._commit()

    def save(self, files: Mapping[str, str]) -> str:
        """Writes files; gives the commit."""
        for name, text in files.items():
            self._write(name, text)
        return self._commit()

    def take_back(self, *commits: str) -> str:
        """Takes commits back, wherever they are; gives the commit that does."""
        for commit in commits:
            run_git(self.folder, "revert", "--no-commit", commit)
        return self._commit()

    def changes(self, before: str, after: str) -> list[Change]:
        """What changed between two commits, ordered by file."""
        states = run_git(self.folder, "diff", "--no-renames", "--name-status", before, after).decode().splitlines()
        counts = run_git(self.folder, "diff", "--no-renames", "--numstat", before, after).decode().splitlines()
        return [
            Change(state[0], file, int(added), int(deleted))
            for state, (added, deleted, file) in zip(states, (count.split("\t") for count in counts), strict=True)
        ]

    def differences(self, project: Path) -> list[str]:
        """What is otherwise in a project, a line for each file, as `git status` has it."""
        git = [f"--git-dir={self.folder / '.git'}", f"--work-tree={project}"]
        return run_git(project, *git, "status", "--porcelain", "--untracked-files=all").decode().splitlines()

    def _write(self, file: str, text: str) -> None:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def head(self) -> str:
        return run_git(self.folder, "rev-parse", "HEAD").decode().strip()

    def _commit(self) -> str:
        run_git(self.folder, "add", "-A")
        run_git(self.folder, "commit", "-q", "--allow-empty", "-m", "-")
        return self.head()
