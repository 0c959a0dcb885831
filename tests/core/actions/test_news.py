"""What an agent is told: what others did to its work since the last time."""

from __future__ import annotations

import os
import random
from pathlib import Path

import attrs
import pytest

from snapd.core.actions.undo.steps import UndoRequest
from snapd.core.operations.runner import OperationOptions
from snapd.model.call import Call
from snapd.model.errors import UnknownSession
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.sessions import TEXT, Agents, at_work, ids, text

NOTHING: tuple[list[str], list[str], list[str]] = ([], [], [])


def news(agents: Agents, session: str = "one") -> tuple[list[str], list[str], list[str]]:
    """The steps that were undone and redone, and the files that differ."""
    found = agents.bench.workspace.news.take_news(session, Call())
    return ids(found.undone), ids(found.redone), [os.fsdecode(file.path) for file in found.files]


def test_what_was_undone_and_redone(agents: Agents) -> None:
    first = agents.step("one", {"a.txt": text(l2=b"one")})
    second = agents.step("one", {"b.txt": b"B\n"})
    assert news(agents) == NOTHING
    agents.undo("one", step=first)
    assert news(agents) == ([first], [], ["a.txt"])
    assert news(agents) == NOTHING
    agents.undo("one", step=second)
    agents.redo("one")
    assert news(agents) == NOTHING
    agents.redo("one")
    assert news(agents) == ([], [first], ["a.txt"])


def test_how_git_was_moved(agents: Agents) -> None:
    folder = agents.bench.root
    run_git(folder, "init", "-qb", "main")
    run_git(folder, "commit", "-qm", "first", "--allow-empty")
    agents.start("one")
    step = agents.step("one", lambda: run_git(folder, "commit", "-qm", "second", "--allow-empty"))
    assert agents.bench.workspace.news.take_news("one", Call()).git is None
    with_git = OperationOptions("merge", False, False, git=True)
    agents.bench.workspace.undo_steps.undo(UndoRequest("one", 1, step), with_git, Call())
    # what the user does is no operation
    run_git(folder, "branch", "topic")
    news = agents.bench.workspace.news.take_news("one", Call())
    assert ids(news.undone) == [step]
    assert news.git is not None
    assert [(each.ref, each.after) for each in news.git.refs] == [
        ("refs/heads/main", run_git(folder, "rev-parse", "main").decode().strip())
    ]
    assert agents.bench.workspace.news.take_news("one", Call()).git is None
    agents.bench.workspace.undo_steps.redo("one", 1, with_git, Call())
    agents.bench.workspace.undo_steps.undo(UndoRequest("one", 1, step), with_git, Call())
    assert agents.bench.workspace.news.take_news("one", Call()).git is None


def test_what_the_user_changed(agents: Agents) -> None:
    agents.step("one", {"a.txt": text(l2=b"one")})
    news(agents)
    agents.bench.write({"a.txt": text(l2=b"one", l9=b"mine"), "b.txt": b"not the agent's\n"})
    assert news(agents) == ([], [], ["a.txt"])
    # the agent goes on with the file, and was told before
    agents.step("one", {"a.txt": text(l2=b"two", l9=b"mine")})
    assert news(agents) == NOTHING
    agents.bench.write({"a.txt": TEXT})
    agents.bench.track()
    agents.bench.write({"a.txt": text(l2=b"two", l9=b"mine")})
    assert news(agents) == NOTHING
    agents.bench.remove("a.txt")
    assert news(agents) == ([], [], ["a.txt"])


def test_after_a_cleanup_of_what_it_was_told_of(agents: Agents) -> None:
    agents.step("one", {"a.txt": text(l2=b"one")})
    agents.bench.write({"b.txt": b"not the agent's\n"})
    assert news(agents) == NOTHING
    agents.bench.write({"b.txt": b"again\n"})
    agents.bench.track()
    # the snapshot that the agent was told of is no newest one, and no event names it
    assert agents.bench.workspace.upkeep.cleanup(0, Call())[0] > 0
    agents.bench.write({"a.txt": text(l2=b"one", l9=b"mine")})
    assert news(agents) == ([], [], ["a.txt"])


