"""Who is at work in which step: what changes while nobody is, is not the step's doing."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .model import around, working

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from .model import Step, StepId


class Attendance:
    """The steps of a workspace, and the clients that began them. Safe to use from several threads.

    A client is at work in the steps that it began for as long as it is there: it may die, and a person may type on in
    the same files. A step that was begun as detached, by a hook that leaves at once, needs nobody.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[StepId, Hashable] = {}

    def attend(self, step_id: StepId, client: Hashable) -> None:
        """A client begins to work in a step."""
        with self._lock:
            self._clients[step_id] = client

    def of(self, client: Hashable) -> tuple[StepId, ...]:
        """The steps that a client is at work in."""
        with self._lock:
            return tuple(step for step, other in self._clients.items() if other == client)

    def drop(self, steps: Iterable[StepId]) -> None:
        """Nobody is at work in some steps any more."""
        with self._lock:
            for step in steps:
                self._clients.pop(step, None)

    def unattended(self, open_steps: Iterable[Step]) -> tuple[Step, ...]:
        """The steps among some in which nobody is at work."""
        with self._lock:
            return tuple(step for step in open_steps if not (step.begun.detached or step.step_id in self._clients))

    def split(self, open_steps: Iterable[Step]) -> tuple[tuple[StepId, ...], tuple[StepId, ...]]:
        """Whose doing it is what changes now.

        Args:
            open_steps: all that are open, in the order in which they were begun.

        Returns:
            The steps that are at work, innermost ones only; and those that were left and may still be spoken for, one
            around another included: nobody knows yet for which of the two that will be.
        """
        steps = tuple(open_steps)
        parents = {step.step_id: step.begun.parent for step in steps}
        gone = {step.step_id for step in self.unattended(steps)}
        here = parents.keys() - gone
        outer = around(here, parents)
        left = tuple(step for step in parents if step in gone and step not in outer)
        return working(steps, here), left
