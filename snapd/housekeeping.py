"""Runs `Upkeep.keep_house` about hourly for each open workspace in turn; yields to requests and retries soon."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import time
from typing import TYPE_CHECKING

import attrs

from snapd.model.errors import SnapdError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from concurrent.futures import Executor

    from snapd.core.workspace import Workspace

logger = logging.getLogger(__name__)

_RUNNING = getattr(time, "CLOCK_BOOTTIME", None)


def running() -> float:
    """Monotonic seconds, including the machine's sleep if the system counts it."""
    return time.monotonic() if _RUNNING is None else time.clock_gettime(_RUNNING)


class Calendar:
    """A wall clock that advances no faster than the `running` clock since its creation."""

    def __init__(self, wall: Callable[[], float] = time.time, running: Callable[[], float] = running) -> None:
        self._wall = wall
        self._running = running
        self._ahead = wall() - running()

    def now(self) -> float:
        """Seconds since 1970. If the system's clock was slow at creation, this one stays slow."""
        return min(self._wall(), self._ahead + self._running())


INTERVAL_SECONDS = 3600.0
AGAIN_SECONDS = 300.0
"""The delay before a retry after it yielded to a request."""
JITTER = 0.2
"""The random part of the intervals, so that daemons that started together do not all work at once."""
_CALENDAR = Calendar()


@attrs.define(eq=False)
class Housekeeping:
    """The maintenance task of a daemon, on its loop; `workspaces` may block, so it runs in the executor."""

    _workspaces: Callable[[], Iterable[Workspace]]
    _executor: Executor
    _sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _now: Callable[[], float] = _CALENDAR.now
    _chance: Callable[[float, float], float] = random.uniform
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Starts the task."""
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Ends the task; work in progress ends when its workspace is closed."""
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
        """Maintains a workspace; returns False if it should be retried soon."""
        try:
            removed = workspace.upkeep.keep_house(self._now())
        except SnapdError as error:
            # the next request reports it; a failed maintenance loses no data
            logger.warning("%s: maintenance failed: %s", os.fsdecode(workspace.root), error.message)
            return True
        if removed:
            logger.info("%s: %d snapshots expired", os.fsdecode(workspace.root), removed)
        return removed is not None
