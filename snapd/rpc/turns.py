"""Who works at the same time: few of the short requests, however many clients ask, and all of the long ones.

Python runs the code of one thread at a time, and every system call passes that right on. Eight threads that each make
fifty short calls spend more time passing it on than working, and each of them ends late; two by two they are through
sooner. What takes long waits for the disk, or computes where that right is not needed, and holds up nobody.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AT_ONCE = 2
SHORT_SECONDS = 0.05


class Turns:
    """Gives out turns. To be used on one loop.

    Args:
        short_seconds: what lasts longer does not count any more.
    """

    def __init__(self, short_seconds: float = SHORT_SECONDS) -> None:
        self._free = asyncio.Semaphore(AT_ONCE)
        self._short_seconds = short_seconds

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A turn: first come, first served; given back at the end, or when it has lasted long."""
        await self._free.acquire()
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self._free.release()

        lasting = asyncio.get_running_loop().call_later(self._short_seconds, give_back)
        try:
            yield
        finally:
            lasting.cancel()
            give_back()
