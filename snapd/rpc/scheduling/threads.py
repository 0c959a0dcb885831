"""Threads for whatever may wait: there is always one, and the loop does not wait for it to begin.

`ThreadPoolExecutor` has a bound, so that work which waits for one folder keeps the threads from the others; and its
`submit` waits until a new thread runs, which on a busy machine takes a while.
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
"""How long a thread without work stays."""


class Threads(Executor):
    """Does each piece of work at once, in a thread that is idle or in a new one.

    Nothing here takes a lock of Python's own: all that is shared is changed by single operations of C code.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Item | None] = SimpleQueue()
        self._idle: SimpleQueue[None] = SimpleQueue()
        self._under_way: set[Future[Any]] = set()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Has something done; see `Executor.submit`.

        Raises:
            RuntimeError: the threads were shut down, or the system gives no more of them.
        """
        if self._closed:
            raise RuntimeError("no work is taken after the shutdown")
        if not self._claim():
            _thread.start_new_thread(self._run, ())
        future: Future[T] = Future()
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more work; see `Executor.shutdown`."""
        self._closed = True
        if cancel_futures:
            for future in tuple(self._under_way):
                future.cancel()
        if wait:
            futures.wait(tuple(self._under_way))
        while self._claim():
            self._work.put(None)

    def _claim(self) -> bool:
        """Whether a thread was idle, which from now on waits for the next piece of work and does not leave."""
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
            # what the work held must not be kept until the next one
            del item, future, work
            self._idle.put(None)
            item = self._next()

    def _next(self) -> Item | None:
        """The next piece of work; None where the thread is to leave."""
        while True:
            try:
                return self._work.get(timeout=IDLE_SECONDS)
            except Empty:
                # else it was claimed, or has just begun, and the work is about to come
                if self._claim():
                    return None
