"""Fetches sessions from other machines, and reads sessions, fetched or of this folder; the folder is not touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice

import attrs

from snapd.core.actions.compare import NetChanges
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
    """Reads a fetched session, or those of another folder of this machine.

    Args:
        fetched: the session, or these.
        texts: compares texts.
        signature: checks the signature of the session; None for what has none.

    Attributes:
        origin: where it came from.
        changes: says what its steps changed.
        views: describes it and its steps.
        net_changes: compares before and after.
    """

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
        self._signature = signature

    def signature(self, call: Call) -> SignatureStatus | None:
        """What is known of the signature of the session; None if it has none."""
        return None if self._signature is None else self._signature(call)

    def view(self) -> SessionView:
        """Describes the session that was fetched: nothing of it can be undone or redone here."""
        (session,) = self.fetched.timeline.sessions()
        return SessionView(session, 0, 0, self.origin)

    def with_parts(self, step_ids: Iterable[StepId]) -> tuple[Step, ...]:
        """Some steps with all of their parts, each once, in the order in which they were begun."""
        named = [self.views.known_step(step_id) for step_id in step_ids]
        steps = {part.step_id: part for step in named for part in self.changes.with_parts(step)}
        return tuple(sorted(steps.values(), key=lambda step: step.begun.index))


class SessionsElsewhere:
    """Finds who reads a session or a step of elsewhere.

    Args:
        readers: gives all who can be asked.
        place: where they look, to be told if there is nothing, such as "among the fetched sessions".
        hint: what to do then.
    """

    def __init__(self, readers: Callable[[], Iterable[FetchedReader]], place: str, hint: str) -> None:
        self._readers = readers
        self._place = place
        self._hint = hint

    def known_session(self, session_id: SessionId) -> FetchedReader:
        """Reads a session; raises `UnknownSession`."""
        reader = self.of_session(session_id)
        if reader is None:
            raise UnknownSession(f"no session {session_id!r} {self._place}", hint=self._hint, sessionId=session_id)
        return reader

    def known_step(self, step_id: StepId) -> FetchedReader:
        """Reads the session of a step; raises `UnknownStep`."""
        reader = self.of_step(step_id)
        if reader is None:
            raise UnknownStep(f"no step {step_id!r} {self._place}", hint=self._hint, stepId=step_id)
        return reader

    def of_session(self, session_id: SessionId) -> FetchedReader | None:
        """Reads a session; None if there is none."""
        for reader in self._readers():
            if reader.fetched.timeline.session(session_id) is not None:
                return reader
        return None

    def of_step(self, step_id: StepId) -> FetchedReader | None:
        """Reads the session of a step; None if there is none."""
        for reader in self._readers():
            if reader.fetched.timeline.step(step_id) is not None:
                return reader
        return None


class FetchedSessions(SessionsElsewhere):
    """The sessions of other machines, and of other folders of this one.

    Args:
        elsewhere: these machines.
        texts: compares texts.
    """

    def __init__(self, elsewhere: RemoteSessions, texts: TextDiffer) -> None:
        super().__init__(self.readers, "was fetched", "fetch it first with 'snapd fetch REMOTE'")
        self._elsewhere = elsewhere
        self._texts = texts

    def fetch(
        self, remote: str, session_ids: Sequence[SessionId] | None, call: Call, *, dry_run: bool = False
    ) -> tuple[SessionView, ...]:
        """Fetches sessions; returns those that are new or changed.

        Args:
            remote: a URL, a path, or the name of a remote of the project's git.
            session_ids: which sessions; None for all that are there.
            call: the request.
            dry_run: whether to keep none of it.

        Raises:
            InvalidParams: the remote cannot be one.
            UnknownSession: it does not have one of the sessions; nothing was taken.
            RemoteFailed, Untrusted: nothing was taken.
            StoreCorrupt, StorageFull, IoError, Cancelled: the same.
        """
        if dry_run:
            return self._views(self._elsewhere.preview_fetch(remote, session_ids, call), call)
        return self._views(self._elsewhere.remote(remote).fetch(session_ids, call), call)

    def import_(self, file: str, call: Call) -> tuple[SessionView, ...]:
        """Takes in the sessions of a file as if they had been fetched; returns those that are new or changed.

        Args:
            file: its path, absolute.
            call: the request.

        Raises:
            InvalidParams: the path is not absolute, or there is no such file.
            RemoteFailed, Untrusted: nothing was taken.
            StoreCorrupt, StorageFull, IoError, Cancelled: the same.
        """
        return self._views(self._elsewhere.bundle(file).fetch(None, call), call)

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The ids of each kind that come right before and after one in order; raises `StorageFull`, `IoError`."""
        return self._elsewhere.neighbours(name)

    def page(self, after: int, limit: int | None, call: Call) -> Page[SessionView]:
        """Lists them in the order in which they were first fetched.

        Args:
            after: where the page before ended; 0 for the first page.
            limit: sessions on this page, at most; None for all.
            call: the request.
        """
        listed = self._elsewhere.page(after, _ALL if limit is None else limit + 1)
        shown = listed if limit is None else listed[:limit]
        last = after if not shown else shown[-1].place
        return Page(self._views(shown, call), last if len(listed) > len(shown) else None)

    def readers(self, wanted: StepQuery | None = None) -> Iterator[FetchedReader]:
        """Reads those that may have a step that is asked for, each when its turn comes; None for all."""
        query = wanted or StepQuery("")
        after = 0
        while listed := self._elsewhere.with_steps(query, after, _AT_ONCE):
            for each in listed:
                yield self._reader(each)
            after = listed[-1].place

    def of_session(self, session_id: SessionId) -> FetchedReader | None:
        """Reads a session; None if it was not fetched."""
        listed = self._elsewhere.session(session_id)
        return None if listed is None else self._reader(listed)

    def of_step(self, step_id: StepId) -> FetchedReader | None:
        """Reads the session of a step; None if it was not fetched."""
        for reader in self.readers(StepQuery(step_id)):
            if reader.fetched.timeline.step(step_id) is not None:
                return reader
        return None

    def _reader(self, listed: SessionListing) -> FetchedReader:
        def signature(call: Call) -> SignatureStatus | None:
            return self._elsewhere.signatures([listed], call)[0]

        return FetchedReader(self._elsewhere.read(listed), self._texts, signature)

    def _views(self, listed: Sequence[SessionListing], call: Call) -> tuple[SessionView, ...]:
        """Describes sessions: nothing of them can be undone or redone here."""
        return tuple(
            SessionView(each.session, 0, 0, SessionOrigin(each.remote, each.host), signature=signature)
            for each, signature in zip(listed, self._elsewhere.signatures(listed, call), strict=True)
        )

    def taken_over(self) -> dict[SessionId, SessionOrigin]:
        """Who took over what this folder handed over last, for each of its sessions; nobody, if that came back."""
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
        """Finds sessions and steps of another folder of this machine for the block; as `RemoteSessions.beside`."""
        with self._elsewhere.beside(folder) as found:
            reader = FetchedReader(found, self._texts)
            hint = "'snapd -C FOLDER log' shows the sessions and steps of the other folder"
            yield SessionsElsewhere(lambda: (reader,), f"in {found.remote}", hint)


