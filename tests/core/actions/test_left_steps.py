"""Steps with parts whose clients are gone: who ends one by name still says what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.core.call import Call
from tests.support.sessions import Agents, at_work

Gone = Callable[[Agents], None]


def killed(agents: Agents) -> None:
    """The daemon was killed: nobody noted that its clients went."""
    agents.bench.reopen()


def left(agents: Agents) -> None:
    """The connection of the client ended."""
    agents.leave("client")


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    agents = at_work(tmp_path, {"a.txt": b"a\n"})
    agents.start("two")
    return agents


def with_part(agents: Agents, whole: str | None = "client", part: str | None = "client") -> tuple[str, str]:
    """A step and a part of it that are open, by their clients; None for one that is detached."""
    step = agents.begin("one", client=whole)
    return step, agents.begin("one", parent=step, client=part)


def own(agents: Agents, step: str) -> dict[str, int]:
    """What a step itself changed, its parts left out: how often each file."""
    found = agents.bench.workspace.step_changes.own(agents.view(step).step)
    return {path.decode(): len(chain) for path, chain in found.files.items()}


@pytest.mark.parametrize("gone", [killed, left])
def test_what_a_step_names_is_its_own_although_a_part_of_it_never_ended(agents: Agents, gone: Gone) -> None:
    whole, _ = with_part(agents)
    gone(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"the first agent's\n"})
    agents.end(whole, ["f"])
    agents.end(other)
    assert agents.files(whole) == {"f": "added"}
    assert agents.files(other) == {}
    agents.undo("two", step=other)
    assert "f" in agents.bench.read()
    assert agents.undo("one", step=whole) == {"f": "deleted"}


def test_what_a_part_names_is_its_own_and_no_more_that_of_the_step_around_it(agents: Agents) -> None:
    whole, part = with_part(agents)
    killed(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"f\n", "g": b"g\n"})
    agents.end(part, ["f"])
    agents.end(whole, ["f", "g"])
    agents.end(other)
    assert (own(agents, part), own(agents, whole), own(agents, other)) == ({"f": 1}, {}, {"g": 1})
    assert agents.files(whole) == {"f": "added"}


def test_a_step_that_names_nothing_shares_what_was_written_beside_it(agents: Agents) -> None:
    whole, _ = with_part(agents)
    killed(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"f\n"})
    agents.end(whole)
    agents.end(other)
    assert agents.files(whole) == agents.files(other) == {"f": "added:shared"}


def test_alone_all_is_the_steps_own_whatever_it_names(agents: Agents) -> None:
    whole, _ = with_part(agents)
    killed(agents)
    agents.bench.write({"f": b"f\n"})
    agents.end(whole, ["elsewhere"])
    assert agents.files(whole) == {"f": "added"}


def test_another_step_that_was_left_may_still_be_spoken_for(agents: Agents) -> None:
    whole, _ = with_part(agents)
    third = agents.begin("two", client="client")
    killed(agents)
    agents.bench.write({"f": b"f\n", "g": b"g\n"})
    agents.end(whole, ["f"])
    assert agents.files(whole) == {"f": "added"}
    agents.end(third, ["g"])
    assert agents.files(third) == {"g": "added"}


@pytest.mark.parametrize("gone", [killed, left])
def test_a_session_that_ends_speaks_for_none_of_its_steps(agents: Agents, gone: Gone) -> None:
    whole, part = with_part(agents)
    agents.bench.write({"before": b"the part's\n"})
    agents.bench.track()
    gone(agents)
    other = agents.begin("two", client="other")
    agents.bench.write({"f": b"f\n"})
    agents.bench.workspace.sessions.end("one", Call())
    agents.end(other)
    assert agents.files(other) == {"f": "added"}
    for step in (whole, part):
        to = agents.view(step).step.to
        assert to is not None
        assert "f" not in agents.bench.names(to.tree)


@pytest.mark.parametrize("gone", [killed, left])
def test_a_step_inside_two_others_has_its_own_alone(agents: Agents, gone: Gone) -> None:
    whole, part = with_part(agents)
    inner = agents.begin("one", parent=part, client="client")
    gone(agents)
    agents.bench.write({"f": b"f\n"})
    agents.end(inner, ["f"])
    agents.bench.write({"g": b"g\n"})
    agents.end(whole, ["f", "g"])
    assert (own(agents, inner), own(agents, part), own(agents, whole)) == ({"f": 1}, {}, {"g": 1})


def test_a_part_at_work_keeps_what_is_around_it_out_although_the_step_between_was_left(agents: Agents) -> None:
    whole, part = with_part(agents, whole="stays")
    inner = agents.begin("one", parent=part, client="stays")
    agents.leave("client")
    agents.bench.write({"f": b"f\n"})
    agents.end(inner)
    agents.end(whole)
    assert (own(agents, inner), own(agents, whole)) == ({"f": 1}, {})


@pytest.mark.parametrize(("whole_client", "part_client"), [(None, "client"), ("client", None)])
def test_one_of_the_two_is_detached(agents: Agents, whole_client: str | None, part_client: str | None) -> None:
    whole, part = with_part(agents, whole_client, part_client)
    killed(agents)
    agents.bench.write({"f": b"f\n"})
    agents.end(whole, ["f"])
    assert agents.files(whole) == {"f": "added"}
    # the part that needs nobody was at work; one that was left was not
    assert (own(agents, whole), own(agents, part)) == (({"f": 1}, {}) if part_client else ({}, {"f": 1}))
