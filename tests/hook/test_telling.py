"""What a hook tells an agent of comments and of other agents, and that it is told once it was passed on."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from snapd_client import Client

from snapd.wire.words import comment_lines, news_lines
from tests.cli.running import Home

from .agent import Agent


def context(answer: Any) -> str:
    return "" if answer is None else str(answer["hookSpecificOutput"]["additionalContext"])


def said(home: Home, root: str, *arguments: str) -> Any:
    return home.run(root, *arguments, "--json").json


def test_a_comment_is_told_with_file_lines_and_text(agent: Agent, home: Home) -> None:
    agent.on("UserPromptSubmit", prompt="go")
    agent.edit("c1", "calc.py", "def add(a, b):\n    result = a + b\n    return result\n")
    made = said(home, agent.root, "comment", "calc.py:2-3", "one line\n\x1b[31mis enough")
    text = context(agent.begin("c2", "Bash", command="ls"))
    assert f"Comment {made['commentId'][:8]} on calc.py, lines 2 to 3:" in text
    assert "\n|     result = a + b\n|     return result\n> one line\n> \\x1b[31mis enough\n" in text
    assert context(agent.end("c2", "Bash", command="ls")) == ""
    # the person goes on
    said(home, agent.root, "comment", "--reply", made["commentId"], "please")
    assert "The person replied:\n> please" in context(agent.on("UserPromptSubmit", prompt="well", prompt_id="P2"))
    said(home, agent.root, "comment", "--resolve", made["commentId"])
    assert context(agent.on("UserPromptSubmit", prompt="on", prompt_id="P3")) == ""


def test_what_nobody_read_comes_again(agent: Agent, home: Home) -> None:
    agent.edit("c1", "a.py", "ours\n")
    said(home, agent.root, "comment", "a.py:1", "hm")
    event = {
        "hook_event_name": "UserPromptSubmit", "session_id": "S", "prompt_id": "P2", "cwd": agent.root, "prompt": "go"
    }  # fmt: skip
    # its output is closed: the agent gave up waiting
    reading, writing = os.pipe()
    os.close(reading)
    process = home.popen(agent.root, "hook", "claude", stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    process.communicate(json.dumps(event).encode())
    assert "> hm" in context(agent.on("UserPromptSubmit", prompt="go", prompt_id="P3"))
    assert context(agent.on("UserPromptSubmit", prompt="go", prompt_id="P4")) == ""


def test_an_agent_hears_of_another_one_before_its_edit(agent: Agent, home: Home) -> None:
    other = Agent(home, agent.root)
    other.on = lambda name, **fields: Agent.on(agent, name, **{**fields, "session_id": "T"})  # type: ignore[method-assign]
    agent.edit("c1", "a.py", "a\nnew\n")
    agent.on("Stop")
    assert context(other.begin("d1", "Edit", file_path=other.path("b.py"))) == ""
    other.end("d1", "Edit", file_path=other.path("b.py"))
    text = context(other.begin("d2", "Edit", file_path=other.path("a.py")))
    assert "Read them again" in text
    assert "- a.py, line 2: Claude Code at " in text
    other.write("a.py", "a\nnew\nother\n")
    assert context(other.end("d2", "Edit", file_path=other.path("a.py"))) == ""
    assert "a.py, line 3: Claude Code" in context(agent.on("UserPromptSubmit", prompt="go"))
    assert "did not know what Claude Code had changed in a.py" in home.ok(agent.root, "log")


def test_what_it_read_it_knows(agent: Agent, home: Home) -> None:
    agent.edit("c1", "a.py", "a\nnew\n")
    with Client.connect(home.at("run/daemon.sock"), timeout=60) as client:
        client.initialize([agent.root])
        client.session_start(session_id="T", agent="gemini")
        read = {
            "hook_event_name": "AfterTool", "session_id": "T", "cwd": agent.root, "tool_name": "read_file",
            "tool_input": {"absolute_path": agent.path("a.py")}, "tool_response": {},
        }  # fmt: skip
        assert "overlaps" in client.session_news("T", files=["a.py"])
        agent.report(read, "gemini")
        assert "overlaps" not in client.session_news("T", files=["a.py"])


def test_an_edit_right_after_another_agents_is_its_own(agent: Agent) -> None:
    other = Agent(agent.home, agent.root)
    other.on = lambda name, **fields: Agent.on(agent, name, **{**fields, "session_id": "T"})  # type: ignore[method-assign]
    agent.edit("c1", "a.py", "a\na\n")
    for number in range(3):
        context(other.begin(f"d{number}", "Edit", file_path=agent.path("a.py")))
        agent.write("a.py", "a\na\n" + "t\n" * (number + 1))
        assert context(other.end(f"d{number}", "Edit", file_path=agent.path("a.py"))) == ""
    assert [step.files for step in agent.steps()] == [("a.py",)] * 4


def test_it_all_fits_an_agents_limit() -> None:
    comment = {"commentId": "c" * 32, "file": "a.py", "start": 1, "count": 9, "replies": []}
    text, lines = "\x1b" * 10_000, "row of text\n" * 20_000
    overlap = {"file": "a.py", "sessionId": "S", "agent": "codex", "at": "2026-11-29T12:00:00Z", "start": 3, "count": 2}
    overlaps = [{**overlap, "stepId": f"{number:032}"} for number in range(300)]
    told = news_lines({"comments": [{**comment, "text": text, "lines": lines}], "overlaps": overlaps})

    assert len("\n".join(told)) < 9000
    assert told[1] == f"- a.py, lines 3 to 4: Codex at 12:00 UTC (step {299:032} and 299 before it)"
    assert [line[:1] for line in told if line.startswith(("|", ">"))].count("|") > 100
    assert sum("cut off" in line for line in told) == 2
    # a list shows all
    assert sum(map(len, comment_lines([{**comment, "text": text, "lines": lines}]))) > 200_000
