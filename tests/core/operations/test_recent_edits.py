"""What a formatter does in the moment after an edit is the edit's, in the files that it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snapd.core.operations import edits
from snapd.model.call import Call
from tests.core.actions.reviewing import Reviewer
from tests.support.editor import Editor
from tests.support.sessions import TEXT, Agents, at_work, text


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return at_work(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"})


def edit(agents: Agents) -> str:
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A  =1")})
    agents.end(step, ["a.txt"], lingers=True)
    return step


def formats(agents: Agents) -> None:
    agents.bench.write({"a.txt": text(l2=b"A = 1")})


def test_a_formatter_works_for_the_edit(agents: Agents) -> None:
    step = edit(agents)
    formats(agents)
    agents.bench.write({"b.txt": b"user\n"})
    # two agents at once: the other one's step sees it first
    agents.start("two")
    other = agents.begin("two")
    assert agents.files(step) == {"a.txt": "modified"}
    assert agents.bench.workspace.step_changes.summary(agents.view(step).step, Call()).files[0].additions == 1
    agents.end(other)
    assert agents.files(other) == {}
    assert Reviewer(agents).blame("a.txt") == [("before", 1), (step, 1), ("before", 18)]
    assert Reviewer(agents).blame("b.txt") == [("user", 1)]
    agents.bench.reopen()
    assert agents.undo("one", step=step) == {"a.txt": "restored"}
    assert agents.bench.read() == {"a.txt": TEXT, "b.txt": b"user\n"}
    agents.redo("one")
    assert agents.bench.read()["a.txt"] == text(l2=b"A = 1")


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_undo_finds_it_without_an_event_in_between(agents: Agents, *, dry_run: bool) -> None:
    step = edit(agents)
    formats(agents)
    assert agents.undo("one", dry_run=dry_run) == {"a.txt": "restored"}
    agents.bench.write({"a.txt": text(l5=b"after the undo")})
    agents.bench.track()
    agents.end(agents.begin("one"))
    assert agents.files(step) == {"a.txt": "modified"}
    if not dry_run:
        assert agents.bench.read()["a.txt"] == text(l5=b"after the undo")
        assert Reviewer(agents).blame("a.txt")[1] == ("user", 1)


def by_a_step(agents: Agents, step: str) -> None:
    agents.end(agents.begin("one"), [])


def by_a_message(agents: Agents, step: str) -> None:
    agents.bench.workspace.messages.send("one", "m", "go on", Call())


def by_an_end(agents: Agents, step: str) -> None:
    agents.end(step)


def by_the_session(agents: Agents, step: str) -> None:
    agents.bench.workspace.sessions.end("one", Call())


def by_an_operation(agents: Agents, step: str) -> None:
    agents.bench.restore(agents.bench.track())
    agents.bench.write({"b.txt": b"x"})
    agents.bench.revert((agents.bench.workspace.store.timeline.head.tree, ["b.txt"]))  # type: ignore[union-attr]


@pytest.mark.parametrize("ends", [by_a_step, by_a_message, by_an_end, by_the_session, by_an_operation])
def test_the_moment_ends(agents: Agents, ends: Callable[[Agents, str], None]) -> None:
    step = edit(agents)
    formats(agents)
    ends(agents, step)
    agents.bench.write({"a.txt": text(l2=b"A = 1", l9=b"user")})
    agents.start("two")
    agents.end(agents.begin("two"))
    assert agents.undo("one", step=step) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"user")


def test_what_is_written_later_is_the_users(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MOMENT_SECONDS", -1.0)
    step = edit(agents)
    agents.bench.write({"a.txt": text(l2=b"A  =1", l9=b"user")})
    assert agents.undo("one", step=step) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"user")


def test_what_an_editor_saves_is_the_users(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = edit(agents)
    formats(agents)
    editor.reload()
    editor.type(text(l2=b"A = 1", l9=b"user"), at_once=True)
    editor.save(at_once=True)
    assert agents.undo("one", step=step) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"user")


def test_only_who_asks_lingers(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l2=b"A")})
    agents.end(step, ["a.txt"])
    agents.bench.write({"a.txt": text(l2=b"A", l9=b"user")})
    assert agents.undo("one", step=step) == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l9=b"user")
