"""Limits how many short requests run at the same time. Long requests do not count.

Python runs one thread at a time, and every system call hands the interpreter lock on. Eight threads with fifty short
calls each spend more time handing it on than working, and all of them end late; two at a time, they are done sooner. A
long request waits for the disk, or computes without the interpreter lock, and so delays nobody.
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
    """Gives out turns. Use it on one loop only.

    Args:
        short_seconds: how long a request counts as short.
    """

    def __init__(self, short_seconds: float = SHORT_SECONDS) -> None:
        self._free = AT_ONCE
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._short_seconds = short_seconds

    @asynccontextmanager
    async def turn(self, workspace: Hashable) -> AsyncIterator[None]:
        """Waits for a turn, and gives it back at the end of the block or after `short_seconds`.

        Args:
            workspace: where the work is done. Workspaces alternate, however many requests one of them has; within a
                workspace, requests are served first come, first served.
        """
        await self._take(workspace)
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

    async def _take(self, workspace: Hashable) -> None:
        if self._free:
            self._free -= 1
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(workspace, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._give_on()
            raise

    def _give_on(self) -> None:
        while self._waiting:
            workspace, waiting = self._waiting.popitem(last=False)
            given = waiting.popleft()
            if waiting:
                self._waiting[workspace] = waiting
            if not given.done():
                given.set_result(None)
                return
        self._free += 1
