"""What an editor saves while steps are open is the user's."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.core.actions.history import HistoryQuery
from snapd.model.call import Call
from snapd.model.snapshot import ObjectId, RelPath
from snapd.model.trees import file_at
from tests.support.amounts import amount
from tests.support.editor import Editor
from tests.support.sessions import TEXT, Agents, text
from tests.support.workspace import Bench, make


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    made = Agents(make(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"}))
    made.start("one")
    return made


def lines_of(bench: Bench, step: str) -> set[bytes]:
    """The lines that a step itself added, by its own changes."""
    workspace = bench.workspace
    store = workspace.store
    own = workspace.step_changes.own(workspace.sessions.known_step(step))
    found: set[bytes] = set()
    for chain in own.files.values():
        for delta in chain:
            old, new = (
                set(store.read_blob(side.oid).splitlines()) if side else set() for side in (delta.old, delta.new)
            )
            found |= new - old
    return found


def users_lines(bench: Bench) -> set[bytes]:
    """The lines that the user added, by the history."""
    found: set[bytes] = set()
    for entry in bench.workspace.history.page(HistoryQuery(), None, 1000, Call()).entries:
        if entry.kind == "user" and entry.after is not None:
            for file in entry.files:
                old, new = (lines_at(bench, tree, file.path) for tree in (entry.before, entry.after))
                found |= new - old
    return found


def lines_at(bench: Bench, tree: ObjectId, path: RelPath) -> set[bytes]:
    store = bench.workspace.store
    entry = file_at(store.entry_in, tree, path)
    return set() if entry is None else set(store.read_blob(entry.oid).splitlines())


def test_what_is_saved_is_the_users(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = agents.begin("one")
    agents.bench.write({"b.txt": b"agent\n"})
    editor.type(text(l3=b"user"), at_once=True)
    editor.save(at_once=True)
    agents.end(step)
    assert agents.files(step) == {"b.txt": "modified"}
    assert users_lines(agents.bench) == {b"user"}
    assert agents.undo("one") == {"b.txt": "restored"}
    assert agents.bench.read() == {"a.txt": text(l3=b"user"), "b.txt": b"b\n"}


def test_in_a_file_that_the_agent_wrote_before_and_writes_after(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l1=b"agent 1")})
    editor.reload()
    editor.type(text(l1=b"agent 1", l10=b"user"), at_once=True)
    editor.save(at_once=True)
    agents.bench.write({"a.txt": text(l1=b"agent 1", l10=b"user", l20=b"agent 2")})
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent 1", b"agent 2"}
    assert agents.undo("one") == {"a.txt": "merged"}
    assert agents.bench.read()["a.txt"] == text(l10=b"user")


def test_all_reports_can_come_after_the_agent_has_written_again(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l1=b"agent 1")})
    editor.reload()
    editor.type(text(l1=b"agent 1", l10=b"user"))
    editor.save()
    agents.bench.write({"a.txt": text(l1=b"agent 1", l10=b"user", l20=b"agent 2")})
    editor.deliver()
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent 1", b"agent 2"}
    assert users_lines(agents.bench) == {b"user"}


def test_even_if_the_editor_reports_all_at_once(agents: Agents) -> None:
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l1=b"agent 1")})
    editor = Editor(agents.bench, "a.txt")
    editor.type(text(l1=b"agent 1", l10=b"user"))
    editor.save()
    agents.bench.write({"a.txt": text(l1=b"agent 1", l10=b"user", l20=b"agent 2")})
    editor.deliver()
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent 1", b"agent 2"}
    assert users_lines(agents.bench) == {b"user"}


@pytest.mark.parametrize("opened", ["early", "late", "first"])
def test_whenever_the_reports_come(agents: Agents, opened: str) -> None:
    """The reports come in any groups, at any time after what they report, however long after the file has changed."""
    states = [text(l1=b"agent 1"), text(l1=b"agent 1", l10=b"user"), text(l1=b"agent 1", l10=b"user", l20=b"agent 2")]
    cases = list(product([-1.0, 0.01, 1.0], *[(False, True)] * 5))
    for number, (ago, *groups) in enumerate(cases[:: amount(5, 1)]):
        name = f"{number}.txt"
        agents.bench.write({name: TEXT})
        step = agents.begin("one")
        editor = Editor(agents.bench, name)
        agents.bench.write({name: states[0]})
        if opened == "first":
            editor.reload()
        else:
            editor = Editor(agents.bench, name)
        if opened == "early":
            editor.deliver(1.0)
        actions = [
            partial(editor.type, text(l1=b"agent 1", l10=b"us")),
            partial(editor.type, states[1]),
            editor.write,
            editor.has_written,
            partial(agents.bench.write, {name: states[2]}),
        ]
        for action, is_last in zip(actions, groups, strict=True):
            action()
            if is_last:
                editor.deliver(ago)
        editor.read_again()
        editor.deliver(ago)
        agents.end(step)
        assert lines_of(agents.bench, step) == {b"agent 1", b"agent 2"}, (ago, groups)
    assert users_lines(agents.bench) >= {b"user"}


def test_a_step_that_ends_before_the_editor_says_that_it_saved(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    editor.type(text(l10=b"user"), at_once=True)
    editor.write()
    agents.bench.write({"a.txt": text(l10=b"user", l20=b"agent")})
    agents.end(step)
    editor.has_written()
    editor.deliver()
    assert lines_of(agents.bench, step) == {b"agent"}
    assert users_lines(agents.bench) == {b"user"}


def test_a_claim_does_not_take_it(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    editor.type(text(l10=b"user"))
    editor.save(at_once=True)
    agents.bench.write({"a.txt": text(l10=b"user", l20=b"agent")})
    agents.end(step, ["a.txt"])
    assert lines_of(agents.bench, step) == {b"agent"}


def test_an_undo_sees_a_save_of_which_no_report_came_yet(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    agents.bench.write({"b.txt": b"agent\n"})
    editor.type(text(l10=b"user"), at_once=True)
    editor.save()
    assert agents.undo("one", step=step) == {"b.txt": "restored"}
    assert agents.bench.read()["a.txt"] == text(l10=b"user")


@pytest.mark.parametrize("again", [False, True], ids=["once", "saved again"])
def test_an_editor_that_reads_a_file_again_claims_nothing(agents: Agents, *, again: bool) -> None:
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l1=b"agent")})
    editor.reload()
    if again:
        editor.save(at_once=True)
    agents.end(step)
    assert agents.files(step) == {"a.txt": "modified"}
    assert users_lines(agents.bench) == set()


@pytest.mark.parametrize("writes", [True, False], ids=["written again", "not written"])
@pytest.mark.parametrize("ago", [0.011, 0.04, 1.0])
@pytest.mark.parametrize("typed", [False, True])
def test_what_was_read_again_and_saved_is_the_agents(agents: Agents, ago: float, *, writes: bool, typed: bool) -> None:
    """Only what is typed after the editor read what the agent wrote is the user's, though it reads it after a tick."""
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l1=b"agent 1")})
    editor.read_again()
    editor.deliver(ago)
    if writes:
        editor.write()
    editor.has_written()
    editor.deliver()
    agents.bench.write({"a.txt": text(l1=b"agent 1", l20=b"agent 2")})
    editor.read_again()
    editor.deliver(ago)
    if typed:
        editor.type(text(l1=b"agent 1", l10=b"user", l20=b"agent 2"), at_once=True)
        editor.save(at_once=True)
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent 1", b"agent 2"}
    assert users_lines(agents.bench) == ({b"user"} if typed else set())
    agents.undo("one")
    assert agents.bench.read()["a.txt"] == (text(l10=b"user") if typed else TEXT)


