"""Many clients at once: each edits a project of its own and tracks, as fast as it can."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon
from benchmarks.load import Job, run_jobs
from benchmarks.measure import Samples, percentile
from benchmarks.results import Row
from benchmarks.trees import copy_tree, generated_tree, warm

from .tracks import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench


def clients(bench: Bench) -> Iterator[Row]:
    """Tracks a second of all clients together, and what the slowest of a hundred tracks take."""
    return _clients(bench, "clients", bench.counts.clients)


def crowd(bench: Bench) -> Iterator[Row]:
    """The same with many more clients."""
    return _clients(bench, "crowd", bench.counts.crowd)


def _clients(bench: Bench, key: str, count: int) -> Iterator[Row]:
    counts = bench.counts
    source = generated_tree(bench.cache, SMALL)
    with Daemon(bench.scratch()) as daemon:
        jobs = []
        for number in range(count):
            directory = bench.scratch()
            tree = os.path.join(directory, f"project-{number}")
            copy_tree(source, tree)
            warm(tree)
            jobs.append(Job(number, tree, daemon.socket, os.path.join(directory, "shadow.git")))
        slices = run_jobs(jobs, counts.heavy, counts.slice_seconds)
    rates = {side: Samples("1/s", tuple(one.rate for one in taken)) for side, taken in slices.items()}
    slowest = {
        side: Samples("s", tuple(percentile(one.seconds, 99) for one in taken)) for side, taken in slices.items()
    }
    name = f"{count} clients, {SMALL:,} files each"
    yield Row(key, f"{name}: edits and tracks", "the git algorithm", rates["snapd"], rates["git"])
    yield Row(f"{key}-p99", f"{name}: p99 of a track", "the git algorithm", slowest["snapd"], slowest["git"])
