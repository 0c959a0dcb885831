"""What the snapshots take on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.bench import Pair
from benchmarks.measure import Samples
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench

KINDS = ("apparent", "allocated")


def store(bench: Bench) -> Iterator[Row]:
    """Growth by a step with one changed file, and what maintenance leaves of all these snapshots.

    Everything that the daemon writes counts for snapd; the objects alone count for git.
    """
    steps = bench.counts.steps
    with Pair(bench.tree, bench.scratch()) as pair:
        directories = (pair.daemon.data, pair.shadow.objects)
        trees = [pair.track()]
        before = [disk_use(directory) for directory in directories]
        for _ in range(steps):
            pair.editor.edit()
            trees.append(pair.track())
        after = [disk_use(directory) for directory in directories]
        for kind in KINDS:
            snapd, git = (
                Samples("B", ((new[kind] - old[kind]) / steps,)) for old, new in zip(before, after, strict=True)
            )
            name = f"store, one-file step, {kind} bytes (mean of {steps})"
            yield Row(f"step-{kind}", name, "objects of the git shadow", snapd, git)
        pair.client.cleanup()
        pair.shadow.pack(trees)
        packed = [disk_use(directory) for directory in directories]
        for kind in KINDS:
            snapd, git = (Samples("B", (use[kind],)) for use in packed)
            yield Row(
                f"packed-{kind}", f"store after maintenance, {kind} bytes", "git gc of the same trees", snapd, git
            )


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
