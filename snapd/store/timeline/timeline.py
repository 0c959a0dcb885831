"""The sessions, steps and operations of a workspace.

The commits of `chain` are the truth. The database is derived from them to answer queries fast. When it is opened,
missing events are added; if it does not match, it is made anew. So an event is added in this order:

1. A transaction of the database adds the event. One that cannot follow is refused, and nothing is written.
2. The journal writes its commit, its reference and the snapshot that is its head, with one sync; then it is recorded.
   If that fails, the transaction is rolled back, and neither the event nor the snapshot is recorded.
3. The transaction is committed. If the process is killed before, the database gets the event when it is next opened.
   If the commit fails (no space), the event is recorded, and the database goes on in memory.

An event that only records a snapshot can follow any other. So the database gets it later, with the next question.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import attrs

from snapd.failpoints import failpoint
from snapd.model.errors import IoError, StoreCorrupt, os_errors
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.timeline import Event, FileChangeRow, Recorded, SessionId, StepBegun, StepEnded, StepId, Summary
from snapd.store.repository import ShadowRepository

from .chain import NO_OBJECT, ChainLink, Chains, chain_of, walk
from .codec import decode_derived, encode_derived, encode_event
from .database import NAME, Database, fresh, is_sealed, remove, rows_of, seal, unseal
from .file_queries import TimelineQueries

logger = logging.getLogger(__name__)

_WAITING = 16
"""The most events that wait for the database: few enough that the request that adds them is not slow."""

T = TypeVar("T")


class TimelineView(TimelineQueries):
    """The sessions, steps and operations in a database, wherever its events are. Safe to use from several threads.

    It is read at its first use; any method may raise `StoreCorrupt` or `IoError` if that fails. `epoch` grows when
    events are removed or changed, not when they are added.
    """

    epoch: int
    _lock: threading.RLock

    @abstractmethod
    def _ask(self, question: Callable[[Database], T]) -> T:
        """Runs a query on the database."""

    @abstractmethod
    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps the summary of a step, unless an event was added since `next_seq`; a lost summary is computed again.

        It is dropped when another step ends that was open at the same time, because that can change the attribution.
        """

    @property
    @abstractmethod
    def next_seq(self) -> int:
        """The number of the next event."""

    def list_files(self, files: Mapping[int, Iterable[FileChangeRow]]) -> None:
        """Lists the files that the oldest events not listed yet changed, by `seq`; a lost list is computed again."""
        self._ask(lambda database: database.list_files(files))

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self._ask(lambda database: database.connection.execute(statement, values).fetchall())

    def _together(self) -> AbstractContextManager[object]:
        return self._lock

    def _previous(self) -> int | None:
        """Returns the `seq` of the last event."""
        return self.last


