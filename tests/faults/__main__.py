"""`python -m tests.faults`: the sweeps, and their numbers as the last line, in JSON. See `make sweep`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import attrs

from snapd.failpoints import POINTS
from snapd.store.journal import journal
from snapd.store.journal.journal import Journal
from tests.support.places import make_folder
from tests.support.system_calls import why_no_strace

from . import full_disks, mounts, outside, power_loss
from .forks import adopt_orphans
from .inject import FAULTS
from .scenarios import SCENARIOS
from .sweep import Sweep, cases, recoveries

_RECOVERED = ("restore", "undo", "redo", "undo_git", "redo_git")
_LOST = ("track", "steps", "restore", "undo", "redo", "undo_git", "redo_git", "cleanup")


@attrs.define
class Told:
    """What to run, and what to tell beside the sweep's own numbers.

    Attributes:
        options: of the command.
        sweep: the numbers, the templates and the checks.
        directory: a new one for each part.
        more: numbers by what they are of.
        skipped: what cannot be done here, and why.
    """

    options: argparse.Namespace
    sweep: Sweep
    directory: Path
    more: dict[str, int] = attrs.field(factory=dict)
    skipped: dict[str, str] = attrs.field(factory=dict)

    def wanted(self, names: Iterable[str]) -> Iterator[str]:
        """Those of some kinds of work that the options name."""
        only = self.options.only.partition("@")[0]
        for name in names:
            if name == self.options.work or (self.options.work is None and only in name):
                yield name

    def add(self, name: str, count: int) -> None:
        self.more[name] = self.more.get(name, 0) + count

    def fail(self, problem: str) -> None:
        self.sweep.numbers.failures.append(problem)
        print(f"FAILED {problem}", flush=True)

    def some(self, found: list, most: int | None) -> list:  # type: ignore[type-arg]
        """So many of some cases, by the seed."""
        return found if most is None or most >= len(found) else self.sweep.dice.sample(found, most)


def points(told: Told) -> None:
    """Each failpoint, each thing that may go wrong there, each kind of work."""
    options, sweep = told.options, told.sweep
    point = options.only.partition("@")[2]
    scenarios = [SCENARIOS[name] for name in told.wanted(SCENARIOS)]
    found = cases(sweep, scenarios, options.per_point, options.kinds.split(","))
    for scenario, fault in told.some([case for case in found if point in str(case[1])], options.most):
        _case(told, lambda scenario=scenario, fault=fault: sweep.case(scenario, fault))  # type: ignore[misc]


def second(told: Told) -> None:
    """A kill in the recovery from a kill, then the recovery from that."""
    options, sweep = told.options, told.sweep
    for name in told.wanted(_RECOVERED):
        for scenario, first, then in told.some(recoveries(sweep, SCENARIOS[name], options.per_point), options.most):
            _case(told, lambda case=(scenario, first, then): sweep.case(*case))  # type: ignore[misc]


def strace(told: Told) -> None:
    """System calls of the real command, made to fail or killed before."""
    reason = why_no_strace()
    if reason is not None:
        told.skipped["strace"] = reason
        return
    runner = outside.Outside(told.sweep)
    for name in told.wanted(outside.COMMANDS):
        command = outside.COMMANDS[name]
        planned = [
            outside.Injected(call, nth, fault) for call, nth in runner.calls(command) for fault in outside.FAULTS
        ]
        for injected in told.some(planned, told.options.most):
            told.add("system calls", 1)
            _case(told, lambda case=(name, command, injected): runner.case(*case))  # type: ignore[misc]


def full(told: Told) -> None:
    """Disks that are full, for the store and for the work tree."""
    reason = mounts.missing()
    if reason is not None:
        told.skipped["full disks"] = reason
        return
    for case in full_disks.CASES:
        if told.options.work not in (None, case):
            continue
        directory = told.directory / case.replace(" ", "-")
        directory.mkdir()
        tried, refused, problem = full_disks.check(directory, case, told.options.strides)
        told.add("operations on full disks", tried)
        told.add("refused for want of space", refused)
        if problem:
            told.fail(f"full disk, {case}: {problem}")


def power(told: Told) -> None:
    """Power losses at failpoints."""
    reason = mounts.missing_images()
    if reason is not None:
        told.skipped["power losses"] = reason
        return
    sweep = told.sweep
    for name in told.wanted(_LOST):
        scenario = SCENARIOS[name]
        hits = len(sweep.hits(scenario))
        count = min(told.options.losses, hits)
        directory = told.directory / f"power-{name}"
        directory.mkdir()
        copies, problems = power_loss.copies(
            directory, scenario, sweep.hashes(scenario), sweep.dice.sample(range(1, hits + 1), count)
        )
        told.add("power losses", copies)
        for problem in problems:
            told.fail(problem)


def _case(told: Told, run: Callable[[], None]) -> None:
    known = len(told.sweep.numbers.failures)
    run()
    for failure in told.sweep.numbers.failures[known:]:
        print(f"FAILED {failure}", flush=True)


PARTS = {part.__name__: part for part in (points, second, strace, full, power)}
_WORK = {
    "points": SCENARIOS,
    "second": _RECOVERED,
    "strace": outside.COMMANDS,
    "full": full_disks.CASES,
    "power": _LOST,
}
"""The kinds of work of each part."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="some of the sweeps (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of what is chosen")
    parser.add_argument("--only", default="", help="SCENARIO@POINT: names that have these in them")
    parser.add_argument("--work", help="the name of the only kind of work")
    parser.add_argument("--kinds", default=",".join(FAULTS), help="what goes wrong at failpoints")
    parser.add_argument("--per-point", type=int, default=3, help="of the times that a failpoint is come to, so many")
    parser.add_argument("--most", type=int, help="so many cases of each sweep, chosen by the seed, in one process")
    parser.add_argument("--strides", type=int, default=40, help="amounts of free space on full disks, about")
    parser.add_argument("--losses", type=int, default=12, help="power losses of each scenario")
    options = parser.parse_args()
    started = time.monotonic()
    # a case counts how often its failpoint is reached: no thread may reach one at a random moment
    journal.publish_later = Journal.publish_in_background
    if options.work is not None or options.most is not None:
        numbers = _in_this_process(options)
    else:
        numbers = _in_processes(options)
    came = numbers.pop("came")
    if options.work is None and not options.only and "points" in (options.parts or PARTS):
        never = sorted(set(POINTS) - set(came))
        if never:
            print(f"FAILED no work comes to {', '.join(never)}", flush=True)
            numbers["failures"] += 1
    more = {"came": came} if options.work is not None else {}
    told = {"fault points": len(POINTS), "come to": len(came), **numbers, **more}
    print(json.dumps({**told, "seconds": round(time.monotonic() - started, 1)}))
    return 1 if numbers["failures"] else 0


def _in_this_process(options: argparse.Namespace) -> dict[str, Any]:
    adopt_orphans()
    directory = make_folder("snapd-faults-")
    sweep = Sweep(directory, options.seed, options.most is None)
    told = Told(options, sweep, directory)
    try:
        for name in options.parts or PARTS:
            PARTS[name](told)
    finally:
        shutil.rmtree(directory)
    numbers = sweep.numbers
    return {
        "came": sorted(numbers.came),
        "cases": numbers.cases,
        "kills": numbers.kills,
        "second kills": numbers.second,
        "injected errors": numbers.errors,
        "delays": numbers.delays,
        "not come to again": numbers.missed,
        **told.more,
        "failures": len(numbers.failures),
        "skipped": told.skipped,
    }


def _in_processes(options: argparse.Namespace) -> dict[str, Any]:
    """Each kind of work in a process of its own, as many at once as there are processors."""
    only = options.only.partition("@")[0]
    kinds = [(part, name) for part in options.parts or PARTS for name in _WORK[part] if part == "full" or only in name]
    passed = ("seed", "only", "kinds", "per_point", "strides", "losses")
    words = [f"--{name.replace('_', '-')}={getattr(options, name)}" for name in passed]
    command = [sys.executable, "-m", "tests.faults", *words]
    numbers: Counter[str] = Counter()
    came: set[str] = set()
    skipped: dict[str, str] = {}

    def one(kind: tuple[str, str]) -> tuple[tuple[str, str], int, list[str]]:
        done = subprocess.run([*command, kind[0], "--work", kind[1]], stdout=subprocess.PIPE, text=True, check=False)
        return kind, done.returncode, done.stdout.splitlines()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for ended in as_completed([pool.submit(one, kind) for kind in kinds]):
            (part, name), code, lines = ended.result()
            failed = [line for line in lines if line.startswith("FAILED ")]
            try:
                told = json.loads(lines[-1])
            except (IndexError, ValueError):
                failed.append(f"FAILED {part} {name}: the process ended with {code}")
                told = {"came": [], "skipped": {}, "failures": 1}
            for line in failed:
                print(line, flush=True)
            came.update(told.pop("came"))
            skipped |= told.pop("skipped")
            numbers.update({key: value for key, value in told.items() if key not in _OF_ALL})
            print(f"{part} {name}: {told.get('cases', 0)} cases, {len(failed)} failed", file=sys.stderr, flush=True)
    return {"came": sorted(came), **numbers, "skipped": skipped}


_OF_ALL = ("fault points", "come to", "seconds")


if __name__ == "__main__":
    sys.exit(main())
