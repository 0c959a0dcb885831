"""Steps whose beginning is reported when it is over."""

from __future__ import annotations

from snapd.core.actions.sessions import NewStep
from snapd.model.call import Call
from tests.support.sessions import Agents, text

BEGAN = 1_700_000_000_000


def test_a_step_that_was_reported_late_owns_what_it_claims(agents: Agents) -> None:
    agents.step("one", {"b.txt": b"1"})
    agents.bench.write({"a.txt": text(l2=b"agent"), "mine": b"the user's"})
    workspace = agents.bench.workspace
    workspace.messages.send("one", "M", "go", Call(), late=True)
    step = workspace.sessions.begin("one", NewStep(client=None, began=BEGAN), Call())
    assert step.begun.message_id == "M"
    agents.end(step.step_id, ["a.txt"])
    assert agents.files(step.step_id) == {"a.txt": "modified"}
    agents.bench.reopen()
    found = agents.view(step.step_id).step
    assert (found.started, found.begun.began) == (BEGAN, BEGAN)
    agents.undo("one")
    assert agents.bench.read() == {"a.txt": text(), "b.txt": b"1", "mine": b"the user's"}


def test_steps_that_were_reported_late_together(agents: Agents) -> None:
    sessions = agents.bench.workspace.sessions
    agents.step("one", {"b.txt": b"1"})
    steps = [sessions.begin("one", NewStep(client=None, part_id=part, began=BEGAN), Call()) for part in ("A", "B", "A")]
    assert steps[0].step_id == steps[2].step_id
    agents.bench.write({"a.txt": b"agent", "b.txt": b"agent"})
    for step, name in zip(steps, ("a.txt", "b.txt"), strict=False):
        agents.end(step.step_id, [name])
    assert [agents.files(step.step_id) for step in steps[:2]] == [{"a.txt": "modified"}, {"b.txt": "modified"}]


def test_the_newest_snapshot_counts_whoever_took_it(agents: Agents) -> None:
    agents.step("one", {"b.txt": b"1"})
    agents.bench.write({"mine": b"the user's"})
    agents.bench.track()
    agents.bench.write({"a.txt": b"agent"})
    step = agents.bench.workspace.sessions.begin("one", NewStep(client=None, began=BEGAN), Call())
    agents.end(step.step_id)
    assert agents.files(step.step_id) == {"a.txt": "modified"}


def test_the_first_step_of_all_takes_a_snapshot_all_the_same(agents: Agents) -> None:
    step = agents.bench.workspace.sessions.begin("one", NewStep(client=None, began=BEGAN), Call())
    agents.bench.write({"a.txt": b"agent"})
    agents.end(step.step_id, ["a.txt"])
    assert agents.files(step.step_id) == {"a.txt": "modified"}
