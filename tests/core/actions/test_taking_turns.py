"""Files that take turns at their names: each of them has been at the place of the others, again and again."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from snapd.core.review import fold
from snapd.model.call import Call
from tests.support.amounts import amount
from tests.support.sessions import Agents, text

pytestmark = pytest.mark.slow

ROUNDS = amount(20, 40)


def turn(agents: Agents) -> None:
    """Each file goes on to the next name, one rename after the other, which snapd sees one by one."""
    for old, new in (("a.txt", "t"), ("b.txt", "a.txt"), ("c.txt", "b.txt"), ("t", "c.txt")):
        agents.step("one", lambda old=old, new=new: os.rename(agents.bench.path(old), agents.bench.path(new)))  # type: ignore[misc]


def writers(agents: Agents, name: str) -> set[str]:
    """The steps that wrote lines of a file."""
    found = agents.bench.workspace.blame.lines(os.fsencode(name), None, None, Call())
    return {step for each in found.lines for step in each.writer.steps}


def test_each_is_folded_once(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    wrote = {}
    for line, name in ((2, "a.txt"), (5, "b.txt"), (8, "c.txt")):
        wrote[name] = {agents.step("one", {name: text(**{f"l{line}": name.encode()})})}
    for _ in range(ROUNDS):
        turn(agents)
    folded: Counter[tuple[bytes, int]] = Counter()
    lineage_of = fold.lineage_of

    def counted(timeline: object, path: bytes, before: int) -> object:
        folded[path, before] += 1
        return lineage_of(timeline, path, before)  # type: ignore[arg-type]

    monkeypatch.setattr(fold, "lineage_of", counted)
    # three turns bring each back to its name
    order = ["a.txt", "b.txt", "c.txt"]
    for place, name in enumerate(order):
        assert writers(agents, name) == wrote[order[(place + ROUNDS) % 3]]
    assert max(folded.values()) <= 3
    assert len(folded) <= 4 * ROUNDS + 4
