"""The messages of a session: turns, what became of each, and the texts that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapd.core.actions.history import HistoryQuery
from snapd.core.actions.sessions import TEXT_LENGTH, NewStep
from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.answers import MessageView
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import UnknownSession
from tests.support.sessions import TEXT, Agents, at_work, text

OPTIONS = OperationOptions("merge", False, False)


def send(agents: Agents, message: str, words: str | None = None, session: str = "one") -> None:
    agents.bench.workspace.messages.send(session, message, words, Call())


def pages(agents: Agents, session: str = "one", limit: int | None = None) -> list[MessageView]:
    found: list[MessageView] = []
    after: int | None = None
    while True:
        page = agents.bench.workspace.messages.page(session, "", Call(), after, limit)
        found += page.views
        after = page.after
        if after is None:
            return found


def told(agents: Agents, limit: int | None = None) -> list[tuple[str, str | None, int, int, int, int, str]]:
    return [
        (
            view.message.message_id,
            view.message.text,
            view.steps,
            view.files,
            view.additions,
            view.deletions,
            view.state,
        )
        for view in pages(agents, limit=limit)
    ]


def test_turns_and_what_became_of_them(agents: Agents) -> None:
    send(agents, "m1", "make it work")
    # a step that names no message belongs to the last
    first = agents.step("one", {"a.txt": text(l2=b"one")})
    second = agents.step("one", {"a.txt": text(l2=b"one", l9=b"two"), "new": b"1\n2\n"})
    agents.step("one", lambda: None)
    # a message that only its step names
    agents.step("one", {"b.txt": b"B\n"}, message="m0")
    send(agents, "m2", "and now?")
    send(agents, "m3")
    agents.step("one", {"b.txt": b"C\n"})
    assert [agents.view(step).step.begun.message_id for step in (first, second)] == ["m1", "m1"]
    expected = [
        ("m1", "make it work", 3, 2, 4, 2, "applied"),
        ("m0", None, 1, 1, 1, 1, "applied"),
        ("m2", "and now?", 0, 0, 0, 0, "applied"),
        ("m3", None, 1, 1, 1, 1, "applied"),
    ]
    assert told(agents) == expected
    agents.undo("one", step=first)
    assert [row[-1] for row in told(agents)] == ["partly", "applied", "applied", "applied"]
    agents.undo("one", step=second)
    undone = [("m1", "make it work", 3, 2, 4, 2, "undone"), *expected[1:]]
    assert told(agents) == undone
    # the same from the events alone, and in pages
    agents.bench.reopen()
    assert told(agents) == undone
    assert told(agents, limit=1) == told(agents, limit=3) == undone
    assert agents.bench.workspace.upkeep.check(Call(), quick=False).problems == ()


def test_a_message_is_where_it_was_sent_in_the_history(agents: Agents) -> None:
    agents.start("two")
    agents.step("one", lambda: None)
    agents.bench.write({"a.txt": text(l1=b"mine")})
    send(agents, "m", "hello")
    agents.step("one", {"b.txt": b"B\n"})
    page = agents.bench.workspace.history.page(HistoryQuery(), None, 9, Call())
    assert [(entry.kind, entry.session_id) for entry in page.entries][:3] == [
        ("step", None),
        ("message", "one"),
        ("user", None),
    ]
    entry = page.entries[1]
    assert entry.message is not None
    assert (entry.message.text, entry.before, entry.files) == ("hello", page.entries[2].after, ())
    for query, kinds in ((HistoryQuery("two"), []), (HistoryQuery(files=frozenset([b"b.txt"])), ["step"])):
        found = agents.bench.workspace.history.page(query, None, 9, Call()).entries
        assert [entry.kind for entry in found] == kinds


def test_what_a_subagent_did_belongs_to_the_turn(agents: Agents) -> None:
    agents.start("child")
    send(agents, "m", "go")
    task = agents.begin("one", message="m")
    agents.step("child", {"b.txt": b"by the child\n"}, parent=task, message="its own")
    agents.end(task)
    assert told(agents) == [("m", "go", 1, 1, 1, 1, "applied")]
    deltas, _ = agents.bench.workspace.net_changes.page(
        "one", "m", None, Call(), contents=False, after=None, limit=None
    )
    assert [delta.path for delta in deltas] == [b"b.txt"]
    # as an undo of the turn takes it back
    agents.bench.workspace.undo_steps.undo(UndoRequest("one", message_id="m"), OPTIONS, Call())
    assert agents.bench.read()["b.txt"] == b"b\n"
    assert told(agents)[0][-1] == "undone"


def test_sending_again_is_harmless(agents: Agents) -> None:
    send(agents, "m1", "one")
    send(agents, "m2", "two")
    seq = agents.bench.workspace.history.page(HistoryQuery(), None, 9, Call()).entries[0].seq
    send(agents, "m2", "two")
    send(agents, "m2")
    assert agents.bench.workspace.history.page(HistoryQuery(), None, 9, Call()).entries[0].seq == seq
    send(agents, "m2", "two, but better")
    # an older message is the current one once more
    send(agents, "m1")
    assert agents.view(agents.step("one", {"b.txt": b"B"})).step.begun.message_id == "m1"
    assert [row[:3] for row in told(agents)] == [("m1", "one", 1), ("m2", "two, but better", 0)]


def test_a_text_is_cut(agents: Agents) -> None:
    send(agents, "m", "ä" * (TEXT_LENGTH + 1))
    send(agents, "empty", "")
    assert [row[1] for row in told(agents)] == ["ä" * TEXT_LENGTH, None]


def test_a_command_is_kept_as_a_prompt_is(agents: Agents) -> None:
    def kept() -> str | None:
        new = NewStep(client=None, command="é" * (TEXT_LENGTH + 1))
        return agents.bench.workspace.sessions.begin("one", new, Call()).begun.command

    assert kept() == "é" * TEXT_LENGTH
    agents.bench.options.give({"prompts": False})
    assert kept() is None
    # agents call a step after its command where they have no words for it
    begun = [
        agents.bench.workspace.sessions.begin("one", NewStep(client=None, command="make -j", description=each), Call())
        for each in ("make -j", "`make …", "builds it")
    ]
    assert [step.begun.description for step in begun] == [None, None, "builds it"]


def test_no_texts_where_the_settings_say_so(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.bench.options.give({"prompts": False})
    send(agents, "m", "secret")
    agents.step("one", {"a.txt": text(l1=b"one")})
    assert told(agents) == [("m", None, 1, 1, 1, 1, "applied")]


def test_only_of_sessions_that_go_on(agents: Agents) -> None:
    with pytest.raises(UnknownSession):
        send(agents, "m", session="none")
    with pytest.raises(UnknownSession):
        pages(agents, "none")
    agents.bench.workspace.sessions.end("one", Call())
    with pytest.raises(UnknownSession, match="has ended"):
        send(agents, "m")
    assert pages(agents) == []


def test_a_part_is_begun_once(agents: Agents) -> None:
    step = agents.begin("one", message="m1", part="p")
    # two hooks may know the prompt by different names, or not at all
    assert agents.begin("one", message="m1", part="p") == step
    assert agents.begin("one", message="m2", part="p") == step
    assert agents.begin("one", part="p") == step
    agents.end(step)
    assert agents.begin("one", message="m1", part="p") == step
    # an agent may count the parts of each message anew
    assert agents.begin("one", message="m2", part="p") != step
