"""A repository in a folder that has a history of its own: neither history says "you" of what the other one knows."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from tests.cli.running import Home
from tests.hook.agent import Agent
from tests.support.git import run_git


def test_an_agent_in_a_nested_repository_is_not_you(home: Home) -> None:
    outer = home.project("outer", {"a.txt": b"a\n", "fe/x.txt": b"x\n", "plain/y.txt": b"y\n"})
    for folder in (outer, f"{outer}/fe"):
        run_git(folder, "init", "-q")
        home.run(folder, "track")
    home.run(outer, "run", "--", "true")

    def write(name: str) -> None:
        with open(f"{outer}/{name}", "a", encoding="utf-8") as file:
            file.write("more\n")

    write("plain/y.txt")
    home.run(outer, "run", "--", "true")
    home.run(f"{outer}/fe", "run", "--", "sh", "-c", "echo agent >> x.txt")
    home.run(outer, "run", "--", "true")
    users = [entry for entry in home.run(outer, "log", "--json").json["entries"] if entry["kind"] == "user"]
    found = {file["file"]: entry.get("unknown", False) for entry in users for file in entry["files"]}
    assert found == {"fe/x.txt": True, "plain/y.txt": False}

    def authors(folder: str, name: str) -> list[str]:
        return [run["author"] for run in home.run(folder, "blame", name, "--json").json["lines"]]

    assert authors(outer, "fe/x.txt") == ["before", "unknown"]
    assert authors(outer, "plain/y.txt") == ["before", "user"]
    assert authors(f"{outer}/fe", "x.txt") == ["before", "step"]
    # an undo that meets what the inner agent wrote does not say that it was the user
    session = home.run(outer, "sessions", "--json").json["sessions"][-1]["sessionId"]
    step = home.ok(outer, "step", "begin", "--session", session).strip()
    write("fe/x.txt")
    home.ok(outer, "step", "end", step)
    home.run(f"{outer}/fe", "run", "--", "sh", "-c", "echo again >> x.txt; sed -i s/more/less/ x.txt")
    told = home.run(outer, "undo", step, "--dry-run", "--json").json["details"]["contested"]
    assert [(row["file"], [by["author"] for by in row["by"]]) for row in told] == [("fe/x.txt", ["unknown"])]
    said = home.run(outer, "undo", step, "--dry-run")
    assert "by someone" in said.text
    assert "you" not in said.text.replace("your", "")
    for folder, other in ((outer, "/fe has snapshots"), (f"{outer}/fe", "/outer has snapshots")):
        assert other in home.ok(folder, "status")


_numbers = itertools.count()
FILES = {"a.txt": "a\n", "inner/in.txt": "one\ntwo\n", "inner/deep/s.txt": "s\n"}


@pytest.fixture
def agent(home: Home) -> Agent:
    """In a folder with a repository in it, in which there is another one."""
    root = home.project(f"outer-{next(_numbers)}", {name: text.encode() for name, text in FILES.items()})
    for folder in ("inner/deep", "inner", "."):
        run_git(os.path.join(root, folder), "init", "-q")
    home.track(root)
    return Agent(home, root)


def turn(agent: Agent, prompt: str, **files: str) -> None:
    """A turn of an agent that writes each file with its tool."""
    about = {"session_id": os.path.basename(agent.root), "prompt_id": prompt}
    agent.on("UserPromptSubmit", prompt=prompt, **about)
    for name, text in files.items():
        call = {"tool_name": "Edit", "tool_input": {"file_path": agent.path(name)}, "tool_use_id": f"{prompt}-{name}"}
        agent.on("PreToolUse", **call, **about)
        agent.write(name, text)
        agent.on("PostToolUse", tool_response={}, **call, **about)
    agent.on("Stop", **about)


def texts(agent: Agent) -> dict[str, str]:
    return {name: Path(agent.path(name)).read_text() for name in FILES}


def test_a_turn_is_undone_in_all_histories(home: Home, agent: Agent) -> None:
    turn(agent, "P1", **{"a.txt": "A\n", "inner/in.txt": "1\ntwo\n", "inner/deep/s.txt": "S\n"})
    turn(agent, "P2", **{"inner/in.txt": "1\n2\n"})
    after = texts(agent)
    planned = home.ok(agent.root, "undo", "--message", "P1", "--dry-run")
    assert texts(agent) == after
    for name in ("inner", "inner/deep"):
        assert f"\nin {agent.path(name)}:\nwould undo " in planned
    done = home.ok(agent.root, "undo", "--message", "P1", "--yes")
    assert texts(agent) == {**FILES, "inner/in.txt": "one\n2\n"}
    for name in ("inner", "inner/deep"):
        assert f"\nin {agent.path(name)}:\nundone " in done
        command = f"snapd -C {agent.path(name)} redo"
        assert f"'{command}' redoes it" in done
        home.ok(agent.root, *command.split()[1:], "--yes")
    home.ok(agent.root, "redo", "--yes")
    assert texts(agent) == after
    # from the inner one, too; and where there is nothing to undo of it in the folder itself
    home.ok(agent.path("inner"), "undo", "--message", "P1", "--yes")
    assert texts(agent) == {**FILES, "inner/in.txt": "one\n2\n"}
    home.ok(agent.root, "undo", "--message", "P2", "--yes")
    assert texts(agent) == FILES
    assert home.run(agent.root, "undo", "--message", "P2", "--yes").code == 1


def test_a_rewind_goes_back_in_all_histories(home: Home, agent: Agent) -> None:
    turn(agent, "P1", **{"a.txt": "A\n", "inner/in.txt": "1\ntwo\n"})
    before = texts(agent)
    turn(agent, "P2", **{"a.txt": "AA\n"})
    turn(agent, "P3", **{"inner/in.txt": "1\n2\n"})
    turn(agent, "P4", **{"inner/deep/s.txt": "S\n"})
    home.run(agent.root, "rewind", "P2", "--yes")
    assert texts(agent) == before


@pytest.mark.parametrize("options", [("--json",), ("--here",), ("--json", "--here")])
def test_where_only_one_history_is_meant_the_others_are_named(
    home: Home, agent: Agent, options: tuple[str, ...]
) -> None:
    turn(agent, "P1", **{"a.txt": "A\n", "inner/in.txt": "1\ntwo\n"})
    done = home.run(agent.root, "undo", "--message", "P1", "--yes", *options)
    assert texts(agent) == {**FILES, "inner/in.txt": "1\ntwo\n"}
    command = f"snapd -C {agent.path('inner')} undo --message P1"
    assert f"'{command}'" in done.err
    assert done.code == 0
    home.ok(agent.root, *command.split()[1:], "--yes")
    assert texts(agent) == FILES


def test_one_who_declines_changes_nothing_anywhere(home: Home, agent: Agent) -> None:
    turn(agent, "P1", **{"a.txt": "A\n", "inner/in.txt": "1\ntwo\n"})
    after = texts(agent)
    declined = home.run(agent.root, "undo", "--message", "P1", stdin=b"")
    assert (declined.code, texts(agent)) == (2, after)
