"""Processes that edit and track at the same time, by turns with snapd and with the git algorithm.

Processes and not threads: the interpreter lock of the measuring program must not be what is measured.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from snapd_client import Client

from .daemon import TIMEOUT_SECONDS, track
from .edits import Editor
from .git_algorithm import ShadowGit
from .measure import agree, timed

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

SIDES = ("snapd", "git")


class Job(NamedTuple):
    """What one process works on."""

    number: int
    tree: str
    socket: str
    shadow: str


class Slice(NamedTuple):
    """What all processes did in one stretch of time: tracks a second, and the seconds of each track."""

    rate: float
    seconds: list[float]


class _Report(NamedTuple):
    side: str
    turn: int
    elapsed: float
    seconds: list[float]


def run_jobs(jobs: list[Job], turns: int, seconds: float) -> dict[str, list[Slice]]:
    """Runs a process for each job.

    Args:
        jobs: what they work on.
        turns: stretches for each side.
        seconds: of a stretch.

    Returns:
        By side, a slice for each turn.

    Raises:
        RuntimeError: one of them failed; the message has its traceback.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(jobs))
    queue: Queue[_Report | str] = context.Queue()
    processes = [context.Process(target=_work, args=(job, turns, seconds, barrier, queue)) for job in jobs]
    for process in processes:
        process.start()
    try:
        reports = [_receive(queue) for _ in range(len(jobs) * turns * len(SIDES))]
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    finally:
        for process in processes:
            process.join()
    return {
        side: [_slice([report for report in reports if report[:2] == (side, turn)]) for turn in range(turns)]
        for side in SIDES
    }


def _receive(queue: Queue[_Report | str]) -> _Report:
    report = queue.get(timeout=TIMEOUT_SECONDS)
    if isinstance(report, str):
        raise RuntimeError(f"a client failed:\n{report}")
    return report


def _slice(reports: list[_Report]) -> Slice:
    rate = sum(len(report.seconds) / report.elapsed for report in reports)
    return Slice(rate, [taken for report in reports for taken in report.seconds])


def _work(job: Job, turns: int, seconds: float, barrier: Barrier, queue: Queue[_Report | str]) -> None:
    """The main function of a process."""
    try:
        shadow = ShadowGit(job.shadow, job.tree)
        shadow.create()
        with Client.connect(job.socket, timeout=TIMEOUT_SECONDS) as client:
            client.initialize([job.tree], client_name="bench-load")
            sides: dict[str, Callable[[], str]] = {"snapd": lambda: track(client), "git": shadow.track}
            agree(sides["snapd"](), sides["git"]())
            editor = Editor(job.tree, shadow.files(), job.number)
            for turn in range(turns):
                for side in SIDES:
                    barrier.wait(TIMEOUT_SECONDS)
                    elapsed, taken = timed(partial(_rounds, editor, sides[side], seconds))
                    queue.put(_Report(side, turn, elapsed, taken))
                    # nobody checks while somebody else still measures
                    barrier.wait(TIMEOUT_SECONDS)
                    agree(sides["snapd"](), sides["git"]())
    except BaseException:
        queue.put(traceback.format_exc())
        barrier.abort()
        raise


def _rounds(editor: Editor, take: Callable[[], str], seconds: float) -> list[float]:
    """Edits one file and tracks, again and again for so long; gives the seconds of each track."""
    ends = time.perf_counter() + seconds
    taken = []
    while time.perf_counter() < ends:
        editor.edit()
        taken.append(timed(take)[0])
    return taken
