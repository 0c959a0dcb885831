"""The services that all connections of a daemon share, and the subscribers of its notifications."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs

from snapd.model.errors import SnapdError
from snapd.rpc.scheduling.turns import Turns
from snapd.rpc.scheduling.workspace_queue import WorkspaceQueues
from snapd.rpc.transport.framing import encode, frame

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from concurrent.futures import Executor

    from snapd.core.feed import NumberedNotice
    from snapd.settings.in_force import Base
    from snapd.sharing.workspace import SharedWorkspace
    from snapd.workspaces import Workspaces

    Encode = Callable[[bytes, NumberedNotice], tuple[str, dict[str, Any]]]

T = TypeVar("T")
logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class Services:
    """What all connections share, on the daemon's loop only; `executor` runs what may block, and must be unbounded."""

    workspaces: Workspaces
    hub: Hub
    executor: Executor
    base: Base
    max_message_bytes: int
    queues: WorkspaceQueues = attrs.field(factory=WorkspaceQueues, init=False)
    turns: Turns = attrs.field(factory=Turns, init=False)

    def in_thread(self, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Runs blocking work in a thread."""
        return asyncio.get_running_loop().run_in_executor(self.executor, work, *arguments)


class Subscriber(Protocol):
    """A client that receives notifications."""

    def push(self, framed: bytes) -> None:
        """Sends a frame without waiting; drops a client that does not read."""


@attrs.define
class _Feed:
    """The clients that want a workspace's file changes; `switching` is held while watching is turned on or off."""

    subscribers: list[Subscriber] = attrs.field(factory=list)
    switching: threading.Lock = attrs.field(factory=threading.Lock)


class Hub:
    """The subscribers of each workspace; `encode` converts root and event to a notification, in the event's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, encode: Encode, executor: Executor) -> None:
        self._loop = loop
        self._encode = encode
        self._executor = executor
        self._subscribers: dict[bytes, list[Subscriber]] = {}
        self._feeds: weakref.WeakKeyDictionary[SharedWorkspace, _Feed] = weakref.WeakKeyDictionary()

    def watch(self, workspace: SharedWorkspace) -> None:
        """Sends a workspace's events from now on. May be called from any thread."""

        def send_event(news: NumberedNotice) -> None:
            if self._subscribers.get(workspace.root):
                # here and not on the loop: encoding the undo of a thousand files takes a while
                method, params = self._encode(workspace.root, news)
                framed = frame(encode({"jsonrpc": "2.0", "method": method, "params": params}))
                self._loop.call_soon_threadsafe(self._publish, workspace.root, framed)

        workspace.event_log.listen(send_event)
        workspace.writer.trouble.add(partial(_log_trouble, workspace.root))

    def subscribe(self, workspace: SharedWorkspace, subscriber: Subscriber, changes: bool) -> None:
        """Subscribes a client to a workspace's events; `changes` is as for `want_changes`."""
        subscribers = self._subscribers.setdefault(workspace.root, [])
        if subscriber not in subscribers:
            subscribers.append(subscriber)
        self.want_changes(workspace, subscriber, changes)

    def unsubscribe(self, workspace: SharedWorkspace, subscriber: Subscriber) -> None:
        """Unsubscribes a client, if it is subscribed."""
        subscribers = self._subscribers.get(workspace.root, [])
        if subscriber in subscribers:
            subscribers.remove(subscriber)
        self.want_changes(workspace, subscriber, False)

    def want_changes(self, workspace: SharedWorkspace, subscriber: Subscriber, wanted: bool) -> None:
        """Sets whether a client wants file changes. While one client does, all get them."""
        feed = self._feeds.setdefault(workspace, _Feed())
        before = bool(feed.subscribers)
        if wanted and subscriber not in feed.subscribers:
            feed.subscribers.append(subscriber)
        elif not wanted and subscriber in feed.subscribers:
            feed.subscribers.remove(subscriber)
        if bool(feed.subscribers) != before:
            self._executor.submit(_switch, workspace, feed)

    def _publish(self, root: bytes, framed: bytes) -> None:
        for subscriber in list(self._subscribers.get(root, ())):
            subscriber.push(framed)


def _switch(workspace: SharedWorkspace, feed: _Feed) -> None:
    with feed.switching:
        try:
            workspace.feed.listen(bool(feed.subscribers))
        except (OSError, RuntimeError) as error:
            logger.warning("%s: changes of the files are not reported: %s", os.fsdecode(workspace.root), error)


def _log_trouble(root: bytes, error: Exception) -> None:
    if isinstance(error, SnapdError):
        logger.warning("%s: changes of the files are not reported: %s", os.fsdecode(root), error.message)
    else:
        logger.error("defect", exc_info=error)
