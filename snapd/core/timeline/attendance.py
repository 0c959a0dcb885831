"""Knows which client works in which step: a step does not own what changes while nobody works in it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from .attribution import around, working

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from .model import Step, StepId


class Attendance:
    """The open steps of a workspace and the clients that work in them. Safe to use from several threads.

    A client works in the steps that it began until it is gone: after a crash, a person may edit the same files. A
    detached step, such as one begun by a hook that exits at once, needs no client; but it may have one, the agent.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[StepId, Hashable] = {}
        self._shown: set[StepId] = set()
        self._left: set[StepId] = set()
        self._booted = booted_at()

    def attend(self, step_id: StepId, client: Hashable, *, shows_end: bool = True) -> None:
        """Notes that a client works in a step, and whether it would be noticed if it ended."""
        with self._lock:
            self._clients[step_id] = client
            if shows_end:
                self._shown.add(step_id)

    def has_client(self, step_id: StepId) -> bool:
        """Whether a client is known that works in a step."""
        with self._lock:
            return step_id in self._clients

    def may_have_ended(self, step: Step) -> bool:
        """Whether the client of an open step may have ended unnoticed."""
        with self._lock:
            return step.begun.detached and step.step_id not in self._shown

    def of(self, client: Hashable) -> tuple[StepId, ...]:
        """Lists the steps that a client works in."""
        with self._lock:
            return tuple(step for step, other in self._clients.items() if other == client)

    def drop(self, steps: Iterable[StepId]) -> None:
        """Forgets steps that have ended."""
        with self._lock:
            for step in steps:
                self._clients.pop(step, None)
                self._shown.discard(step)
                self._left.discard(step)

    def leave(self, steps: Iterable[StepId]) -> None:
        """Notes that nobody works in some steps any more."""
        with self._lock:
            for step in steps:
                self._clients.pop(step, None)
                self._left.add(step)

    def unattended(self, open_steps: Iterable[Step]) -> tuple[Step, ...]:
        """Filters open steps for those in which nobody works."""
        with self._lock:
            return tuple(step for step in open_steps if not self._is_attended(step))

    def _is_attended(self, step: Step) -> bool:
        if step.begun.detached:
            # nobody outlives the machine
            return step.step_id not in self._left and step.started >= self._booted
        return step.step_id in self._clients

    def split(self, open_steps: Iterable[Step]) -> tuple[tuple[StepId, ...], tuple[StepId, ...]]:
        """Finds the steps that own what changes now.

        Args:
            open_steps: all open steps, in the order in which they were begun.

        Returns:
            The steps at work, innermost ones and those that these are parts of; and the steps whose client is gone, for
            which somebody may still speak. Of these, outer ones are included: nobody knows yet which will be named.
        """
        steps = tuple(open_steps)
        parents = {step.step_id: step.begun.parent for step in steps}
        gone = {step.step_id for step in self.unattended(steps)}
        here = parents.keys() - gone
        outer = around(here, parents)
        left = tuple(step for step in parents if step in gone and step not in outer)
        inner = working(steps, here)
        at_work = here & {*inner, *(parents[step] for step in inner)}
        return tuple(step for step in parents if step in at_work), left


def booted_at() -> int:
    """When the machine started, in milliseconds since 1970; 0 where it does not say."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0 if clock is None else int((time.time() - time.clock_gettime(clock)) * 1000)
