"""Knows which client works in which step: a step does not own what changes while nobody works in it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .nesting import around, working

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from .model import Step, StepId


class Attendance:
    """The open steps of a workspace and the clients that work in them. Safe to use from several threads.

    A client works in the steps that it began until it is gone: after a crash, a person may edit the same files. A
    detached step, such as one begun by a hook that exits at once, needs no client.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[StepId, Hashable] = {}

    def attend(self, step_id: StepId, client: Hashable) -> None:
        """Notes that a client works in a step."""
        with self._lock:
            self._clients[step_id] = client

    def of(self, client: Hashable) -> tuple[StepId, ...]:
        """Lists the steps that a client works in."""
        with self._lock:
            return tuple(step for step, other in self._clients.items() if other == client)

    def drop(self, steps: Iterable[StepId]) -> None:
        """Notes that nobody works in some steps any more."""
        with self._lock:
            for step in steps:
                self._clients.pop(step, None)

    def unattended(self, open_steps: Iterable[Step]) -> tuple[Step, ...]:
        """Filters open steps for those in which nobody works."""
        with self._lock:
            return tuple(step for step in open_steps if not (step.begun.detached or step.step_id in self._clients))

    def split(self, open_steps: Iterable[Step]) -> tuple[tuple[StepId, ...], tuple[StepId, ...]]:
        """Finds the steps that own what changes now.

        Args:
            open_steps: all open steps, in the order in which they were begun.

        Returns:
            The steps at work, innermost ones only; and the steps whose client is gone, which somebody may still speak
            for. Of these, outer ones are included: nobody knows yet which of them will be named.
        """
        steps = tuple(open_steps)
        parents = {step.step_id: step.begun.parent for step in steps}
        gone = {step.step_id for step in self.unattended(steps)}
        here = parents.keys() - gone
        outer = around(here, parents)
        left = tuple(step for step in parents if step in gone and step not in outer)
        return working(steps, here), left
