"""Orders the requests of all clients on one workspace.

Requests of one client take effect in the order sent: a change waits for all its earlier requests, a read for its
earlier changes. Reads run in parallel with each other and with other clients' changes. Requests for the write turn
queue on the loop, and take a thread only once they have it or are next, so a busy workspace does not delay others.
"""

from __future__ import annotations

import asyncio
import enum
import heapq
import weakref
from collections import Counter, deque
from itertools import count
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from snapd.sharing.workspace import SharedWorkspace

TURNS_AT_ONCE = 2
"""The request with the write turn, and the next one, which waits in its thread to begin at once."""
READS_AT_ONCE = 8
"""The most concurrent reads of one client in one workspace."""


class Access(enum.Enum):
    """The effect of a request or notification on a workspace; the first three are those of the wire."""

    READ = "reads"
    LOOK = "looks"
    """Reads, and needs the write turn while it scans the folder's files."""
    WRITE = "writes"
    DOCUMENT = "document"
    """Reports unsaved text in an editor; only writing requests depend on it."""
    SETTING = "setting"
    """Changes the settings for later requests of the client."""


_NEED_TURN = (Access.LOOK, Access.WRITE)


class Ticket:
    """A request's position in the queue. Use it on the loop, and always call `leave` at the end.

    `quick` requests read no objects, and need not wait for other reads of their client. `leave` calls `left` once.
    """

    def __init__(self, client: Hashable, access: Access, left: Callable[[], None], *, quick: bool = False) -> None:
        self.client = client
        self.access = access
        self.quick = quick
        self.number = 0
        self.queue: WorkspaceQueue | None = None
        self.is_over = False
        self.is_admitted = False
        self._left = left
        self._loop = asyncio.get_running_loop()
        self._admitted: asyncio.Future[None] = self._loop.create_future()
        self._turn: asyncio.Future[None] | None = None

    @property
    def is_last(self) -> bool:
        """Whether it is not yet admitted, and the latest of its client in the workspace."""
        return self.queue is not None and not self.is_over and self.queue.is_last(self)

    async def admitted(self) -> None:
        """Waits for the folder and the requests that this one depends on. Raises `SnapdError` if it cannot open."""
        await self._admitted

    async def turn(self) -> None:
        """Waits for the write turn, if the request needs it. Call it after `admitted`."""
        if not self.has_turn():
            assert self._turn is not None
            await self._turn

    def has_turn(self) -> bool:
        """Whether the request has the write turn, or needs none; if not, it is queued for it. Call it as `turn`."""
        assert self.queue is not None
        if self.access not in _NEED_TURN:
            return True
        if self._turn is None:
            self._turn = self._loop.create_future()
            self.queue.want_turn(self)
        return self._turn.done()

    def release_turn_later(self) -> None:
        """Returns the write turn while the request goes on. May be called from any thread, and repeatedly."""
        self._loop.call_soon_threadsafe(self._leave_turn)

    def _leave_turn(self) -> None:
        if self.queue is not None:
            self.queue.left_turn(self)

    def leave(self) -> None:
        """Removes the request, which has ended or was cancelled. May be called repeatedly."""
        if self.is_over:
            return
        self.is_over = True
        if self.queue is not None:
            self.queue.left(self)
        self._left()

    def admit(self) -> None:
        """Admits the request. Only the queue calls this."""
        self.is_admitted = True
        # a request that was just cancelled has a cancelled future, and leaves soon
        if not self._admitted.done():
            self._admitted.set_result(None)

    def give_turn(self) -> None:
        """Gives the request the write turn. Only the queue calls this."""
        assert self._turn is not None
        if not self._turn.done():
            self._turn.set_result(None)

    def fail(self, error: Exception) -> None:
        """Fails the request because its folder cannot be opened."""
        if not (self.is_over or self._admitted.done()):
            self._admitted.set_exception(error)
            # mark the error as retrieved, or asyncio would log it; waiting callers still get it
            self._admitted.exception()