class Timeline(TimelineView):
    """The timeline of a repository, which the caller owns; see `TimelineView`. Safe to use from several threads."""

    def __init__(self, repository: ShadowRepository) -> None:
        self._repository = repository
        self._path = os.path.join(repository.path, NAME)
        self._lock = threading.RLock()
        self._chains: Chains | None = None
        self.database: Database | None = None
        self._waiting: list[tuple[ChainLink, int | None]] = []  # recorded, but not yet in the database
        self._in_file = True
        self._attempted = 0
        self.epoch = 0
        self._supposing = False

    def close(self) -> None:
        """Closes the database; if that fails, nothing is lost.

        Later queries are answered from memory: by then the file may belong to another process.
        """
        with self._lock:
            in_file, self._in_file = self._in_file, False
            is_open = self.database is not None
            self._close_database()
            if is_open and in_file and self._opened_chains().heads:
                try:
                    seal(self._path)
                except OSError as error:
                    logger.warning("%s is read without its digest when it is next opened: %s", self._path, error)

    def ensure_readable(self) -> None:
        """Reads the events if they have not been read; raises `StoreCorrupt` or `IoError` if that fails."""
        self._ask(lambda _: None)

    # -- adding

    @contextmanager
    def adding(self, events: Sequence[Event]) -> Iterator[dict[str, ObjectId]]:
        """Adds the next events, all or none. The block must flush the journal with the yielded references.

        Raises `ValueError` if an event cannot follow the previous ones, `InvalidParams` if a text is not valid Unicode,
        and `StoreCorrupt` if an object is not stored; after any error, no event is added.
        """
        with self._lock:
            previous = self._previous()
            links = self._links(events)
            added = list(zip(links, (previous, *(link.event.seq for link in links)), strict=False))
            waits = all(isinstance(event.what, Recorded) and event.head is None for event in events)
            if not waits:
                self._add(links[0], lambda database: database.add_all(added))
            try:
                yield {link.chain: link.commit for link in links}
            except BaseException:
                # the failed events may be in the journal, so their numbers are not used again
                self._attempted = events[-1].seq
                if not waits:
                    self._end(Database.roll_back)
                raise
            failpoint("timeline.attach")
            for link in links:
                self._opened_chains().attach(link)
            if not waits:
                self._end(Database.commit)
                return
            self._waiting += added
            if len(self._waiting) >= _WAITING:
                self.ensure_readable()

    def _links(self, events: Sequence[Event]) -> list[ChainLink]:
        chains, previous = self._opened_chains(), self._previous()
        links: list[ChainLink] = []
        heads: dict[str, ObjectId] = {}
        begun: dict[StepId, SessionId] = {}
        for seq, event in enumerate(events, self.next_seq):
            if event.seq != seq:
                raise ValueError(f"event {event.seq} is not the next one, which is {seq}")
            if isinstance(event.what, StepBegun):
                begun[event.what.step_id] = event.what.session_id
            # the database does not have the steps that these events begin
            session_id = begun.get(event.what.step_id) if isinstance(event.what, StepEnded) else None
            links.append(chains.prepare(event, session_id or self.session_of(event.what), previous, heads))
            heads[links[-1].chain] = links[-1].commit
            previous = event.seq
        if self._in_file and not chains.heads:
            # no file is created before the first event
            self._close_database()
            self.database = self._from_file(chains)
        return links

    def _add(self, link: ChainLink, add: Callable[[Database], None]) -> None:
        try:
            self._ask(add)
        except sqlite3.IntegrityError as error:
            raise ValueError(f"event {link.event.seq} cannot follow: {error}") from error

    def _end(self, how: Callable[[Database], None]) -> None:
        """Ends the transaction; after an error the database goes on in memory."""
        assert self.database is not None
        try:
            how(self.database)
        except sqlite3.Error as error:
            self.use_memory(error)

    # -- simulation

    @contextmanager
    def simulation(self) -> Iterator[None]:
        """Drops the events that `simulate` adds when the block ends; other threads wait meanwhile and never see them.

        Methods inside the block raise `IoError` if the database becomes unreadable; try again then.
        """
        with self._lock:
            self._ask(Database.begin)
            self._supposing = True
            try:
                yield
            finally:
                self._supposing = False
                if self.database is not None:
                    self._end(Database.roll_back)

    def simulate(self, event: Event) -> None:
        """Answers as if the next event were this one, until the `simulation` block ends; writes nothing.

        Its objects need not be stored. Raises `ValueError` if the event cannot follow the previous ones, and
        `InvalidParams` if a text is not valid Unicode.
        """
        if not self._supposing:
            raise ValueError("events can be supposed only inside a `simulation` block")
        previous = self._previous()
        chain, payload = chain_of(event, self.session_of(event.what)), encode_event(event, previous)
        link = ChainLink(chain, NO_OBJECT, NO_OBJECT, event, payload)
        self._add(link, lambda database: database.add(link, previous))

    # -- summaries

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps the summary of a step; see `TimelineView`."""
        with self._lock:
            if self.next_seq == next_seq:
                self._ask(lambda database: database.keep_summary(step_id, summary))

    # -- folds

    def fold_of(self, path: RelPath, last: int, basis: str, cls: type[T]) -> T | None:
        """The kept fold of a file after all its listed changes up to event `last`; None if there is none.

        Args:
            path: of the file.
            last: the number of an event.
            basis: what the fold depends on besides these changes.
            cls: of the fold.
        """
        result = self._ask(lambda database: database.fold_of(path, last, basis))
        return None if result is None else decode_derived(result, cls)

    def keep_folds(
        self, folds: Mapping[RelPath, attrs.AttrsInstance], last: int, basis: str, epoch: int, next_seq: int
    ) -> None:
        """Keeps what follows from the changes of files, unless an event came or went since; may be lost.

        Args:
            folds: by path.
            last: the number of the last event that counts.
            basis: see `fold_of`.
            epoch: when they were computed, as is `next_seq`.
            next_seq: the number of the next event then.
        """
        rows = {path: encode_derived(fold) for path, fold in folds.items()}
        with self._lock:
            if (self.epoch, self.next_seq) == (epoch, next_seq):
                self._ask(lambda database: database.keep_folds(rows, last, basis))

    # -- checking

    def agrees(self) -> bool:
        """Whether the database matches the events; raises `StoreCorrupt` if these cannot be read."""
        with self._lock:
            links = Chains(self._repository).read()
            try:
                return self._opened().rows() == rows_of(links)
            except sqlite3.IntegrityError as error:
                raise _inconsistent(error) from error
            except sqlite3.DatabaseError:
                return False
            except ValueError as error:
                raise _inconsistent(error) from error

    def forget(self) -> None:
        """Drops the database, which is rebuilt at its next use; raises `IoError`."""
        with self._lock, os_errors(self._path):
            self.reload()
            if self._in_file and os.path.exists(self._path):
                fresh(self._path)

    # -- expiry

    def drop(self, names: Collection[str], snapshots: Collection[int]) -> None:
        """Drops chains that no other chain is linked with, and snapshot events by `seq`.

        The journal must be empty: a later replay must not set a reference back. After an error, some may be dropped and
        others not.
        """
        with self._lock:
            self.ensure_readable()
            try:
                self._opened_chains().drop(names)
                moved = self._opened_chains().drop_snapshots(snapshots)
            except BaseException:
                # the references show which chains were dropped
                self._close_database()
                raise
            self.epoch += 1
            self._ask(lambda database: database.drop(names, snapshots, moved))

    def rewritten(self, change: Callable[[Event], Event]) -> tuple[dict[str, ObjectId], dict[ObjectId, bytes]]:
        """Computes the chains with other events in place of their own: see `Chains.rewritten`."""
        with self._lock:
            return self._opened_chains().rewritten(change)

    def reload(self) -> None:
        """Drops the database and reads the events again at the next use, because their references were moved."""
        with self._lock:
            self.epoch += 1
            self._chains = None
            self._close_database()
            with os_errors(self._path):
                remove(self._path)

    # -- questions

    @property
    def last(self) -> int | None:
        """The `seq` of the newest event."""
        with self._lock:
            return self._waiting[-1][0].event.seq if self._waiting else self._ask(lambda database: database.last)

    @property
    def next_seq(self) -> int:
        """The number of the next event."""
        return max(self._attempted, self._previous() or 0) + 1

    # -- the database

    def _ask(self, question: Callable[[Database], T]) -> T:
        with self._lock:
            try:
                return question(self._opened())
            except sqlite3.IntegrityError:
                raise
            except sqlite3.Error as error:
                self.use_memory(error)
                if self._supposing:
                    # the supposed events were lost with the database
                    raise IoError(
                        f"{self._path} could not be read: {error}", hint="try again", errno="EIO", path=self._path
                    ) from error
                return question(self._opened())

    def _opened(self) -> Database:
        if self.database is None:
            chains = self._opened_chains()
            in_file = self._in_file and chains.heads
            self.database = self._from_file(chains) if in_file else _new_database(None, chains)
        elif self._waiting:
            try:
                self.database.add_all(self._waiting)
                self.database.commit()
            except (sqlite3.IntegrityError, ValueError) as error:
                raise sqlite3.DatabaseError(str(error)) from error
        # a database that was made or caught up just now has them from their chains
        self._waiting = []
        return self.database

    def _opened_chains(self) -> Chains:
        if self._chains is None:
            self._chains = Chains(self._repository)
        return self._chains

    def _from_file(self, chains: Chains) -> Database:
        try:
            database = self._existing(chains)
            if database is None:
                fresh(self._path)
                database = _new_database(self._path, chains)
            return database
        except (OSError, sqlite3.Error) as error:
            self.use_memory(error)
            return _new_database(None, chains)

    def _existing(self, chains: Chains) -> Database | None:
        """Opens the existing database and adds missing events; None if it cannot be used."""
        sealed = is_sealed(self._path)
        if not os.path.exists(self._path) or sealed is False:
            return None
        unseal(self._path)
        database: Database | None = None
        is_used = False
        try:
            database = Database(self._path)
            is_used = _catch_up(database, self._path, chains, is_whole=sealed is True)
        except sqlite3.OperationalError:
            # it cannot be read now; its content may be sound
            raise
        except (sqlite3.DatabaseError, ValueError) as error:
            logger.warning("%s is damaged and is made anew: %s", self._path, error)
        finally:
            if database is not None and not is_used:
                database.connection.close()
        return database if is_used else None

    def use_memory(self, error: OSError | sqlite3.Error) -> None:
        """Closes the database and keeps the timeline in memory, after an error of the file."""
        logger.warning(
            "%s cannot be used; the timeline is kept in memory until the store is next opened: %s", self._path, error
        )
        self._in_file = False
        database, self.database = self.database, None
        if database is not None:
            # a change may be under way: what was not written is added when the file is next opened
            database.connection.close()

    def _close_database(self) -> None:
        if self._waiting and self.database is not None:
            self.ensure_readable()
        self._waiting = []
        database, self.database = self.database, None
        if database is not None:
            try:
                database.close()
            except sqlite3.Error as error:
                logger.warning("%s lacks some events until it is next opened: %s", self._path, error)


def _catch_up(database: Database, path: str, chains: Chains, *, is_whole: bool) -> bool:
    """Adds the events that a database lacks; returns whether it has all events now.

    If not, it is another version's, a copy, or has events that are gone. `is_whole` means that its digest matches, so
    that it may be a copy. Raises `ValueError` or `sqlite3.Error` if it is damaged.
    """
    if not database.is_current:
        return False
    if is_whole:
        database.sign(path)
    missing = chains.after(database.heads()) if database.is_original(path) else None
    last = database.last
    if missing is None or (missing and last is not None and missing[0].event.seq <= last):
        return False
    if missing:
        database.catch_up(missing)
    return True


def _inconsistent(error: Exception) -> StoreCorrupt:
    return StoreCorrupt(f"the events of the timeline are inconsistent: {error}", object=NAME)


def _new_database(path: str | None, chains: Chains) -> Database:
    """Creates a database with all events; raises `StoreCorrupt` if they are inconsistent."""
    links = chains.read()
    try:
        return Database.made(path, links)
    except (ValueError, sqlite3.IntegrityError) as error:
        raise _inconsistent(error) from error


class FetchedTimeline(TimelineView):
    """The timeline of a fetched session, which ends with `head`; see `TimelineView`."""

    def __init__(self, repository: ShadowRepository, chain: str, head: ObjectId) -> None:
        self._repository = repository
        self._chain = chain
        self._head = head
        self._lock = threading.RLock()
        self.database: Database | None = None
        self.epoch = 0

    def check(self) -> None:
        """Reads it; raises `StoreCorrupt` if its events cannot follow each other."""
        self._ask(lambda _: None)

    def close(self) -> None:
        """Drops what was read."""
        with self._lock:
            database, self.database = self.database, None
            if database is not None:
                database.close()

    @property
    def next_seq(self) -> int:
        """The number that the next event would have."""
        return (self._previous() or 0) + 1

    def keep_summary(self, step_id: StepId, summary: Summary, next_seq: int) -> None:
        """Keeps the summary of a step until `close`; no later event can change it."""
        assert next_seq == self.next_seq
        self._ask(lambda database: database.keep_summary(step_id, summary))

    def _ask(self, question: Callable[[Database], T]) -> T:
        with self._lock:
            return question(self._opened())

    def _opened(self) -> Database:
        if self.database is None:
            links = list(walk(self._chain, self._head, self._repository.read_commit))
            try:
                self.database = Database.made(None, reversed(links))
            except (ValueError, sqlite3.IntegrityError) as error:
                raise StoreCorrupt(
                    f"the events of the fetched session {self._chain} are inconsistent: {error}", object=self._chain
                ) from error
        return self.database
