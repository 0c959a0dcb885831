"""Fetches sessions from other machines, and reads those that were fetched; the folder is not touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapd.core.actions.session_diff import NetChanges
from snapd.core.actions.steps.session_views import SessionViews
from snapd.core.actions.steps.step_changes import StepChanges
from snapd.core.answers import Origin, Page, SessionView
from snapd.core.errors import UnknownSession, UnknownStep
from snapd.core.timeline.queries import StepQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from snapd.core.call import Call
    from snapd.core.ports.differ import TextDiffer
    from snapd.core.ports.sharing import Elsewhere, Fetched, Listed
    from snapd.core.timeline.model import SessionId, Step, StepId

_ALL = (1 << 63) - 1
_AT_ONCE = 100
"""How many sessions are looked up at once."""
_FETCH = "fetch it first with 'snapd fetch REMOTE'"


class FetchedReader:
    """Reads a fetched session.

    Args:
        fetched: the session.
        texts: compares texts.

    Attributes:
        origin: where it came from.
        changes: says what its steps changed.
        views: describes it and its steps.
        net_changes: compares before and after.
    """

    def __init__(self, fetched: Fetched, texts: TextDiffer) -> None:
        timeline = fetched.log.timeline
        self.fetched = fetched
        self.origin = Origin(fetched.remote, fetched.host)
        self.changes = StepChanges(fetched.objects, fetched.log, texts)
        self.views = SessionViews(timeline, self.changes)
        self.net_changes = NetChanges(fetched.objects, timeline, self.changes, self.views, texts)

    def view(self) -> SessionView:
        """Describes the session: nothing of it can be undone or redone here."""
        (session,) = self.fetched.log.timeline.sessions()
        return SessionView(session, 0, 0, self.origin)

    def with_parts(self, step_ids: Iterable[StepId]) -> tuple[Step, ...]:
        """Some steps with all of their parts, each once, in the order in which they were begun."""
        named = [self.views.known_step(step_id) for step_id in step_ids]
        steps = {part.step_id: part for step in named for part in self.changes.with_parts(step)}
        return tuple(sorted(steps.values(), key=lambda step: step.begun.index))


class FetchedSessions:
    """The sessions of other machines.

    Args:
        elsewhere: these machines.
        texts: compares texts.
    """

    def __init__(self, elsewhere: Elsewhere, texts: TextDiffer) -> None:
        self._elsewhere = elsewhere
        self._texts = texts

    def fetch(self, remote: str, session_ids: Sequence[SessionId] | None, call: Call) -> tuple[SessionView, ...]:
        """Fetches sessions; gives those that are new, or others than before.

        Args:
            remote: a URL, a path, or the name of a remote of the project's git.
            session_ids: which sessions; None for all that are there.
            call: the request.

        Raises:
            InvalidParams: the remote cannot be one.
            RemoteFailed, Untrusted: nothing was taken.
            StoreCorrupt, StorageFull, IoError, Cancelled: the same.
        """
        return tuple(_view(each) for each in self._elsewhere.remote(remote).fetch(session_ids, call))

    def page(self, after: int, limit: int | None) -> Page[SessionView]:
        """Lists them in the order in which they were first fetched.

        Args:
            after: where the page before ended; 0 for the first page.
            limit: sessions on this page, at most; None for all.
        """
        listed = self._elsewhere.page(after, _ALL if limit is None else limit + 1)
        shown = listed if limit is None else listed[:limit]
        last = after if not shown else shown[-1].place
        return Page(tuple(map(_view, shown)), last if len(listed) > len(shown) else None)

    def readers(self, wanted: StepQuery | None = None) -> Iterator[FetchedReader]:
        """Reads those that may have a step that is asked for, each when its turn comes; None for all."""
        query = wanted or StepQuery("")
        after = 0
        while listed := self._elsewhere.with_steps(query, after, _AT_ONCE):
            for each in listed:
                yield self._reader(each)
            after = listed[-1].place

    def _reader(self, listed: Listed) -> FetchedReader:
        return FetchedReader(self._elsewhere.read(listed), self._texts)

    def known_session(self, session_id: SessionId) -> FetchedReader:
        """Reads a session; raises `UnknownSession`."""
        reader = self.of_session(session_id)
        if reader is None:
            raise UnknownSession(f"no session {session_id!r} was fetched", hint=_FETCH, sessionId=session_id)
        return reader

    def known_step(self, step_id: StepId) -> FetchedReader:
        """Reads the session of a step; raises `UnknownStep`."""
        reader = self.of_step(step_id)
        if reader is None:
            raise UnknownStep(f"no step {step_id!r} was fetched", hint=_FETCH, stepId=step_id)
        return reader

    def of_session(self, session_id: SessionId) -> FetchedReader | None:
        """Reads a session; None if it was not fetched."""
        listed = self._elsewhere.session(session_id)
        return None if listed is None else self._reader(listed)

    def of_step(self, step_id: StepId) -> FetchedReader | None:
        """Reads the session of a step; None if it was not fetched."""
        for reader in self.readers(StepQuery(step_id)):
            if reader.fetched.log.timeline.step(step_id) is not None:
                return reader
        return None


def _view(listed: Listed) -> SessionView:
    """Describes a session: nothing of it can be undone or redone here."""
    return SessionView(listed.session, 0, 0, Origin(listed.remote, listed.host))
