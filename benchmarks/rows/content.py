"""What a thousand changed files cost to show and to bring back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from benchmarks.git_algorithm import FileChange
from benchmarks.measure import Samples, agree, alternate, timed
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench


def diff(bench: Bench) -> Iterator[Row]:
    """`diffFull` between two snapshots, each time between two others."""
    pair = bench.pair()
    count = bench.at_most(bench.counts.many, pair.files)
    ends = ["", ""]

    def prepare(_: int) -> None:
        ends[0] = pair.track()
        pair.editor.edit(count)
        ends[1] = pair.track()

    snapd, git = alternate(
        bench.counts.heavy,
        prepare,
        lambda: list(pair.client.diff_full_all(*ends)),
        lambda: pair.shadow.diff_full(*ends),
        lambda ours, theirs: agree([_change(one) for one in ours], theirs),
        settle=True,
    )
    # the goal is one for that many
    key = "diff" if count == bench.counts.many else "diff-few"
    yield Row(key, f"diffFull, {count:,} changed files", "git diff --numstat + 2 git show a file", snapd, git)


def restore(bench: Bench) -> Iterator[Row]:
    """Bringing the tree back after files were changed and a snapshot was taken of them."""
    pair = bench.pair()
    files = pair.editor.choose(bench.at_most(bench.counts.many, pair.files))
    target = pair.track()
    seconds: dict[str, list[float]] = {"snapd": [], "git": []}
    sides: dict[str, Callable[[], Any]] = {
        "snapd": lambda: pair.client.restore(target),
        "git": lambda: pair.shadow.restore(target),
    }
    for number in range(bench.counts.heavy):
        for side in ("snapd", "git") if number % 2 == 0 else ("git", "snapd"):
            pair.editor.append(files)
            pair.track()
            os.sync()
            taken, _ = timed(sides[side])
            seconds[side].append(taken)
            # both look at what the one of them has written
            agree(pair.track(), target)
    yield Row(
        "restore",
        f"restore, {len(files):,} changed files",
        "git read-tree + checkout-index",
        Samples("s", tuple(seconds["snapd"])),
        Samples("s", tuple(seconds["git"])),
    )


def _change(diff: Any) -> FileChange:
    encoding = diff.get("encoding", "utf-8")
    before, after = diff["before"].encode(encoding), diff["after"].encode(encoding)
    return FileChange(diff["file"], before, after, diff["additions"], diff["deletions"])
