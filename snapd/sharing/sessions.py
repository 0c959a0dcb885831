"""Fetches sessions from other machines, and reads sessions, fetched or of this folder; never changes the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice

import attrs

from snapd.core.actions.compare import NetChanges
from snapd.core.actions.review.comments import CommentViews
from snapd.core.actions.step_changes import SessionViews, StepChanges
from snapd.core.answers import Page, SessionOrigin, SessionView, StepView
from snapd.core.compare.text import TextDiffer
from snapd.core.seams import OtherSessions, SessionListing
from snapd.model.call import Call
from snapd.model.errors import UnknownSession, UnknownStep
from snapd.model.handover import SignatureStatus
from snapd.model.timeline import SessionId, Step, StepId, StepQuery
from snapd.store.store import Store

from .remote_sessions import RemoteSessions

_ALL = (1 << 63) - 1
_AT_ONCE = 100
"""How many sessions are looked up at once."""


class FetchedReader:
    """Reads one fetched session, whose signature `signature` checks, or the sessions of another local folder."""

    def __init__(
        self,
        fetched: OtherSessions,
        texts: TextDiffer,
        signature: Callable[[Call], SignatureStatus | None] | None = None,
    ) -> None:
        timeline = fetched.timeline
        self.fetched = fetched
        self.origin = SessionOrigin(fetched.remote, fetched.host)
        self.changes = StepChanges(fetched.objects, timeline, texts)
        self.views = SessionViews(timeline, self.changes)
        self.net_changes = NetChanges(fetched.objects, timeline, self.changes, self.views, texts)
        self.comments = CommentViews.of_timeline(timeline, fetched.objects, self.changes, self.views)
        self._signature = signature

    def signature(self, call: Call) -> SignatureStatus | None:
        """Returns the status of the session's signature; None if it has none."""
        return None if self._signature is None else self._signature(call)

    def view(self) -> SessionView:
        """Describes the fetched session; its undo and redo counts are 0, since neither works here."""
        (session,) = self.fetched.timeline.sessions()
        return SessionView(session, 0, 0, self.origin)

    def with_parts(self, step_ids: Iterable[StepId]) -> tuple[Step, ...]:
        """Returns these steps with all of their parts, each once, in the order in which they began."""
        named = [self.views.known_step(step_id) for step_id in step_ids]
        steps = {part.step_id: part for step in named for part in self.changes.with_parts(step)}
        return tuple(sorted(steps.values(), key=lambda step: step.begun.index))


class SessionsElsewhere:
    """Finds the reader of a session or step that is not in this folder.

    `place`, such as "was fetched", and `hint` are for the error if none of the `readers` has it.
    """

    def __init__(self, readers: Callable[[], Iterable[FetchedReader]], place: str, hint: str) -> None:
        self._readers = readers
        self._place = place
        self._hint = hint

    def known_session(self, session_id: SessionId) -> FetchedReader:
        """Returns the reader of a session; raises `UnknownSession`."""
        reader = self.of_session(session_id)
        if reader is None:
            raise UnknownSession(f"no session {session_id!r} {self._place}", hint=self._hint, sessionId=session_id)
        return reader

    def known_step(self, step_id: StepId) -> FetchedReader:
        """Returns the reader of the session of a step; raises `UnknownStep`."""
        reader = self.of_step(step_id)
        if reader is None:
            raise UnknownStep(f"no step {step_id!r} {self._place}", hint=self._hint, stepId=step_id)
        return reader

    def of_session(self, session_id: SessionId) -> FetchedReader | None:
        """Returns the reader of a session; None if there is none."""
        for reader in self._readers():
            if reader.fetched.timeline.session(session_id) is not None:
                return reader
        return None

    def of_step(self, step_id: StepId) -> FetchedReader | None:
        """Returns the reader of the session of a step; None if there is none."""
        for reader in self._readers():
            if reader.fetched.timeline.step(step_id) is not None:
                return reader
        return None


