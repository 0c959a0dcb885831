"""The order in which the requests of all clients on one workspace are carried out.

Two promises are kept here:

- What one client sends takes effect in the order in which it was sent. A request that changes something waits for all
  that its client sent before; one that reads waits for what its client changed before.
- A busy workspace costs the clients of other workspaces nothing. Requests that need the right to write wait for it on
  the loop, first come, first served, and take a thread only when they have it or are the next to have it.

Reads of what is stored run beside each other, and beside the changes of other clients.
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

    from snapd.core.workspace import Workspace

TURNS_AT_ONCE = 2
"""Who has the right to write, and who is next: that one waits in its thread, to begin without a pause."""
READS_AT_ONCE = 8
"""Reads of one client in one workspace that are worked on at the same time."""


class Access(enum.Enum):
    """What a request, or a notification that changes something, does to a workspace."""

    READ = "reads"
    """Reads what is stored."""
    LOOK = "looks"
    """Reads, and needs the right to write for a while to look at the folder."""
    WRITE = "writes"
    """Changes something, and needs the right to write for that."""
    DOCUMENT = "document"
    """Says what an editor has not saved. That concerns those who write, and none of those who read."""
    SETTING = "setting"
    """Changes what holds for the requests that the client sends from now on."""


_NEED_TURN = (Access.LOOK, Access.WRITE)


class Place:
    """The place of a request among the others. To be used on the loop.

    Whoever has one calls `leave` at the end, whatever came of it.

    Args:
        client: whose request it is.
        access: what it does.
        quick: whether it reads no objects, and so need not wait for the other reads of its client.
        left: called once, by `leave`.
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
        self._turn: asyncio.Future[None] = self._loop.create_future()

    @property
    def is_last(self) -> bool:
        """Whether it still waits to be admitted, and its client has sent nothing for the workspace since."""
        return self.queue is not None and not self.is_over and self.queue.is_last(self)

    async def admitted(self) -> None:
        """Waits until the folder is open and what its client sent before is done, as far as it matters for this.

        Raises:
            SnapdError: the folder cannot be opened.
        """
        await self._admitted

    async def turn(self) -> None:
        """Waits until the request may write, where it has to; it is `admitted` by then."""
        assert self.queue is not None
        if self.access in _NEED_TURN:
            self.queue.want_turn(self)
            await self._turn

    def leave_turn_soon(self) -> None:
        """The request goes on, but needs the right to write no more. May be called from any thread, and again."""
        self._loop.call_soon_threadsafe(self._leave_turn)

    def _leave_turn(self) -> None:
        if self.queue is not None:
            self.queue.left_turn(self)

    def leave(self) -> None:
        """The request is over, or was taken back; harmless when repeated."""
        if self.is_over:
            return
        self.is_over = True
        if self.queue is not None:
            self.queue.left(self)
        self._left()

    def admit(self) -> None:
        """Lets the request go on; for the queue."""
        self.is_admitted = True
        # one that was cancelled in this very moment leaves as soon as it learns of it
        if not self._admitted.done():
            self._admitted.set_result(None)

    def give_turn(self) -> None:
        """Lets the request write; for the queue."""
        if not self._turn.done():
            self._turn.set_result(None)

    def fail(self, error: Exception) -> None:
        """Says that the folder cannot be opened."""
        if not (self.is_over or self._admitted.done()):
            self._admitted.set_exception(error)


@attrs.define
class _Lane:
    """What one client asked of the workspace.

    Attributes:
        waiting: not admitted yet, in the order in which it was sent; some of it may have been taken back.
        under_way: how many of each kind are admitted and not over.
        writer: the change under way, until it has had its turn.
    """

    waiting: deque[Place] = attrs.field(factory=deque)
    under_way: Counter[Access] = attrs.field(factory=Counter)
    writer: Place | None = None

    def admits(self, place: Place) -> bool:
        """Whether all that a request has to wait for is done."""
        going = self.under_way
        if place.access in (Access.READ, Access.LOOK):
            if going[Access.WRITE] or going[Access.SETTING]:
                return False
            return place.quick or going[Access.READ] + going[Access.LOOK] < READS_AT_ONCE
        if place.access is Access.DOCUMENT:
            # a change that has had its turn does not ask for unsaved text any more
            return self.writer is None and not (going[Access.SETTING] or going[Access.DOCUMENT])
        return not any(going.values())


class WorkspaceQueue:
    """The order of the requests on one workspace. To be used on one loop."""

    def __init__(self) -> None:
        self._lanes: dict[Hashable, _Lane] = {}
        self._numbers = count()
        self._wanting: list[tuple[int, Place]] = []
        self._writing: set[Place] = set()
        self._documents: dict[Place, None] = {}

    def add(self, place: Place) -> None:
        """Takes a request as the last one so far."""
        if place.is_over:
            return
        place.queue = self
        place.number = next(self._numbers)
        lane = self._lanes.setdefault(place.client, _Lane())
        lane.waiting.append(place)
        if place.access is Access.DOCUMENT:
            self._documents[place] = None
        self._advance(lane)

    def want_turn(self, place: Place) -> None:
        """Has an admitted request wait for the right to write, by the order in which they were added."""
        heapq.heappush(self._wanting, (place.number, place))
        self._give_turn()

    def is_last(self, place: Place) -> bool:
        """Whether its client has sent nothing after a request that waits."""
        waiting = self._lanes[place.client].waiting
        return bool(waiting) and waiting[-1] is place

    def left_turn(self, place: Place) -> None:
        """A request needs the right to write no more."""
        if place in self._writing:
            self._end_turn(place)
            self._give_turn()

    def left(self, place: Place) -> None:
        """A request is over."""
        lane = self._lanes[place.client]
        self._documents.pop(place, None)
        if place.is_admitted:
            lane.under_way[place.access] -= 1
            self._end_turn(place)
        self._advance(lane)
        if not lane.waiting and not any(lane.under_way.values()):
            del self._lanes[place.client]
        self._give_turn()

    def _end_turn(self, place: Place) -> None:
        self._writing.discard(place)
        lane = self._lanes[place.client]
        if lane.writer is place:
            lane.writer = None
            # before anybody else has a turn: what an editor said meanwhile counts for them
            self._advance(lane)

    def _advance(self, lane: _Lane) -> None:
        while lane.waiting:
            place = lane.waiting[0]
            if not place.is_over:
                if not lane.admits(place):
                    return
                lane.under_way[place.access] += 1
                if place.access is Access.WRITE:
                    lane.writer = place
                place.admit()
            lane.waiting.popleft()

    def _give_turn(self) -> None:
        while len(self._writing) < TURNS_AT_ONCE and self._wanting:
            number, place = self._wanting[0]
            if place.is_over:
                heapq.heappop(self._wanting)
                continue
            # whoever writes must know what editors said before. One who is only the next begins the moment the other
            # has ended, so there must be nothing left that an editor said and that waits for that same moment
            if any(self._writing or document.is_admitted for document in self._documents if document.number < number):
                return
            heapq.heappop(self._wanting)
            self._writing.add(place)
            place.give_turn()


class WorkspaceQueues:
    """The queue of each workspace. To be used on one loop."""

    def __init__(self) -> None:
        self._queues: weakref.WeakKeyDictionary[Workspace, WorkspaceQueue] = weakref.WeakKeyDictionary()

    def of(self, workspace: Workspace) -> WorkspaceQueue:
        """The one queue of a workspace."""
        return self._queues.setdefault(workspace, WorkspaceQueue())
