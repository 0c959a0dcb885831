"""Who works at the same time: few of the short requests, however many clients ask, and all of the long ones.

Python runs the code of one thread at a time, and every system call passes that right on. Eight threads that each make
fifty short calls spend more time passing it on than working, and each of them ends late; two by two they are through
sooner. What takes long waits for the disk, or computes where that right is not needed, and holds up nobody.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Hashable

AT_ONCE = 2
SHORT_SECONDS = 0.05


class Turns:
    """Gives out turns. To be used on one loop.

    Args:
        short_seconds: what lasts longer does not count any more.
    """

    def __init__(self, short_seconds: float = SHORT_SECONDS) -> None:
        self._free = AT_ONCE
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._short_seconds = short_seconds

    @asynccontextmanager
    async def turn(self, place: Hashable) -> AsyncIterator[None]:
        """A turn, given back at the end, or when it has lasted long.

        Args:
            place: where the work is done. Places take turns, however much one of them asks for; in each of them it is
                first come, first served.
        """
        await self._take(place)
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self._give_on()

        lasting = asyncio.get_running_loop().call_later(self._short_seconds, give_back)
        try:
            yield
        finally:
            lasting.cancel()
            give_back()

    async def _take(self, place: Hashable) -> None:
        if self._free:
            self._free -= 1
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(place, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._give_on()
            raise

    def _give_on(self) -> None:
        while self._waiting:
            place, waiting = self._waiting.popitem(last=False)
            given = waiting.popleft()
            if waiting:
                self._waiting[place] = waiting
            if not given.done():
                given.set_result(None)
                return
        self._free += 1
