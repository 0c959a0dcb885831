"""Notifications: encoded once, sent to every client that has the folder open."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from snapd.core.errors import SnapdError
from snapd.rpc.transport.framing import encode, frame

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from concurrent.futures import Executor

    from snapd.core.feed.event_log import NumberedNotice
    from snapd.core.workspace import Workspace

    Encode = Callable[[bytes, NumberedNotice], tuple[str, dict[str, Any]]]

logger = logging.getLogger(__name__)


class Subscriber(Protocol):
    """A client that wants to be told."""

    def push(self, framed: bytes) -> None:
        """Sends a frame without waiting; a client that does not read is dropped."""


@attrs.define
class _Feed:
    """Who wants to be told what changes in a workspace.

    Attributes:
        subscribers: those who do.
        switching: held by the one who has it told or not, as is wanted by then.
    """

    subscribers: list[Subscriber] = attrs.field(factory=list)
    switching: threading.Lock = attrs.field(factory=threading.Lock)


class Hub:
    """Who has which workspace open.

    Args:
        loop: on which everything here but `watch`ed events happens.
        encode: makes a workspace's root and a piece of its news into the method and the params (JSON values) of a
            notification; called in the thread that tells of it.
        executor: where what may have to wait is done.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, encode: Encode, executor: Executor) -> None:
        self._loop = loop
        self._encode = encode
        self._executor = executor
        self._subscribers: dict[bytes, list[Subscriber]] = {}
        self._feeds: weakref.WeakKeyDictionary[Workspace, _Feed] = weakref.WeakKeyDictionary()

    def watch(self, workspace: Workspace) -> None:
        """Tells a workspace's events from now on. May be called from any thread."""

        def tell(news: NumberedNotice) -> None:
            if self._subscribers.get(workspace.root):
                # here, and not on the loop: an undo of a thousand files takes its time to be put into words
                method, params = self._encode(workspace.root, news)
                framed = frame(encode({"jsonrpc": "2.0", "method": method, "params": params}))
                self._loop.call_soon_threadsafe(self._publish, workspace.root, framed)

        workspace.event_log.listen(tell)
        workspace.listen_to_trouble(partial(_tell_trouble, workspace.root))

    def subscribe(self, workspace: Workspace, subscriber: Subscriber) -> None:
        """Has a client told of a workspace's events."""
        subscribers = self._subscribers.setdefault(workspace.root, [])
        if subscriber not in subscribers:
            subscribers.append(subscriber)

    def unsubscribe(self, workspace: Workspace, subscriber: Subscriber) -> None:
        """The contrary; harmless where it was not subscribed."""
        subscribers = self._subscribers.get(workspace.root, [])
        if subscriber in subscribers:
            subscribers.remove(subscriber)
        self.want_changes(workspace, subscriber, False)

    def want_changes(self, workspace: Workspace, subscriber: Subscriber, wanted: bool) -> None:
        """Says whether a client wants the work tree's changes told: they are, to all, while one client wants them."""
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


def _switch(workspace: Workspace, feed: _Feed) -> None:
    with feed.switching:
        try:
            workspace.watch_changes(bool(feed.subscribers))
        except (OSError, RuntimeError) as error:
            logger.warning("%s: nobody is told what changes: %s", os.fsdecode(workspace.root), error)


def _tell_trouble(root: bytes, error: Exception) -> None:
    if isinstance(error, SnapdError):
        logger.warning("%s: nobody is told what changes: %s", os.fsdecode(root), error.message)
    else:
        logger.error("defect", exc_info=error)
