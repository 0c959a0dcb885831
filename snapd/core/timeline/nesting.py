"""Steps within steps: which of some steps are around others, and which are the innermost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from .model import Step, StepId


def around(steps: Iterable[StepId], parents: Mapping[StepId, StepId | None]) -> set[StepId]:
    """Finds the steps that some steps are parts of: the step above each, the one above that, and so on.

    Args:
        steps: the parts.
        parents: the step above each step that counts; the search ends at a step that is not a key.
    """
    found: set[StepId] = set()
    for step in steps:
        above = parents.get(step)
        while above is not None and above not in found:
            found.add(above)
            above = parents.get(above)
    return found


def working(open_steps: Iterable[Step], among: Collection[StepId] | None = None) -> tuple[StepId, ...]:
    """Finds the innermost of some open steps, which own what changes now.

    Args:
        open_steps: all open steps.
        among: the steps that count; None for all.
    """
    parents = {step.step_id: step.begun.parent for step in open_steps}
    counting = [step for step in parents if among is None or step in among]
    outer = around(counting, parents)
    return tuple(step for step in counting if step not in outer)
