"""An executor without a bound, for work that may block: `submit` never waits for a thread.

`ThreadPoolExecutor` has a bound, so work that waits for one folder would take the threads from the others. And its
`submit` waits until a new thread runs, which takes a while on a busy machine.
"""

from __future__ import annotations

import _thread
from concurrent import futures
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Item = tuple[Future[Any], Callable[[], Any]]

P = ParamSpec("P")
T = TypeVar("T")

IDLE_SECONDS = 30.0
"""How long an idle thread waits for work before it ends."""


class Threads(Executor):
    """Runs each piece of work at once, in an idle thread or a new one.

    It needs no locks: all shared state changes by single operations of C code.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Item | None] = SimpleQueue()
        self._idle: SimpleQueue[None] = SimpleQueue()
        self._under_way: set[Future[Any]] = set()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a function in a thread; see `Executor.submit`.

        Raises:
            RuntimeError: the executor was shut down, or the system cannot start another thread.
        """
        if self._closed:
            raise RuntimeError("the executor was shut down")
        if not self._claim():
            _thread.start_new_thread(self._run, ())
        future: Future[T] = Future()
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more work; see `Executor.shutdown`."""
        self._closed = True
        if cancel_futures:
            for future in tuple(self._under_way):
                future.cancel()
        if wait:
            futures.wait(tuple(self._under_way))
        while self._claim():
            self._work.put(None)

    def _claim(self) -> bool:
        """Reserves an idle thread for the next piece of work. Returns whether there was one."""
        try:
            self._idle.get_nowait()
        except Empty:
            return False
        return True

    def _run(self) -> None:
        item = self._next()
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
            # do not keep alive what the work referred to until the next work comes
            del item, future, work
            self._idle.put(None)
            item = self._next()

    def _next(self) -> Item | None:
        """Waits for the next piece of work; returns None if the thread should end."""
        while True:
            try:
                return self._work.get(timeout=IDLE_SECONDS)
            except Empty:
                # otherwise somebody has reserved this thread, and the work is about to come
                if self._claim():
                    return None
