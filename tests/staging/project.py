"""A project in git with agents in it, whose work is staged; git itself says what is in the index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from snapd.handlers import HANDLERS, Context
from snapd.model.call import Call
from snapd.staging.changes import Contents, Loader
from snapd.staging.planning import Planner
from snapd.staging.repository import Git, Repository
from snapd.wire.converter import structure, unstructure
from snapd.wire.methods import METHODS
from tests.support.git import run_git
from tests.support.sessions import Agents, stats
from tests.support.workspace import make

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from snapd.staging.planning import Plan
    from tests.support.workspace import Items

Index = dict[str, tuple[str, bytes]]
"""For each file its mode and its bytes."""


class Project(Agents):
    """Agents in a git work tree."""

    @classmethod
    def made(cls, folder: Path, items: Items, **settings: str) -> Project:
        """Makes a project with files that are committed.

        Args:
            folder: for all of it.
            items: its files.
            settings: of git, with `_` for the dot.
        """
        project = cls(make(folder, items, git=True))
        for name, value in settings.items():
            project.git("config", name.replace("_", "."), value)
        project.commit("--all-files")
        for name in ("A", "B"):
            project.start(name)
        return project

    def work(self, session: str, items: Items) -> str:
        """A step that writes files."""
        return self.step(session, items)

    def git(self, *words: str, data: bytes | None = None) -> bytes:
        return run_git(self.bench.root, *words, home=self.bench.home, input=data)

    def commit(self, *words: str) -> None:
        """Commits the index; with `--all-files` all that there is."""
        if "--all-files" in words:
            self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "work")

    def stage(self, sessions: Sequence[str] = (), steps: Sequence[str] = (), *, dry_run: bool = False) -> Plan:
        """What `snapd stage` does, without the terminal; the work tree and all but the index stay as they are."""
        folder = os.fsencode(os.path.realpath(self.bench.root))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.bench.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            # of another repository, as if a hook of it ran this
            "GIT_DIR": "/nonexistent/.git",
            "GIT_INDEX_FILE": "/nonexistent/index",
        }
        before = stats(self.bench.root)
        repository = Repository.around(folder, Git.of_user(environment))
        repository.check_idle()
        contents = Contents()
        loader = Loader(self.ask, folder, repository.top, contents)
        planner = Planner(repository, contents)
        plan = planner.plan(loader.chains(loader.rows(sessions, steps)))
        if not plan.conflicts and not dry_run:
            planner.carry_out(plan)
        after = stats(self.bench.root)
        assert {name: stat for name, stat in after.items() if not name.startswith(".git")} == {
            name: stat for name, stat in before.items() if not name.startswith(".git")
        }
        return plan

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        root = os.fsencode(self.bench.root)
        context = Context(self.bench.workspace, (self.bench.workspace.root, root), self.bench, Call())
        return unstructure(HANDLERS[method](context, structure(params, METHODS[method].params)))

    def index(self) -> Index:
        """What git has in the index."""
        found: Index = {}
        for line in self.git("ls-files", "-z", "-s").split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, oid, stage = head.decode().split(" ")
            assert stage == "0"
            data = b"" if mode == "160000" else self.git("cat-file", "blob", oid)
            found[os.fsdecode(path)] = (mode, data)
        return found

    def listed(self) -> dict[str, str]:
        """For each file of the index its mode and the name of its blob."""
        lines = [line.partition(b"\t") for line in self.git("ls-files", "-z", "-s").split(b"\0")[:-1]]
        return {os.fsdecode(path): head.decode() for head, _, path in lines}

    def texts(self) -> dict[str, bytes]:
        """The bytes of the files in the index."""
        return {name: data for name, (_, data) in self.index().items()}

    def unstage(self) -> None:
        """Takes everything back, and makes sure that the index is that of the last commit."""
        self.git("restore", "--staged", ".")
        assert self.git("write-tree") == self.git("rev-parse", "HEAD^{tree}")


def reasons(plan: Plan) -> dict[str, str]:
    """Why files cannot be staged."""
    return {os.fsdecode(path): reason for path, reason in plan.conflicts.items()}
