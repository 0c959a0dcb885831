"""The table of a run, for a terminal and in Markdown.

    python -m benchmarks.table [FILE ...]

Without files: of `benchmarks/results/*.json`, from which every figure in the documentation comes.
"""

from __future__ import annotations

import glob
import os
import sys
from typing import TYPE_CHECKING

from .goals import GOALS, Goal
from .results import Row, Run, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measure import Samples

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
HEADINGS = ("what", "against", "snapd (p10 - p90)", "other (p10 - p90)", "ratio", "goal", "met", "bound", "above it")

_TIMES = ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (0.0, "µs", 1e6))
_BYTES = ((1 << 20, "MiB"), (1 << 10, "KiB"), (0, "B"))


def cells(run: Run, row: Row) -> tuple[str, ...]:
    """The texts of one line, one for each of `HEADINGS`."""
    goal = run.goal(row)
    return (
        row.name,
        row.against,
        _side(row.snapd),
        "" if row.other is None else _side(row.other),
        _ratio(row),
        "" if goal is None else _goal(goal, row.snapd.unit),
        "" if goal is None else "yes" if row.met(goal) else "NO",
        "" if row.bound is None else quantity(row.bound.median, row.bound.unit),
        "" if row.above is None else f"{_digits(row.above)} x",
    )


def markdown(run: Run) -> str:
    """The table of a run with what it was made on, in Markdown."""
    machine = run.machine
    made_on = (
        f"**{run.tree}**, {run.files:,} files; {run.date}, commit {machine['commit']}; {machine['cores']} cores "
        f"({machine['cpu']}), Linux {machine['kernel']}, {machine['fileSystem']}, Python {machine['python']}, "
        f"git {machine['git']}"
    )
    lines = [
        made_on,
        "",
        _line(HEADINGS),
        _line(["---"] * len(HEADINGS)),
        *(_line(cells(run, row)) for row in run.rows),
    ]
    return "\n".join(lines) + "\n"


def quantity(value: float, unit: str) -> str:
    """A value with three significant digits in a unit of fitting size."""
    if unit == "s":
        _, name, factor = next(step for step in _TIMES if abs(value) >= step[0])
        return f"{_digits(value * factor)} {name}"
    if unit == "B":
        size, name = next(step for step in _BYTES if abs(value) >= step[0])
        return f"{_digits(value / (size or 1))} {name}"
    return f"{_digits(value)} {unit}" if unit == "%" else f"{_digits(value)}/s"


def main(paths: Sequence[str]) -> None:
    """Prints the tables of these files."""
    for path in paths or sorted(glob.glob(os.path.join(RESULTS, "*.json"))):
        with open(path, encoding="utf-8") as file:
            print(markdown(load(file.read())))


def _side(samples: Samples) -> str:
    middle = quantity(samples.median, samples.unit)
    if len(samples.values) == 1:
        return middle
    return f"{middle} ({quantity(samples.p10, samples.unit)} - {quantity(samples.p90, samples.unit)})"


def _ratio(row: Row) -> str:
    ratio = row.ratio
    if ratio is None:
        return ""
    goal = GOALS.get(row.key)
    if goal is not None and goal.kind == "ratio":
        return f"{_digits(1 / ratio if ratio else float('inf'))} of it"
    return f"{_digits(ratio)} x"


def _goal(goal: Goal, unit: str) -> str:
    if goal.kind == "faster":
        return f">= {goal.bound:g} x"
    if goal.kind == "ratio":
        return f"<= {goal.bound:g} of it"
    return f"<= {quantity(goal.bound, unit)}"


def _digits(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


if __name__ == "__main__":
    main(sys.argv[1:])
