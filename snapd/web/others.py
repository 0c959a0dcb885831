"""Other folders than that of the server, each for as long as a request asks about it."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from snapd.core.errors import InvalidParams
from snapd.core.paths import from_uri

from .errors import Busy
from .hub import Hub
from .link import Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Executor, Future

    from .link import Connect

MAX_OTHERS = 64
"""Requests about other folders at once; each has a connection to the daemon."""


class OtherFolders:
    """The folders that the daemon has open.

    Args:
        connect_to: makes what connects to the daemon about a folder, if the daemon has that folder open.
        executor: the threads that wait for the daemon.
    """

    def __init__(self, connect_to: Callable[[str], Connect], executor: Executor) -> None:
        self._connect_to = connect_to
        self._executor = executor
        self._hubs: set[Hub] = set()

    @asynccontextmanager
    async def opened(self, folder: str) -> AsyncIterator[tuple[Link, Hub]]:
        """A link to the daemon about a folder, and what the daemon tells of it.

        Args:
            folder: absolute path.

        Raises:
            Busy: too many requests ask about other folders.
            WorkspaceNotOpen: the daemon does not have it open.
            SnapdError: the daemon cannot be reached, or refuses the folder.
        """
        if len(self._hubs) >= MAX_OTHERS:
            raise Busy(f"{MAX_OTHERS} requests ask about other folders")
        loop = asyncio.get_running_loop()
        hub = Hub(loop)
        self._hubs.add(hub)
        try:
            link = await self._linked(folder, hub)
            try:
                yield link, hub
            finally:
                # also where this task is cancelled
                await asyncio.shield(loop.run_in_executor(self._executor, link.close))
        finally:
            self._hubs.discard(hub)

    async def _linked(self, folder: str, hub: Hub) -> Link:
        opening = self._executor.submit(Link, self._connect_to(folder), hub)
        try:
            return await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # a thread may be at it still
            opening.add_done_callback(_close)
            raise

    def end(self) -> None:
        """Ends all streams of what the daemon tells."""
        for hub in self._hubs:
            hub.end()


def _close(opening: Future[Link]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def path_of(named: str) -> str:
    """The folder that a request names.

    Args:
        named: an absolute path, or a `file:` URI.

    Raises:
        InvalidParams: it is neither.
    """
    path = os.fsdecode(from_uri(named, "workspace")) if named.startswith("file:") else named
    if not os.path.isabs(path) or "\0" in path:
        raise InvalidParams("workspace: expected an absolute path, or a file: URI", field="workspace")
    return os.path.normpath(path)
