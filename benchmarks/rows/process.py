"""The daemon as a process: how soon it answers, and what it takes."""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon, spawn_and_initialize, track
from benchmarks.measure import Samples, agree, alternate, timed
from benchmarks.results import Row

from .tracks import GIT_TRACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench


def restart(bench: Bench) -> Iterator[Row]:
    """The first snapshot of a daemon that was started again, from the connection to the hash."""
    pair = bench.pair()
    pair.track()
    count = max(3, bench.counts.repetitions // 5)
    try:
        snapd, git = alternate(
            count, lambda _: pair.restart(), lambda: pair.daemon.first_track(pair.tree), pair.shadow.track
        )
    finally:
        pair.reconnect()
    yield Row("restart", "first track after a restart", f"{GIT_TRACK}, no-op", snapd, git)


def spawn(bench: Bench) -> Iterator[Row]:
    """From starting `snapd serve --stdio` to the answer to `initialize`, with the tree as its folder."""
    seconds = []
    for _ in range(max(3, bench.counts.repetitions // 3)):
        taken, client = timed(partial(spawn_and_initialize, bench.scratch(), bench.tree))
        client.shutdown()
        seconds.append(taken)
    yield Row("spawn", "spawn to the answer to initialize", "", Samples("s", tuple(seconds)))


def status(bench: Bench) -> Iterator[Row]:
    """What editors ask for now and then: nothing of it depends on how much the store holds."""
    pair = bench.pair()
    pair.track()
    for _ in range(bench.counts.status_tracks):
        pair.editor.edit()
        track(pair.client)
    store = pair.client.status()["store"]["path"]
    objects = sum(len(files) for _, _, files in os.walk(os.path.join(store, "objects")))
    seconds = [timed(pair.client.status)[0] for _ in range(bench.counts.repetitions)]
    yield Row("status", f"snapshot/status, {objects:,} files in the store", "", Samples("s", tuple(seconds)))


def idle(bench: Bench) -> Iterator[Row]:
    """Processor time of a daemon that has the tree open and nothing to do."""
    pair = bench.pair()
    pair.track()
    # what the last request left to be done is not idling
    time.sleep(1.0)
    before = pair.daemon.cpu_seconds()
    elapsed, _ = timed(lambda: time.sleep(bench.counts.idle_seconds))
    percent = (pair.daemon.cpu_seconds() - before) / elapsed * 100
    yield Row("idle", f"CPU while idle, over {bench.counts.idle_seconds:g} s", "", Samples("%", (percent,)))


def memory(bench: Bench) -> Iterator[Row]:
    """Memory of a new daemon: after its first snapshot and some steps, and how it grows over many more."""
    pair = bench.pair()
    counts = bench.counts
    with Daemon(bench.scratch()) as daemon:
        client = daemon.connect(bench.tree)

        def steps(count: int) -> int:
            for _ in range(count):
                pair.editor.edit()
                last = track(client)
            agree(last, pair.shadow.track())
            return daemon.memory()["VmRSS"]

        track(client)
        warm = steps(counts.warm_rounds)
        yield Row("memory", f"memory, tree open, {counts.warm_rounds:,} tracks", "", Samples("B", (warm,)))
        grown = steps(counts.memory_rounds) - warm
        yield Row(
            "memory-growth", f"growth over {counts.memory_rounds:,} more edits and tracks", "", Samples("B", (grown,))
        )
        client.close()
