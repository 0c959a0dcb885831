"""What grows in a run, and what is measured of it at each size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench
    from benchmarks.measure import Samples


class Series(NamedTuple):
    """What is measured at each size.

    Attributes:
        key: of its rows, between `growth-` and the size.
        name: for people.
        unit: of its samples.
        base: the size that the largest is compared with. At smaller ones less is asked for.
    """

    key: str
    name: str
    unit: str = "s"
    base: int = 0


class Kind(NamedTuple):
    """One thing that grows.

    Attributes:
        what: it is, in the plural.
        title: of the picture of times.
        sizes: that are measured unless others are asked for.
        series: what is measured.
        measure: gives the rows, size by size.
    """

    what: str
    title: str
    sizes: tuple[int, ...]
    series: tuple[Series, ...]
    measure: Callable[[Bench, list[int]], Iterator[Row]]


def row(series: Series, what: str, size: int, snapd: Samples, git: Samples | None = None, against: str = "") -> Row:
    """The row of a series at one size."""
    return Row(f"growth-{series.key}-{size}", f"{series.name}, {size:,} {what}", against, snapd, git)


def compared(kind: Kind, rows: list[Row]) -> Iterator[Row]:
    """The largest size against the smallest at which as much was asked for, for each series."""
    for series in kind.series:
        start = f"growth-{series.key}-"
        result = {int(one.key.removeprefix(start)): one for one in rows if one.key.startswith(start)}
        sizes = sorted(size for size in result if size >= series.base)
        if len(sizes) > 1:
            least, most = sizes[0], sizes[-1]
            against = f"snapd at {least:,} {kind.what}"
            yield Row(f"growth-{series.key}", result[most].name, against, result[most].snapd, result[least].snapd)
