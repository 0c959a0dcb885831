"""Events in the shapes of other agents: what their documents say, where no real run was captured."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Home

from .agent import Agent, Done

PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** Move to: moved.py\n*** Delete File: b.py\n*** End Patch\n"
)


def cursor(agent: Agent) -> list[tuple[dict[str, Any], str]]:
    about = {"conversation_id": "S", "generation_id": "P", "workspace_roots": [agent.root], "cursor_version": "2"}
    call = {"tool_name": "Write", "tool_input": {"file_path": agent.path("a.py")}, "tool_use_id": "T"}
    return [
        ({**about, "hook_event_name": "beforeSubmitPrompt", "prompt": "go"}, ""),
        ({**about, "hook_event_name": "preToolUse", **call}, "a.py"),
        ({**about, "hook_event_name": "postToolUse", **call, "tool_output": "{}"}, ""),
        ({**about, "hook_event_name": "stop", "status": "completed"}, ""),
        ({**about, "hook_event_name": "sessionEnd"}, ""),
    ]


def vscode(agent: Agent) -> list[tuple[dict[str, Any], str]]:
    about = {"sessionId": "S", "cwd": agent.root}
    call = {"tool_name": "editFiles", "tool_input": {"files": [agent.path("a.py")]}, "tool_use_id": "T"}
    return [
        ({**about, "hookEventName": "UserPromptSubmit", "prompt": "go"}, ""),
        ({**about, "hookEventName": "PreToolUse", **call}, "a.py"),
        ({**about, "hookEventName": "PostToolUse", **call, "tool_response": "ok"}, ""),
        ({**about, "hookEventName": "Stop"}, ""),
        ({**about, "hookEventName": "SessionEnd"}, ""),
    ]


def copilot(agent: Agent) -> list[tuple[dict[str, Any], str]]:
    about = {"session_id": "S", "cwd": agent.root, "transcript_path": "/home/me/.copilot/sessions/S.jsonl"}
    call = {"tool_name": "Edit", "tool_input": PATCH}
    return [
        ({**about, "hook_event_name": "UserPromptSubmit", "prompt": "go"}, ""),
        ({**about, "hook_event_name": "PreToolUse", **call}, "a.py"),
        ({**about, "hook_event_name": "PostToolUse", **call, "tool_result": {"result_type": "success"}}, ""),
        ({**about, "hook_event_name": "Stop"}, ""),
        ({**about, "hook_event_name": "SessionEnd"}, ""),
    ]


def windsurf(agent: Agent) -> list[tuple[dict[str, Any], str]]:
    about = {"trajectory_id": "S", "execution_id": "P", "timestamp": "2026-11-01T00:00:00Z"}
    info = {"cwd": agent.root, "file_path": agent.path("a.py"), "edits": [{"old_string": "a", "new_string": "b"}]}
    return [
        ({**about, "agent_action_name": "pre_user_prompt", "tool_info": {"cwd": agent.root, "user_prompt": "go"}}, ""),
        ({**about, "agent_action_name": "pre_write_code", "tool_info": info}, "a.py"),
        ({**about, "agent_action_name": "post_write_code", "tool_info": info}, ""),
        ({**about, "agent_action_name": "post_cascade_response", "tool_info": {"cwd": agent.root}}, ""),
    ]


def cline(agent: Agent) -> list[tuple[dict[str, Any], str]]:
    about = {"taskId": "S", "clineVersion": "3", "workspaceRoots": [agent.root]}
    call = {"toolName": "write_to_file", "parameters": {"path": "a.py", "content": "b"}}
    return [
        ({**about, "hookName": "UserPromptSubmit", "userPromptSubmit": {"prompt": "go"}}, ""),
        ({**about, "hookName": "PreToolUse", "preToolUse": call}, "a.py"),
        ({**about, "hookName": "PostToolUse", "postToolUse": {**call, "result": "", "success": True}}, ""),
        ({**about, "hookName": "TaskComplete"}, ""),
    ]


def opencode(agent: Agent) -> list[tuple[dict[str, Any], str]]:
    about = {"sessionID": "S", "directory": agent.root}
    call = {"tool": "edit", "callID": "T", "args": {"filePath": agent.path("a.py")}}
    return [
        ({**about, "event": "chat.message", "messageID": "P", "prompt": "go"}, ""),
        ({**about, "event": "tool.execute.before", "messageID": "P", **call}, "a.py"),
        ({**about, "event": "tool.execute.after", **call, "output": "Edited"}, ""),
        ({**about, "event": "session.idle"}, ""),
        ({**about, "event": "session.deleted"}, ""),
    ]


SHAPES = {shape.__name__: shape for shape in (cursor, vscode, copilot, windsurf, cline, opencode)}


@pytest.mark.parametrize("name", SHAPES)
def test_a_turn(agent: Agent, name: str) -> None:
    for event, wrote in SHAPES[name](agent):
        assert agent.report(event, *(["copilot"] if name == "copilot" else [])) is None
        if wrote:
            agent.write(wrote, f"{name}\n")
            agent.write("b.py", "the user\n")
    (step,) = agent.steps()
    # the patch that Copilot names deletes a file that the user went on to write
    assert (step.files, step.state) == (("a.py", "b.py") if name == "copilot" else ("a.py",), "applied")
    (message,) = [entry for entry in agent.entries() if entry["kind"] == "message"]
    assert (message["text"], message["messageId"]) == ("go", step.message)
    (session,) = agent.ask("sessions")["sessions"]
    assert (session["sessionId"], session["agent"]) == ("S", name)
    assert agent.log() == ""


def test_calls_without_ids_end_in_the_order_in_which_they_began(agent: Agent) -> None:
    about = {"session_id": "S", "cwd": agent.root, "tool_name": "run_shell_command", "tool_input": {"command": "x"}}
    codex = {**about, "turn_id": "P"}
    for _ in range(2):
        agent.report({**about, "hook_event_name": "BeforeTool"})
        agent.report({**about, "hook_event_name": "AfterTool"})
    assert [step.state for step in agent.steps()] == ["applied", "applied"]
    # two that are alike, at the same time
    agent.report({**codex, "hook_event_name": "PreToolUse"})
    agent.report({**codex, "hook_event_name": "PreToolUse"})
    agent.report({**codex, "hook_event_name": "PostToolUse"})
    assert [step.state for step in agent.steps()] == ["applied"] * 3 + ["open"]
    agent.report({**codex, "hook_event_name": "PostToolUse"})
    assert [step.state for step in agent.steps()] == ["applied"] * 4
    assert len({step.part for step in agent.steps()}) == 4


def test_the_calls_of_a_subagent_with_a_session_of_its_own_are_parts_of_the_task(agent: Agent) -> None:
    about = {"directory": agent.root, "event": "tool.execute.before"}
    agent.report({**about, "sessionID": "S", "tool": "task", "callID": "T1", "args": {"description": "look"}})
    theirs = {"sessionID": "C", "parentID": "S", "messageID": "M"}
    agent.report({**about, **theirs, "event": "chat.message", "prompt": "look around"})
    inner = {**theirs, "tool": "write", "callID": "T2", "args": {"filePath": "sub.txt"}}
    agent.report({**about, **inner})
    agent.write("sub.txt", "x")
    agent.report({**about, **inner, "event": "tool.execute.after"})
    agent.report({**about, "event": "tool.execute.after", "sessionID": "S", "tool": "task", "callID": "T1", "args": {}})
    assert agent.steps() == [
        Done("subagent:T1", None, None, "Agent", ("sub.txt",), "applied"),
        Done("T2", "subagent:T1", "M", "write", ("sub.txt",), "applied"),
    ]
    # what it was given to do is nobody's prompt
    assert [entry for entry in agent.entries() if entry["kind"] == "message"] == []


def test_calls_that_name_no_subagent_are_those_of_the_only_one_at_work(agent: Agent) -> None:
    about = {"session_id": "S", "cwd": agent.root}

    def report(name: str, **fields: Any) -> None:
        agent.report({**about, "hook_event_name": name, **fields}, "qwen")

    def call(name: str, file: str) -> dict[str, Any]:
        given = {"file_path": agent.path(file), "content": ""}
        return {"tool_name": "write_file", "tool_input": given, "tool_use_id": name}

    report("PreToolUse", **call("T1", "own"))
    report("SubagentStart", agent_id="A", agent_type="general")
    report("PreToolUse", **call("T2", "below"))
    agent.write("below", "x")
    report("PostToolUse", **call("T2", "below"))
    report("SubagentStart", agent_id="B", agent_type="general")
    report("PreToolUse", **call("T3", "whose"))
    agent.write("whose", "x")
    report("PostToolUse", **call("T3", "whose"))
    report("SubagentStop", agent_id="B")
    report("PreToolUse", **call("T4", "last"))
    # it may as well be the caller's
    report("SubagentStop", agent_id="A")
    agent.write("last", "x")
    report("PostToolUse", **call("T4", "last"))
    parts = {step.part: (step.parent, step.files) for step in agent.steps()}
    assert parts["T2"] == ("subagent:A", ("below",))
    assert parts["T3"] == (None, ("whose",))
    assert parts["T4"] == ("subagent:A", ("last",))
    assert {step.state for step in agent.steps()} == {"applied"}


@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_a_command_in_the_background_is_known_by_its_input(agent: Agent, name: str) -> None:
    begins, ends, stops = (
        ("BeforeTool", "AfterTool", "AfterAgent") if name == "gemini" else ("PreToolUse", "PostToolUse", "Stop")
    )
    given = {"command": "x &", "description": "run it", "is_background": True}
    event = {"session_id": "S", "cwd": agent.root, "tool_name": "run_shell_command", "tool_input": given}
    agent.report({**event, "hook_event_name": begins}, name)
    agent.report({**event, "hook_event_name": ends, "tool_response": {"llmContent": "moved"}}, name)
    agent.write("late", "x")
    agent.report({"session_id": "S", "cwd": agent.root, "hook_event_name": stops}, name)
    assert [step.files for step in agent.steps()] == [(), ("late",)]
    assert agent.of_the_user() == set()


def test_what_hooks_said_is_no_part_of_a_prompt(agent: Agent) -> None:
    about = {"session_id": "S", "cwd": agent.root, "hook_event_name": "BeforeAgent"}
    said = "<hook_context>snapd: it changed.\n\nRead it.</hook_context>\n\n<hook_context>more</hook_context>\n\n"
    agent.report({**about, "prompt": f"{said}go <hook_context>on</hook_context>"})
    (message,) = [entry for entry in agent.entries() if entry["kind"] == "message"]
    assert message["text"] == "go <hook_context>on</hook_context>"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 50_000, "not JSON"),
        (b"7", "not a JSON object"),
        (b"{}", "no agent that snapd knows"),
        (b'{"hook_event_name": "PreToolUse"}', "names no session"),
        (b'{"hook_event_name": "PreToolUse", "session_id": "S", "cwd": "here"}', "no absolute folder"),
        (b'{"hook_event_name": "PreToolUse", "session_id": "S", "cwd": "/x\\u0000"}', "no absolute folder"),
        (b'{"hook_event_name": "PreToolUse", "session_id": 7, "cwd": "/"}', "the session is no text"),
        (b'{"hook_event_name": "PreToolUse", "session_id": "S", "cwd": "/"}', "names no tool"),
    ],
)
def test_what_is_no_event_is_passed_over_with_a_word_in_the_log(agent: Agent, data: bytes, said: str) -> None:
    before = agent.log()
    assert agent.report(data) is None
    assert said in agent.log().removeprefix(before)


def test_an_agent_that_nobody_knows_is_passed_over(agent: Agent) -> None:
    before = agent.log()
    assert agent.report({}, "nobody") is None
    assert "no agent nobody" in agent.log().removeprefix(before)
    # other events of agents are nothing to speak of
    assert agent.on("Notification", message="hello") is None
    assert agent.log().removeprefix(before).count("\n") == 1


def test_a_folder_that_snapd_refuses_is_passed_over(agent: Agent, home: Home) -> None:
    before = agent.log()
    agent.root = home.at("home")
    os.makedirs(agent.root, exist_ok=True)
    agent.begin("T", "Bash", command="x")
    assert "passed over" in agent.log().removeprefix(before)


@pytest.mark.parametrize("answer", ["nothing", "another version", "no frame", "an end"])
def test_a_daemon_that_does_not_answer_as_it_should(tmp_path: Path, answer: str) -> None:
    home = Home()
    try:
        runtime = home.at("run")
        os.makedirs(runtime, mode=0o700)
        agent = Agent(home, home.project("p", {"a.py": b"a"}))
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.join(runtime, "daemon.sock"))
            listening.listen()
            ended = threading.Event()
            thread = threading.Thread(target=_answer, args=(listening, answer, ended))
            thread.start()
            agent.variables = {"SNAPD_HOOK_SECONDS": "0.3"} if answer == "nothing" else {}
            # what ends in the middle of anything ends as a process does
            agent.in_process = answer != "nothing"
            told = agent.begin("T", "Bash", command="x")
            # of what is over in a moment, an agent hears nothing
            assert (told is not None) is (answer in ("another version", "no frame"))
            ended.set()
            thread.join(30)
        expected = {
            "nothing": "the time limit was over",
            "another version": "speaks version 9",
            "no frame": "sent no frame",
            "an end": "closed the connection",
        }
        assert expected[answer] in agent.log()
        assert len(agent.waiting()) == 1
    finally:
        os.unlink(home.at("run/daemon.sock"))
        home.close()


def _answer(listening: socket.socket, answer: str, ended: threading.Event) -> None:
    if answer == "an end":
        # it is asked once more
        listening.accept()[0].close()
    connection, _ = listening.accept()
    with connection:
        if answer == "nothing":
            ended.wait(30)
        elif answer == "an end":
            # the daemon has read the requests, and dies
            connection.recv(1 << 16)
        elif answer == "no frame":
            connection.sendall(b"HTTP/1.1 400\r\n\r\n")
            ended.wait(30)
        elif answer == "another version":
            result = {"capabilities": {"experimental": {"snapshot": {"protocolVersion": 9}}}}
            for number, each in ((0, result), (1, {"steps": []})):
                body = json.dumps({"jsonrpc": "2.0", "id": number, "result": each}).encode()
                connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            ended.wait(30)


Call = tuple[dict[str, Any], dict[str, Any]]


def nested(agent: Agent, call: str, begins: str, ends: str, tool: str, **more: str) -> Call:
    given = {"tool_name": tool, "tool_input": {"file_path": agent.path("f.txt")}, "tool_use_id": call}
    about = {"session_id": os.path.basename(agent.root), "cwd": agent.root, **given, **more}
    return {**about, "hook_event_name": begins}, {**about, "hook_event_name": ends, "tool_response": {}}


def edit_of_codex(agent: Agent, call: str) -> Call:
    begins, ends = nested(agent, call, "PreToolUse", "PostToolUse", "apply_patch", turn_id="P")
    patch = {"command": "*** Begin Patch\n*** Update File: f.txt\n@@\n-a\n+b\n*** End Patch\n"}
    return {**begins, "tool_input": patch}, {**ends, "tool_input": patch}


def edit_of_qwen(agent: Agent, call: str) -> Call:
    return nested(agent, call, "PreToolUse", "PostToolUse", "edit", transcript_path="/home/me/.qwen/tmp/S.jsonl")


def edit_of_gemini(agent: Agent, call: str) -> Call:
    return nested(agent, call, "BeforeTool", "AfterTool", "replace")


def edit_of_opencode(agent: Agent, call: str) -> Call:
    about = {"sessionID": os.path.basename(agent.root), "messageID": "P", "directory": agent.root}
    about |= {"callID": call, "tool": "edit", "args": {"filePath": agent.path("f.txt")}}
    return {**about, "event": "tool.execute.before"}, {**about, "event": "tool.execute.after"}


LINES = [f"{number}\n" for number in range(1, 9)]


def lines(**changed: str) -> str:
    return "".join(changed.get(f"l{number}", line) for number, line in enumerate(LINES, 1))


@pytest.mark.parametrize("edit", [edit_of_codex, edit_of_qwen, edit_of_gemini, edit_of_opencode])
@pytest.mark.parametrize(
    ("between", "left"),
    [
        # other lines than the agent's are the person's, though nobody reports whether a formatter is at work
        (lines(l2="two\n", l7="mine\n"), lines(l7="mine\n")),
        (lines(l2="two\n", l3="mine\n"), lines(l3="mine\n")),
        (lines(l2="two\n", l8="8\nmine\n"), lines(l8="8\nmine\n")),
        (lines(l2="two\n", l7=""), lines(l7="")),
        # a formatter works on what the agent wrote
        (lines(l2="TWO\n"), lines()),
        (lines(l2="two\n\n"), lines()),
        (lines(l1="\n1\n", l2="t\nw\no\n", l7="mine\n"), lines(l1="\n1\n", l7="mine\n")),
    ],
)
def test_a_save_between_two_edits_of_an_agent(agent: Agent, edit: Any, between: str, left: str) -> None:
    agent.write("f.txt", lines())
    agent.home.track(agent.root)
    for call, text, later in (("T1", lines(l2="two\n"), between), ("T2", None, None)):
        begins, ends = edit(agent, call)
        agent.report(begins)
        if text is not None:
            agent.write("f.txt", text)
        agent.report(ends)
        if later is not None:
            agent.write("f.txt", later)
    step = next(step for step in agent.ask("log")["entries"][::-1] if step["kind"] == "step")
    agent.home.ok(agent.root, "undo", step["step"]["stepId"], "--yes")
    assert Path(agent.path("f.txt")).read_text() == left


def test_a_new_file_and_a_binary_one_are_the_agents_as_a_whole(agent: Agent) -> None:
    """None of their lines are anybody else's."""
    for call, first, second in (("T1", "a\n", "b\n\nc\n"), ("T2", "\0a", "\0b")):
        Path(agent.path("f.txt")).unlink(missing_ok=True)
        agent.home.track(agent.root)
        begins, ends = edit_of_codex(agent, call)
        agent.report(begins)
        agent.write("f.txt", first)
        agent.report(ends)
        agent.write("f.txt", second)
        agent.report(edit_of_codex(agent, f"{call}-next")[0])
        step = next(each["step"] for each in agent.entries() if each.get("step", {}).get("partId") == call)
        agent.home.ok(agent.root, "undo", step["stepId"], "--yes")
        assert not Path(agent.path("f.txt")).exists()
