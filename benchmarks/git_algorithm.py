"""Snapshots as agents commonly take them, by running git on a shadow repository beside the project.

To track is `git add .` and `git write-tree`; to restore is `git read-tree` and `git checkout-index -a -f`; to compare
is `git diff --name-status`, `git diff --numstat` and two `git show` for each file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import NamedTuple

# without it a `.gitattributes` of the tree could have git convert: its tree id would not be that of the disk's bytes
_ATTRIBUTES = "* -text -ident !eol !filter !working-tree-encoding\n"


class FileChange(NamedTuple):
    """One file of a comparison, with both sides' bytes and the lines added and deleted."""

    file: str
    before: bytes
    after: bytes
    additions: int
    deletions: int


def run_git(arguments: list[str], cwd: str, stdin: bytes = b"") -> bytes:
    """Runs git without the configuration of the user and the system.

    Args:
        arguments: its command and what follows.
        cwd: the folder that it runs in.
        stdin: what it reads from standard input.

    Returns:
        What it wrote to standard output.

    Raises:
        subprocess.CalledProcessError: it failed; it has said why on standard error.
    """
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "bench",
        "GIT_AUTHOR_EMAIL": "bench@example.com",
        "GIT_COMMITTER_NAME": "bench",
        "GIT_COMMITTER_EMAIL": "bench@example.com",
    }
    return subprocess.run(
        ["git", *arguments], cwd=cwd, env=environment, input=stdin, stdout=subprocess.PIPE, check=True
    ).stdout


class ShadowGit:
    """A shadow repository that git keeps of a work tree.

    Args:
        directory: of the repository; made by `create`.
        tree: the work tree.
    """

    def __init__(self, directory: str, tree: str) -> None:
        self.directory = directory
        self._tree = tree

    @property
    def objects(self) -> str:
        """Where its objects lie."""
        return os.path.join(self.directory, "objects")

    def create(self) -> None:
        """Makes it, empty."""
        run_git(["init", "-q", "--bare", self.directory], self._tree)
        for key, value in (("core.bare", "false"), ("core.autocrlf", "false"), ("core.fileMode", "true")):
            self.git("config", key, value)
        os.makedirs(os.path.join(self.directory, "info"), exist_ok=True)
        with open(os.path.join(self.directory, "info", "attributes"), "w", encoding="ascii") as file:
            file.write(_ATTRIBUTES)

    def seed(self, project: str) -> None:
        """Takes over what the project's own repository knows: its index by copy, its objects by hard link.

        Args:
            project: the project's `.git` directory.
        """
        shutil.copyfile(os.path.join(project, "index"), os.path.join(self.directory, "index"))
        source = os.path.join(project, "objects")
        for directory, _, names in os.walk(source):
            target = os.path.normpath(os.path.join(self.objects, os.path.relpath(directory, source)))
            os.makedirs(target, exist_ok=True)
            for name in names:
                os.link(os.path.join(directory, name), os.path.join(target, name))

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Runs git on the repository and its work tree."""
        return run_git(["--git-dir", self.directory, "--work-tree", self._tree, *arguments], self._tree, stdin)

    def track(self) -> str:
        """Takes a snapshot.

        Returns:
            The tree's id.
        """
        self.git("add", ".")
        return self.git("write-tree").decode().strip()

    def first_track(self, project: str | None = None) -> str:
        """Makes the repository, seeded from a project's `.git` if one is named, and takes the first snapshot."""
        self.create()
        if project is not None:
            self.seed(project)
        return self.track()

    def spread(self) -> None:
        """Prepares all directories of loose objects, which a store in use soon has.

        A seeded store has none, and the first file in each may take several times as long as a later one.
        """
        for number in range(256):
            directory = os.path.join(self.objects, f"{number:02x}")
            os.makedirs(directory, exist_ok=True)
            descriptor, path = tempfile.mkstemp(dir=directory)
            os.close(descriptor)
            os.unlink(path)

    def restore(self, tree_id: str) -> None:
        """Brings the whole work tree back to a snapshot."""
        self.git("read-tree", tree_id)
        self.git("checkout-index", "-a", "-f")

    def diff_full(self, old: str, new: str) -> list[FileChange]:
        """Every text file that was modified between two snapshots, with its contents on both sides."""
        options = ("-c", "core.quotepath=false", "diff", "--no-ext-diff", "--no-renames")
        self.git(*options, "--name-status", old, new, "--", ".")
        changes = []
        for line in self.git(*options, "--numstat", old, new, "--", ".").splitlines():
            additions, deletions, name = line.split(b"\t", 2)
            file = os.fsdecode(name)
            before, after = self.git("show", f"{old}:{file}"), self.git("show", f"{new}:{file}")
            changes.append(FileChange(file, before, after, int(additions), int(deletions)))
        return changes

    def files(self) -> list[str]:
        """What the last snapshot holds as regular files, in git's order."""
        entries = self.git("ls-files", "-s", "-z").split(b"\0")
        return [os.fsdecode(entry.partition(b"\t")[2]) for entry in entries if entry.startswith(b"100")]

    def pack(self, trees: list[str]) -> None:
        """Has git keep these trees and nothing else, packed as well as `git gc` does it."""
        for number, tree in enumerate(trees):
            self.git("update-ref", f"refs/bench/{number}", tree)
        self.git("gc", "--quiet", "--prune=now")


