"""A check holds up nobody for what had only moved while it looked."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.model.check_report import CheckReport, Leftovers, Problem
from snapd.store.store import Store
from tests.support.workspace import make


def told(*subjects: str) -> CheckReport:
    problems = tuple(Problem("missingObject", subject, subject) for subject in subjects)
    return CheckReport("", False, 0, 0, 0, 0, problems, (), (), Leftovers(0, 0))


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([told()], [False]),
        ([told("moved"), told()], [False, False]),
        ([told("lost"), told("lost"), told("lost")], [False, False, True]),
    ],
)
def test_only_what_is_missed_twice_has_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[CheckReport], expected: list[bool]
) -> None:
    bench = make(tmp_path, {"a": b"a\n"})
    bench.track()
    left, asked = list(answers), []

    def check(_: Store, call: Call, *, quick: bool, alone: bool) -> CheckReport:
        asked.append(alone)
        return left.pop(0)

    monkeypatch.setattr(Store, "check", check)
    found = bench.workspace.upkeep.check(Call(), quick=False)
    monkeypatch.undo()
    assert found == answers[-1]
    assert asked == expected
    bench.close()
