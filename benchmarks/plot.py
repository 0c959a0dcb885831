"""Draws the pictures `docs/pictures/growth*.svg` from the results of growth runs.

    python -m benchmarks.plot [FILE ...]

Without files: from `benchmarks/results/growth*.json`. The same results give the same pictures, byte by byte.
"""

from __future__ import annotations

import glob
import math
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from .growth import KINDS, Kind
from .results import BadResults, Run, load
from .table import RESULTS, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

PICTURES = os.path.join(os.path.dirname(RESULTS), os.pardir, "docs", "pictures")

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 724, 104, 362
_LIGHT = {"ground": "#ffffff", "ink": "#1f2328", "faint": "#d1d9e0"}
_DARK = {"ground": "#0d1117", "ink": "#e6edf3", "faint": "#3d444d"}
_COLOURS = (
    ("#0969da", "#58a6ff"),
    ("#bc4c00", "#f0883e"),
    ("#1a7f37", "#3fb950"),
    ("#8250df", "#bc8cff"),
    ("#bf3989", "#f778ba"),
    ("#6e7781", "#9198a1"),
)
"""Of lines, on a light ground and on a dark one."""
_UNITS = {
    "s": ("Time", "", (("µs", -6), ("ms", -3), ("s", 0))),
    "B": ("Memory", "-memory", (("kB", 3), ("MB", 6), ("GB", 9))),
}


class Line(NamedTuple):
    """One line of a picture.

    Attributes:
        side: `snapd` or `git`.
        key: of the series.
        name: for people.
        points: size and value, by size.
    """

    side: str
    key: str
    name: str
    points: list[tuple[int, float]]


def kind_of(run: Run) -> Kind:
    """What grew in a run.

    Raises:
        BadResults: the run measured no growth.
    """
    what = {"growth": "files"}.get(run.tree, run.tree.removeprefix("growth-"))
    if what not in KINDS or not run.tree.startswith("growth"):
        raise BadResults("these results hold no growth: run make bench GROWTH=1")
    return KINDS[what]


def lines_of(run: Run, unit: str) -> list[Line]:
    """The lines of a growth run in one unit; those that only one point is known of are left out."""
    lines = []
    for side in ("snapd", "git"):
        for series in kind_of(run).series:
            start = f"growth-{series.key}-"
            points = []
            for row in run.rows:
                samples = row.snapd if side == "snapd" else row.other
                if row.key.startswith(start) and row.key.removeprefix(start).isdigit() and samples is not None:
                    points.append((int(row.key.removeprefix(start)), samples.median))
            if series.unit == unit and len(points) > 1:
                lines.append(Line(side, series.key, series.name, sorted(points)))
    return lines


def draw(run: Run, unit: str = "s") -> str:
    """The picture of a growth run in one unit, as SVG.

    Raises:
        BadResults: the run measured no growth in it.
    """
    kind, lines = kind_of(run), lines_of(run, unit)
    if not lines:
        raise BadResults("these results hold no growth: run make bench GROWTH=1")
    title = kind.title.replace("Time", _UNITS[unit][0], 1) if unit == "s" else f"Memory by the number of {kind.what}"
    sizes = sorted({size for line in lines for size, _ in line.points})
    values = [value for line in lines for _, value in line.points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(size: int) -> float:
        first, last = math.log10(sizes[0]), math.log10(sizes[-1])
        return _LEFT + (math.log10(size) - first) / (last - first) * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        return _BOTTOM - (math.log10(value) - low) / (high - low) * (_BOTTOM - _TOP)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" xmlns="http://www.w3.org/2000/svg" role="img">',
        f"<title>{title}</title>",
        f"<style>{_style(lines)}</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" rx="8"/>',
        f'<text class="title" x="{_LEFT}" y="28">{title}{" (medians)" if unit == "s" else ""}</text>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{_RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{_tick(power, unit)}</text>')
    for size in sizes:
        parts.append(f'<path class="grid" d="M{x(size):.1f} {_TOP}V{_BOTTOM}"/>')
        parts.append(f'<text x="{x(size):.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{size:,}</text>')
    parts.append(f'<text x="{(_LEFT + _RIGHT) / 2:.1f}" y="{_BOTTOM + 42}" text-anchor="middle">{kind.what}</text>')
    for number, line in enumerate(lines):
        classes = f"{line.side} {line.key}"
        path = "L".join(f"{x(size):.1f} {y(value):.1f}" for size, value in line.points)
        parts.append(f'<path class="line {classes}" d="M{path}"/>')
        for size, value in line.points:
            parts.append(
                f'<circle class="{classes}" cx="{x(size):.1f}" cy="{y(value):.1f}" r="3.5">'
                f"<title>{size:,} {kind.what}: {quantity(value, unit)}</title></circle>"
            )
        parts += _legend(number, line, classes, beside_git=lines[-1].side == "git")
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def main(paths: Sequence[str]) -> None:
    """Draws the pictures of these files."""
    for source in paths or sorted(glob.glob(os.path.join(RESULTS, "growth*.json"))):
        with open(source, encoding="utf-8") as file:
            run = load(file.read())
        for unit, (_, ending, _) in _UNITS.items():
            if lines_of(run, unit):
                with open(os.path.join(PICTURES, f"{run.tree}{ending}.svg"), "w", encoding="utf-8") as file:
                    file.write(draw(run, unit))


def _style(lines: list[Line]) -> str:
    # a card with a ground of its own: whatever the page behind it is like, its text can be read; no variables, which
    # not every program that shows pictures knows
    ground = "text {{ fill: {ink}; }} .ground {{ fill: {ground}; stroke: {faint}; }} .grid {{ stroke: {faint}; }}"
    schemes = []
    for at, scheme in enumerate((_LIGHT, _DARK)):
        rules = [ground.format(**scheme)]
        for number, line in enumerate(lines):
            name, colour = f".{line.side}.{line.key}", _COLOURS[number % len(_COLOURS)][at]
            rules.append(f"{name} {{ stroke: {colour}; }} circle{name} {{ fill: {colour}; }}")
        schemes.append("\n".join(rules))
    return f"""
text {{ font: 13px system-ui, sans-serif; }}
.title {{ font-size: 15px; font-weight: 600; }}
.grid {{ stroke-width: 1; }}
.line {{ fill: none; stroke-width: 2; }}
{schemes[0]}
@media (prefers-color-scheme: dark) {{
{schemes[1]}
}}
"""


def _legend(number: int, line: Line, classes: str, *, beside_git: bool) -> list[str]:
    left, top = _LEFT + number % 2 * 330, 48 + number // 2 * 18
    side = "git add + write-tree: " if line.side == "git" else "snapd: " if beside_git else ""
    return [
        f'<path class="line {classes}" d="M{left} {top - 4}h28"/>',
        f'<text x="{left + 36}" y="{top}">{side}{line.name}</text>',
    ]


def _tick(power: int, unit: str) -> str:
    """A power of ten in a unit of fitting size, such as `10 ms`."""
    fitting = [one for one in _UNITS[unit][2] if one[1] <= power] or [_UNITS[unit][2][0]]
    name, at = fitting[-1]
    return f"{10 ** (power - at):g} {name}"


if __name__ == "__main__":
    main(sys.argv[1:])
