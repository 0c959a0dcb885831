"""Notifications: numbered once per workspace, encoded once, sent to every client that has the folder open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs

from snapd.core.paths import to_uri

from .framing import encode, frame

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from snapd.core.workspace import Reverted, Tracked, Workspace

    Encode = Callable[[bytes, Tracked | Reverted], tuple[str, dict[str, Any]]]


class Subscriber(Protocol):
    """A client that wants to be told."""

    def push(self, framed: bytes) -> None:
        """Sends a frame without waiting; a client that does not read is dropped."""


@attrs.define
class _Channel:
    seq: int = 0
    subscribers: list[Subscriber] = attrs.field(factory=list)


class Hub:
    """Who has which workspace open.

    Args:
        loop: on which everything here but `watch`ed events happens.
        encode: makes a workspace's root and an event into the method and the params (JSON values, without
            `workspaceUri` and `seq`) of a notification.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, encode: Encode) -> None:
        self._loop = loop
        self._encode = encode
        self._channels: dict[bytes, _Channel] = {}

    def watch(self, workspace: Workspace) -> None:
        """Tells a workspace's events from now on. May be called from any thread."""

        def tell(event: Tracked | Reverted) -> None:
            self._loop.call_soon_threadsafe(self._publish, workspace.root, event)

        workspace.listen(tell)

    def subscribe(self, root: bytes, subscriber: Subscriber) -> None:
        """Has a client told of a workspace's events."""
        channel = self._channels.setdefault(root, _Channel())
        if subscriber not in channel.subscribers:
            channel.subscribers.append(subscriber)

    def unsubscribe(self, root: bytes, subscriber: Subscriber) -> None:
        """The contrary; harmless where it was not subscribed."""
        channel = self._channels.get(root)
        if channel is not None and subscriber in channel.subscribers:
            channel.subscribers.remove(subscriber)

    def _publish(self, root: bytes, event: Tracked | Reverted) -> None:
        method, params = self._encode(root, event)
        channel = self._channels.setdefault(root, _Channel())
        channel.seq += 1
        message = {
            "jsonrpc": "2.0",
            "method": method,
            "params": {"workspaceUri": to_uri(root), "seq": channel.seq, **params},
        }
        framed = frame(encode(message))
        for subscriber in list(channel.subscribers):
            subscriber.push(framed)
