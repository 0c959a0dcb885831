"""How long each module of tests takes, as `tests/durations.json` has it: CI splits the tests into equal parts by it.

`--part 2/3` runs the second of three parts. `--record-durations` records the modules that ran.
A run with TESTS_LONG has numbers of its own, since many tests try more then.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

FILE = Path(__file__).parents[1] / "durations.json"
RUN = "make test-long" if "TESTS_LONG" in os.environ else "make test"

Durations = dict[str, dict[str, float]]


def read_durations() -> Durations:
    """The seconds of each module, for each of both runs."""
    durations: Durations = json.loads(FILE.read_text("utf-8"))
    return durations


def split(modules: set[str], count: int, seconds: dict[str, float]) -> list[set[str]]:
    """Splits modules into parts that take about the same time; a module without a record counts as the median."""
    usual = median(seconds.values()) if seconds else 1.0
    length = {module: seconds.get(module, usual) for module in modules}
    parts: list[set[str]] = [set() for _ in range(count)]
    totals = [0.0] * count
    for module in sorted(modules, key=lambda module: (-length[module], module)):
        shortest = totals.index(min(totals))
        parts[shortest].add(module)
        totals[shortest] += length[module]
    return parts


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds both options."""
    parser.addoption("--part", metavar="K/N", help="run the K-th of N parts, which take about the same time")
    parser.addoption("--record-durations", action="store_true", help="record how long each module takes")


def pytest_configure(config: pytest.Config) -> None:
    """Records, in the process that hears of every test."""
    if config.getoption("--record-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder())


@pytest.hookimpl(trylast=True)  # after `-m` and `-k` deselected what they do
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects what is not in the part."""
    chosen = config.getoption("--part")
    if chosen is None:
        return
    number, _, count = chosen.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise pytest.UsageError(f"--part is {chosen}, and has to be such as 2/3")
    modules = {_module(item.nodeid) for item in items}
    part = split(modules, int(count), read_durations()[RUN])[int(number) - 1]
    config.hook.pytest_deselected(items=[item for item in items if _module(item.nodeid) not in part])
    items[:] = [item for item in items if _module(item.nodeid) in part]


class _Recorder:
    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[_module(report.nodeid)] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        durations = read_durations()
        recorded = {**durations[RUN], **{module: round(seconds, 1) for module, seconds in self._seconds.items()}}
        root = FILE.parents[1]
        durations[RUN] = {module: seconds for module, seconds in sorted(recorded.items()) if (root / module).exists()}
        FILE.write_text(json.dumps(durations, indent=2) + "\n", "utf-8")


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]
