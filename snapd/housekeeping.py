"""Once in about an hour, does for each open workspace what `Workspace.keep_house` does, one after the other.

Nobody waits for it: it gives way to whoever asks for something, and where it had to, it tries again soon.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
from typing import TYPE_CHECKING

from snapd.calendar import Calendar
from snapd.core.errors import SnapdError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from concurrent.futures import Executor

    from snapd.core.workspace import Workspace

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 3600.0
AGAIN_SECONDS = 300.0
"""After so long it is tried again where somebody was at work."""
JITTER = 0.2
"""So much of the time more or less: daemons that were started together need not all work at once."""
_CALENDAR = Calendar()
"""Since the process began."""


class Housekeeping:
    """The task of a daemon. To be used on its loop.

    Args:
        workspaces: gives those that are open; called where the work is done, for it may wait.
        executor: where the work is done.
        sleep: waits, seconds.
        now: the time, seconds since 1970; else that of the clock, as far as it went on since the process began.
        chance: a number between two others, of which none is likelier.
    """

    def __init__(
        self,
        workspaces: Callable[[], Iterable[Workspace]],
        executor: Executor,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = _CALENDAR.now,
        chance: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._workspaces = workspaces
        self._executor = executor
        self._sleep = sleep
        self._now = now
        self._chance = chance
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins."""
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Ends. Work that is under way ends by itself as soon as its workspace is closed."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        seconds = INTERVAL_SECONDS
        while True:
            await self._sleep(seconds * self._chance(1 - JITTER, 1 + JITTER))
            seconds = INTERVAL_SECONDS
            for workspace in await loop.run_in_executor(self._executor, lambda: list(self._workspaces())):
                if not await loop.run_in_executor(self._executor, self._keep, workspace):
                    seconds = AGAIN_SECONDS

    def _keep(self, workspace: Workspace) -> bool:
        """Whether all was done, or cannot be."""
        try:
            removed = workspace.keep_house(self._now())
        except SnapdError as error:
            # whoever asks for something next is told of it; nothing is at stake here
            logger.warning("%s: maintenance: %s", os.fsdecode(workspace.root), error.message)
            return True
        if removed:
            logger.info("%s: %d snapshots expired", os.fsdecode(workspace.root), removed)
        return removed is not None