def test_what_other_sessions_and_restores_changed(agents: Agents) -> None:
    tree = agents.bench.track()
    agents.start("two")
    agents.step("one", {"a.txt": text(l2=b"one"), "b.txt": b"B\n"})
    agents.step("two", {"c.txt": b"C\n"})
    assert (news(agents), news(agents, "two")) == (NOTHING, NOTHING)
    agents.step("two", {"a.txt": text(l2=b"two")})
    assert news(agents) == ([], [], ["a.txt"])
    agents.bench.restore(tree)
    assert news(agents) == ([], [], ["a.txt", "b.txt"])
    # the second agent's own change of a.txt was taken back by the restore
    assert news(agents, "two") == ([], [], ["a.txt", "c.txt"])


def test_what_its_own_parallel_calls_write_is_no_news(agents: Agents) -> None:
    agents.step("one", {"a.txt": text(l2=b"one")})
    first = agents.begin("one")
    news(agents)
    agents.bench.write({"a.txt": text(l2=b"two")})
    second = agents.begin("one")
    assert news(agents) == NOTHING
    agents.bench.write({"a.txt": text(l2=b"three")})
    assert news(agents) == NOTHING
    agents.end(first)
    agents.end(second)
    assert news(agents) == NOTHING


def test_after_a_restart_it_is_told_what_came_after_its_last_step(agents: Agents) -> None:
    step = agents.step("one", {"a.txt": text(l2=b"one")})
    agents.bench.write({"a.txt": text(l2=b"one", l9=b"mine")})
    agents.bench.reopen()
    assert news(agents) == ([], [], ["a.txt"])
    agents.undo("one")
    agents.bench.reopen()
    assert news(agents) == ([step], [], ["a.txt"])


def test_nothing_where_the_settings_say_so(tmp_path: Path) -> None:
    agents = at_work(tmp_path, {"a.txt": TEXT})
    agents.bench.options.give({"tell_agents": False})
    agents.step("one", {"a.txt": text(l2=b"one")})
    agents.undo("one")
    assert news(agents) == NOTHING
    agents.bench.options.give({"tell_agents": True})
    assert news(agents) == NOTHING


def test_of_a_session_that_does_not_exist(agents: Agents) -> None:
    with pytest.raises(UnknownSession):
        news(agents, "none")


@attrs.define
class Model:
    """What one agent knows: oracle of `news`."""

    own: set[str] = attrs.field(factory=set)
    then: dict[str, bytes] = attrs.field(factory=dict)
    foreign: set[str] = attrs.field(factory=set)

    def take_news(self, now: dict[str, bytes]) -> list[str]:
        files = sorted(name for name in self.own & self.foreign if now[name] != self.then[name])
        self.then, self.foreign = dict(now), set()
        return files


@pytest.mark.parametrize("seed", range(amount(4, 60)))
def test_random_histories(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    names = ["a", "b", "c"]
    now = dict.fromkeys(names, b"0")
    agents = at_work(tmp_path, dict(now))
    agents.start("two")
    agents.start("three")
    models = {"one": Model(then=dict(now)), "two": Model(then=dict(now))}
    for session in models:
        agents.step(session, lambda: None)
        news(agents, session)
    for number in range(40):
        who = chosen.choice(["one", "two", "user", "tell one", "tell two"])
        if who in ("one", "two", "user"):
            changed = {name: b"%d" % chosen.choice([0, 1, number]) for name in chosen.sample(names, 2)}
            real = {name: data for name, data in changed.items() if data != now[name]}
            if who == "user":
                agents.bench.write(dict(changed))
                # an event, so that what the user takes back later is a change as well
                agents.step("three", lambda: None)
            else:
                agents.step(who, dict(changed))
                models[who].own |= set(real)
            now.update(changed)
            for session, model in models.items():
                model.foreign |= set() if session == who else set(real)
        else:
            session = who.split()[1]
            assert news(agents, session) == ([], [], models[session].take_news(now)), (seed, number)
