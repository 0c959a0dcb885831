"""What the snapshots take on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.bench import Pair
from benchmarks.measure import Samples, WrongResult
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench

KINDS = ("apparent", "allocated")


def store(bench: Bench) -> Iterator[Row]:
    """Growth by a step with one changed file, and what maintenance leaves of all these snapshots.

    Everything that the daemon keeps counts for snapd; the objects alone count for git. While it runs, its journal holds
    the last steps once more, up to a bound that does not grow with their number (256 steps or 8 MiB): to divide that by
    the few steps of this row would say nothing of a long session. So the growth is taken between two states in which
    the daemon was ended in order and the journal is gone.
    """
    steps = bench.counts.steps
    with Pair(bench.tree, bench.scratch()) as pair:
        trees = [pair.track()]
        before = settled(pair)
        for _ in range(steps):
            pair.editor.edit()
            trees.append(pair.track())
        after = settled(pair)
        for kind in KINDS:
            snapd, git = (
                Samples("B", ((new[kind] - old[kind]) / steps,)) for old, new in zip(before, after, strict=True)
            )
            name = f"store, one-file step, {kind} bytes (mean of {steps})"
            yield Row(f"step-{kind}", name, "objects of the git shadow", snapd, git)
        pair.client.cleanup()
        pair.shadow.pack(trees)
        packed = settled(pair)
        for kind in KINDS:
            snapd, git = (Samples("B", (use[kind],)) for use in packed)
            yield Row(
                f"packed-{kind}", f"store after maintenance, {kind} bytes", "git gc of the same trees", snapd, git
            )


def settled(pair: Pair) -> tuple[dict[str, int], dict[str, int]]:
    """What both sides take on disk while no daemon runs; another one runs when this returns.

    Returns:
        Everything in the daemon's data directory, and the objects of the shadow repository, see `disk_use`.

    Raises:
        WrongResult: the daemon left a journal.
    """
    pair.client.close()
    pair.daemon.stop()
    left = [
        name for above, _, names in os.walk(pair.daemon.data) if os.path.basename(above) == "journal" for name in names
    ]
    if left:
        raise WrongResult(f"a daemon that was ended left a journal: {left}")
    use = disk_use(pair.daemon.data), disk_use(pair.shadow.objects)
    pair.daemon.start()
    pair.reconnect()
    return use


def disk_use(directory: str) -> dict[str, int]:
    """Bytes of a directory and what is in it: the lengths of files, and the blocks of files and directories.

    What has several names counts once. What vanishes while it is counted does not count.
    """
    seen: set[tuple[int, int]] = set()
    use = dict.fromkeys(KINDS, 0)
    for current, _, names in os.walk(directory):
        for path in (current, *(os.path.join(current, name) for name in names)):
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                use["apparent"] += status.st_size if path != current else 0
                use["allocated"] += status.st_blocks * 512
    return use
