"""What it costs to bring back one file, very many, and a folder that moved."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon, track
from benchmarks.measure import Samples, agree, timed
from benchmarks.results import Row
from benchmarks.trees import copy_tree, generated_tree, warm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from snapd_client import Client

    from benchmarks.bench import Bench

_MANY = 20_000
_MOVED = 31_000


def revert(bench: Bench) -> Iterator[Row]:
    """One changed file."""
    pair = bench.pair()
    target = pair.track()
    seconds = []
    for _ in range(bench.counts.repetitions):
        (name,) = pair.editor.edit(1)
        track(pair.client)
        seconds.append(timed(partial(pair.client.revert, [{"hash": target, "files": [name]}]))[0])
        agree(track(pair.client), target)
    pair.track()
    yield Row("revert", "revert of one file", "", Samples("s", tuple(seconds)))


def many(bench: Bench) -> Iterator[Row]:
    """Every file of a folder changed."""

    def change(tree: str) -> None:
        for above, _, names in os.walk(tree):
            for name in names:
                with open(os.path.join(above, name), "ab") as file:
                    file.write(b"one more line\n")

    yield Row("restore-many", f"restore of {_MANY:,} changed files", "", _restored(bench, _MANY, change))


def moved(bench: Bench) -> Iterator[Row]:
    """A folder with all files of the project moved."""

    def change(tree: str) -> None:
        os.rename(os.path.join(tree, "project"), os.path.join(tree, "moved"))

    yield Row("moved", f"restore of a folder of {_MOVED:,} files that moved", "", _restored(bench, _MOVED, change))


def _restored(bench: Bench, count: int, change: Callable[[str], None]) -> Samples:
    seconds = []
    with _project(bench, count) as (tree, client):
        target = track(client)
        for _ in range(bench.counts.heavy):
            change(tree)
            track(client)
            os.sync()
            seconds.append(timed(partial(client.restore, target))[0])
            agree(track(client), target)
    return Samples("s", tuple(seconds))


@contextmanager
def _project(bench: Bench, count: int) -> Iterator[tuple[str, Client]]:
    """A folder with a project in a folder of its own, and a client of a daemon there."""
    tree = os.path.join(bench.scratch(), "tree")
    os.makedirs(tree)
    copy_tree(generated_tree(bench.cache, count), os.path.join(tree, "project"))
    warm(tree)
    with Daemon(bench.scratch()) as daemon, daemon.connect(tree) as client:
        yield tree, client
