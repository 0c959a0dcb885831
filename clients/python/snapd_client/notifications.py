"""What the daemon says unasked: notifications, the progress of requests, and subscriptions that keep them."""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet
    from typing import Any, TypeAlias

    from typing_extensions import Self

    OnProgress: TypeAlias = Callable[["Progress"], None]

__all__ = ["DISCONNECTED", "RECONNECTED", "Notification", "Progress", "Subscription"]

DISCONNECTED = "snapd/disconnected"
RECONNECTED = "snapd/reconnected"


class Notification:
    """What the daemon, or for `snapd/...` this client, said unasked.

    Attributes:
        method: Such as `snapshot/didChange`.
        params: Its parameters; an empty dict where there were none.
    """

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Any) -> None:
        self.method = method
        self.params = params

    def __repr__(self) -> str:
        return f"Notification({self.method!r}, {self.params!r})"


class Progress:
    """How far a request has come.

    Attributes:
        kind: `begin`, `report` or `end`.
        title: What is being done; said by `begin` and kept for the others.
        message: What is being done just now, or None.
        percentage: 0 to 100, or None where it is not known.
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
    """The notifications from the moment of subscribing on, kept until they are taken; `Client.subscribe` makes it.

    Iterating waits for the next one and ends when the subscription or the client is closed. Two notifications are
    made by the client itself and reach every subscription: `snapd/disconnected` with a `reason` when the connection
    was lost, and `snapd/reconnected` after `Client.reconnect`.
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
        """How many notifications were lost because nobody took them in time: the oldest go first."""
        return self._dropped

    @property
    def closed(self) -> bool:
        """Whether nothing more will come; what was kept can still be taken."""
        return self._closed

    def get(self, timeout: float | None = None) -> Notification | None:
        """Waits for the next notification.

        Args:
            timeout: For how many seconds; 0 does not wait, None waits without end.

        Returns:
            The notification, or None where the time is up or nothing more will come.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._kept or self._closed, timeout)
            return self._kept.popleft() if self._kept else None

    def close(self) -> None:
        """Ends the subscription, and with it the iteration of whoever waits."""
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
