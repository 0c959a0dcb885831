"""A step that begins on the very snapshot that another one ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd.core.actions.sessions import NewStep
from snapd.core.feed import SessionMoved
from snapd.model.call import Call
from snapd.model.errors import InvalidParams, IoError, StorageFull, UnknownSession, UnknownStep
from tests.support.sessions import Agents
from tests.support.workspace import make

if TYPE_CHECKING:
    from pathlib import Path

    from snapd.core.feed import NumberedNotice


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return Agents(make(tmp_path, {"a": b"0\n"}))


def test_nothing_falls_between_or_into_both(agents: Agents) -> None:
    agents.start("s")
    first = agents.begin("s", client="c")
    agents.bench.write({"a": b"1\n"})
    second = agents.begin("s", client="c", ends=first)
    agents.bench.write({"b": b"2\n"})
    agents.end(second)
    assert (agents.files(first), agents.files(second)) == ({"a": "modified"}, {"b": "added"})
    assert agents.view(first).step.to == agents.view(second).step.from_
    # the history has no gap: each span is one step's
    assert agents.undo("s") == {"b": "deleted"}
    assert agents.undo("s") == {"a": "restored"}
    assert agents.bench.read() == {"a": b"0\n"}


def test_one_look_and_two_events(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    agents.start("s")
    first = agents.begin("s")
    looks = []
    writer = agents.bench.workspace.writer
    real = writer.look
    monkeypatch.setattr(writer, "look", lambda *args: looks.append(1) or real(*args))
    before = agents.bench.workspace.store.timeline.next_seq
    agents.begin("s", ends=first)
    assert len(looks) == 1
    assert agents.bench.workspace.store.timeline.next_seq == before + 2


def test_both_are_told(agents: Agents) -> None:
    agents.start("s")
    first = agents.begin("s")
    agents.bench.write({"a": b"1\n"})
    told: list[tuple[str, str]] = []

    def hear(news: NumberedNotice) -> None:
        if isinstance(news.event, SessionMoved) and news.event.step is not None:
            told.append((news.event.step.step.step_id, news.event.step.step.state))

    agents.bench.workspace.event_log.listen(hear)
    second = agents.begin("s", ends=first)
    assert sorted(told) == sorted([(second, "open"), (first, "applied")])


def test_it_ends_as_by_its_name(agents: Agents) -> None:
    # its client is gone: whoever names it speaks for it, as `finish` has it
    agents.start("s")
    first = agents.begin("s", client="gone")
    agents.leave("gone")
    agents.bench.write({"a": b"1\n"})
    agents.begin("s", ends=first)
    assert agents.files(first) == {"a": "modified"}


def test_one_that_has_ended_stays_as_it_is(agents: Agents) -> None:
    agents.start("s")
    first = agents.begin("s")
    agents.bench.write({"a": b"1\n", "b": b"1\n"})
    agents.end(first, ["a"])
    ended = agents.view(first).step
    agents.bench.write({"c": b"1\n"})
    second = agents.begin("s", ends=first)
    assert agents.view(first).step == ended
    assert ended.claims == (b"a",)
    # what came between was nobody's at work: the user's
    agents.end(second)
    assert agents.files(second) == {}


def test_a_part_takes_the_place_of_another(agents: Agents) -> None:
    agents.start("s")
    whole = agents.begin("s")
    first = agents.begin("s", whole)
    agents.bench.write({"a": b"1\n"})
    second = agents.begin("s", whole, ends=first)
    agents.bench.write({"b": b"1\n"})
    agents.end(second)
    agents.end(whole)
    assert (agents.files(first), agents.files(second)) == ({"a": "modified"}, {"b": "added"})


def test_what_cannot_be_ended(agents: Agents) -> None:
    agents.start("s")
    agents.start("t")
    other = agents.begin("t")
    whole = agents.begin("s")
    part = agents.begin("s", whole)
    for parent, ends, error in (
        (None, "0" * 16, UnknownStep),
        (None, other, UnknownStep),
        (whole, whole, InvalidParams),
        (part, whole, InvalidParams),
        (part, part, InvalidParams),
    ):
        with pytest.raises(error) as caught:
            agents.begin("s", parent, ends=ends)
        assert ends in caught.value.message
    agents.bench.workspace.sessions.end("t", Call())
    with pytest.raises(UnknownSession):
        agents.begin("t", ends=other)
    # nothing was ended, and nothing begun
    assert [view.step.state for view in agents.steps("s")] == ["open", "open"]


def test_a_full_disk(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the one step has not ended and the other has not begun: no change can fall between them."""
    agents.start("s")
    first = agents.begin("s", client="c")
    agents.bench.write({"a": b"1\n"})
    store = agents.bench.workspace.store

    def flush(*_: object, **__: object) -> None:
        raise StorageFull("full")

    monkeypatch.setattr(store.repository.journal, "flush", flush)
    with pytest.raises(StorageFull):
        agents.begin("s", client="c", ends=first)
    monkeypatch.undo()
    assert [view.step.state for view in agents.steps("s")] == ["open"]
    # asked again, it is as if it had gone well
    second = agents.begin("s", client="c", ends=first)
    assert agents.files(first) == {"a": "modified"}
    assert agents.view(first).step.to == agents.view(second).step.from_


