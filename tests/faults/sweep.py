"""The sweep: each failpoint, each thing that may go wrong there, each kind of work; then the checks.

A case: a copy of a prepared folder and store, work in a process of its own in which one thing goes wrong, and a look at
what is left in another process. `python -m tests.faults` runs it.
"""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from snapd.model.errors import SnapdError, WorkspaceNotOpen
from tests.store.timeline import test_stored_bytes as stored
from tests.support.git import run_git
from tests.support.processes import descriptors
from tests.support.workspace import git_tree_hash

from .checks import Broken, History, forget, leftovers, verify
from .forks import Ended, Say, run
from .inject import FAULTS, Fault, Injector, arm_children, possible
from .scenarios import SCENARIOS, Act, Scenario, bench_at, recover

_REPORT = "came"


@attrs.define
class Numbers:
    """What was done.

    Attributes:
        cases: all together.
        kills: processes that were killed, those in a recovery among them.
        second: those in a recovery.
        errors: errors of the system that were injected.
        delays: times that others came between.
        missed: cases in which the failpoint was not come to.
        came: how often each failpoint was come to where nothing went wrong.
        failures: what does not hold, each with its case.
    """

    cases: int = 0
    kills: int = 0
    second: int = 0
    errors: int = 0
    delays: int = 0
    missed: int = 0
    came: Counter[str] = attrs.field(factory=Counter)
    failures: list[str] = attrs.field(factory=list)