@attrs.define
class _Lane:
    """The requests of one client on the workspace.

    `waiting` are those not yet admitted, in order; some may have been cancelled. `under_way` counts those admitted and
    not ended. `writer` is the running change, until it returns the write turn.
    """

    waiting: deque[Ticket] = attrs.field(factory=deque)
    under_way: Counter[Access] = attrs.field(factory=Counter)
    writer: Ticket | None = None

    def admits(self, ticket: Ticket) -> bool:
        """Whether everything that a request depends on is done."""
        going = self.under_way
        if ticket.access in (Access.READ, Access.LOOK):
            if going[Access.WRITE] or going[Access.SETTING]:
                return False
            return ticket.quick or going[Access.READ] + going[Access.LOOK] < READS_AT_ONCE
        if ticket.access is Access.DOCUMENT:
            # a change that has returned the write turn no longer reads unsaved text
            return self.writer is None and not (going[Access.SETTING] or going[Access.DOCUMENT])
        return not any(going.values())


class WorkspaceQueue:
    """The requests on one workspace. Use it on one loop only."""

    def __init__(self) -> None:
        self.lanes: dict[Hashable, _Lane] = {}
        self._numbers = count()
        self._wanting: list[tuple[int, Ticket]] = []
        self.writing: set[Ticket] = set()
        self.documents: dict[Ticket, None] = {}

    def add(self, ticket: Ticket) -> None:
        """Adds a request at the end."""
        if ticket.is_over:
            return
        ticket.queue = self
        ticket.number = next(self._numbers)
        lane = self.lanes.setdefault(ticket.client, _Lane())
        lane.waiting.append(ticket)
        if ticket.access is Access.DOCUMENT:
            self.documents[ticket] = None
        self._advance(lane)

    def want_turn(self, ticket: Ticket) -> None:
        """Queues an admitted request for the write turn, in the order of `add`."""
        heapq.heappush(self._wanting, (ticket.number, ticket))
        self._give_turn()

    def is_last(self, ticket: Ticket) -> bool:
        """Whether a request is its client's last waiting one."""
        waiting = self.lanes[ticket.client].waiting
        return bool(waiting) and waiting[-1] is ticket

    def left_turn(self, ticket: Ticket) -> None:
        """Takes the write turn back from a request."""
        if ticket in self.writing:
            self._end_turn(ticket)
            self._give_turn()

    def left(self, ticket: Ticket) -> None:
        """Removes a request that has ended."""
        lane = self.lanes[ticket.client]
        self.documents.pop(ticket, None)
        if ticket.is_admitted:
            lane.under_way[ticket.access] -= 1
            self._end_turn(ticket)
        self._advance(lane)
        if not lane.waiting and not any(lane.under_way.values()):
            del self.lanes[ticket.client]
        self._give_turn()

    def _end_turn(self, ticket: Ticket) -> None:
        self.writing.discard(ticket)
        lane = self.lanes[ticket.client]
        if lane.writer is ticket:
            lane.writer = None
            # before the next writer, which must know of unsaved text that was reported meanwhile
            self._advance(lane)

    def _advance(self, lane: _Lane) -> None:
        while lane.waiting:
            ticket = lane.waiting[0]
            if not ticket.is_over:
                if not lane.admits(ticket):
                    return
                lane.under_way[ticket.access] += 1
                if ticket.access is Access.WRITE:
                    lane.writer = ticket
                ticket.admit()
            lane.waiting.popleft()

    def _give_turn(self) -> None:
        while len(self.writing) < TURNS_AT_ONCE and self._wanting:
            number, ticket = self._wanting[0]
            if ticket.is_over:
                heapq.heappop(self._wanting)
                continue
            # a writer must know all unsaved text that was reported before it. The next in line begins the moment the
            # current one ends, so no report may still be waiting for that same moment
            if any(self.writing or document.is_admitted for document in self.documents if document.number < number):
                return
            heapq.heappop(self._wanting)
            self.writing.add(ticket)
            ticket.give_turn()


class WorkspaceQueues:
    """The queue of each workspace. Use it on one loop only."""

    def __init__(self) -> None:
        self._queues: weakref.WeakKeyDictionary[SharedWorkspace, WorkspaceQueue] = weakref.WeakKeyDictionary()

    def of(self, workspace: SharedWorkspace) -> WorkspaceQueue:
        """Returns the queue of a workspace."""
        return self._queues.setdefault(workspace, WorkspaceQueue())
