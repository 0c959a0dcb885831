"""Deletes old sessions from a remote."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from snapd.core.rules.retention import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snapd.core.call import Call
    from snapd.core.ports.sharing import Elsewhere, PrunedSession
    from snapd.core.ports.timeline import TimelineView


@attrs.frozen
class PruneOptions:
    """Which sessions a client wants deleted from a remote.

    Attributes:
        older_than_days: those that nobody added to for this many days.
        everybody: whether also those of other machines that are not of this folder.
        dry_run: whether only to say which.
    """

    older_than_days: float
    everybody: bool = False
    dry_run: bool = False


@attrs.define(eq=False)
class Prune:
    """Deletes old sessions from remotes of one workspace.

    Args:
        timeline: of the workspace.
        elsewhere: the other machines.
    """

    _timeline: TimelineView
    _elsewhere: Elsewhere

    def prune(self, remote: str, options: PruneOptions, call: Call) -> tuple[str, Sequence[PrunedSession]]:
        """Deletes old sessions from a remote, and gives its address and those that are gone, or would be.

        This machine keeps its own, and what it has fetched; so does every other. They can be pushed again.

        Args:
            remote: a URL, a path, or the name of a remote of the project's git.
            options: which.
            call: the request.

        Raises:
            InvalidParams: the remote cannot be one.
            RemoteFailed, RemoteChanged, Cancelled: some may be gone; asked again, it goes on with the others.
        """
        there = self._elsewhere.remote(remote)
        before = int((time.time() - options.older_than_days * DAY_SECONDS) * 1000)
        ours = [session.session_id for session in self._timeline.sessions()]
        pruned = there.prune(before, ours, call, everybody=options.everybody, dry_run=options.dry_run)
        return there.address, pruned