def test_all_that_was_read_again_is_reported_at_once(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = agents.begin("one")
    agents.bench.write({"a.txt": text(l1=b"agent")})
    editor.read_again()
    editor.has_written()
    editor.deliver(1.0)
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent"}


def test_a_save_over_what_another_step_wrote_meanwhile(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    agents.start("two")
    step, other = agents.begin("one"), agents.begin("two")
    editor.type(text(l10=b"user"), at_once=True)
    agents.bench.write({"a.txt": text(l1=b"agent")})
    agents.end(other)
    editor.save(at_once=True)
    agents.end(step, ["b.txt"])
    agents.end(agents.begin("one"))
    assert lines_of(agents.bench, other) == {b"agent"}
    assert lines_of(agents.bench, step) == set()
    assert users_lines(agents.bench) == {b"user", b"1"}


def test_typing_that_is_discarded_claims_nothing_of_what_an_agent_wrote_meanwhile(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = agents.begin("one")
    editor.type(text(l10=b"user"), at_once=True)
    agents.bench.write({"a.txt": text(l1=b"agent")})
    editor.is_dirty = False
    editor.reload()
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent"}
    assert users_lines(agents.bench) == set()


def test_a_large_file_that_is_saved_as_it_was_read(agents: Agents) -> None:
    large = b"line of a large file\n" * 250_000
    agents.bench.configure(max_file_size=16 << 20)
    agents.bench.write({"a.txt": large})
    editor = Editor(agents.bench, "a.txt")
    editor.deliver()
    step = agents.begin("one")
    agents.bench.write({"a.txt": b"agent\n" + large})
    editor.reload()
    editor.save(at_once=True)
    editor.type(b"user\nagent\n" + large, at_once=True)
    editor.save(at_once=True)
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent"}
    assert users_lines(agents.bench) == {b"user"}


def test_text_that_is_not_saved_is_nobodys(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    editor.type(text(l10=b"user"), at_once=True)
    agents.bench.write({"a.txt": text(l1=b"agent")})
    editor.close()
    editor.deliver()
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"agent"}


def test_a_file_in_another_encoding(agents: Agents) -> None:
    agents.bench.write({"a.txt": "früher\n".encode("latin-1")})
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    agents.bench.write({"a.txt": "Agent\nfrüher\n".encode("latin-1")})
    editor.text = "Agent\nfrüher\n".encode()
    editor.type("Agent\nfrüher\nspäter\n".encode(), at_once=True)
    Path(agents.bench.path("a.txt")).write_bytes("Agent\nfrüher\nspäter\n".encode("latin-1"))
    editor.text = "Agent\nfrüher\nspäter\n".encode("latin-1")
    editor.save(at_once=True)
    agents.end(step)
    assert lines_of(agents.bench, step) == {b"Agent"}
    assert users_lines(agents.bench) == {"später".encode("latin-1")}


def test_what_editors_saved_survives_a_restart(agents: Agents) -> None:
    editor = Editor(agents.bench, "a.txt")
    step = agents.begin("one")
    agents.bench.write({"b.txt": b"agent\n"})
    editor.type(text(l3=b"user"))
    editor.save(at_once=True)
    agents.bench.reopen()
    agents.end(step)
    assert agents.files(step) == {"b.txt": "modified"}


class Story:
    """An editor and two agents in one file; each inserts lines that say whose they are."""

    def __init__(self, agents: Agents) -> None:
        self.agents = agents
        self.bench = agents.bench
        self.editor = Editor(self.bench, "a.txt")
        self.open: dict[str, str] = {}
        self.steps: list[str] = []
        self.written: dict[str, set[bytes]] = {}
        self.users: set[bytes] = set()
        self.number = 0

    def line(self, author: str) -> bytes:
        self.number += 1
        return b"%s %d" % (author.encode(), self.number)

    def insert(self, data: bytes, line: bytes, where: int) -> bytes:
        lines = data.splitlines(keepends=True)
        lines.insert(where % (len(lines) + 1), line + b"\n")
        return b"".join(lines)

    def agent(self, name: str, where: int) -> None:
        """Begins or ends a step, or writes."""
        if name not in self.open:
            self.editor.deliver()
            self.open[name] = self.agents.begin(name)
            self.steps.append(self.open[name])
            self.written[self.open[name]] = set()
        elif where % 4 == 0:
            self.editor.deliver()
            self.agents.end(self.open.pop(name))
        else:
            line = self.line(name)
            path = Path(self.bench.path("a.txt"))
            path.write_bytes(self.insert(path.read_bytes(), line, where))
            for step in self.open.values():
                self.written[step].add(line)

    def user(self, what: str, where: int) -> None:
        """Types a line and saves it; the reports come at once, later, or some now and some later."""
        if what == "deliver":
            self.editor.deliver()
            return
        if self.editor.text != Path(self.bench.path("a.txt")).read_bytes():
            self.editor.reload()
        line = self.line("you")
        self.users.add(line)
        self.editor.type(self.insert(self.editor.text, line, where))
        if where % 2:
            self.editor.deliver()
        self.editor.save()


STEPS = st.lists(
    st.tuples(st.sampled_from(["one", "two", "type", "type", "deliver"]), st.integers(0, 1000)), min_size=4, max_size=25
)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_lines_by_author(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]) -> None:
    bench = make(tmp_path_factory.mktemp("story"), {"a.txt": TEXT})
    try:
        agents = Agents(bench)
        for name in ("one", "two"):
            agents.start(name)
        agents.end(agents.begin("one"))
        story = Story(agents)
        for what, where in steps:
            if what in ("one", "two"):
                story.agent(what, where)
            else:
                story.user(what, where)
        story.editor.deliver()
        for name in tuple(story.open):
            agents.end(story.open.pop(name))
        agents.end(agents.begin("one"))
        assert {step: lines_of(bench, step) for step in story.steps} == story.written
        assert users_lines(bench) == story.users
    finally:
        bench.close()