class Sweep:
    """Runs cases below one directory.

    Args:
        directory: a new one.
        seed: of what is chosen.
        whole: whether what is done where nothing goes wrong is checked, too.
    """

    def __init__(self, directory: Path, seed: int, whole: bool = True) -> None:
        self.whole = whole
        self.directory = directory
        self.folder = directory / "case"
        self._report = directory / _REPORT
        self._report.touch()
        self.dice = random.Random(seed)
        self.numbers = Numbers()
        self._hashes: dict[str, dict[str, str]] = {}
        self._said: dict[str, Ended] = {}
        _make_once()

    def hashes(self, scenario: Scenario) -> dict[str, str]:
        """Git's own hash of each state."""
        return self._hashes[scenario.name]

    # -- what a case begins with

    def _template(self, scenario: Scenario) -> Path:
        template = self.directory / f"template-{scenario.name}"
        if not template.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            self._hashes[scenario.name] = {
                name: git_tree_hash(self.directory, items).hex() for name, items in scenario.states.items()
            }

            def prepare(say: Say) -> None:
                scenario.prepare(self._act(scenario, say))

            bench_at(self.folder)
            if scenario.git:
                run_git(self.folder / "work", "init", "-q")
            ended = run(prepare)
            assert ended.status == 0, ended
            self._said[scenario.name] = ended
            if scenario.killed is not None:
                name, fault = scenario.killed
                killed = self._work(SCENARIOS[name], fault, hashes=self._hashes[scenario.name])
                assert killed.killed, killed
                self._said[scenario.name] = attrs.evolve(ended, said=[*ended.said, *killed.said])
            self.folder.rename(template)
        return template

    def fresh(self, scenario: Scenario) -> None:
        """Has the folder of the cases hold what the work of a scenario begins with."""
        source = self._template(scenario)
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run(["cp", "-a", str(source), str(self.folder)], check=True)
        self._report.write_text("")

    def _act(self, scenario: Scenario, say: Say) -> Act:
        return Act(bench_at(self.folder), scenario.states, self._hashes[scenario.name], say)

    # -- one process

    def _work(
        self,
        scenario: Scenario,
        fault: Fault | None,
        *,
        recovering: bool = False,
        hashes: dict[str, str] | None = None,
    ) -> Ended:
        """The work in a process of its own, with something going wrong in it."""
        known = hashes or self._hashes[scenario.name]

        def work(say: Say) -> None:
            for (module, name), value in scenario.small.items():
                setattr(module, name, value)
            act = Act(bench_at(self.folder), scenario.states, known, say)
            before = descriptors()
            others = _Others(act, known)
            injector = Injector(fault, others.come)
            arm_children(fault, str(self._report))
            injector.arm()
            begin = recover if recovering else scenario.work
            try:
                begin(act)
            except SnapdError as error:
                injector.disarm()
                arm_children(None, str(self._report))
                say(failed=error.kind)
                if not injector.happened and fault is not None and not self._report.read_text():
                    raise
                if scenario.killed is None:
                    # what is in the journal is in use; a mirror has a journal as well
                    used = re.compile(r"(mirrors/[0-9a-f]+/)?journal/")
                    say(aside=[path for path in leftovers(self.folder) if not used.match(_inside(path))])
                elif fault is not None and fault.point.startswith("apply."):
                    say(left=True)
                # what failed can be done again
                act.again = True
                begin(act)
            finally:
                injector.disarm()
            others.end()
            if scenario.killed is not None and fault is not None and fault.point.startswith("apply."):
                # nobody is there to be told which files the end of an operation has to leave as they are
                say(left=True)
            say(came=injector.came, happened=injector.happened)
            del act, others, injector
            forget()
            say(
                open=[path for name, path in descriptors().items() if name not in before],
                threads=[thread.name for thread in threading.enumerate() if thread is not threading.main_thread()],
            )

        ended = run(work)
        self.numbers.kills += ended.killed
        self.numbers.came.update(name for came in ended.all("came") for name in came)
        self.numbers.came.update(self._report.read_text().split())
        return ended

    # -- cases

    def hits(self, scenario: Scenario) -> list[tuple[str, int]]:
        """Every failpoint that the work comes to where nothing goes wrong, with how many times by then."""
        self.fresh(scenario)
        ended = self._work(scenario, None)
        # a few cases need not look at what each of them begins with, too
        problem = self._after(scenario, ended, None) if self.whole else next(iter(ended.all("crash")), None)
        if problem:
            self.numbers.failures.append(f"{scenario.name}, nothing going wrong: {problem}")
        counts: Counter[str] = Counter()
        found = []
        for name in (*(name for came in ended.all("came") for name in came), *self._report.read_text().split()):
            counts[name] += 1
            found.append((name, counts[name]))
        return found

    def case(self, scenario: Scenario, fault: Fault, second: Fault | None = None) -> None:
        """One case, noted.

        Args:
            scenario: the work.
            fault: what goes wrong in it.
            second: what goes wrong in the recovery from that.
        """
        self.numbers.cases += 1
        self.fresh(scenario)
        ended = self._work(scenario, fault)
        name = f"{scenario.name} {fault}"
        if second is not None:
            name += f" then {second}"
            again = self._work(scenario, second, recovering=True)
            self.numbers.second += again.killed
            if again.all("crash"):
                self.numbers.failures.append(f"{name}: {again.all('crash')[0]}")
                return
        problem = self._after(scenario, ended, fault)
        if problem:
            self.numbers.failures.append(f"{name}: {problem}")

    def recovery_hits(self, scenario: Scenario, fault: Fault) -> list[tuple[str, int]]:
        """Every failpoint that the recovery from a kill comes to."""
        self.fresh(scenario)
        if not self._work(scenario, fault).killed:
            return []
        ended = self._work(scenario, None, recovering=True)
        counts: Counter[str] = Counter()
        found = []
        for came in ended.all("came"):
            for name in came:
                counts[name] += 1
                found.append((name, counts[name]))
        return found

    def _after(self, scenario: Scenario, ended: Ended, fault: Fault | None) -> str | None:
        """What does not hold after the work, if anything."""
        if ended.all("crash"):
            return str(ended.all("crash")[0])
        if ended.lingering:
            return "a process went on"
        if fault is not None and not ended.killed:
            in_child = fault.point in self._report.read_text().split()
            if any(ended.all("happened")) or in_child:
                self.numbers.delays += fault.kind == "delay"
                self.numbers.errors += fault.kind not in ("kill", "delay")
            else:
                self.numbers.missed += 1
        for key, what in (("aside", "left aside after an error"), ("open", "open still"), ("threads", "going on")):
            for found in ended.all(key):
                if found:
                    return f"{what}: {found}"
        return self.look(scenario, ended.said)

    def look(self, scenario: Scenario, said: Iterable[Mapping[str, Any]]) -> str | None:
        """What does not hold by now, if anything; found out by another process.

        Args:
            scenario: what was under way.
            said: what it said after its preparation.
        """
        history = History(scenario, (*self._said[scenario.name].said, *said))

        def check(say: Say) -> None:
            try:
                verify(scenario, self.folder, history, self._hashes[scenario.name], say)
            except Broken as error:
                say(broken=str(error))

        checked = run(check)
        if checked.all("crash"):
            return str(checked.all("crash")[0])
        if checked.lingering:
            return "a process of the check went on"
        return next(iter(checked.all("broken")), None)


