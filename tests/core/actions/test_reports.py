"""What the event of an agent leads to, by the open steps of its session."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from snapd.core.actions.reports import BeginStep, EndSession, EndStep, Report, SendMessage, decide
from snapd.model.call import Call
from snapd.model.errors import Cancelled
from snapd.model.snapshot import ObjectId
from snapd.model.timeline import SnapshotId, Step, StepBegun
from tests.support.sessions import Agents

NOWHERE = SnapshotId(ObjectId(b"\0" * 20), ObjectId(b"\0" * 20))


def step(name: str, tool: str | None = "Bash", session: str = "s", started: int = 5, **begun: Any) -> Step:
    """An open step."""
    about = {"parent": None, "message_id": None, "part_id": name, "description": None} | begun
    return Step(
        begun=StepBegun(step_id=name, session_id=session, index=0, tool=tool, **about),
        started=started,
        ended=None,
        from_=NOWHERE,
        to=None,
        state="open",
        claims=None,
        uncaptured=(),
    )


def outcome(kind: Any, *open_steps: Step, lingering: tuple[Step, ...] = (), **fields: Any) -> list[str]:
    """What a report leads to, in words; the open steps are given the latest first."""
    report = Report(kind=kind, session_id="s", **fields)
    words = []
    for action in decide(report, open_steps, lingering):
        match action:
            case BeginStep(new, None):
                words.append(f"begin {new.part_id} in {new.parent} ending {new.ends}")
            case BeginStep(_, existing):
                assert existing is not None
                words.append(f"is {existing.step_id}")
            case EndStep(ended, claims, is_left, lingers):
                marks = f"{' left' if is_left else ''}{' lingers' if lingers else ''}"
                words.append(f"end {ended.step_id} {'-' if claims is None else [*map(bytes.decode, claims)]}{marks}")
            case SendMessage():
                words.append("message")
            case EndSession():
                words.append("end session")
    return words


BASH, EDIT, OTHERS = step("bash"), step("edit", "Edit"), step("theirs", session="other")
AGENT = step("agent", "Agent", part_id="subagent:A")
PART = step("part", parent="agent")
TASK = step("task", part_id="background:c1")
TURN = step("turn", "prompt", part_id=None)


@pytest.mark.parametrize(
    ("kind", "steps", "fields", "expected"),
    [
        ("callBegin", [], {"call_id": "c"}, ["begin c in None ending None"]),
        ("callBegin", [BASH], {"call_id": "bash"}, ["is bash"]),
        ("callBegin", [BASH, EDIT], {"call_id": "c"}, ["begin c in None ending None"]),
        # nobody said that these have ended: an edit that was not reported as ended has written nothing
        (
            "callBegin",
            [EDIT, BASH, OTHERS, AGENT, PART, TASK],
            {"call_id": "c", "is_sequential": True},
            ["end edit [] left", "begin c in None ending bash"],
        ),
        ("callBegin", [BASH], {"call_id": "c", "is_sequential": True, "late": 9}, ["begin c in None ending None"]),
        ("callBegin", [AGENT, BASH], {"call_id": "c", "subagent": "A"}, ["begin c in agent ending None"]),
        ("callBegin", [AGENT], {"call_id": "c", "names_subagents": False}, ["begin c in agent ending None"]),
        ("callBegin", [AGENT], {"call_id": "c"}, ["begin c in None ending None"]),
        ("callBegin", [AGENT], {"call_id": "c", "parent": "given"}, ["begin c in given ending None"]),
        ("callEnd", [], {"call_id": "c"}, []),
        ("callEnd", [OTHERS], {"call_id": "theirs"}, []),
        ("callEnd", [EDIT], {"call_id": "edit", "claims": (b"f",)}, ["end edit ['f'] lingers"]),
        ("callEnd", [EDIT], {"call_id": "edit", "claims": (b"f",), "client": 1}, ["end edit ['f']"]),
        ("callEnd", [BASH], {"call_id": "bash", "late": 4}, []),
        ("callEnd", [step("c2"), step("c1")], {"call_id": "c", "is_alike": True}, ["end c1 -"]),
        (
            "callEnd",
            [BASH],
            {"call_id": "bash", "in_background": True},
            ["begin background:bash in None ending bash"],
        ),
        ("callOver", [BASH], {"call_id": "bash"}, ["end bash []"]),
        ("taskEnd", [TASK], {"call_id": "c1"}, ["end task -"]),
        (
            "turnEnd",
            [BASH, EDIT, AGENT, PART, TASK, OTHERS],
            {},
            ["end bash - left", "end edit [] left", "end task - left"],
        ),
        ("turnEnd", [BASH, TURN], {"has_step": True}, ["end turn -"]),
        ("prompt", [BASH], {"text": "go", "message_id": "m"}, ["end bash - left", "message"]),
        ("prompt", [BASH, TASK], {"text": " "}, []),
        ("prompt", [BASH], {"text": "go", "parent_session": "p"}, ["end bash - left"]),
        ("prompt", [BASH], {"text": "go", "is_elsewhere": True}, ["end bash - left"]),
        ("prompt", [BASH], {"text": "go", "message_id": "m", "late": 9}, ["message"]),
        ("prompt", [BASH, TURN], {"text": "go", "has_step": True}, ["message", "begin None in None ending turn"]),
        ("subagentBegin", [BASH], {"subagent": "B"}, ["begin subagent:B in None ending None"]),
        ("subagentBegin", [AGENT], {"subagent": "A"}, ["is agent"]),
        ("subagentEnd", [PART, AGENT], {"subagent": "A"}, ["end part - left", "end agent []"]),
        ("subagentEnd", [PART, AGENT], {"subagent": "A", "names_subagents": False}, ["end agent []"]),
        ("sessionStart", [BASH], {}, []),
        ("sessionEnd", [BASH], {}, ["end session"]),
    ],
)
def test_decisions(kind: str, steps: list[Step], fields: dict[str, Any], expected: list[str]) -> None:
    assert outcome(kind, *steps, **fields) == expected


def test_what_lingers_ends_with_its_call_and_with_the_turn() -> None:
    resting = (attrs.evolve(EDIT, state="applied"), OTHERS)
    assert outcome("callOver", lingering=resting, call_id="edit") == ["end edit []"]
    assert outcome("turnEnd", lingering=resting) == ["end edit -"]


def test_one_report_looks_at_the_folder_once(agents: Agents) -> None:
    """What ends and what begins have the same snapshot, whatever is written meanwhile."""
    reports, bench = agents.bench.workspace.reports, agents.bench
    first = reports.take(Report(kind="callBegin", session_id="new", agent="a", call_id="one", tool="Bash"), Call()).step
    bench.write({"a.txt": b"1\n"})
    sequential = Report(kind="callBegin", session_id="new", call_id="two", tool="Bash", is_sequential=True)
    second = reports.take(sequential, Call()).step
    assert first is not None
    assert second is not None
    ended = bench.workspace.sessions.known_step(first.step_id)
    assert (ended.state, ended.to) == ("applied", second.from_)
    assert bench.workspace.sessions.known("new").agent == "a"


def test_a_report_that_is_cancelled_records_nothing(agents: Agents) -> None:
    call = Call()
    call.cancel()
    before = agents.bench.workspace.store.timeline.next_seq
    with pytest.raises(Cancelled):
        agents.bench.workspace.reports.take(Report(kind="callBegin", session_id="s", call_id="c"), call)
    assert agents.bench.workspace.store.timeline.next_seq == before