SHORTEST = 6
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
        log: of the folder.
        own: reads the sessions of the folder.
        fetched: the sessions of other machines.
    """

    _store: Store
    _own: Reader
    _fetched: FetchedSessions

    def shortest(self, name: str) -> str:
        """The shortest beginning of an id or a hash that no other has, of at least `SHORTEST` characters.

        One word of the command line can mean a session or a step, or a step or a snapshot: it must mean one thing.
        """
        length = SHORTEST
        known = (self._store.timeline, self._fetched)
        for other in chain.from_iterable(each.neighbours(name) for each in known):
            while length < len(name) and other.startswith(name[:length]):
                length += 1
        return name[:length]

    def of_session(self, session_id: SessionId) -> Reader | FetchedReader:
        """Reads a session; the reader of the folder says that there is none."""
        if self._store.timeline.session(session_id) is not None:
            return self._own
        return self._fetched.of_session(session_id) or self._own

    def of_step(self, step_id: StepId) -> Reader | FetchedReader:
        """Reads the session of a step; the reader of the folder says that there is none."""
        if self._store.timeline.step(step_id) is not None:
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
        others = [view for view in fetched.views if self._store.timeline.session(view.session.session_id) is None]
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
        if self._store.timeline.session(wanted.session_id) is None:
            reader = fetched or self._own
            return reader.views.find(wanted, limit, call, renames=renames)
        found: list[StepView] = []
        if fetched is not None:
            elsewhere = fetched.views.find(wanted, None, call, renames=renames)
            found += [view for view in elsewhere if self._store.timeline.step(view.step.step_id) is None]
        found += self._own.views.find(wanted, limit, call, renames=renames)
        return tuple(found[:limit])