class FetchedSessions(SessionsElsewhere):
    """The sessions of other machines, and of other folders of this one."""

    def __init__(self, elsewhere: RemoteSessions, texts: TextDiffer) -> None:
        super().__init__(self.readers, "was fetched", "fetch it first with 'snapd fetch REMOTE'")
        self._elsewhere = elsewhere
        self._texts = texts

    def fetch(
        self, remote: str, session_ids: Sequence[SessionId] | None, call: Call, *, dry_run: bool = False
    ) -> tuple[SessionView, ...]:
        """Fetches sessions (None for all); returns those that are new or changed. After any error nothing was fetched.

        `remote` is a URL, a path, or the name of a remote of the project's git; `dry_run` keeps nothing. Raises
        `InvalidParams` if the remote cannot be one, `UnknownSession` if it lacks a session, and `RemoteFailed`,
        `Untrusted`.
        """
        if dry_run:
            return self._views(self._elsewhere.preview_fetch(remote, session_ids, call), call)
        return self._views(self._elsewhere.remote(remote).fetch(session_ids, call), call)

    def import_(self, file: str, call: Call) -> tuple[SessionView, ...]:
        """Imports the sessions of a file as if they had been fetched; returns those that are new or changed.

        Raises `InvalidParams` if the path is not absolute or there is no such file, and `RemoteFailed`, `Untrusted`.
        """
        return self._views(self._elsewhere.bundle(file).fetch(None, call), call)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """Returns the ids of each kind right before and after a name in order, as far as there are any."""
        return self._elsewhere.neighbours(name)

    def page(self, after: int, limit: int | None, call: Call) -> Page[SessionView]:
        """Lists at most `limit` sessions in the order of their first fetch, after the last place of the page before."""
        listed = self._elsewhere.page(after, _ALL if limit is None else limit + 1)
        shown = listed if limit is None else listed[:limit]
        last = after if not shown else shown[-1].place
        return Page(self._views(shown, call), last if len(listed) > len(shown) else None)

    def readers(self, wanted: StepQuery | None = None) -> Iterator[FetchedReader]:
        """Yields readers, on demand, of sessions that may have a matching step; of all sessions for None."""
        query = wanted or StepQuery("")
        after = 0
        while listed := self._elsewhere.with_steps(query, after, _AT_ONCE):
            for each in listed:
                yield self._reader(each)
            after = listed[-1].place

    def of_session(self, session_id: SessionId) -> FetchedReader | None:
        """Returns the reader of a session; None if it was not fetched."""
        listed = self._elsewhere.session(session_id)
        return None if listed is None else self._reader(listed)

    def of_step(self, step_id: StepId) -> FetchedReader | None:
        """Returns the reader of the session of a step; None if it was not fetched."""
        for reader in self.readers(StepQuery(step_id)):
            if reader.fetched.timeline.step(step_id) is not None:
                return reader
        return None

    def _reader(self, listed: SessionListing) -> FetchedReader:
        def signature(call: Call) -> SignatureStatus | None:
            return self._elsewhere.signatures([listed], call)[0]

        return FetchedReader(self._elsewhere.read(listed), self._texts, signature)

    def _views(self, listed: Sequence[SessionListing], call: Call) -> tuple[SessionView, ...]:
        return tuple(
            SessionView(each.session, 0, 0, SessionOrigin(each.remote, each.host), signature=signature)
            for each, signature in zip(listed, self._elsewhere.signatures(listed, call), strict=True)
        )

    def taken_over(self) -> dict[SessionId, SessionOrigin]:
        """Returns who took over each session of this folder's last handover; empty if that came back."""
        last = next(reversed(self._elsewhere.lineage.all()), None)
        if last is None or not last.is_own:
            return {}
        return {
            session_id: SessionOrigin(remote, handover.taken[-1].host)
            for remote, handover in self._elsewhere.handovers()
            if handover.handover_id == last.handover_id and handover.taken
            for session_id in handover.sessions
        }

    @contextmanager
    def beside(self, folder: bytes) -> Iterator[SessionsElsewhere]:
        """Finds sessions and steps of another folder of this machine for the block; see `RemoteSessions`."""
        with self._elsewhere.beside(folder) as result:
            reader = FetchedReader(result, self._texts)
            hint = "'snapd -C FOLDER log' shows the sessions and steps of the other folder"
            yield SessionsElsewhere(lambda: (reader,), f"in {result.remote}", hint)


