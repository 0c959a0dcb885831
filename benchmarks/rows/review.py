"""What agents left pending, and who wrote each line: with a long history, and as an editor asks."""

from __future__ import annotations

import os
import random
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.bench import Pair
from benchmarks.measure import Samples, agree, timed
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench

_FILES = 1_000
_LINES = 200
_BLAMED_LINES = 5_000


def review(bench: Bench) -> Iterator[Row]:
    """The list of 1,000 files with pending changes, after a history of many steps."""
    names = [f"f{number}.txt" for number in range(_FILES)]
    folder = _folder(bench, dict.fromkeys(names, _LINES))
    chance = random.Random(0)
    with Pair(folder, bench.scratch()) as pair:
        request = pair.client.request
        request("session/start", {"sessionId": "bench", "agent": "bench"})
        for number in range(bench.counts.review_steps):
            _step(request, partial(_replace_a_line, folder, names[number % _FILES], chance))
        first, result = timed(lambda: request("review/list"))
        agree(result["pendingFiles"], min(_FILES, bench.counts.review_steps))
        lists, files, keeps = [], [], []
        for number in range(bench.counts.repetitions):
            name = names[number % _FILES]
            _step(request, partial(_replace_a_line, folder, name, chance))
            lists.append(timed(lambda: request("review/list"))[0])
            files.append(timed(partial(request, "review/file", {"file": name}))[0])
            keeps.append(timed(partial(request, "review/keep", {"file": name, "hunks": [0]}))[0])
        steps = f"{bench.counts.review_steps:,} steps"
        yield Row("review-first", f"the first review/list, {_FILES:,} files, {steps}", "", Samples("s", (first,)))
        yield Row("review", f"review/list after a step, {_FILES:,} files, {steps}", "", Samples("s", tuple(lists)))
        yield Row("review-file", "review/file", "", Samples("s", tuple(files)))
        yield Row("review-keep", "review/keep of one hunk", "", Samples("s", tuple(keeps)))


def blame(bench: Bench) -> Iterator[Row]:
    """Who wrote each line of a file of 5,000 lines after 1,000 changes."""
    folder = _folder(bench, {"f.txt": _BLAMED_LINES})
    chance = random.Random(0)
    with Pair(folder, bench.scratch()) as pair:
        request = pair.client.request
        request("session/start", {"sessionId": "bench", "agent": "bench"})
        for _ in range(bench.counts.blame_steps):
            _step(request, partial(_replace_a_line, folder, "f.txt", chance))

        def ask() -> int:
            lines = request("snapshot/blame", {"file": "f.txt"})["lines"]
            return sum(int(run["count"]) for run in lines)

        first, count = timed(ask)
        agree(count, _BLAMED_LINES)
        again, later = [], []
        for _ in range(bench.counts.repetitions):
            again.append(timed(ask)[0])
            _step(request, partial(_replace_a_line, folder, "f.txt", chance))
            later.append(timed(ask)[0])
        about = f"{_BLAMED_LINES:,} lines, {bench.counts.blame_steps:,} changes"
        yield Row("blame-first", f"the first blame of a file, {about}", "", Samples("s", (first,)))
        yield Row("blame", f"blame after one more change, {about}", "", Samples("s", tuple(later)))
        yield Row("blame-again", f"the same blame again, {about}", "", Samples("s", tuple(again)))


def _folder(bench: Bench, lines: dict[str, int]) -> str:
    folder = os.path.join(bench.scratch(), "tree")
    os.mkdir(folder)
    for name, count in lines.items():
        with open(os.path.join(folder, name), "w") as file:
            file.writelines(f"line {number} of {name}\n" for number in range(count))
    return folder


def _replace_a_line(folder: str, name: str, chance: random.Random) -> None:
    path = os.path.join(folder, name)
    with open(path) as file:
        lines = file.readlines()
    lines[chance.randrange(len(lines))] = f"changed {chance.randrange(1 << 40)}\n"
    with open(path, "w") as file:
        file.writelines(lines)


def _step(request: Callable[..., Any], work: Callable[[], None]) -> None:
    step = request("step/begin", {"sessionId": "bench"})["stepId"]
    work()
    request("step/end", {"stepId": step})
