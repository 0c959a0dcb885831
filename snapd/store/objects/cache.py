"""A cache of the most recently used values, up to a total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RecentCache(Generic[K, V]):
    """The most recently used values, up to a total size of `capacity`. Safe to use from several threads.

    One larger value is kept until there is another, unless it is larger than `largest`. There is no reference to the
    owner: a cycle would keep the packs of a closed store open until the garbage collector runs, which is rare in the
    daemon.
    """

    def __init__(self, capacity: int, measure: Callable[[V], int], largest: int | None = None) -> None:
        self._capacity = capacity
        self._measure = measure
        self._largest = largest
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()
        self._size = 0

    def get(self, key: K) -> V | None:
        """Returns the value of a key, or None."""
        with self._lock:
            v = self._values.get(key)
            if v is not None:
                self._values.move_to_end(key)
        return v

    def keep(self, key: K, value: V) -> None:
        """Keeps a value, and drops the least recently used ones."""
        if self._largest is not None and self._measure(value) > self._largest:
            return
        with self._lock:
            before = self._values.pop(key, None)
            self._values[key] = value
            self._size += self._measure(value) - (self._measure(before) if before is not None else 0)
            while self._size > self._capacity and len(self._values) > 1:
                self._size -= self._measure(self._values.popitem(last=False)[1])

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            self._values.clear()
            self._size = 0
