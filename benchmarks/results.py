"""The results of a run: rows of measurements, and the JSON file that keeps them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from .goals import Goal, goal_of
from .measure import Samples

SCHEMA = 1

_ROW_KEYS = {"key", "name", "against", "unit", "snapd", "other"}
_MORE_ROW_KEYS = {"bound"}
"""What runs of earlier versions do not have."""
_RUN_KEYS = {"schema", "tree", "files", "date", "machine", "parameters", "rows"}


class BadResults(Exception):
    """A file does not hold the results of a run."""


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        key: stable name; `goals.GOALS` has its goal.
        name: what was measured.
        against: what it was compared with; empty for nothing.
        snapd: samples of snapd.
        other: samples of what it was compared with, in the same unit, or None.
        bound: samples of the least that the machine takes for it, in the same unit, or None; see `limits.py`.
    """

    key: str
    name: str
    against: str
    snapd: Samples
    other: Samples | None = None
    bound: Samples | None = None

    def __post_init__(self) -> None:
        if any(side is not None and side.unit != self.snapd.unit for side in (self.other, self.bound)):
            raise ValueError(f"{self.key}: all sides are to be in one unit")

    @property
    def ratio(self) -> float | None:
        """How many times better snapd's median is than the other's: more is better, whatever the unit."""
        if self.other is None:
            return None
        better, worse = self.snapd.median, self.other.median
        if self.snapd.unit == "1/s":
            better, worse = worse, better
        return worse / better if better else float("inf") if worse else 1.0

    @property
    def above(self) -> float | None:
        """How many times its bound snapd's median is: less is better, whatever the unit. None without a bound."""
        if self.bound is None:
            return None
        low, high = self.bound.median, self.snapd.median
        if self.snapd.unit == "1/s":
            low, high = high, low
        return high / low if low else None

    def met(self, goal: Goal) -> bool:
        """Whether the medians reach a goal."""
        if goal.kind == "limit":
            return self.snapd.median <= goal.bound
        ratio = self.ratio
        assert ratio is not None, self.key
        return ratio >= (goal.bound if goal.kind == "faster" else 1 / goal.bound)


@dataclass(frozen=True)
class Run:
    """What one run gave.

    Attributes:
        tree: `linux`, `generated-10000`, `growth` or the name of the user's folder.
        files: captured in it.
        date: of its start, ISO 8601, UTC.
        machine: facts about it.
        parameters: repetitions and the like.
        rows: in the order of the table.
    """

    tree: str
    files: int
    date: str
    machine: dict[str, str | int]
    parameters: dict[str, int | float | list[int]]
    rows: list[Row] = field(default_factory=list)

    def goal(self, row: Row) -> Goal | None:
        """The goal of a row in this run."""
        return goal_of(row.key, self.tree)


def dump(run: Run) -> str:
    """The JSON of a run. Medians stand beside the samples for who reads it; `load` computes them anew."""
    rows = [
        {
            "key": row.key,
            "name": row.name,
            "against": row.against,
            "unit": row.snapd.unit,
            "snapd": _side(row.snapd),
            "other": None if row.other is None else _side(row.other),
            "bound": None if row.bound is None else _side(row.bound),
        }
        for row in run.rows
    ]
    return json.dumps({"schema": SCHEMA, **asdict(run), "rows": rows}, indent=1) + "\n"


def load(text: str) -> Run:
    """Reads the JSON of a run.

    Raises:
        BadResults: it is none, or of another version.
    """
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA or set(data) != _RUN_KEYS:
            raise BadResults(f"not a run of schema {SCHEMA}")
        rows = [_row(row) for row in data["rows"]]
        return Run(data["tree"], data["files"], data["date"], data["machine"], data["parameters"], rows)
    except (ValueError, KeyError, TypeError) as error:
        raise BadResults(f"not the results of a run: {error!r}") from error


def _side(samples: Samples) -> dict[str, Any]:
    return {
        "median": samples.median,
        "p10": samples.p10,
        "p90": samples.p90,
        "samples": list(samples.values),
    }


def _row(data: dict[str, Any]) -> Row:
    if set(data) - _MORE_ROW_KEYS != _ROW_KEYS or not isinstance(data["key"], str):
        raise BadResults(f"not a row: {str(data)[:200]}")
    sides = {
        name: Samples(data["unit"], tuple(data[name]["samples"]))
        for name in ("snapd", "other", "bound")
        if data.get(name) is not None
    }
    if "snapd" not in sides or not all(side.values for side in sides.values()):
        raise BadResults(f"a row without samples: {data['key']}")
    return Row(data["key"], data["name"], data["against"], **sides)
