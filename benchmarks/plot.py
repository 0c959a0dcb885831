"""Draws `docs/pictures/growth.svg` from the results of a growth run.

    python -m benchmarks.plot [FILE]

Without a file: from `benchmarks/results/growth.json`. The same results give the same picture, byte by byte.
"""

from __future__ import annotations

import math
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.rows.growth import STEPS

from .results import BadResults, Run, load
from .table import RESULTS, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

PICTURE = os.path.join(os.path.dirname(RESULTS), os.pardir, "docs", "pictures", "growth.svg")

_TITLE = "Time of a snapshot by the number of files in the project"
_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 724, 86, 362
_LIGHT = {"ground": "#ffffff", "ink": "#1f2328", "faint": "#d1d9e0", "snapd": "#0969da", "git": "#bc4c00"}
_DARK = {"ground": "#0d1117", "ink": "#e6edf3", "faint": "#3d444d", "snapd": "#58a6ff", "git": "#f0883e"}
_COLOURS = """text {{ fill: {ink}; }} .ground {{ fill: {ground}; stroke: {faint}; }} .grid {{ stroke: {faint}; }}
.snapd {{ stroke: {snapd}; }} .git {{ stroke: {git}; }} circle.snapd {{ fill: {snapd}; }} circle.git {{ fill: {git}; }}
"""
# a card with a ground of its own: whatever the page behind it is like, its text can be read; no variables, which not
# every program that shows pictures knows
_STYLE = f"""
text {{ font: 13px system-ui, sans-serif; }}
.title {{ font-size: 15px; font-weight: 600; }}
.grid {{ stroke-width: 1; }}
.line {{ fill: none; stroke-width: 2; }}
.one {{ stroke-dasharray: 6 4; }} circle.one {{ stroke-dasharray: none; }}
{_COLOURS.format(**_LIGHT)}
@media (prefers-color-scheme: dark) {{
{_COLOURS.format(**_DARK)}
}}
"""


class Series(NamedTuple):
    """One line of the picture.

    Attributes:
        side: `snapd` or `git`.
        step: a key of `STEPS`.
        points: number of files and seconds, by number of files.
    """

    side: str
    step: str
    points: list[tuple[int, float]]


def series(run: Run) -> list[Series]:
    """The lines of a growth run.

    Raises:
        BadResults: the run measured no growth.
    """
    found = []
    for side in ("git", "snapd"):
        for step in STEPS:
            start = f"growth-{step}-"
            points = []
            for row in run.rows:
                samples = row.snapd if side == "snapd" else row.other
                if row.key.startswith(start) and samples is not None:
                    points.append((int(row.key.removeprefix(start)), samples.median))
            found.append(Series(side, step, sorted(points)))
    if any(len(line.points) < 2 for line in found):
        raise BadResults("these results hold no growth: run make bench GROWTH=1")
    return found


def draw(run: Run) -> str:
    """The picture of a growth run, as SVG."""
    lines = series(run)
    sizes = [size for size, _ in lines[0].points]
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
        f"<title>{_TITLE}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" rx="8"/>',
        f'<text class="title" x="{_LEFT}" y="28">{_TITLE} (medians)</text>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{_RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{_tick(power)}</text>')
    for size in sizes:
        parts.append(f'<path class="grid" d="M{x(size):.1f} {_TOP}V{_BOTTOM}"/>')
        parts.append(f'<text x="{x(size):.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{size:,}</text>')
    parts.append(f'<text x="{(_LEFT + _RIGHT) / 2:.1f}" y="{_BOTTOM + 42}" text-anchor="middle">files</text>')
    for number, line in enumerate(lines):
        kind = f"{line.side} {line.step}"
        path = "L".join(f"{x(size):.1f} {y(value):.1f}" for size, value in line.points)
        parts.append(f'<path class="line {kind}" d="M{path}"/>')
        for size, value in line.points:
            parts.append(
                f'<circle class="{kind}" cx="{x(size):.1f}" cy="{y(value):.1f}" r="3.5">'
                f"<title>{size:,} files: {quantity(value, 's')}</title></circle>"
            )
        parts += _legend(number, line, kind)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Draws the picture."""
    source = arguments[0] if arguments else os.path.join(RESULTS, "growth.json")
    with open(source, encoding="utf-8") as file:
        picture = draw(load(file.read()))
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(picture)


def _legend(number: int, line: Series, kind: str) -> list[str]:
    left, top = _LEFT + number % 2 * 290, 48 + number // 2 * 18
    name = f"{'git add + write-tree' if line.side == 'git' else 'snapd'}: {STEPS[line.step][0]}"
    return [
        f'<path class="line {kind}" d="M{left} {top - 4}h28"/>',
        f'<text x="{left + 36}" y="{top}">{name}</text>',
    ]


def _tick(power: int) -> str:
    """A power of ten in seconds, such as `10 ms`."""
    unit, shift = ("µs", 6) if power < -3 else ("ms", 3) if power < 0 else ("s", 0)
    return f"{10 ** (power + shift):g} {unit}"


if __name__ == "__main__":
    main(sys.argv[1:])
