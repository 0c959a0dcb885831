"""What all connections of a daemon share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from snapd.rpc.scheduling.turns import Turns
from snapd.rpc.scheduling.workspace_queue import WorkspaceQueues

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from snapd.settings.in_force import Base
    from snapd.workspaces import Workspaces

    from .hub import Hub

T = TypeVar("T")


@attrs.define(eq=False)
class Services:
    """What all connections of a daemon share. Use it on the daemon's loop only.

    Attributes:
        workspaces: the open workspaces.
        hub: sends the notifications.
        executor: runs what may block; it must not have a bound.
        base: settings from the file and the environment.
        max_message_bytes: the longest message that is read.
        queues: decide in which order requests run.
        turns: limit how many requests run at the same time.
    """

    workspaces: Workspaces
    hub: Hub
    executor: Executor
    base: Base
    max_message_bytes: int
    queues: WorkspaceQueues = attrs.field(factory=WorkspaceQueues, init=False)
    turns: Turns = attrs.field(factory=Turns, init=False)

    def in_thread(self, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Does in a thread what may block, and gives its result."""
        return asyncio.get_running_loop().run_in_executor(self.executor, work, *arguments)
