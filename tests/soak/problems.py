"""What did not hold, and what happened before it."""

from __future__ import annotations

import collections
import time


class Broken(AssertionError):
    """Something that snapd promises did not hold."""


class Diary:
    """The last events of a run, and what was found wrong where nobody could raise it.

    Attributes:
        problems: found by tasks that read what comes from a daemon.
    """

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._events: collections.deque[str] = collections.deque(maxlen=400)
        self._begun = time.monotonic()

    def note(self, event: str) -> None:
        self._events.append(f"{time.monotonic() - self._begun:9.3f} {event}")

    def problem(self, text: str) -> None:
        self.note(f"PROBLEM {text}")
        self.problems.append(text)

    def check(self) -> None:
        """Raises what was found meanwhile."""
        if self.problems:
            raise Broken("\n".join(self.problems))

    def last(self) -> str:
        """The last events, as text that can be printed and sent: some names of files are no UTF-8."""
        return "\n".join(self._events).encode(errors="backslashreplace").decode()


def holds(condition: object, what: str) -> None:
    if not condition:
        raise Broken(what)
