"""Where agents work: files named from a directory, calls that go elsewhere, sessions in several folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Home
from tests.support.git import run_git

from .agent import Agent, Done

PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch\n"


def other(home: Home, agent: Agent, name: str = "other") -> Agent:
    """The same agent in another project."""
    found = Agent(home, home.project(f"{name}-{os.path.basename(agent.root)}", {"o.py": b"o\n"}))
    run_git(found.root, "init", "-q")
    home.track(found.root)
    return found


def codex(directory: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    about = {"session_id": "S", "turn_id": "P", "cwd": directory, "tool_use_id": "T", "tool_name": "apply_patch"}
    about["tool_input"] = {"command": PATCH.format(name)}
    return {**about, "hook_event_name": "PreToolUse"}, {**about, "hook_event_name": "PostToolUse"}


def opencode(directory: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    about = {"sessionID": "S", "directory": directory, "callID": "T", "tool": "edit", "args": {"filePath": name}}
    return {**about, "event": "tool.execute.before"}, {**about, "event": "tool.execute.after"}


def cline(directory: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    about = {"taskId": "S", "workspaceRoots": [directory]}
    call = {"toolName": "write_to_file", "parameters": {"path": name}}
    return {**about, "hookName": "PreToolUse", "preToolUse": call}, {
        **about,
        "hookName": "PostToolUse",
        "postToolUse": call,
    }


def vscode(directory: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    about = {"sessionId": "S", "cwd": f"file://{directory}", "tool_name": "editFiles", "tool_use_id": "T"}
    about["tool_input"] = {"files": [name]}
    return {**about, "hookEventName": "PreToolUse"}, {**about, "hookEventName": "PostToolUse"}


def workdir(directory: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    about = {"session_id": "S", "turn_id": "P", "cwd": os.path.dirname(directory), "tool_use_id": "T"}
    about |= {"tool_name": "Edit", "tool_input": {"file_path": name, "workdir": os.path.basename(directory)}}
    return {**about, "hook_event_name": "PreToolUse"}, {**about, "hook_event_name": "PostToolUse"}


@pytest.mark.parametrize("name", ["a.py", "../pkg/a.py", "{uri}/a.py"])
@pytest.mark.parametrize("shape", [codex, opencode, cline, vscode, workdir])
def test_a_name_is_relative_to_the_agents_directory(agent: Agent, shape: Any, name: str) -> None:
    agent.write("pkg/a.py", "a\n")
    begins, ends = shape(agent.path("pkg"), name.format(uri=f"file://{agent.path('pkg')}"))
    agent.report(begins)
    agent.write("pkg/a.py", "b\n")
    agent.write("a.py", "the user\n")
    agent.report(ends)
    assert [step.files for step in agent.steps()] == [("pkg/a.py",)]
    assert agent.of_the_user() >= {"a.py"}
    assert agent.log() == ""


def test_a_file_that_a_link_leads_to(agent: Agent, home: Home) -> None:
    there = other(home, agent)
    os.symlink("a.py", agent.path("CLAUDE.md"))
    os.symlink(there.root, agent.path("linked"))
    agent.begin("T1", "Edit", file_path=agent.path("CLAUDE.md"))
    agent.write("a.py", "by way of a link\n")
    agent.end("T1", "Edit", file_path=agent.path("CLAUDE.md"))
    assert agent.steps()[-1].files == ("a.py",)
    # it is a file of another project
    agent.begin("T2", "Edit", file_path=agent.path("linked/o.py"))
    there.write("o.py", "by way of a link\n")
    agent.end("T2", "Edit", file_path=agent.path("linked/o.py"))
    assert [(step.part, step.files) for step in there.steps()] == [("T2", ("o.py",))]
    # a repository within the project is another project, too
    inner = Agent(home, agent.path("inner"))
    inner.write("s", "1\n")
    run_git(inner.root, "init", "-q")
    agent.edit("T3", "inner/s", "2\n")
    assert [(step.part, step.files) for step in inner.steps()] == [("T3", ("s",))]


ENDS = ("PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "StopFailure", "SessionEnd", "UserPromptSubmit")


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("where", ["another project", "nested", "refused", "gone"])
def test_what_ends_is_found_wherever_the_agent_has_gone(agent: Agent, home: Home, where: str, name: str) -> None:
    session = f"{where}-{name}-{os.path.basename(agent.root)}".replace(" ", "_")
    folder = {"another project": other(home, agent).root, "nested": agent.path("nested"), "refused": home.at("home")}
    away = folder.get(where, agent.path("gone"))
    os.makedirs(away, exist_ok=True)
    if where == "nested":
        run_git(away, "init", "-q")
    call = {"tool_name": "Bash", "tool_input": {"command": "cd"}, "tool_use_id": "T", "session_id": session}
    agent.on("UserPromptSubmit", session_id=session, prompt="go")
    agent.on("PreToolUse", **call)
    agent.write("made", "by the agent\n")
    if where == "gone":
        shutil.rmtree(away)
    more = {"tool_calls": [call]} if name == "PostToolBatch" else {"prompt": "next", "prompt_id": "P2"}
    agent.on(name, **{**call, **more, "cwd": away})
    agent.write("typed", "by the user\n")
    (known,) = agent.ask("sessions")["sessions"]
    home.ok(agent.root, "step", "begin")
    denied = name == "PostToolBatch"
    assert [(step.files, step.state) for step in agent.steps()][:1] == [(() if denied else ("made",), "applied")]
    assert agent.of_the_user() >= {"typed"}
    assert ("endedAt" in known) == (name == "SessionEnd")
    if name == "UserPromptSubmit" and where in ("refused", "gone"):
        # what cannot be recorded where the agent is belongs to where it was
        assert "next" in [entry.get("text") for entry in agent.entries()]


def test_what_ends_is_found_when_the_daemon_has_closed_its_folder(agent: Agent, home: Home) -> None:
    away = other(home, agent)
    agent.on("SubagentStart", agent_id="A", agent_type="explorer", session_id="closed")
    agent.on("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="T", session_id="closed", agent_id="A")
    home.ok(agent.root, "stop")
    away.on("SubagentStop", agent_id="A", agent_type="explorer", session_id="closed")
    assert [step.state for step in agent.steps()] == ["applied", "applied"]


def test_steps_in_a_second_folder_belong_to_the_same_message(agent: Agent, home: Home) -> None:
    away = other(home, agent)
    about = {"session_id": "two-folders", "tool_name": "write_file", "tool_input": {}}

    def on(name: str, there: Agent, **fields: Any) -> None:
        there.report({**about, "cwd": there.root, "hook_event_name": name, **fields}, "gemini")

    for file in ("one", "two"):
        on("BeforeAgent", agent, prompt="continue")
        for there in (agent, away, agent):
            on("BeforeTool", there)
            there.write(file, f"{file}\n")
            on("AfterTool", there)
        on("AfterAgent", away)
    on("BeforeTool", away)
    messages = [entry["messageId"] for entry in agent.entries() if entry["kind"] == "message"]
    assert len(set(messages)) == 2
    assert [step.message for step in agent.steps()] == [messages[0], messages[0], messages[1], messages[1]]
    assert [step.message for step in away.steps()][:2] == messages
    assert {step.state for step in agent.steps()} == {"applied"}


@pytest.mark.parametrize("name", ["gemini", "qwen", "copilot", "droid"])
@pytest.mark.parametrize("stamp", [{}, {"timestamp": "2026-11-26T00:00:00Z"}])
def test_the_same_prompt_again_is_another_turn(agent: Agent, name: str, stamp: dict[str, str]) -> None:
    prompts, begins, ends, stops = (
        ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent")
        if name == "gemini"
        else ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    )
    given = {"file_path": agent.path("a.py")}
    about = {"session_id": f"again-{name}-{len(stamp)}", "cwd": agent.root, "tool_input": given, **stamp}

    def on(event: str, **fields: Any) -> None:
        # two settings files may have a hook for it
        for _ in range(2):
            agent.report({**about, "hook_event_name": event, **fields}, name)

    def turn(text: str, *, stopped: bool = True) -> None:
        on(prompts, prompt="continue")
        on(begins, tool_name="write_file", tool_use_id=text)
        agent.write("a.py", text)
        on(ends, tool_name="write_file", tool_use_id=text)
        if stopped:
            on(stops)

    turn("1")
    turn("2", stopped=False)
    turn("3")
    on("SessionEnd")
    turn("4")
    messages = [entry["messageId"] for entry in agent.entries() if entry["kind"] == "message"]
    assert len(messages) == len(set(messages)) == 4
    assert [step.message for step in agent.steps() if step.files] == messages


def test_an_agent_that_names_no_folder(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"trajectory_id": "nowhere", "execution_id": "P"}
    info = {"file_path": agent.path("a.py"), "edits": []}
    monkeypatch.chdir(agent.root)
    agent.report({**about, "agent_action_name": "pre_user_prompt", "tool_info": {"user_prompt": "go"}})
    # it need not run where the file is
    monkeypatch.chdir(Path(agent.home.at("")))
    agent.report({**about, "agent_action_name": "pre_write_code", "tool_info": info})
    agent.write("a.py", "windsurf\n")
    agent.report({**about, "agent_action_name": "post_write_code", "tool_info": info})
    agent.report({**about, "agent_action_name": "post_cascade_response"})
    (step,) = agent.steps()
    assert step == Done(step.part, None, "P", "Write", ("a.py",), "applied")
    assert [entry["text"] for entry in agent.entries() if entry["kind"] == "message"] == ["go"]
    call = {"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "T", "cwd": ""}
    monkeypatch.chdir(agent.root)
    agent.on("PreToolUse", **call)
    assert agent.steps()[-1].part == "T"