def _inside(path: str) -> str:
    """A path in the data directory, relative to its store."""
    return path.split("/", 3)[-1]


class _Others:
    """Another client of the same process, which comes between.

    Args:
        act: the work.
        hashes: what its snapshots may be.
    """

    def __init__(self, act: Act, hashes: dict[str, str]) -> None:
        self.act = act
        self._hashes = hashes
        self._threads: list[threading.Thread] = []
        self._errors: list[str] = []
        act.quiet = self.end

    def come(self) -> None:
        bench = self.act.bench
        if not bench.is_open:
            return
        read = threading.Event()
        workspace = bench.workspace

        def client() -> None:
            try:
                last = workspace.snapshots.status().last
                if last is not None:
                    names = bench.names(last)
                    for name in names:
                        workspace.snapshots.file_at(last, os.fsencode(name))
                read.set()
                tree = bench.track().hex()
                if tree not in self._hashes.values():
                    self._errors.append(f"a snapshot of a mixed state: {tree}")
            except WorkspaceNotOpen:
                # it came too late
                return
            except Exception as error:
                self._errors.append(f"another client: {error!r}")
            finally:
                read.set()

        thread = threading.Thread(target=client)
        thread.start()
        self._threads.append(thread)
        # it may have to wait for what is held here: then it comes after
        read.wait(0.05)

    def end(self) -> bool:
        """Waits until all have gone, and gives whether any had come; raises `Broken` where one met something wrong."""
        waited = bool(self._threads)
        while self._threads:
            self._threads.pop().join()
        if self._errors:
            raise Broken("; ".join(self._errors))
        return waited


def _make_once() -> None:
    """Makes here what each process would make anew: the functions that write and read each class of the timeline."""
    for each in stored.STORED:
        stored.test_what_happened(*each)
    stored.test_an_event_with_what_was_seen()
    stored.test_an_intent()
    stored.test_what_the_database_has()
    # a collection in a fork looks at what that made, not at all that was there before
    gc.collect()
    gc.freeze()


def chosen(hits: Iterable[tuple[str, int]], dice: random.Random, per_point: int) -> Iterator[tuple[str, int]]:
    """Of each failpoint so many of the times that it is come to: the first, the last, and some between."""
    times = Counter(name for name, _ in hits)
    for name, count in times.items():
        numbers = {1, count} if per_point > 1 else {dice.randint(1, count)}
        while len(numbers) < min(per_point, count):
            numbers.add(dice.randint(1, count))
        for number in sorted(numbers):
            yield name, number


def cases(
    sweep: Sweep, scenarios: Iterable[Scenario], per_point: int, kinds: Iterable[str] = FAULTS
) -> list[tuple[Scenario, Fault]]:
    """The cases of some scenarios."""
    return [
        (scenario, Fault(kind, point, nth))
        for scenario in scenarios
        for point, nth in chosen(sweep.hits(scenario), sweep.dice, per_point)
        for kind in kinds
        if possible(kind, point)
    ]


def recoveries(sweep: Sweep, scenario: Scenario, per_point: int) -> list[tuple[Scenario, Fault, Fault]]:
    """Kills in the recovery from kills."""
    found = []
    for point, nth in chosen(sweep.hits(scenario), sweep.dice, 1):
        if point.startswith(("apply.", "writer.", "database.", "timeline.", "journal.", "log.")):
            first = Fault("kill", point, nth)
            hits = sweep.recovery_hits(scenario, first)
            found += [
                (scenario, first, Fault("kill", again, number)) for again, number in chosen(hits, sweep.dice, per_point)
            ]
    return found
