"""How the cost of a step grows with the size of the project."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from benchmarks.bench import Pair
from benchmarks.measure import Samples
from benchmarks.rows.tracks import tracks
from benchmarks.trees import copy_tree, sparse_tree, warm

from .kind import Kind, Series, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench
    from benchmarks.results import Row

_STEPS = ((Series("noop", "no-op track"), 0), (Series("one", "track, one changed file"), 1))
_MEMORY = Series("memory-files", "memory after these tracks", "B")


def _measure(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """Steps in generated projects of these sizes, whose files are small."""
    for size in sizes:
        directory = bench.scratch()
        tree = os.path.join(directory, "project")
        copy_tree(sparse_tree(bench.cache, size), tree)
        warm(tree)
        with Pair(tree, bench.scratch()) as pair:
            for series, changed in _STEPS:
                key, name = f"growth-{series.key}-{size}", f"{series.name}, {size:,} files"
                yield tracks(pair, key, name, changed, bench.counts.repetitions)
            yield row(_MEMORY, "files", size, Samples("B", (pair.daemon.memory()["VmRSS"],)))
        shutil.rmtree(directory)


FILES = Kind(
    "files",
    "Time of a snapshot by the number of files in the project",
    (1000, 10_000, 100_000, 1_000_000),
    (*(series for series, _ in _STEPS), _MEMORY),
    _measure,
)
