"""Requests of the server to the client, which wait for their answers."""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any

from snapd.core.errors import Cancelled

if TYPE_CHECKING:
    from .messages import Id


class Question:
    """A question on its way.

    Attributes:
        id: of the request.
    """

    def __init__(self, identity: Id) -> None:
        self.id = identity
        self._settled = threading.Event()
        self._result: Any = None
        self._is_over = False

    def settle(self, result: Any) -> None:
        """Takes the client's answer; None where that is an error."""
        self._result = result
        self._settled.set()

    def give_up(self) -> None:
        """Ends the wait: nobody will answer, or nobody wants to know."""
        self._is_over = True
        self._settled.set()

    def wait(self) -> Any:
        """Waits for the result; raises `Cancelled` if somebody gave up."""
        self._settled.wait()
        if self._is_over:
            raise Cancelled("the question was given up")
        return self._result


class Questions:
    """The questions of one connection."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[Id, Question] = {}
        self._lock = threading.Lock()
        self._is_over = False

    def new(self) -> Question:
        """A question that is about to be sent; raises `Cancelled` if nobody is there any more."""
        with self._lock:
            if self._is_over:
                raise Cancelled("the client is gone")
            question = Question(f"snapd-{next(self._numbers)}")
            self._waiting[question.id] = question
            return question

    def settle(self, identity: Id, result: Any) -> None:
        """Takes an answer of the client; one that nobody waits for is passed over."""
        with self._lock:
            question = self._waiting.get(identity)
        if question is not None:
            question.settle(result)

    def forget(self, question: Question) -> None:
        """Waits for its answer no longer."""
        with self._lock:
            self._waiting.pop(question.id, None)

    def end(self) -> None:
        """Gives all of them up, and those to come: the client is gone."""
        with self._lock:
            self._is_over = True
            waiting = list(self._waiting.values())
        for question in waiting:
            question.give_up()
