"""What is to be reached, and whether a measurement reaches it."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .projects import STATES

Kind = Literal["faster", "ratio", "limit"]
"""How a goal is meant: git's median is at least so many times snapd's; snapd's is at most so many times git's (or the
baseline's); snapd's median alone is at most that."""


class Goal(NamedTuple):
    """A goal.

    Attributes:
        kind: how `bound` is meant.
        bound: a factor, or a value in the unit of the measurement.
        tree: the tree that it holds for alone, such as `linux`; empty for any.
    """

    kind: Kind
    bound: float
    tree: str = ""


GOALS = {
    "noop": Goal("limit", 0.00045, "linux"),
    "anatomy-track": Goal("limit", 0.00045, "linux"),
    "one": Goal("faster", 120, "linux"),
    "one-durable": Goal("faster", 1, "linux"),
    "hundred": Goal("faster", 20, "linux"),
    "hundred-durable": Goal("faster", 1.5, "linux"),
    "step-pair": Goal("limit", 0.006),
    "first-git": Goal("faster", 25, "linux"),
    "first-seeded": Goal("ratio", 2, "linux"),
    "first-plain": Goal("faster", 6, "linux"),
    **{f"first-{name}": Goal("faster", 3) for name in STATES},
    "first-loose": Goal("limit", 2, "linux"),
    "commit": Goal("limit", 0.02, "linux"),
    "small-noop": Goal("faster", 8),
    "small-one": Goal("faster", 3),
    "diff": Goal("faster", 25),
    "restore": Goal("faster", 10, "linux"),
    "revert": Goal("limit", 0.005),
    # a quarter of a millisecond for each of 20,000 files
    "restore-many": Goal("limit", 5),
    "moved": Goal("limit", 1),
    "growth-noop": Goal("ratio", 2, "growth"),
    "growth-one": Goal("ratio", 2, "growth"),
    # what is asked for is the same, however long the history is
    **{
        f"growth-{what}": Goal("ratio", 2, "growth-steps")
        for what in ("step", "list", "history", "review", "blame", "undo")
    },
    **{f"growth-{what}-in-one": Goal("ratio", 2, "growth-workspaces") for what in ("noop", "one")},
    "restart": Goal("faster", 1, "linux"),
    "spawn": Goal("limit", 0.25),
    "memory": Goal("limit", 150 * 1024**2, "linux"),
    "memory-growth": Goal("limit", 10 * 1024**2, "linux"),
    "idle": Goal("limit", 0.5),
    "clients": Goal("faster", 3),
    "clients-p99": Goal("limit", 0.025),
    **{f"cli-{name}": Goal("limit", 0.1, "generated-10000") for name in ("log", "undo", "show", "track", "status")},
    "cli-version": Goal("limit", 0.06),
    "status": Goal("limit", 0.0005),
    "review": Goal("limit", 0.1),
    "blame": Goal("limit", 0.1),
    **{f"hook-{when}": Goal("limit", 0.025) for when in ("before", "after")},
    "hook-pair": Goal("limit", 0.05),
    "step-apparent": Goal("ratio", 1),
    "step-allocated": Goal("ratio", 1),
    "packed-apparent": Goal("ratio", 1.2),
    "packed-allocated": Goal("ratio", 1.2),
    "starved": Goal("ratio", 2),
    "stall": Goal("limit", 0.05),
    "flat-2000": Goal("ratio", 1.1),
    "flat-20000": Goal("ratio", 1.1),
    "check": Goal("ratio", 3),
    # what a session costs on the line has nothing to do with the size of the project
    "push-first-bytes": Goal("limit", 64 << 10),
    "push-first-seconds": Goal("limit", 2),
    "push-one-bytes": Goal("limit", 4 << 10),
    "push-one-seconds": Goal("limit", 1),
    "push-each-bytes": Goal("limit", 400 << 10),
    "push-each-seconds": Goal("limit", 100),
    "push-many-bytes": Goal("limit", 400 << 10),
    "push-many-seconds": Goal("limit", 5),
    "fetch-one-bytes": Goal("limit", 64 << 10),
    "fetch-one-seconds": Goal("limit", 1),
}


def goal_of(key: str, tree: str) -> Goal | None:
    """The goal of a row on a tree, or None where it has none there."""
    goal = GOALS.get(key)
    return goal if goal is not None and goal.tree in ("", tree) else None
