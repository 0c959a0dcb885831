"""Reads sessions, whether they are of this folder or were fetched."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import attrs

from snapd.core.answers import Page

if TYPE_CHECKING:
    from snapd.core.actions.session_diff import NetChanges
    from snapd.core.actions.steps.session_views import SessionViews
    from snapd.core.answers import SessionView, StepView
    from snapd.core.call import Call
    from snapd.core.ports.timeline import TimelineView
    from snapd.core.timeline.model import SessionId, StepId
    from snapd.core.timeline.queries import StepQuery

    from .fetch import FetchedReader, FetchedSessions

_FETCHED = 1 << 52
"""Where the fetched sessions begin in a list: no timeline has so many events, and JSON has the number exactly."""


@attrs.frozen
class Reader:
    """Reads the sessions of this folder.

    Attributes:
        views: describes them and their steps.
        net_changes: compares before and after.
    """

    views: SessionViews
    net_changes: NetChanges


@attrs.frozen
class Readers:
    """Finds who reads a session or a step: what this folder has comes first.

    Args:
        timeline: of the folder.
        own: reads the sessions of the folder.
        fetched: the sessions of other machines.
    """

    _timeline: TimelineView
    _own: Reader
    _fetched: FetchedSessions

    def of_session(self, session_id: SessionId) -> Reader | FetchedReader:
        """Reads a session; the reader of the folder says that there is none."""
        if self._timeline.session(session_id) is not None:
            return self._own
        return self._fetched.of_session(session_id) or self._own

    def of_step(self, step_id: StepId) -> Reader | FetchedReader:
        """Reads the session of a step; the reader of the folder says that there is none."""
        if self._timeline.step(step_id) is not None:
            return self._own
        return self._fetched.of_step(step_id) or self._own

    def sessions(self, call: Call, after: int | None = None, limit: int | None = None) -> Page[SessionView]:
        """Lists the sessions of the folder in the order in which they were first started, then the fetched ones.

        Args:
            call: the request.
            after: where the page before ended; None for the first page.
            limit: sessions on this page, at most; None for all.
        """
        views: tuple[SessionView, ...] = ()
        start = 0
        if after is None or after < _FETCHED:
            page = self._own.views.all(call, after, limit)
            if page.after is not None:
                return page
            views = page.views
        else:
            start = after - _FETCHED
        room = None if limit is None else limit - len(views)
        fetched = self._fetched.page(start, room)
        return Page((*views, *fetched.views), None if fetched.after is None else _FETCHED + fetched.after)

    def find(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool = False) -> tuple[StepView, ...]:
        """Finds steps of the folder, newest first; if there is none, those of fetched sessions.

        Arguments and errors as of `SessionViews.find`.
        """
        if wanted.session_id is not None:
            return self.of_session(wanted.session_id).views.find(wanted, limit, call, renames=renames)
        if wanted.parent is not None:
            return self.of_step(wanted.parent).views.find(wanted, limit, call, renames=renames)
        found = self._own.views.find(wanted, limit, call, renames=renames)
        if found:
            return found
        elsewhere = (
            view
            for reader in self._fetched.readers(wanted)
            for view in reader.views.find(wanted, limit, call, renames=renames)
        )
        return tuple(islice(elsewhere, limit))
