"""A workspace that exchanges sessions with other machines."""

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
    """A workspace that exchanges sessions with other machines; `seams` must have the same `remote_sessions`."""

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
        self.readers = Readers(store, Reader(sessions, self.net_changes, self.comments), self.fetched)
        self.handover = HandOver(writer, store, changes, remote_sessions, self.pushing)
        self.takeover = TakeOver(writer, store, sessions, self.undo_planner, remote_sessions, self.runner)
        self.applier = Apply(writer, store, sessions, self.undo_planner, self.fetched, self.runner)
