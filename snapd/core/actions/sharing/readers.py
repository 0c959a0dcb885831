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
    from snapd.core.timeline.queries import IdKind, StepQuery

    from .fetch import FetchedReader, FetchedSessions

SHORTEST = 8
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

    def shortest(self, kind: IdKind, name: str) -> str:
        """The shortest beginning of an id that no other id of its kind has, of at least `SHORTEST` characters."""
        length = SHORTEST
        for other in (*self._timeline.neighbours(kind, name), *self._fetched.neighbours(kind, name)):
            while length < len(name) and other.startswith(name[:length]):
                length += 1
        return name[:length]

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
            taken_over = self._fetched.taken_over()
            views = tuple(attrs.evolve(view, taken_over=taken_over.get(view.session.session_id)) for view in page.views)
            if page.after is not None:
                return Page(views, page.after)
        else:
            start = after - _FETCHED
        room = None if limit is None else limit - len(views)
        fetched = self._fetched.page(start, room, call)
        others = [view for view in fetched.views if self._timeline.session(view.session.session_id) is None]
        return Page((*views, *others), None if fetched.after is None else _FETCHED + fetched.after)

    def find(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool = False) -> tuple[StepView, ...]:
        """Finds steps of the folder, newest first; if there is none, those of fetched sessions.

        Of a session that went on at another machine, steps that were only fetched come before those of the folder.

        Arguments and errors as of `SessionViews.find`.
        """
        if wanted.session_id is not None:
            return self._of_session(wanted, limit, call, renames=renames)
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

    def _of_session(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool) -> tuple[StepView, ...]:
        assert wanted.session_id is not None
        fetched = self._fetched.of_session(wanted.session_id)
        if self._timeline.session(wanted.session_id) is None:
            reader = fetched or self._own
            return reader.views.find(wanted, limit, call, renames=renames)
        found: list[StepView] = []
        if fetched is not None:
            elsewhere = fetched.views.find(wanted, None, call, renames=renames)
            found += [view for view in elsewhere if self._timeline.step(view.step.step_id) is None]
        found += self._own.views.find(wanted, limit, call, renames=renames)
        return tuple(found[:limit])
