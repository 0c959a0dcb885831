"""`python -m tests.faults`: the sweeps, and their numbers as the last line, in JSON. See `make sweep`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from snapd.failpoints import POINTS
from tests.support.places import make_folder

from . import full_disks, mounts, outside, power_loss
from .forks import adopt_orphans
from .inject import FAULTS
from .scenarios import SCENARIOS
from .sweep import Sweep, all_scenarios, cases, never_come_to, recoveries

_RECOVERED = ("restore", "undo", "redo")
_LOST = ("track", "steps", "restore", "undo", "redo", "cleanup")


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
    wanted, _, point = options.only.partition("@")
    scenarios = all_scenarios(wanted)
    found = cases(sweep, scenarios, options.per_point, options.kinds.split(","))
    never = sorted(never_come_to(sweep))
    for scenario, fault in told.some([case for case in found if point in str(case[1])], options.most):
        _case(told, lambda scenario=scenario, fault=fault: sweep.case(scenario, fault))  # type: ignore[misc]
    never = [name for name in never if name not in sweep.numbers.came and not options.only]
    # what follows on an error alone is come to by the errors, and a few cases need not have that one among them
    if never and (options.most is None or never != ["journal.take_back"]):
        told.fail(f"no work comes to {', '.join(never)}")


def second(told: Told) -> None:
    """A kill in the recovery from a kill, then the recovery from that."""
    options, sweep = told.options, told.sweep
    for name in _RECOVERED:
        if options.only.partition("@")[0] in name:
            for scenario, first, then in told.some(recoveries(sweep, SCENARIOS[name], options.per_point), options.most):
                _case(told, lambda case=(scenario, first, then): sweep.case(*case))  # type: ignore[misc]


def strace(told: Told) -> None:
    """System calls of the real command, made to fail or killed before."""
    reason = outside.missing()
    if reason is not None:
        told.skipped["strace"] = reason
        return
    runner = outside.Outside(told.sweep)
    for name, command in outside.COMMANDS.items():
        if told.options.only.partition("@")[0] not in name:
            continue
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
    for name in _LOST:
        scenario = SCENARIOS[name]
        if told.options.only.partition("@")[0] not in name:
            continue
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="some of the sweeps (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of what is chosen")
    parser.add_argument("--only", default="", help="SCENARIO@POINT: names that have these in them")
    parser.add_argument("--kinds", default=",".join(FAULTS), help="what goes wrong at failpoints")
    parser.add_argument("--per-point", type=int, default=3, help="of the times that a failpoint is come to, so many")
    parser.add_argument("--most", type=int, help="so many cases of each sweep, chosen by the seed")
    parser.add_argument("--strides", type=int, default=40, help="amounts of free space on full disks, about")
    parser.add_argument("--losses", type=int, default=12, help="power losses of each scenario")
    options = parser.parse_args()
    adopt_orphans()
    directory = make_folder("snapd-faults-")
    started = time.monotonic()
    sweep = Sweep(directory, options.seed, options.most is None)
    told = Told(options, sweep, directory)
    try:
        for name in options.parts or PARTS:
            PARTS[name](told)
    finally:
        shutil.rmtree(directory)
    numbers = sweep.numbers
    print(
        json.dumps(
            {
                "fault points": len(POINTS),
                "come to": len(numbers.came),
                "cases": numbers.cases,
                "kills": numbers.kills,
                "second kills": numbers.second,
                "injected errors": numbers.errors,
                "delays": numbers.delays,
                "not come to again": numbers.missed,
                **told.more,
                "failures": len(numbers.failures),
                "skipped": told.skipped,
                "seconds": round(time.monotonic() - started, 1),
            }
        )
    )
    return 1 if numbers.failures else 0


if __name__ == "__main__":
    sys.exit(main())
