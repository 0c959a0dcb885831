"""How the cost of questions about the history, and of undo, grows with the number of steps."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.daemon import Daemon
from benchmarks.measure import Samples, agree, timed

from .kind import Kind, Series, row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.bench import Bench
    from benchmarks.results import Row

_FILES = 1000
_LINES = 20
_IN_A_SESSION = 100
_PAGE = 50
_OLD = "old.txt"
_FULL = _PAGE * _IN_A_SESSION
"""From so many steps on, a page of sessions is full; and from as many as there are files, all of these are pending."""

_STEP = Series("step", "step/begin and step/end of one changed file")
_LIST = Series("list", f"session/list, {_PAGE} sessions", base=_FULL)
_HISTORY = Series("history", f"session/history, {_PAGE} entries", base=_PAGE)
_REVIEW = Series("review", f"review/list after a step, {_PAGE} files", base=_FILES)
_BLAME = Series("blame", "blame of a file that the first step changed")
_UNDO = Series("undo", "undo of the first step")
_CLOSED = Series("begin-after-close", "first step/begin after an orderly close")
_KILLED = Series("begin-after-kill", "first step/begin after `kill -9`")
_MEMORY = Series("memory-steps", "memory", "B")
_SERIES = (_STEP, _LIST, _HISTORY, _REVIEW, _BLAME, _UNDO, _CLOSED, _KILLED, _MEMORY)


class _Timeline:
    """A folder whose history is made longer and longer.

    The first step changes a file of its own; what is asked about that file later depends on nothing else.
    """

    def __init__(self, folder: str, request: Callable[..., Any]) -> None:
        self._folder = folder
        self.request = request
        self.count = 0
        self.oldest = ""
        for number in range(_FILES):
            self._write(f"f{number}.txt", 0)
        self._write(_OLD, 0)
        request("snapshot/track", {})

    def grow(self, count: int) -> None:
        """Makes steps until there are so many."""
        while self.count < count:
            self.step()

    def step(self) -> None:
        """One more step."""
        session = f"session-{self.count // _IN_A_SESSION}"
        if self.count % _IN_A_SESSION == 0:
            self.request("session/start", {"sessionId": session, "agent": "bench"})
        self.end(self.begin(session))

    def begin(self, session: str = "session-0") -> str:
        """Begins a step."""
        step: str = self.request("step/begin", {"sessionId": session})["stepId"]
        self.oldest = self.oldest or step
        return step

    def end(self, step: str) -> None:
        """Ends a step that changed a file."""
        self._write(f"f{self.count % _FILES}.txt" if self.count else _OLD, self.count + 1)
        self.request("step/end", {"stepId": step})
        self.count += 1

    def _write(self, name: str, number: int) -> None:
        lines = [f"line {line} of {name}\n" for line in range(_LINES)]
        if number:
            lines[number // _FILES % _LINES] = f"step {number}\n"
        with open(os.path.join(self._folder, name), "w") as file:
            file.writelines(lines)


def _measure(bench: Bench, sizes: list[int]) -> Iterator[Row]:
    """A history that grows to these numbers of steps; at each, the same questions."""
    folder = os.path.join(bench.scratch(), "project")
    os.mkdir(folder)
    with Daemon(bench.scratch()) as daemon:
        client = daemon.connect(folder)
        request = client.request
        timeline = _Timeline(folder, request)
        for size in sizes:
            timeline.grow(size)
            samples: dict[Series, list[float]] = {series: [] for series in _SERIES}
            ask = partial(_ask, request, samples)
            for number in range(bench.counts.repetitions + 1):
                if number == 1:
                    # the first time, what is remembered from then on has to be found out
                    samples.update((series, []) for series in samples)
                samples[_STEP].append(timed(timeline.step)[0])
                ask(_REVIEW, "review/list", limit=_PAGE)
                ask(_LIST, "session/list", limit=_PAGE)
                ask(_HISTORY, "session/history", limit=_PAGE)
                lines = ask(_BLAME, "snapshot/blame", file=_OLD)["lines"]
                agree(sum(run["count"] for run in lines), _LINES)
            for _ in range(bench.counts.repetitions):
                undone = ask(_UNDO, "session/undo", stepId=timeline.oldest)
                agree([file["outcome"] for file in undone["files"]], ["restored"])
                request("session/redo", {})
            samples[_MEMORY].append(daemon.memory()["VmRSS"])
            for series, end in ((_CLOSED, daemon.stop), (_KILLED, daemon.kill)):
                for _ in range(bench.counts.repetitions):
                    end()
                    client.close()
                    daemon.start()
                    client = daemon.connect(folder)
                    request = timeline.request = client.request
                    seconds, step = timed(timeline.begin)
                    samples[series].append(seconds)
                    timeline.end(step)
            for series, taken in samples.items():
                yield row(series, "steps", size, Samples(series.unit, tuple(taken)))
        client.close()


def _ask(
    request: Callable[..., Any], samples: dict[Series, list[float]], series: Series, method: str, **params: Any
) -> Any:
    seconds, answer = timed(partial(request, method, params))
    samples[series].append(seconds)
    return answer


STEPS = Kind(
    "steps",
    "Time of questions and undo by the number of steps in the history",
    (100, 1000, 10_000, 100_000),
    _SERIES,
    _measure,
)
