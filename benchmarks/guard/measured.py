"""Carries out the scenarios, each in a process of its own, and gives the counts of their rows."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from .counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .committed import Counts
    from .rows import Job, Scenario


class Failed(Exception):
    """A scenario could not be carried out."""


def measure(scenarios: Sequence[Callable[[str], Counts]], work: str) -> Counts:
    """The counts of some scenarios.

    Args:
        scenarios: each is given an empty directory, and has rows of its own; all run at the same time.
        work: an empty directory.

    Raises:
        Failed: one of them raised; it has said so on standard error.
    """
    running = {_fork(scenario, os.path.join(work, str(at))): str(at) for at, scenario in enumerate(scenarios)}
    failed = [at for process, at in running.items() if os.waitpid(process, 0)[1] != 0]
    if failed:
        raise Failed(f"{len(failed)} of {len(scenarios)} scenarios did not come to their end")
    counts: Counts = {}
    for at in running.values():
        with open(os.path.join(work, f"{at}.json"), encoding="ascii") as file:
            counts.update(json.load(file))
    return counts


def _fork(scenario: Callable[[str], Counts], directory: str) -> int:
    """Has a copy of this process, which has done nothing yet, carry out a scenario; returns its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    try:
        os.mkdir(directory)
        counts = scenario(directory)
        with open(f"{directory}.json", "w", encoding="ascii") as file:
            json.dump(counts, file)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def counts_of(scenario: Scenario) -> Callable[[str], Counts]:
    """Carries out a scenario's jobs in a directory, and gives their counts."""
    return lambda directory: count(scenario(directory))


def count(jobs: Iterable[Job]) -> Counts:
    """The counts of jobs, which are done one after the other."""
    result: Counts = {}
    with ExitStack() as places:
        for job in jobs:
            job.place.publish()
            before = job.place.objects()
            places.callback(job.place.close)
            with counted(job.place.directory) as work:
                answer = job.work()
            job.place.publish()
            after = job.place.objects()
            counts = work.counts + _stored({name: after[name] for name in after.keys() - before.keys()})
            counts["bytes answered"] = job.place.length(answer)
            result[job.row] = dict(counts)
    return result


def _stored(objects: dict[str, tuple[str, int]]) -> Counter[str]:
    counter: Counter[str] = Counter()
    for kind, size in objects.values():
        counter[f"objects, {kind}"] += 1
        counter["bytes of objects"] += size
    return counter
