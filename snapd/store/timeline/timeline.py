"""The sessions, steps and operations of a workspace: what `core.ports.Timeline` asks for.

The commits of `chain` are the truth. The database is made of them, and is there so that questions are answered fast: it
is believed only where it was closed in order (`sealed`) and knows the same newest commits as the references; else it is
made anew. So an event is added in this order:

1. A transaction of the database takes the event in: one that cannot follow is refused, and nothing is written.
2. The journal takes its commit, its reference and the snapshot that is its head, with one sync: from then on it stands.
   Where that fails, the transaction is rolled back, and there is neither event nor snapshot.
3. The transaction is committed. A process that is killed before leaves a database that is not as it was closed, and is
   made anew when it is next asked. Where it fails (no space), the event stands, and the database goes on in memory.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from snapd.core.errors import IoError, StoreCorrupt, os_errors
from snapd.core.rules.retention import Chain
from snapd.core.timeline.model import Operated
from snapd.failpoints import failpoint

from .chain import SESSIONS, Chains, supposed_link
from .database import Database
from .numbers import Numbers
from .pins import snapshots
from .sealed import fresh, is_sealed, remove, seal
from .verify import said, said_by

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from snapd.core.model import ObjectId, RelPath
    from snapd.core.timeline.model import (
        Event,
        OperationId,
        Session,
        SessionId,
        SnapshotId,
        Span,
        Step,
        StepId,
        StepQuery,
        Summary,
        Tally,
        Undone,
    )
    from snapd.store.repository import ShadowRepository

    from .chain import Link

logger = logging.getLogger(__name__)

NAME = "timeline.db"

T = TypeVar("T")


class Timeline:
    """The timeline of a repository. Safe to use from several threads.

    It is read when it is first asked something; `StoreCorrupt` or `IoError` come from any method where it cannot be.

    Args:
        repository: where the events lie; its caller owns it.
    """

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._path = os.path.join(repository.path, NAME)
        self._numbers = Numbers(repository.path)
        self._lock = threading.RLock()
        self._chains: Chains | None = None
        self._database: Database | None = None
        self._in_file = True
        self._attempted = 0
        self._supposing = False

    def close(self) -> None:
        """Closes the database, so that it will be believed; nothing is at stake where that cannot be done.

        Who asks later is answered from memory: by then the file may be another process's.
        """
        with self._lock:
            database, self._database = self._database, None
            in_file, self._in_file = self._in_file, False
            if database is None:
                return
            try:
                database.close()
                if in_file and self._opened_chains().heads:
                    seal(self._path)
            except (OSError, sqlite3.Error) as error:
                logger.warning("%s will be made anew: %s", self._path, error)

    # -- adding

    @contextmanager
    def adding(self, event: Event) -> Iterator[dict[str, ObjectId]]:
        """Adds an event.

        Args:
            event: the next one.

        Yields:
            The references that move with it. The block is to make them durable, with all that waits in the journal;
            there is no event where it raises.

        Raises:
            ValueError: the event cannot follow those that are there.
            InvalidParams: a text in it is not valid Unicode.
            StoreCorrupt: it names an object that is not stored.
            StorageFull, IoError: it was not added.
        """
        with self._lock:
            link = self._begin(event)
            try:
                yield {link.chain: link.commit}
            except BaseException:
                # what a failed attempt may have put into the journal all the same must not have the number of another
                self._attempted = event.seq
                self._end(Database.roll_back)
                raise
            failpoint("timeline.attach")
            self._opened_chains().attach(link)
            self._end(Database.commit)

    def _begin(self, event: Event) -> Link:
        """Has a transaction of the database take in an event whose commit waits in the journal."""
        if event.seq != self.next_seq:
            raise ValueError(f"event {event.seq} is not the next one, which is {self.next_seq}")
        last = self._ask(Database.last)
        previous = last[0] if last is not None else None
        session_id = self._ask(lambda database: database.session_of(event.what))
        chains = self._opened_chains()
        link = chains.prepare(event, session_id, previous)
        if self._in_file and not chains.heads:
            # no file is made before there is something to be kept in it
            self._let_go()
            self._database = self._from_file(chains)

        def take_in(database: Database) -> None:
            database.begin()
            try:
                database.add(link, previous)
            except BaseException:
                database.roll_back()
                raise

        try:
            self._ask(take_in)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"event {event.seq} cannot follow: {error}") from error
        return link

    def _end(self, how: Callable[[Database], None]) -> None:
        """Ends the transaction; a database that cannot do it is made anew when it is next asked."""
        assert self._database is not None
        try:
            how(self._database)
        except sqlite3.Error as error:
            self._go_on_in_memory(error)

    # -- supposing

    @contextmanager
    def supposing(self) -> Iterator[None]:
        """Makes room for events that only might happen: what `suppose` adds is forgotten when the block ends.

        Whoever else asks something meanwhile waits, and never sees such an event.

        Raises:
            IoError: from any method within the block, where the database cannot be read any more. Asked again, the
                timeline answers from memory.
        """
        with self._lock:
            self._ask(Database.begin)
            self._supposing = True
            try:
                yield
            finally:
                self._supposing = False
                if self._database is not None:
                    self._end(Database.roll_back)

    def suppose(self, event: Event) -> None:
        """Answers from now on as if an event had happened, until the `supposing` block ends.

        Args:
            event: the next one. Nothing is written, and the objects that it names need not be stored.

        Raises:
            ValueError: the event cannot follow those that are there.
            InvalidParams: a text in it is not valid Unicode.
        """
        if not self._supposing:
            raise ValueError("events are supposed within a supposing block alone")
        last = self._ask(Database.last)
        previous = last[0] if last is not None else None
        session_id = self._ask(lambda database: database.session_of(event.what))
        link = supposed_link(event, session_id, previous)
        try:
            self._ask(lambda database: database.add(link, previous))
        except sqlite3.IntegrityError as error:
            raise ValueError(f"event {event.seq} cannot follow: {error}") from error

    # -- summaries and numbers

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps what a step itself changed, unless something happened since; see `core.ports.Timeline`, as below."""
        with self._lock:
            if self.next_seq == next_seq:
                self._ask(lambda database: database.keep_summary(step_id, summary))

    def reserve(self, count: int) -> int:
        """Gives out numbers for notifications, durably; raises `StorageFull`, `IoError`."""
        return self._numbers.reserve(count)

    # -- checking

    def agrees(self) -> bool:
        """Whether the database says what the events come to; raises `StoreCorrupt` where these cannot be read."""
        with self._lock:
            links = Chains(self._repository).read()
            try:
                return said(self._opened()) == said_by(links)
            except sqlite3.IntegrityError as error:
                raise _unfitting(error) from error
            except sqlite3.DatabaseError:
                return False
            except ValueError as error:
                raise _unfitting(error) from error

    def forget(self) -> None:
        """Has the database made anew of the events when it is next asked; raises `IoError`."""
        with self._lock, os_errors(self._path):
            self.reload()
            if self._in_file and os.path.exists(self._path):
                fresh(self._path)

    # -- expiry

    def history(self) -> tuple[list[float], list[Chain], list[tuple[str, str]]]:
        """What retention asks about the events: when each was, the chains, and which of these are linked."""
        told = self._ask(Database.chains)
        times = [event.milliseconds / 1000 for _, event, _ in told]
        named: dict[str, set[ObjectId]] = {}
        first: dict[str, float] = {}
        last: dict[str, tuple[int, float, bool]] = {}
        for place, (chain, event, is_open) in enumerate(told):
            named.setdefault(chain, set()).update(snapshot.tree for snapshot in snapshots(event).values())
            first.setdefault(chain, times[place])
            last[chain] = (place, times[place], is_open)
        chains = [
            Chain(
                name,
                place,
                first[name],
                None if is_open else seconds,
                name.startswith(SESSIONS),
                frozenset(named[name]),
            )
            for name, (place, seconds, is_open) in last.items()
        ]
        return times, chains, self._ask(lambda database: database.links())

    def drop(self, names: Collection[str]) -> None:
        """Drops chains with all that is in them; nothing that stays is linked with them.

        Raises:
            StoreCorrupt, StorageFull, IoError: some may be dropped and others not.

        The caller saw to it that the journal is empty: one that is replayed later must not set a reference back.
        """
        with self._lock:
            self._ask(Database.last)
            try:
                self._opened_chains().drop(names)
            except BaseException:
                # whatever it came to, the references tell
                self._let_go()
                raise
            self._ask(lambda database: database.drop(names))

    def rewritten(self, change: Callable[[Event], Event]) -> tuple[dict[str, ObjectId], dict[ObjectId, bytes]]:
        """How the events look where they are others; see `Chains.rewritten`."""
        with self._lock:
            return self._opened_chains().rewritten(change)

    def reload(self) -> None:
        """Has the events read anew, since their references were moved; nothing that was known of them is kept.

        Raises:
            IoError: the database is there still, and will not be believed.
        """
        with self._lock:
            self._chains = None
            self._let_go()
            with os_errors(self._path):
                remove(self._path)

    def blobs(self) -> Iterator[tuple[RelPath, ObjectId]]:
        """The files that operations name one by one: by path, what each was or became."""
        for _, event, _ in self._ask(Database.chains):
            if isinstance(event.what, Operated):
                for turned in event.what.turned:
                    for effect in turned.effects:
                        for entry in (effect.old, effect.new):
                            if entry is not None:
                                yield effect.path, entry.oid

    def roots(self) -> list[tuple[ObjectId, ObjectId]]:
        """The commit of each event, and its tree, which has all that the event names."""
        return [root for _, root in self.roots_by_chain()]

    def roots_by_chain(self) -> list[tuple[str, tuple[ObjectId, ObjectId]]]:
        """Likewise, with the name of the chain of each."""
        return self._ask(Database.roots)

    # -- questions

    @property
    def head(self) -> SnapshotId | None:
        """The work tree, by the last event."""
        last = self._ask(Database.last)
        return last[1] if last is not None else None

    @property
    def next_seq(self) -> int:
        """The number of the next event."""
        last = self._ask(Database.last)
        return max(self._attempted, last[0] if last is not None else 0) + 1

    def session(self, session_id: SessionId) -> Session | None:
        """A session by its name."""
        return self._ask(lambda database: database.session(session_id))

    def sessions(self) -> tuple[Session, ...]:
        """All sessions, in the order in which they were first begun."""
        return self._ask(Database.sessions)

    def step(self, step_id: StepId) -> Step | None:
        """A step by its name."""
        return self._ask(lambda database: database.step(step_id))

    def steps(self, session_id: SessionId) -> tuple[Step, ...]:
        """The steps of a session, in the order in which they were begun."""
        return self._ask(lambda database: database.steps(session_id))

    def session_page(self, after: int | None, limit: int | None) -> tuple[tuple[Session, ...], int | None]:
        """Up to `limit` sessions from where a page ended, and where this one ended; None where it is the last."""
        return self._ask(lambda database: database.session_page(after, limit))

    def step_page(
        self, session_id: SessionId, after: int | None, limit: int | None
    ) -> tuple[tuple[Step, ...], int | None]:
        """Up to `limit` steps of a session from where a page ended, and where this one ended; None likewise."""
        return self._ask(lambda database: database.step_page(session_id, after, limit))

    def find_steps(self, wanted: StepQuery, limit: int | None) -> tuple[Step, ...]:
        """Up to `limit` steps that are asked for, the one that was begun last first."""
        return self._ask(lambda database: database.find_steps(wanted, limit))

    def parts(self, step_id: StepId) -> tuple[Step, ...]:
        """The steps that were begun as parts of a step, in that order."""
        return self._ask(lambda database: database.parts(step_id))

    def open_steps(self) -> tuple[Step, ...]:
        """The steps that are open, in the order in which they were begun."""
        return self._ask(Database.open_steps)

    def spans(self, step_id: StepId, *, spoken_for: bool = False) -> tuple[Span, ...]:
        """The spans that have a step among their `steps`, in their order."""
        return self._ask(lambda database: database.spans(step_id, spoken_for=spoken_for))

    def beside(self, step_id: StepId) -> tuple[StepId, ...]:
        """The other steps in spans that a step is in, be it as one that was left."""
        return self._ask(lambda database: database.beside(step_id))

    def operation(self, operation_id: OperationId) -> Operated | None:
        """An operation by its name."""
        return self._ask(lambda database: database.operation(operation_id))

    def redoable(self, session_id: SessionId) -> tuple[Undone, ...]:
        """What can be done again of the steps of a session, the last taken back first."""
        return self._ask(lambda database: database.redoable(session_id))

    def undone(self, step_id: StepId) -> tuple[Undone, ...]:
        """What was taken back of a step and not done again, in the order of time."""
        return self._ask(lambda database: database.undone(step_id))

    def tally(self, session_id: SessionId) -> Tally:
        """What can be done in a session."""
        return self._ask(lambda database: database.tally(session_id))

    def events(self, before: int | None, limit: int) -> tuple[Event, ...]:
        """The latest events with a `seq` below one, or of all, the newest first; so many at most."""
        return self._ask(lambda database: database.events(before, limit))

    # -- the database

    def _ask(self, question: Callable[[Database], T]) -> T:
        with self._lock:
            try:
                return question(self._opened())
            except sqlite3.IntegrityError:
                raise
            except sqlite3.Error as error:
                self._go_on_in_memory(error)
                if self._supposing:
                    # what was supposed went with the database
                    raise IoError(
                        f"{self._path} could not be read: {error}", hint="try again", errno="EIO", path=self._path
                    ) from error
                return question(self._opened())

    def _opened(self) -> Database:
        if self._database is None:
            chains = self._opened_chains()
            in_file = self._in_file and chains.heads
            self._database = self._from_file(chains) if in_file else _made(None, chains)
        return self._database

    def _opened_chains(self) -> Chains:
        if self._chains is None:
            self._chains = Chains(self._repository)
        return self._chains

    def _from_file(self, chains: Chains) -> Database:
        """The database as it was closed; else one that is made anew, in the file if that can be."""
        try:
            return self._believed(chains) or self._anew(chains)
        except (OSError, sqlite3.Error) as error:
            self._go_on_in_memory(error)
            return _made(None, chains)

    def _believed(self, chains: Chains) -> Database | None:
        if not is_sealed(self._path):
            return None
        database = Database(self._path)
        try:
            if database.is_current and database.heads() == chains.heads:
                return database
        except BaseException:
            database.close()
            raise
        database.close()
        return None

    def _anew(self, chains: Chains) -> Database:
        fresh(self._path)
        return _made(self._path, chains)

    def _go_on_in_memory(self, error: OSError | sqlite3.Error) -> None:
        logger.warning("%s cannot be used, so that its contents are in memory for now: %s", self._path, error)
        self._in_file = False
        self._let_go()

    def _let_go(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()


def _unfitting(error: Exception) -> StoreCorrupt:
    return StoreCorrupt(f"the events of the timeline do not fit together: {error}", object=NAME)


def _made(path: str | None, chains: Chains) -> Database:
    """A database that is made of the events; raises `StoreCorrupt` where they do not fit together."""
    links = chains.read()
    database = Database(path)
    try:
        database.create(links)
    except (ValueError, sqlite3.IntegrityError) as error:
        database.close()
        raise _unfitting(error) from error
    except BaseException:
        database.close()
        raise
    return database
