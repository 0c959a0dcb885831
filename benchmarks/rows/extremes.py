"""A step that changes very many files, and an agent that writes without a pause while a person undoes."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import Samples, WrongResult, percentile, timed
from benchmarks.results import Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from benchmarks.bench import Bench, Pair

_FILES = 20_000
_BATCH = 10
"""Files that the writer makes between two pauses: a pause for each would take too long."""


class _Step(NamedTuple):
    """A step of the session of the same name."""

    pair: Pair
    session: str
    step_id: str

    @classmethod
    def begun(cls, pair: Pair, session: str) -> _Step:
        pair.client.request("session/start", {"sessionId": session, "agent": "bench"})
        return cls(pair, session, pair.client.request("step/begin", {"sessionId": session})["stepId"])

    def end(self, files: list[str] | None = None) -> None:
        self.pair.client.request("step/end", {"stepId": self.step_id, "files": files})

    def files(self) -> int:
        return sum(1 for _ in self.pair.client.session_diff_all(self.session, step_id=self.step_id, contents=False))

    def undo(self) -> None:
        self.pair.client.request("session/undo", {"stepId": self.step_id})


def large(bench: Bench) -> Iterator[Row]:
    """One step that changes that many files: its end, what it changed, and its undo."""
    pair = bench.pair()
    before = pair.track()
    chosen = pair.editor.choose(bench.at_most(_FILES, pair.files))
    ends, lists, undos = [], [], []
    for number in range(bench.counts.heavy):
        step = _Step.begun(pair, f"large-{number}")
        pair.editor.append(chosen)
        os.sync()
        ends.append(timed(step.end)[0])
        seconds, count = timed(step.files)
        lists.append(seconds)
        undos.append(timed(step.undo)[0])
        if count != len(chosen) or pair.track() != before:
            raise WrongResult(f"a step changed {len(chosen)} files; {count} were listed, or some are not undone")
    name = f"a step that changed {len(chosen):,} files"
    yield Row("large-end", f"step/end of {name}", "", Samples("s", tuple(ends)))
    yield Row("large-files", f"the list of the files of {name}", "", Samples("s", tuple(lists)))
    yield Row("large-undo", f"undo of {name}", "", Samples("s", tuple(undos)))


def storm(bench: Bench) -> Iterator[Row]:
    """Undo of a step with one file, while a step of another agent makes new files all the time."""
    pair = bench.pair()
    pair.track()
    seconds = bench.counts.storm_seconds
    writing = _Step.begun(pair, "storm")
    undos = []
    with _writer(os.path.join(pair.tree, "storm"), bench.counts.storm_files, seconds) as done:
        while not done.poll():
            undos.append(_undo_one(pair))
        count = done.recv()
    writing.end()
    pair.track()
    if (listed := writing.files()) != count:
        raise WrongResult(f"{count} files were written, and {listed} are of the step that wrote them")
    name = f"undo while {count / seconds:,.0f} files a second are written, for {seconds:g} s"
    yield Row("storm-undo", name, "", Samples("s", tuple(undos)))
    yield Row("storm-p99", f"p99 of an {name}", "", Samples("s", (percentile(undos, 99),)))


def _undo_one(pair: Pair) -> float:
    step = _Step.begun(pair, "person")
    (file,) = pair.editor.choose(1)
    before = _content(pair, file)
    pair.editor.append([file])
    # another step is open: the agent says which file it wrote
    step.end([file])
    seconds, _ = timed(step.undo)
    if _content(pair, file) != before:
        raise WrongResult(f"{file} is not as it was before the step that was undone")
    return seconds


def _content(pair: Pair, file: str) -> bytes:
    with open(os.path.join(pair.tree, file), "rb") as opened:
        return opened.read()


@contextmanager
def _writer(folder: str, per_second: int, seconds: float) -> Iterator[Connection]:
    """Has a process write files; gives where it says at the end how many it wrote."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=partial(_write, folder, per_second, seconds, theirs))
    process.start()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()


def _write(folder: str, per_second: int, seconds: float, done: Connection) -> None:
    """The main function of the writer."""
    os.makedirs(folder)
    count, begun = 0, time.monotonic()
    while time.monotonic() < begun + seconds:
        for _ in range(_BATCH):
            with open(os.path.join(folder, f"{count:06}.txt"), "w", encoding="ascii") as file:
                file.write(f"file {count}\n" * 20)
            count += 1
        time.sleep(max(0.0, begun + count / per_second - time.monotonic()))
    done.send(count)
