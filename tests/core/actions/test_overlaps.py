"""Two agents in one place: what each hears of the other's changes, and what people see at their steps."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest

from snapd.core.actions.review import overlap_views
from snapd.core.answers import StepView
from snapd.model.call import Call
from snapd.model.errors import InvalidParams
from snapd.store.timeline import file_queries
from snapd.store.timeline.converter import read_file
from tests.support.amounts import amount
from tests.support.sessions import Agents, at_work


class Pair:
    """Agents in one folder, and what they hear."""

    def __init__(self, agents: Agents) -> None:
        self.agents = agents
        self.workspace = agents.bench.workspace

    def news(self, session: str, *files: str, missed: bool = False) -> tuple[set[tuple[str, str]], str]:
        """The overlaps that an agent is to hear, as files and steps, and the id of the news."""
        names = [os.fsencode(name) for name in files]
        look = self.workspace.news.look(session, self.workspace.sessions.capture(Call()))
        news = self.workspace.news.since(look, Call(), files=names, missed=missed)
        return {(os.fsdecode(view.path), view.step.step_id) for view in news.overlaps}, news.news_id

    def hears(self, session: str, *files: str) -> set[tuple[str, str]]:
        overlaps, news_id = self.news(session, *files)
        self.workspace.news.acknowledge(session, news_id, Call())
        return overlaps

    def marks(self, session: str) -> dict[str, set[tuple[str, str]]]:
        """What people see at the steps of a session."""
        return self.marks_of(self.agents.steps(session))

    def marks_of(self, steps: Iterable[StepView]) -> dict[str, set[tuple[str, str]]]:
        """What people see at some steps."""
        return {
            view.step.step_id: {(os.fsdecode(each.path), each.step.step_id) for each in view.overlaps}
            for view in self.workspace.overlaps.mark(steps, Call())
            if view.overlaps
        }


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    agents = at_work(tmp_path, {"a.txt": b"1\n2\n3\n", "b.txt": b"b\n"})
    for session in ("s", "t"):
        agents.start(session)
    return Pair(agents)


def test_an_agent_hears_before_it_edits_what_another_one_changed(pair: Pair) -> None:
    step = pair.agents.step("s", {"a.txt": b"1\nnew\nnew\n2\n3\n"})
    assert pair.news("t")[0] == set()
    assert pair.news("t", "b.txt", "missing")[0] == set()
    (view,) = pair.workspace.news.take_news("t", Call(), files=[b"a.txt"]).overlaps
    assert (view.path, view.step.step_id, view.session.session_id, view.lines) == (b"a.txt", step, "s", (2, 2))
    # nobody passed it on yet
    assert pair.hears("t", "a.txt") == {("a.txt", step)}
    assert pair.news("t", "a.txt")[0] == set()
    # nor does one hear of oneself
    assert pair.news("s", "a.txt")[0] == set()


def test_a_step_that_writes_more_is_told_again_even_while_it_is_open(pair: Pair) -> None:
    pair.agents.step("t", {"a.txt": b"t\n"})
    step = pair.agents.begin("s")
    pair.agents.bench.write({"a.txt": b"s\n"})
    assert pair.hears("t") == {("a.txt", step)}
    # what no event had recorded yet when it was told is not told again
    pair.agents.end(step, ["a.txt"])
    assert pair.hears("t") == set()
    again = pair.agents.begin("s")
    pair.agents.bench.write({"a.txt": b"s\ns\n"})
    assert pair.hears("t") == {("a.txt", again)}
    pair.agents.bench.write({"a.txt": b"s\ns\ns\n"})
    pair.agents.end(again, ["a.txt"])
    assert pair.hears("t") == {("a.txt", again)}


def test_what_an_agent_could_not_hear_before_its_edit_comes_after_it(pair: Pair) -> None:
    step = pair.agents.step("s", {"a.txt": b"s\n"})
    mine = pair.agents.step("t", {"a.txt": b"s\nt\n"})
    assert pair.news("t")[0] == set()
    assert pair.news("t", missed=True)[0] == {("a.txt", step)}
    assert pair.marks("t") == {mine: {("a.txt", step)}}
    assert pair.hears("s") == {("a.txt", mine)}
    assert pair.marks("s") == {}


def test_a_read_settles_it(pair: Pair) -> None:
    pair.agents.step("s", {"a.txt": b"s\n", "b.txt": b"s\n"})
    pair.workspace.news.read("t", [b"a.txt"], Call())
    assert {path for path, _ in pair.news("t", "a.txt", "b.txt")[0]} == {"b.txt"}
    events = pair.workspace.store.timeline.next_seq
    pair.workspace.news.read("t", [b"a.txt"], Call())
    # it knows that already: nothing is recorded
    assert pair.workspace.store.timeline.next_seq == events


def test_moved_and_deleted_files_count(pair: Pair) -> None:
    pair.agents.step("t", {"a.txt": b"1\n2\n3\nt\n", "b.txt": b"t\n"})
    root = pair.agents.bench.root
    moved = pair.agents.step("s", lambda: os.rename(root / "a.txt", root / "c.txt"))
    deleted = pair.agents.step("s", lambda: os.remove(root / "b.txt"))
    assert pair.hears("t") == {("a.txt", moved), ("b.txt", deleted)}


def test_subagents_are_ones_own(pair: Pair) -> None:
    pair.agents.start("child")
    task = pair.agents.begin("s")
    part = pair.agents.step("child", {"a.txt": b"child\n"}, parent=task)
    pair.agents.end(task, [])
    assert pair.news("s", "a.txt")[0] == set()
    assert pair.hears("t", "a.txt") == {("a.txt", part)}
    other = pair.agents.step("t", {"a.txt": b"t\n"})
    assert pair.news("s", "a.txt")[0] == pair.news("child", "a.txt")[0] == {("a.txt", other)}


def test_a_session_that_was_a_subagents_stays_its_starters(pair: Pair) -> None:
    pair.agents.start("child")
    task = pair.agents.begin("s")
    pair.agents.step("child", {"a.txt": b"child\n"}, parent=task)
    pair.agents.end(task, [])
    pair.agents.step("child", {"b.txt": b"child\n"})
    assert pair.news("child", "a.txt", "b.txt")[0] == set()
    assert pair.news("s", "a.txt", "b.txt")[0] == set()
    pair.agents.step("child", {"a.txt": b"again\n"})
    assert pair.marks("child") == {}


def test_an_old_change_does_not_count(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.agents.step("s", {"a.txt": b"s\n"})
    monkeypatch.setattr(overlap_views, "WINDOW", -1)
    assert pair.news("t", "a.txt")[0] == set()


def test_news_of_another_session_are_not_acknowledged(pair: Pair) -> None:
    _, news_id = pair.news("s")
    with pytest.raises(InvalidParams, match="newsId"):
        pair.workspace.news.acknowledge("t", news_id, Call())
    with pytest.raises(InvalidParams, match="newsId"):
        pair.workspace.news.acknowledge("s", "!", Call())


class Model:
    """What each agent knows of each file: numbers of steps and looks, by a plain rule."""

    def __init__(self) -> None:
        self.now = 0
        self.writes: dict[str, dict[str, tuple[str, int]]] = {}
        self.looks: dict[tuple[str, str], int] = {}
        self.changed: dict[str, set[str]] = {"s": set(), "t": set()}
        self.marks: dict[str, dict[str, set[tuple[str, str]]]] = {"s": {}, "t": {}, "child": {}}

    def overlaps(self, root: str, name: str) -> set[tuple[str, str]]:
        looked = self.looks.get((root, name), -1)
        return {(name, step) for step, (by, at) in self.writes.get(name, {}).items() if by != root and at > looked}

    def wrote(self, session: str, root: str, step: str, names: Iterable[str]) -> None:
        self.now += 1
        for name in names:
            if overlaps := self.overlaps(root, name):
                self.marks[session].setdefault(step, set()).update(overlaps)
            self.changed[root].add(name)
            self.looks[root, name] = self.now
            self.writes.setdefault(name, {})[step] = root, self.now

    def news(self, root: str, named: Iterable[str]) -> set[tuple[str, str]]:
        return {each for name in self.changed[root] | set(named) for each in self.overlaps(root, name)}

    def looked(self, root: str, names: Iterable[str]) -> None:
        self.now += 1
        for name in names:
            self.looks[root, name] = self.now


@pytest.mark.parametrize("seed", range(amount(8, 300)))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    """No false alarm, and none is missing: the model knows nothing of snapd."""
    random = Random(seed)
    numbers = iter(range(1_000_000))
    agents = at_work(tmp_path, {name: b"%d\n" % next(numbers) for name in "abcd"})
    pair, model = Pair(agents), Model()
    root = agents.bench.root
    for session in ("s", "t", "child"):
        agents.start(session)
    task = agents.begin("s")
    agents.step("child", {}, parent=task)
    agents.end(task, [])

    def edit() -> set[str]:
        names = set()
        for _ in range(random.randint(1, 2)):
            name = random.choice("abcdef")
            names.add(name)
            if (root / name).exists() and random.random() < 0.2:
                other = random.choice("abcdef")
                os.replace(root / name, root / other)
                names.add(other)
            else:
                (root / name).write_bytes(b"%d\n" % next(numbers))
        return names

    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in root.iterdir()}

    for _ in range(24):
        what = random.choice(("step", "step", "step", "user", "undo", "news", "read"))
        session = random.choice(("s", "t", "child"))
        owner = "s" if session == "child" else session
        if what == "step":
            task = agents.begin("s") if session == "child" else None
            before = contents()
            step = agents.step(session, edit, parent=task)
            after = contents()
            if task is not None:
                agents.end(task, [])
            names = [name for name in before | after if before.get(name) != after.get(name)]
            model.wrote(session, owner, step, names)
        elif what == "user":
            edit()
        elif what == "undo" and session != "child" and agents.counts(session)[0]:
            agents.undo(session)
        elif what == "news":
            named = random.sample("abcdef", random.randint(0, 2))
            heard = pair.hears(session, *named)
            assert heard == model.news(owner, named)
            model.looked(owner, {name for name, _ in heard})
        elif what == "read":
            name = random.choice("abcdef")
            pair.workspace.news.read(session, [name.encode()], Call())
            model.looked(owner, [name])
    for session in ("s", "t", "child"):
        assert pair.marks(session) == model.marks[session]
        one_by_one = [pair.marks_of([view]) for view in agents.steps(session)]
        assert {step: seen for marks in one_by_one for step, seen in marks.items()} == model.marks[session]


def test_there_can_be_very_many_steps(pair: Pair) -> None:
    pair.agents.step("s", {"a.txt": b"s"})
    step = pair.agents.step("t", {"a.txt": b"t"})
    assert pair.marks("t")
    timeline = pair.workspace.store.timeline
    names = [*map(str, range(40_000)), step]
    assert timeline.touched_again(0, timeline.next_seq, "step_id", names) == {b"a.txt"}


@pytest.mark.parametrize("files", [20, 200])
def test_what_many_files_of_another_step_cost(pair: Pair, monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """Neither a list of other steps nor an agent that changes one file reads all of them."""
    pair.agents.step("s", {f"new/{number}": b"" for number in range(files)} | {"a.txt": b"s"})
    pair.agents.step("t", {"a.txt": b"t"})
    entries = []
    monkeypatch.setattr(file_queries, "read_file", lambda text: entries.append(text) or read_file(text))
    assert len(pair.marks("t")) == 1
    assert pair.news("t", "b.txt")[0] == set()
    assert len(pair.news("s")[0]) == 1
    # two for each change of a file that is read from the database
    assert 0 < len(entries) <= 40
