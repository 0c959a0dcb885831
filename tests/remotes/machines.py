"""Machines with a folder each, and what they push to each other; git itself is the remote."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from snapd.core.actions.step_changes import StepChanges
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId
from snapd.remotes.exchange import Exchange
from snapd.remotes.program import GitProgram
from snapd.sharing.index import SessionIndex
from snapd.sharing.inspection import Limits
from snapd.sharing.mirror import Mirror
from snapd.sharing.outgoing import OutgoingRepository
from snapd.sharing.projection import Projection
from snapd.store.store import Store
from snapd.store.timeline.timeline import FetchedTimeline
from snapd.worktree.git.repository import own_object_directories
from tests.support.git import run_git
from tests.support.sessions import Agents


def bare(path: Path) -> Path:
    """An empty remote."""
    path.mkdir()
    run_git(path, "init", "--quiet", "--bare", ".")
    return path


class Machine:
    """A machine with one folder.

    Args:
        agents: who works there.
        name: of the machine.
    """

    def __init__(self, agents: Agents, name: str) -> None:
        self.agents = agents
        self.name = name
        self.git = GitProgram(dict(os.environ))
        self.mirror = Mirror(str(agents.bench.folder / "mirror"), SessionIndex(str(agents.bench.folder / "mirrors.db")))

    @property
    def store(self) -> Store:
        return self.agents.bench.workspace.store

    @property
    def borrowed(self) -> list[str]:
        project = [os.fsdecode(each) for each in own_object_directories(self.agents.bench.workspace.work_tree.root)]
        return [os.path.join(self.store.path, "objects"), *project]

    def push(self, address: str, *sessions: str, seen: dict[str, ObjectId] | None = None) -> dict[str, ObjectId]:
        workspace = self.agents.bench.workspace
        self.store.repository.journal.checkpoint()
        with OutgoingRepository(self.borrowed, self.name) as outgoing:
            for session in sessions:
                authors = workspace.step_changes.authors
                projection = Projection([session], self.store.timeline, self.store, authors, outgoing)
                outgoing.add_session(session, projection.events(Call()))
            outgoing.finish()
            Exchange(self.git, address).push(outgoing.path, outgoing.heads, seen or {}, Call())
            return dict(outgoing.heads)

    def fetch(
        self, address: str, names: Sequence[str] = ("refs/snapd/sessions/",), limits: Limits | None = None
    ) -> dict[str, ObjectId]:
        self.store.repository.journal.checkpoint()
        with self.mirror.quarantine(self.borrowed) as quarantine:
            Exchange(self.git, address).fetch(quarantine, names, Call())
            return self.mirror.take(quarantine, lambda _: True, self.borrowed, limits or Limits(), Call())

    def fetched(self, name: str, head: ObjectId) -> tuple[FetchedTimeline, StepChanges]:
        """What a fetched session says."""
        timeline = self.mirror.timeline(name, head)
        texts = self.agents.bench.workspace.step_changes.texts
        return timeline, StepChanges(self.mirror.objects, timeline, texts)
