"""Shows what the steps of a session changed in all, page by page; and what one step changed, as a unified diff."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

import attrs

from snapd.core.compare.file_diff import describe
from snapd.core.compare.unified import unified
from snapd.core.trees import is_among

from .compare import first_page

if TYPE_CHECKING:
    from collections.abc import Collection

    from snapd.core.actions.steps.session_views import SessionViews
    from snapd.core.call import Call
    from snapd.core.compare.file_diff import FileDelta
    from snapd.core.model import RelPath
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.store import Objects
    from snapd.core.ports.timeline import TimelineView
    from snapd.core.timeline.attribution import Delta
    from snapd.core.timeline.model import SessionId, StepId

    from .steps.step_changes import StepChanges


@attrs.define(eq=False)
class NetChanges:
    """Compares each file before and after the steps of a session, or after one step.

    Args:
        objects: holds the snapshots.
        timeline: of the workspace.
        step_changes: says what steps changed.
        sessions: of the workspace.
        texts: compares texts.
    """

    _objects: Objects
    _timeline: TimelineView
    _step_changes: StepChanges
    _sessions: SessionViews
    _texts: TextDiffer
    # what the page before was cut from: the next page needs the same
    _kept: tuple[object, tuple[tuple[RelPath, Delta], ...]] | None = attrs.field(default=None, init=False)

    def page(
        self,
        session_id: SessionId,
        message_id: str | None,
        step_id: StepId | None,
        call: Call,
        *,
        contents: bool,
        after: RelPath | None,
        limit: int | None,
    ) -> tuple[tuple[FileDelta, ...], RelPath | None]:
        """Shows what the applied steps of a session changed in all, file by file.

        Args:
            session_id: the session.
            message_id: only the steps of this message.
            step_id: only this step and its parts.
            call: the request.
            contents: whether the texts are wanted.
            after: the path where the page before ended.
            limit: files on this page, at most.

        Returns:
            The files, ordered by path; and the last of them where there are more.

        Raises:
            UnknownSession, UnknownStep: there is no such session, or the step is not one of its steps.
            StoreCorrupt: an object is missing or damaged.
        """
        asked = (session_id, message_id, step_id, self._timeline.next_seq)
        kept, self._kept = self._kept, None
        if kept is None or kept[0] != asked:
            net = self._step_changes.net_in_force(self._sessions.applied(session_id, message_id, step_id), call)
            kept = (asked, tuple(net.items()))
        files = kept[1]
        start = bisect_right(files, after, key=itemgetter(0)) if after is not None else 0

        def describe_net(file: tuple[RelPath, Delta]) -> FileDelta:
            path, delta = file
            return describe(self._objects, path, delta.old, delta.new, self._texts, call, contents=contents)

        page, last = first_page(islice(files, start, None), describe_net, limit, lambda _: call.check())
        if last is not None:
            self._kept = kept
        return page, last

    def step(
        self, step_id: StepId, only: Collection[RelPath], call: Call, *, binary: bool = False
    ) -> tuple[bytes, ...]:
        """Writes the unified diff of what a step and its parts changed, even if it was taken back.

        What others changed in the same files meanwhile is not in it. A moved file is one.

        Args:
            step_id: the step.
            only: the files or directories to show, by the old name or the new one; empty for all.
            call: the request.
            binary: as of `unified`.

        Returns:
            A part for each file, ordered by path.

        Raises:
            UnknownStep: there is no such step.
            StoreCorrupt: an object is missing or damaged.
            IoError, Cancelled: the texts were not compared.
        """
        parts = []
        for change, source in self._step_changes.net_with_moves(self._sessions.known_step(step_id), call):
            if is_among(change.path, only) or (source is not None and is_among(source, only)):
                parts.append(unified(self._objects, change, self._texts, call, source, binary=binary))
                call.progress("comparing", len(parts))
        return tuple(parts)
