"""Repositories are consolidated one after the other, and one that waits for its turn can be called off."""

from __future__ import annotations

import threading

import pytest

from snapd.store.maintenance.repack import CancelToken, TokenRevoked
from snapd.store.maintenance.scheduler import OneAtATime

PATIENCE = 60.0


class Waiting:
    """A thread that wants a turn, has it, and gives it back when told."""

    def __init__(self, queue: OneAtATime) -> None:
        self.token = CancelToken()
        self.has_it, self.give_back, self.called_off = (threading.Event() for _ in range(3))
        self._queue = queue
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            with self._queue.turn(self.token):
                self.has_it.set()
                assert self.give_back.wait(PATIENCE)
        except TokenRevoked:
            self.called_off.set()

    def end(self) -> None:
        self.give_back.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def test_one_at_a_time() -> None:
    queue = OneAtATime()
    first = Waiting(queue)
    assert first.has_it.wait(PATIENCE)
    others = [Waiting(queue) for _ in range(3)]
    gone = others.pop()
    gone.token.revoke()
    assert gone.called_off.wait(PATIENCE)
    gone.end()
    assert not any(other.has_it.is_set() for other in others)
    first.end()
    for left in (2, 1):
        having: list[Waiting] = []
        while not having:
            having = [other for other in others if other.has_it.wait(0.01)]
        assert len(having) == 1
        having[0].end()
        others.remove(having[0])
        assert len(others) == left - 1


def test_a_turn_is_given_back_by_one_that_fails() -> None:
    queue = OneAtATime()
    for _ in range(2):
        with pytest.raises(OSError, match="broken"), queue.turn(CancelToken()):
            raise OSError("broken")
    last = Waiting(queue)
    assert last.has_it.wait(PATIENCE)
    last.end()
