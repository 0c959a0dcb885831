"""How memory, and the cost of a step in one folder, grow with the number of folders that a daemon has open."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon, track
from benchmarks.measure import Samples, timed
from benchmarks.rows.tracks import SMALL
from benchmarks.trees import copy_tree, sparse_tree

from .kind import Kind, Series, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from snapd_client import Client

    from benchmarks.bench import Bench
    from benchmarks.results import Row

_NOOP = Series("noop-in-one", f"no-op track in one of them, {SMALL:,} files each")
_ONE = Series("one-in-one", "track in one of them, one changed file")
_MEMORY = Series("memory-workspaces", "memory", "B")


def _measure(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """One daemon, and a client for each folder; in the first folder the same steps each time."""
    source = sparse_tree(bench.cache, SMALL)
    with Daemon(bench.scratch()) as daemon, ExitStack() as opened:
        clients: list[tuple[Client, str]] = []
        for size in sizes:
            while len(clients) < size:
                tree = os.path.join(bench.scratch(), "project")
                copy_tree(source, tree)
                client = opened.enter_context(daemon.connect(tree))
                track(client)
                clients.append((client, tree))
            client, tree = clients[0]
            noop, one = [], []
            for number in range(bench.counts.repetitions):
                noop.append(timed(partial(track, client))[0])
                with open(os.path.join(tree, "changed"), "w") as file:
                    file.write(f"{size} {number}\n")
                one.append(timed(partial(track, client))[0])
            yield row(_NOOP, "workspaces", size, Samples("s", tuple(noop)))
            yield row(_ONE, "workspaces", size, Samples("s", tuple(one)))
            yield row(_MEMORY, "workspaces", size, Samples("B", (daemon.memory()["VmRSS"],)))


WORKSPACES = Kind(
    "workspaces",
    "Time of a snapshot by the number of workspaces that are open",
    (1, 10, 100, 200),
    (_NOOP, _ONE, _MEMORY),
    _measure,
)
