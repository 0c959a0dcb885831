"""The rows of the table: each function measures one or a few, and gives them as they are done."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.projects import STATES

from .anatomy import anatomy, step
from .bringing_back import many, moved, revert
from .cli import cli
from .clients import clients, crowd
from .content import diff, restore
from .exports import bisect, export
from .extremes import large, storm
from .fairness import busy, check, flat, stall
from .first import first, first_of_state
from .hooks import hooks
from .process import idle, memory, restart, spawn, status
from .review import blame, review
from .sharing import fetch, push
from .storage import store
from .tracks import commit, hundred, noop, one, small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench
    from benchmarks.results import Row

ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    # first while nothing was changed since the commit
    "first": first,
    **{f"first-{name}": partial(first_of_state, name) for name in STATES},
    "noop": noop,
    "one": one,
    "hundred": hundred,
    "small": small,
    "anatomy": anatomy,
    "step": step,
    "commit": commit,
    "diff": diff,
    "restore": restore,
    "revert": revert,
    "many": many,
    "moved": moved,
    "review": review,
    "blame": blame,
    "restart": restart,
    "spawn": spawn,
    "status": status,
    "idle": idle,
    "memory": memory,
    "clients": clients,
    "crowd": crowd,
    "cli": cli,
    "hooks": hooks,
    "export": export,
    # its steps of many files would be in the log that `cli` shows
    "bisect": bisect,
    "store": store,
    "busy": busy,
    "stall": stall,
    "flat": flat,
    "push": push,
    "fetch": fetch,
    "check": check,
    # their files and steps would be in what all others look at
    "large": large,
    "storm": storm,
}
"""What `--rows` names, in the order in which it is measured."""
