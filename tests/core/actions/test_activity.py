"""What each session did since a time: a model counts the same by hand."""

from __future__ import annotations

import pytest

from snapd.core.actions.activity import SessionActivity
from snapd.model.call import Call
from snapd.model.errors import Cancelled
from tests.support.sessions import TEXT, Agents, text


def activity(agents: Agents, since: int = 0) -> list[SessionActivity]:
    return list(agents.bench.workspace.activity.since(since, Call()))


def summed(agents: Agents, since: int = 0) -> list[tuple[str, list[str], int, int, int]]:
    return [
        (
            each.session.session.session_id,
            [view.message.message_id for view in each.messages],
            each.steps,
            each.files,
            each.pending_files,
        )
        for each in activity(agents, since)
    ]


def problems(agents: Agents) -> list[str]:
    return [problem.kind for each in activity(agents) for problem in each.problems]


def test_sums_up_each_session_since_a_time(agents: Agents) -> None:
    send = agents.bench.workspace.messages.send
    assert activity(agents) == []
    agents.start("two")
    send("one", "m1", "make it work", Call())
    agents.step("one", {"a.txt": text(l2=b"one"), "new": b"1\n"})
    agents.step("one", {"a.txt": text(l2=b"one", l9=b"two")})
    agents.step("one", lambda: None)
    send("two", "m2", "and here", Call())
    last = agents.step("two", {"b.txt": b"B\n", "a.txt": text(l2=b"two", l9=b"two")})
    expected = [("two", ["m2"], 1, 2, 2), ("one", ["m1"], 3, 2, 2)]
    assert summed(agents) == expected
    # the same from the events alone
    agents.bench.reopen()
    assert summed(agents) == expected
    assert summed(agents, agents.view(last).step.started + 1) == []


def test_names_a_step_that_an_undo_could_not_take_back(agents: Agents) -> None:
    agents.start("two")
    first = agents.step("one", {"a.txt": text(l2=b"one"), "b.txt": b"B\n"})
    agents.step("two", {"a.txt": text(l2=b"two")})
    agents.undo("one", step=first)
    found = {each.session.session.session_id: each.problems for each in activity(agents)}
    assert [(each.step.step.step_id, each.kind) for each in found["one"]] == [(first, "conflict")]
    assert found["two"] == ()


def test_names_a_step_whose_agent_was_gone(agents: Agents) -> None:
    step = agents.begin("one", client="client")
    agents.bench.write({"a.txt": b"half\n"})
    assert problems(agents) == []
    agents.leave("client")
    assert problems(agents) == ["interrupted"]
    # an agent that comes back and ends it by name
    agents.end(step)
    assert problems(agents) == []
    agents.begin("one")
    agents.bench.workspace.sessions.end("one", Call())
    assert problems(agents) == ["interrupted"]


def test_is_cancelled(agents: Agents) -> None:
    agents.step("one", {"a.txt": TEXT})
    call = Call()
    call.cancel()
    with pytest.raises(Cancelled):
        agents.bench.workspace.activity.since(0, call)
