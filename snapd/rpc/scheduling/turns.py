"""Limits how many short requests run at the same time. Long requests do not count.

Python runs one thread at a time, and every system call hands the interpreter lock on. Eight threads with fifty short
calls each mostly hand it on, and all end late; two at a time, they end sooner. A long request waits for the disk, or
computes without the interpreter lock, so it delays no other.
"""

from __future__ import annotations

import _thread
import asyncio
from collections import OrderedDict, deque
from concurrent import futures
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    Item = tuple[Future[Any], Callable[[], Any]]

AT_ONCE = 2
SHORT_SECONDS = 0.05
P = ParamSpec("P")
T = TypeVar("T")
IDLE_SECONDS = 30.0
"""How long an idle thread waits for work before it ends."""


class Turns:
    """Limits concurrent requests. Use it on one loop only; a request counts as short for `short_seconds`."""

    def __init__(self, short_seconds: float = SHORT_SECONDS) -> None:
        self.free = AT_ONCE
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self.short_seconds = short_seconds

    @asynccontextmanager
    async def turn(self, workspace: Hashable) -> AsyncIterator[None]:
        """Waits for a turn, and ends it with the block or after `short_seconds`.

        Workspaces alternate, however many requests one has; within a workspace, the order is first come, first served.
        """
        await self._take(workspace)
        end = self._begin()
        try:
            yield
        finally:
            end()

    def try_turn(self) -> Callable[[], None] | None:
        """Takes a turn if one is free, and returns what ends it before `short_seconds` do; None if there is none."""
        if not self.free:
            return None
        self.free -= 1
        return self._begin()

    def _begin(self) -> Callable[[], None]:
        held = True

        def give_back() -> None:
            nonlocal held
            lasting.cancel()
            if held:
                held = False
                self._pass_turn()

        lasting = asyncio.get_running_loop().call_later(self.short_seconds, give_back)
        return give_back

    async def _take(self, workspace: Hashable) -> None:
        if self.free:
            self.free -= 1
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(workspace, deque()).append(given)
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._pass_turn()
            raise

    def _pass_turn(self) -> None:
        while self._waiting:
            workspace, waiting = self._waiting.popitem(last=False)
            given = waiting.popleft()
            if waiting:
                self._waiting[workspace] = waiting
            if not given.done():
                given.set_result(None)
                return
        self.free += 1


class _Idle:
    """An idle thread, which waits for its own lock: of a shared queue, every idle thread would wake at each item."""

    def __init__(self) -> None:
        self._item: Item | None = None
        self._wake = _thread.allocate_lock()
        self._wake.acquire()

    def give(self, item: Item | None) -> None:
        """Wakes the thread with its next work, or None to end it."""
        self._item = item
        self._wake.release()

    def wait(self, seconds: float) -> bool:
        """Waits for `give`; whether it came in time."""
        return self._wake.acquire(timeout=seconds)

    def take(self) -> Item | None:
        """What `give` gave."""
        item, self._item = self._item, None
        return item


class Threads(Executor):
    """Runs each function at once, in an idle or new thread; needs no locks, as it uses only atomic operations."""

    def __init__(self) -> None:
        self.idle: list[_Idle] = []
        self._under_way: set[Future[Any]] = set()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a function in a thread. Raises `RuntimeError` after `shutdown`, or if no thread can be started."""
        if self._closed:
            raise RuntimeError("the executor was shut down")
        future: Future[T] = Future()
        item = future, lambda: fn(*args, **kwargs)
        try:
            # the one that ended last: its memory is still in the processor's cache
            self.idle.pop().give(item)
        except IndexError:
            _thread.start_new_thread(self._run, (item,))
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more work; see `Executor.shutdown`."""
        self._closed = True
        if cancel_futures:
            for future in tuple(self._under_way):
                future.cancel()
        if wait:
            futures.wait(tuple(self._under_way))
        while self.idle:
            with suppress(IndexError):
                self.idle.pop().give(None)

    def _run(self, item: Item | None) -> None:
        me = _Idle()
        while item is not None:
            future, work = item
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            # do not keep objects of the work alive until the next work comes
            del item, future, work
            item = self._next(me)

    def _next(self, me: _Idle) -> Item | None:
        """Waits for the next work; None if the thread should end."""
        self.idle.append(me)
        if not me.wait(IDLE_SECONDS):
            try:
                self.idle.remove(me)
            except ValueError:
                # somebody has just taken this thread, and its work is about to come
                me.wait(-1)
            else:
                return None
        return me.take()
