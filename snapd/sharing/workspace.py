"""A workspace with its other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.workspace import Workspace

from .apply import Apply
from .handover import HandOver
from .push import Prune, Push
from .sessions import FetchedSessions, Reader, Readers
from .takeover import TakeOver

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd.core.workspace import Seams
    from snapd.model.secrets import SecretRules
    from snapd.store.store import Store
    from snapd.worktree.worktree import WorkTree

    from .remote_sessions import RemoteSessions


class SharedWorkspace(Workspace):
    """One folder under snapd's care that can exchange sessions with other machines.

    Args:
        project_id, work_tree, store: as of `Workspace`.
        seams: as well, with the same other machines.
        remote_sessions: the other machines.
        secret_rules: gives the rules for what may be a secret.

    Attributes:
        remote_sessions: as given.
        pushing: pushes sessions to other machines.
        pruning: deletes old sessions from there.
        fetched: fetches sessions from there, and reads them.
        readers: finds who reads a session or a step, of this folder or a fetched one.
        handover: hands the folder over to another machine.
        takeover: takes over what another machine handed over.
        applier: takes in what steps of fetched sessions changed.
    """

    def __init__(
        self,
        project_id: str,
        work_tree: WorkTree,
        store: Store,
        seams: Seams,
        remote_sessions: RemoteSessions,
        secret_rules: Callable[[], SecretRules],
    ) -> None:
        super().__init__(project_id, work_tree, store, seams)
        self.remote_sessions = remote_sessions
        writer, sessions, changes = self.writer, self.sessions, self.step_changes
        self.pushing = Push(store, sessions, changes, remote_sessions, secret_rules)
        self.pruning = Prune(store.timeline, remote_sessions)
        self.fetched = FetchedSessions(remote_sessions, seams.texts)
        self.readers = Readers(store, Reader(sessions, self.net_changes), self.fetched)
        self.handover = HandOver(writer, store, changes, remote_sessions, self.pushing)
        self.takeover = TakeOver(writer, store, sessions, self.undo_planner, remote_sessions, self.runner)
        self.applier = Apply(writer, store, sessions, self.undo_planner, self.fetched, self.runner)