class MonitoredGit(ShadowGit):
    """The same, with everything that saves git from looking at every file: a file system monitor, and caches.

    git's own monitor runs on Linux only from git 2.55 on.

    Args:
        directory: of the repository; made by `create`.
        tree: the work tree.
        hook: the command that is git's hook `fsmonitor`.
    """

    def __init__(self, directory: str, tree: str, hook: str) -> None:
        super().__init__(directory, tree)
        self._hook = hook
        self._last = ""

    def create(self) -> None:
        """Makes it, empty."""
        super().create()
        for key, value in (("core.fsmonitor", self._hook), ("core.untrackedCache", "true"), ("index.version", "4")):
            self.git("config", key, value)

    def seed(self, project: str) -> None:
        """Also writes the index anew, in the version that is quickest to read."""
        super().seed(project)
        self.git("update-index", "--index-version", "4")

    def first_track(self, project: str | None = None) -> str:
        """Also makes a commit, without which `git status` would list every file as new."""
        tree_id = super().first_track(project)
        self.git("update-ref", "HEAD", self.git("commit-tree", "-m", "first", tree_id).decode().strip())
        return tree_id

    def track(self) -> str:
        """Takes a snapshot; where nothing changed, `git status` alone runs.

        Returns:
            The tree's id.
        """
        status = self.git("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules")
        # the second letter compares the work tree with the index
        changed = [entry for entry in status.split(b"\0")[:-1] if entry[1:2] != b" "]
        if self._last and not changed:
            return self._last
        # the monitor was asked just now: report nothing new, and keep the token for the next time
        quiet = ("-c", "core.fsmonitor=shift; printf '%s\\0'")
        if all(entry[1:2] == b"M" for entry in changed):
            names = b"".join(entry[3:] + b"\0" for entry in changed)
            self.git(*quiet, "update-index", "-z", "--stdin", stdin=names)
        else:
            self.git(*quiet, "add", "-A")
        self._last = self.git(*quiet, "write-tree").decode().strip()
        return self._last


def make_project(tree: str) -> None:
    """Makes a work tree a git project whose files are all committed and packed, as a clone has them."""
    run_git(["init", "-q"], tree)
    for arguments in (["add", "."], ["commit", "-q", "-m", "bench"], ["gc", "--quiet"]):
        # else the commit starts a collection in the background, in the way of ours and of what is measured
        run_git(["-c", "gc.auto=0", "-c", "core.autocrlf=false", *arguments], tree)
