"""Snapshots where nothing or little changed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from benchmarks.bench import Pair
from benchmarks.measure import Samples, agree, all_agree, in_turns, timed
from benchmarks.peers import available, peers
from benchmarks.results import Row
from benchmarks.trees import copy_tree, generated_tree, warm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.bench import Bench
    from benchmarks.peers import Peer

GIT_TRACK = "git add + write-tree"
SMALL = 1000


def noop(bench: Bench) -> Iterator[Row]:
    """Nothing changed."""
    yield from _beside_peers(bench, "noop", "no-op track", 0, bench.counts.repetitions)


def one(bench: Bench) -> Iterator[Row]:
    """One file changed."""
    yield from _beside_peers(bench, "one", "track, one changed file", 1, bench.counts.repetitions)


def hundred(bench: Bench) -> Iterator[Row]:
    """A hundred scattered files changed."""
    count = bench.at_most(100, bench.pair().files)
    repetitions = max(3, bench.counts.repetitions // 2)
    yield from _beside_peers(bench, "hundred", f"track, {count} scattered files", count, repetitions)


def small(bench: Bench) -> Iterator[Row]:
    """Nothing and one file changed in a small project."""
    tree = os.path.join(bench.scratch(), "small")
    copy_tree(generated_tree(bench.cache, SMALL), tree)
    warm(tree)
    with Pair(tree, bench.scratch()) as pair:
        count = bench.counts.repetitions
        yield tracks(pair, "small-noop", f"no-op track, {SMALL:,} files", 0, count)
        yield tracks(pair, "small-one", f"track, one changed file, {SMALL:,} files", 1, count)


def commit(bench: Bench) -> Iterator[Row]:
    """A step that commits one file: what the commit adds to the step, beside one that only edits the file."""
    pair = bench.pair()
    request = pair.client.request
    request("session/start", {"sessionId": "commits", "agent": "bench"})

    def step(commits: int) -> float:
        began, opened = timed(lambda: request("step/begin", {"sessionId": "commits"}))
        pair.editor.edit(1)
        if commits:
            identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")
            subprocess.run(["git", *identity, "commit", "-qam", "one"], cwd=pair.tree, check=True)
        ended, _ = timed(lambda: request("step/end", {"stepId": opened["stepId"]}))
        return began + ended

    step(1)
    more = tuple(step(1) - step(0) for _ in range(max(3, bench.counts.repetitions // 2)))
    yield Row("commit", "what a commit adds to a step", "", Samples("s", more))


def tracks(pair: Pair, key: str, name: str, changed: int, repetitions: int) -> Row:
    """Measures snapshots after so many files were changed."""
    return _tracks(pair, key, name, changed, repetitions, [])[0]


def _beside_peers(bench: Bench, key: str, name: str, changed: int, repetitions: int) -> list[Row]:
    pair = bench.pair()
    with peers(pair.tree, bench.scratch(), available()) as others:
        for peer in others:
            agree(peer.first_track(), pair.track())
            peer.shadow.spread()
        return _tracks(pair, key, name, changed, repetitions, others)


def _tracks(pair: Pair, key: str, name: str, changed: int, repetitions: int, others: list[Peer]) -> list[Row]:
    # what changed before this row is nobody's business in it
    for _ in range(2):
        pair.track()

    def prepare(_: int) -> None:
        if changed:
            pair.editor.edit(changed)

    sides = [pair.track_with_snapd, pair.shadow.track, *(peer.shadow.track for peer in others)]
    # who syncs is not to wait for what others have written
    snapd, git, *theirs = in_turns(repetitions, prepare, sides, all_agree, settle=changed > 0)
    return [
        Row(key, name, GIT_TRACK, snapd, git),
        *(Row(f"{key}-{peer.key}", name, peer.name, snapd, one) for peer, one in zip(others, theirs, strict=True)),
    ]