def test_what_cannot_be_told_is_no_failure_of_the_step_that_began(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.start("s")
    first = agents.begin("s")
    agents.bench.write({"a": b"1\n"})
    troubles: list[Exception] = []
    agents.bench.workspace.writer.trouble.add(troubles.append)
    sessions = agents.bench.workspace.sessions

    def shown(*_: object) -> None:
        raise IoError("no differ", errno="EIO")

    monkeypatch.setattr(sessions, "shown", shown)
    second = agents.begin("s", ends=first)
    monkeypatch.undo()
    assert [error.message for error in troubles if isinstance(error, IoError)] == ["no differ"]
    assert [view.step.state for view in agents.steps("s")] == ["applied", "open"]
    assert agents.view(second).step.state == "open"


def test_what_is_said_of_a_step_at_its_end_stands(agents: Agents) -> None:
    agents.start("s")
    sessions = agents.bench.workspace.sessions
    steps = [sessions.begin("s", NewStep(client=None, description="at first"), Call()).step_id for _ in range(2)]
    for step, words in zip(steps, ("at last", None), strict=True):
        sessions.finish(step, None, Call(), description=words)
    # ending it again changes nothing
    sessions.finish(steps[0], None, Call(), description="too late")
    agents.bench.reopen()
    assert [agents.view(step).step.begun.description for step in steps] == ["at last", "at first"]


def test_what_a_part_does_not_name_is_left_to_the_step_around_it(agents: Agents) -> None:
    """An agent may write before it says so, while another of its calls is at work."""
    session = agents.start()
    whole = agents.begin(session, message="m")
    first = agents.begin(session, whole, "m")
    agents.bench.write({"one": b"1\n", "early": b"1\n"})
    second = agents.begin(session, whole, "m")
    agents.bench.write({"one": b"2\n", "by nobody": b"1\n"})
    agents.end(first, ["one"])
    agents.end(second, ["early"])
    agents.bench.write({"last": b"1\n"})
    agents.end(whole)
    changes = agents.bench.workspace.step_changes
    owned = [
        sorted(changes.own(agents.bench.workspace.sessions.known_step(step)).files) for step in (first, second, whole)
    ]
    assert owned == [[b"one"], [], [b"by nobody", b"early", b"last"]]
    # the part itself owns what it does not name if nothing says which files it wrote
    other = agents.begin(session, message="m2")
    part = agents.begin(session, other, "m2")
    agents.bench.write({"b": b"1\n"})
    assert [file.path for file in agents.end(part).files or ()] == [b"b"]
    agents.end(other, [])
    said = agents.undo(session, step=whole)
    assert agents.bench.read().keys() & {"one", "b", "early", "by nobody", "last"} == {"b"}, said
