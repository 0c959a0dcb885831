"""Notifications of the daemon, progress of requests, and subscriptions."""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet
    from typing import Any, Self, TypeAlias

    OnProgress: TypeAlias = Callable[["Progress"], None]

__all__ = ["DISCONNECTED", "RECONNECTED", "RESET", "UNREACHABLE", "Notification", "Progress", "Subscription"]

DISCONNECTED = "snapd/disconnected"
RECONNECTED = "snapd/reconnected"
RESET = "snapd/reset"
UNREACHABLE = "snapd/unreachable"


class Notification:
    """A notification of the daemon; the client itself makes those under `snapd/...`.

    Attributes:
        method: For example `snapshot/didChange`.
        params: Its parameters; an empty dict if it has none.
    """

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Any) -> None:
        self.method = method
        self.params = params

    def __repr__(self) -> str:
        return f"Notification({self.method!r}, {self.params!r})"


class Progress:
    """The progress of a request.

    Attributes:
        kind: `begin`, `report` or `end`.
        title: The title of the work, which `begin` sets for all reports.
        message: What is being done now, or None.
        percentage: 0 to 100, None if unknown.
    """

    __slots__ = ("kind", "message", "percentage", "title")

    def __init__(self, kind: str, title: str, message: str | None, percentage: int | None) -> None:
        self.kind = kind
        self.title = title
        self.message = message
        self.percentage = percentage

    def __repr__(self) -> str:
        return f"Progress({self.kind!r}, {self.title!r}, {self.message!r}, {self.percentage!r})"


class Subscription:
    """Collects notifications from the call of `Client.subscribe` on, until they are taken.

    Iterating waits for the next one, and ends when the subscription or the client is closed. The client itself makes
    some notifications, which reach every subscription: `snapd/disconnected` with a `reason` when the connection is
    lost, and `snapd/reconnected` when it is restored.

    If the client reconnects automatically, every notification arrives once and in order, the missed ones before
    `snapd/reconnected`. If the daemon no longer has them, `snapd/reset` with `workspaceUri` and `seq` replaces them.
    `snapd/unreachable` has the `reason` of a failed attempt, and the `error`.
    """

    def __init__(self, methods: AbstractSet[str] | None, bound: int, forget: Callable[[Subscription], None]) -> None:
        self._methods = methods
        self._bound = bound
        self._forget = forget
        self._kept: deque[Notification] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many notifications were dropped because they were not taken in time, the oldest first."""
        return self._dropped

    @property
    def closed(self) -> bool:
        """Whether no more notifications will come. Those already collected can still be taken."""
        return self._closed

    def get(self, timeout: float | None = None) -> Notification | None:
        """Waits for the next notification.

        Args:
            timeout: How many seconds to wait; 0 does not wait, None waits forever.

        Returns:
            The notification, or None if the timeout has passed or no more will come.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._kept or self._closed, timeout)
            return self._kept.popleft() if self._kept else None

    def close(self) -> None:
        """Ends the subscription, and any iteration over it."""
        self._forget(self)
        self._end()

    def __iter__(self) -> Iterator[Notification]:
        while (notification := self.get()) is not None:
            yield notification

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _put(self, notification: Notification, *, always: bool = False) -> None:
        if not always and self._methods is not None and notification.method not in self._methods:
            return
        with self._changed:
            if len(self._kept) >= self._bound:
                self._kept.popleft()
                self._dropped += 1
            self._kept.append(notification)
            self._changed.notify()
