"""What happens, while a step is open, to files that no snapshot has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.sessions import Agents
from tests.support.workspace import make

FILES = {".gitignore": b"*.env\n", "a.txt": b"a\n", "one.env": b"1\n", "two.env": b"2\n"}


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    made = Agents(make(tmp_path, FILES))
    made.start("s")
    return made


def told(agents: Agents, step: str) -> dict[str, str]:
    return {os.fsdecode(each.path): "deleted" if each.deleted else "changed" for each in agents.view(step).uncaptured}


def test_it_is_told_of_the_step(agents: Agents) -> None:
    agents.bench.write({"one.env": b"before any step\n"})
    quiet = agents.begin("s")
    agents.bench.write({"a.txt": b"2\n"})
    agents.end(quiet)
    step = agents.begin("s")
    agents.bench.write({"one.env": b"3\n"})
    agents.bench.remove("two.env")
    agents.end(step)
    assert (told(agents, quiet), told(agents, step)) == ({}, {"one.env": "changed", "two.env": "deleted"})
    agents.bench.reopen()
    assert told(agents, step) == {"one.env": "changed", "two.env": "deleted"}
    # the database follows from the events
    assert agents.bench.workspace.store.timeline.agrees()


def test_it_is_told_of_the_step_around_as_well(agents: Agents) -> None:
    whole = agents.begin("s")
    part = agents.begin("s", whole)
    agents.bench.remove("one.env")
    agents.end(part)
    agents.bench.remove("two.env")
    agents.end(whole)
    assert told(agents, part) == {"one.env": "deleted"}
    assert told(agents, whole) == {"one.env": "deleted", "two.env": "deleted"}


def test_it_is_told_where_one_step_begins_as_another_ends(agents: Agents) -> None:
    first = agents.begin("s")
    agents.bench.remove("one.env")
    second = agents.begin("s", ends=first)
    agents.bench.remove("two.env")
    agents.end(second)
    assert (told(agents, first), told(agents, second)) == ({"one.env": "deleted"}, {"two.env": "deleted"})


def test_a_step_that_names_its_files_has_no_others(agents: Agents) -> None:
    step = agents.begin("s")
    agents.bench.remove("one.env", "two.env")
    agents.end(step, ["two.env"])
    assert told(agents, step) == {"two.env": "deleted"}


def test_a_dry_run_leaves_it_to_the_end_of_the_step(agents: Agents) -> None:
    step = agents.begin("s")
    agents.bench.write({"a.txt": b"2\n"})
    agents.bench.remove("one.env")
    agents.undo("s", step=step, dry_run=True)
    agents.end(step)
    assert told(agents, step) == {"one.env": "deleted"}