SHORTEST = 6
_FETCHED = 1 << 52
"""Where fetched sessions begin in a list: above any number of events, and exact in JSON."""


@attrs.frozen
class Reader:
    """Reads the sessions of this folder."""

    views: SessionViews
    net_changes: NetChanges
    comments: CommentViews


@attrs.frozen
class Readers:
    """Finds the reader of a session or step; this folder takes precedence over fetched sessions."""

    _store: Store
    _own: Reader
    _fetched: FetchedSessions

    def shortest(self, name: str) -> str:
        """Returns the shortest unique prefix of an id or hash, at least `SHORTEST` characters.

        It is unique among all kinds, because a word of the command line can be a session or step, or a step or
        snapshot.
        """
        length = SHORTEST
        known = (self._store.timeline, self._fetched)
        for other in chain.from_iterable(each.neighbours(name) for each in known):
            while length < len(name) and other.startswith(name[:length]):
                length += 1
        return name[:length]

    def of_session(self, session_id: SessionId) -> Reader | FetchedReader:
        """Returns the reader of a session; for an unknown one that of the folder, which raises the error."""
        if self._store.timeline.session(session_id) is not None:
            return self._own
        return self._fetched.of_session(session_id) or self._own

    def of_step(self, step_id: StepId) -> Reader | FetchedReader:
        """Returns the reader for a step; for an unknown one that of the folder, which raises the error."""
        if self._store.timeline.step(step_id) is not None:
            return self._own
        return self._fetched.of_step(step_id) or self._own

    def sessions(self, call: Call, after: int | None = None, limit: int | None = None) -> Page[SessionView]:
        """Lists the sessions of the folder in the order of their first start, then the fetched ones.

        `after` is where the page before ended (None for the first page), `limit` the size of this one (None for all).
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
        others = [view for view in fetched.views if self._store.timeline.session(view.session.session_id) is None]
        return Page((*views, *others), None if fetched.after is None else _FETCHED + fetched.after)

    def find(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool = False) -> tuple[StepView, ...]:
        """Finds steps of the folder, newest first; if there are none, those of fetched sessions.

        For a session that continued at another machine, steps that were only fetched come before those of the folder.
        Parameters and errors are those of `SessionViews.find`.
        """
        if wanted.session_id is not None:
            return self._of_session(wanted, limit, call, renames=renames)
        if wanted.parent is not None:
            return self.of_step(wanted.parent).views.find(wanted, limit, call, renames=renames)
        position = self._own.views.find(wanted, limit, call, renames=renames)
        if position:
            return position
        elsewhere = (
            view
            for reader in self._fetched.readers(wanted)
            for view in reader.views.find(wanted, limit, call, renames=renames)
        )
        return tuple(islice(elsewhere, limit))

    def _of_session(self, wanted: StepQuery, limit: int | None, call: Call, *, renames: bool) -> tuple[StepView, ...]:
        assert wanted.session_id is not None
        fetched = self._fetched.of_session(wanted.session_id)
        if self._store.timeline.session(wanted.session_id) is None:
            reader = fetched or self._own
            return reader.views.find(wanted, limit, call, renames=renames)
        step_views: list[StepView] = []
        if fetched is not None:
            elsewhere = fetched.views.find(wanted, None, call, renames=renames)
            step_views += [view for view in elsewhere if self._store.timeline.step(view.step.step_id) is None]
        step_views += self._own.views.find(wanted, limit, call, renames=renames)
        return tuple(step_views[:limit])
