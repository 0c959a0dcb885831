"""The life of a session in Claude's events, each reported to the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.cli.running import Home
from tests.rpc.machine import wait_until
from tests.support.git import run_git

from .agent import Agent, Done


def test_a_turn(agent: Agent) -> None:
    agent.on("SessionStart", source="startup")
    assert agent.on("UserPromptSubmit", prompt="improve it") is None
    agent.begin("T1", "Read", file_path=agent.path("a.py"))
    agent.end("T1", "Read", file_path=agent.path("a.py"))
    agent.begin("T2", "Edit", file_path=agent.path("a.py"))
    agent.write("a.py", "better\n")
    # nobody said so, but the agent says what it wrote
    agent.write("b.py", "the user\n")
    agent.end("T2", "Edit", file_path=agent.path("a.py"))
    agent.begin("T3", "Bash", command="make", description="build it")
    agent.write("out/built", "1")
    agent.end("T3", "Bash", command="make", description="build it")
    agent.on("Stop", background_tasks=[])
    agent.on("SessionEnd", reason="other")
    assert agent.steps() == [
        Done("T2", None, "P", "Edit", ("a.py",), "applied"),
        Done("T3", None, "P", "Bash", ("out/built",), "applied"),
    ]
    assert agent.of_the_user() == {"b.py"}
    edit, build = [entry["step"] for entry in agent.entries() if entry["kind"] == "step"]
    assert (build["description"], build["command"], "command" in edit) == ("build it", "make", False)
    (message,) = [entry for entry in agent.entries() if entry["kind"] == "message"]
    assert (message["sessionId"], message["messageId"], message["text"]) == ("S", "P", "improve it")
    (session,) = agent.ask("sessions")["sessions"]
    assert (session["sessionId"], session["agent"], "endedAt" in session) == ("S", "claude", True)
    assert agent.log() == ""


def test_an_event_that_is_reported_twice_counts_once(agent: Agent) -> None:
    for _ in range(2):
        agent.on("UserPromptSubmit", prompt="go")
    for _ in range(2):
        agent.begin("T", "Edit", file_path=agent.path("a.py"))
    agent.write("a.py", "new\n")
    for _ in range(2):
        agent.end("T", "Edit", file_path=agent.path("a.py"))
    for _ in range(2):
        agent.on("Stop")
    assert agent.steps() == [Done("T", None, "P", "Edit", ("a.py",), "applied")]
    assert len([entry for entry in agent.entries() if entry["kind"] == "message"]) == 1


def test_a_call_that_fails_owns_what_it_wrote(agent: Agent) -> None:
    agent.begin("T", "Bash", command="make")
    agent.write("half", "1")
    agent.on("PostToolUseFailure", tool_name="Bash", tool_input={"command": "make"}, tool_use_id="T", error="3")
    assert agent.steps() == [Done("T", None, "P", "Bash", ("half",), "applied")]


def test_a_denied_call_does_not_own_what_the_user_types(agent: Agent) -> None:
    agent.begin("T1", "Write", file_path=agent.path("a.py"))
    agent.write("b.py", "typed while the agent asks\n")
    call = {"tool_name": "Write", "tool_input": {"file_path": agent.path("a.py")}, "tool_use_id": "T1"}
    agent.on("PostToolBatch", tool_calls=[{**call, "tool_response": "you have not granted it"}])
    agent.begin("T2", "Bash", command="x")
    agent.write("b.py", "typed once more\n")
    agent.on("PostToolBatch", tool_calls=[{"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "T2"}])
    assert [(step.part, step.files) for step in agent.steps()] == [("T1", ()), ("T2", ())]
    assert agent.of_the_user() == {"b.py"}


def test_what_nobody_ends_is_ended_by_what_comes_next(agent: Agent) -> None:
    agent.begin("T1", "Edit", file_path=agent.path("a.py"))
    agent.begin("T2", "Bash", command="x")
    assert [(step.part, step.state) for step in agent.steps()] == [("T1", "applied"), ("T2", "open")]
    agent.write("c", "1")
    agent.begin("T3", "Bash", command="y")
    agent.write("d", "1")
    agent.on("UserPromptSubmit", prompt="next", prompt_id="P2")
    agent.write("e", "1")
    agent.begin("T4", "Bash", command="z")
    agent.on("Stop")
    agent.write("f", "1")
    assert [(step.part, step.files) for step in agent.steps()] == [
        ("T1", ()),
        ("T2", ("c",)),
        ("T3", ("d",)),
        ("T4", ()),
    ]
    assert agent.of_the_user() == {"e"}


def test_subagents_outlive_the_turn(agent: Agent) -> None:
    agent.on("SubagentStart", agent_id="A", agent_type="explorer")
    agent.begin("T1", "Edit", file_path=agent.path("a.py"))
    sub = {"agent_id": "A", "agent_type": "explorer"}
    call = {"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "T2"}
    agent.on("PreToolUse", **call, **sub)
    agent.write("a.py", "main\n")
    agent.end("T1", "Edit", file_path=agent.path("a.py"))
    agent.on("Stop", background_tasks=[{"id": "A"}])
    agent.write("late", "by the subagent")
    agent.on("PostToolUse", **call, **sub)
    agent.on("UserPromptSubmit", prompt="meanwhile", prompt_id="P2")
    agent.on("SubagentStop", agent_id="A", agent_type="explorer")
    assert agent.steps() == [
        Done("subagent:A", None, "P", "Agent", ("late",), "applied"),
        Done("T1", None, "P", "Edit", ("a.py",), "applied"),
        Done("T2", "subagent:A", "P", "Bash", ("late",), "applied"),
    ]


def test_what_a_background_command_writes_is_the_agent_s(agent: Agent) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "sleep 1; x", "run_in_background": True}}
    agent.on("PreToolUse", **call, tool_use_id="T1")
    agent.on("PostToolUse", **call, tool_use_id="T1", tool_response={"backgroundTaskId": "b1"})
    agent.edit("T2", "a.py", "edited\n")
    agent.write("late", "by the command")
    note = "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>T1</tool-use-id>\n</task-notification>"
    agent.on("UserPromptSubmit", prompt=note)
    agent.write("later", "by the user")
    agent.begin("T3", "Bash", command="true")
    agent.end("T3", "Bash", command="true")
    assert [(step.part, step.files) for step in agent.steps()] == [
        ("T1", ()),
        ("background:T1", ("late",)),
        ("T2", ("a.py",)),
        ("T3", ()),
    ]
    assert agent.of_the_user() == {"later"}
    assert [entry for entry in agent.entries() if entry["kind"] == "message"] == []


def test_the_agent_is_told_once_what_was_undone(agent: Agent) -> None:
    agent.on("UserPromptSubmit", prompt="go")
    assert agent.edit("T1", "a.py", "mine\n") is None
    agent.home.ok(agent.root, "undo", "-y")
    told = agent.on("UserPromptSubmit", prompt="go on", prompt_id="P2")["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert "undone: Edit a.py" in told["additionalContext"]
    assert "a.py is no longer as you left it" in told["additionalContext"]
    assert agent.on("UserPromptSubmit", prompt="and?", prompt_id="P3") is None
    # also in the middle of its work, and of what the user writes
    agent.edit("T2", "a.py", "mine again\n")
    agent.write("a.py", "the user\n")
    assert "a.py is no longer" in agent.begin("T3", "Bash", command="x")["hookSpecificOutput"]["additionalContext"]
    assert agent.end("T3", "Bash", command="x") is None
    # not by an event whose answer it does not read
    agent.edit("T4", "b.py", "mine\n")
    agent.home.ok(agent.root, "undo", "-y")
    assert agent.on("Stop") is None
    assert agent.on("UserPromptSubmit", prompt="go", prompt_id="P4") is not None


def test_the_agent_is_told_that_git_was_moved_back(agent: Agent) -> None:
    run_git(agent.root, "checkout", "-qB", "main")
    run_git(agent.root, "commit", "-qm", "first", "--allow-empty")
    agent.on("UserPromptSubmit", prompt="go")
    first = run_git(agent.root, "rev-parse", "--short=7", "HEAD").decode().strip()
    agent.begin("T1", "Bash", command="git commit")
    run_git(agent.root, "commit", "-qm", "second", "--allow-empty")
    agent.end("T1", "Bash", command="git commit")
    second = run_git(agent.root, "rev-parse", "--short=7", "HEAD").decode().strip()
    agent.home.ok(agent.root, "undo", "--git", "-y")
    text = agent.on("UserPromptSubmit", prompt="go on", prompt_id="P2")["hookSpecificOutput"]["additionalContext"]
    assert f"Git was moved: main {second} → {first}." in text
    assert "undone: Bash" in text


def test_what_is_recorded_already_is_not_recorded_again(agent: Agent) -> None:
    agent.edit("T1", "a.py", "mine\n")
    agent.home.ok(agent.root, "undo", "-y")
    # the proxy of the Agent Client Protocol sets it for its agent
    agent.variables = {"SNAPD_RECORDED": "acp"}
    assert "undone" in agent.on("UserPromptSubmit", prompt="go")["hookSpecificOutput"]["additionalContext"]
    agent.edit("T2", "a.py", "again\n")
    assert [step.part for step in agent.steps()] == ["T1"]
    assert [entry for entry in agent.entries() if entry["kind"] == "message"] == []


def test_a_session_that_is_resumed_goes_on(agent: Agent) -> None:
    agent.edit("T1", "a.py", "one\n")
    agent.on("SessionEnd", reason="other")
    agent.on("SessionStart", source="resume")
    agent.edit("T2", "a.py", "two\n")
    assert [step.part for step in agent.steps()] == ["T1", "T2"]
    (session,) = agent.ask("sessions")["sessions"]
    assert "endedAt" not in session


def test_where_it_works(agent: Agent, home: Home) -> None:
    # a subfolder belongs to the work tree around it
    agent.write("src/deep/x.py", "x\n")
    inner = Agent(home, agent.path("src/deep"))
    inner.edit("T1", "x.py", "y\n")
    assert agent.steps()[-1].files == ("src/deep/x.py",)
    # a file of another project belongs there, and one of no project is nobody's
    other = Agent(home, home.project("other-" + os.path.basename(agent.root), {"o.py": b"o\n"}))
    run_git(other.root, "init", "-q")
    home.track(other.root)
    agent.begin("T2", "Edit", file_path=other.path("o.py"))
    other.write("o.py", "p\n")
    agent.end("T2", "Edit", file_path=other.path("o.py"))
    assert [(step.part, step.files) for step in other.steps()] == [("T2", ("o.py",))]
    away = home.at("away.txt")
    agent.begin("T3", "Write", file_path=away)
    agent.end("T3", "Write", file_path=away)
    assert (agent.steps()[-1].part, agent.steps()[-1].files) == ("T3", ())
    assert agent.log() == ""


def loaded(program: str, *words: str, agent: Agent, stdin: bytes = b"") -> set[str]:
    """The modules that a process loads which runs a program."""
    command = [sys.executable, "-X", "importtime", "-c", program, *words]
    done = subprocess.run(command, input=stdin, env=agent.home.env, capture_output=True, check=True)
    assert done.stdout == b""
    return {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}


def test_it_is_quick_to_load(agent: Agent) -> None:
    """An agent waits for its hooks: counted in modules, since time is no test."""
    before = loaded("pass", agent=agent)
    given = {"tool_name": "Edit", "tool_use_id": "T1", "tool_input": {"file_path": agent.path("a.py")}}
    for name in ("PreToolUse", "PostToolUse"):
        event = {"hook_event_name": name, "session_id": "S", "cwd": agent.root, **given}
        program = "from snapd.__main__ import main; main()"
        added = loaded(program, "hook", agent=agent, stdin=json.dumps(event).encode()) - before
        own = {each for each in added if each.startswith("snapd")}
        assert "snapd.hook.main" in own
        assert len(own) < 17
        # `_socket` and `_json` are what `socket` and `json` are made of, which load `re` and `enum`
        assert added - own <= {"__future__", "types", "_json", "_socket", "struct", "_struct"}
    assert [(step.part, step.files, step.state) for step in agent.steps()] == [("T1", (), "applied")]
    assert agent.log() == ""


def test_all_that_it_says_is_said_before_it_ends(agent: Agent) -> None:
    """It ends its process without taking the interpreter down, which would write what is left."""
    agent.edit("T1", "a.py", "better\n")
    agent.home.ok(agent.root, "undo", "--yes")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "S", "prompt": "go on", "cwd": agent.root}
    command = [sys.executable, "-m", "snapd", "hook"]
    env = {name: value for name, value in agent.home.env.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(command, input=json.dumps(event).encode(), env=env, capture_output=True, check=True)
    assert "a.py" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert done.stderr == b""
    env["SNAPD_LOG"] = "1"
    done = subprocess.run(command, input=b"no JSON", env=env, capture_output=True, check=True)
    assert done.stdout == b""
    assert b"the event is not JSON" in done.stderr
    assert "the event is not JSON" in agent.log()


def test_the_last_event_is_told(agent: Agent) -> None:
    agent.on("SessionStart", source="startup")
    told = {each["name"]: each for each in agent.ask("agent", "status")["agents"]}
    assert str(told["claude"]["lastEventAt"]).startswith("20")
    assert "lastEventAt" not in told["amp"]


@pytest.mark.parametrize("event", ["PostToolBatch", "PreToolUse", "Stop", "UserPromptSubmit"])
def test_a_formatter_is_another_hook_of_the_same_event(agent: Agent, event: str) -> None:
    """It may write after the hook has reported the end of the call; what is written after the next event is not its."""
    rest, formatted = "1\n2  \n3\n4\n", "1\n2\n3\n4\n"
    agent.write("a.py", f"a\n{rest}")
    agent.edit("T1", "a.py", f"x  =1\n{rest}")
    agent.write("a.py", f"x = 1\n{formatted}")
    call = {"tool_name": "Edit", "tool_input": {"file_path": agent.path("a.py")}, "tool_use_id": "T1"}
    fields = {
        "PostToolBatch": {"tool_calls": [call]},
        "PreToolUse": {**call, "tool_use_id": "T2"},
        "UserPromptSubmit": {"prompt": "go on", "prompt_id": "P2"},
    }
    agent.on(event, **fields.get(event, {}))
    agent.on("Stop")
    agent.write("a.py", f"x = 1\n{formatted}user\n")
    step = next(each["step"] for each in agent.entries() if each["kind"] == "step")
    agent.home.ok(agent.root, "undo", step["stepId"], "--yes")
    with open(agent.path("a.py"), encoding="utf-8") as file:
        assert file.read() == f"a\n{rest}user\n"


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_what_a_person_repairs_after_an_interruption_is_theirs(agent: Agent, how: str) -> None:
    """No event comes: the transcript says it, or the process has ended."""
    transcript = agent.home.at("transcript.jsonl")
    with subprocess.Popen(["sleep", "600"]) as process:
        agent.variables = {"CLAUDE_PID": str(process.pid)}
        call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "T1"}
        agent.on("PreToolUse", **call, transcript_path=transcript)
        agent.write("half", "1")
        before = len(agent.ask("snapshots")["snapshots"])
        if how == "interrupted":
            with open(transcript, "a", encoding="utf-8") as file:
                file.write(json.dumps({"content": [{"type": "text", "text": "[Request interrupted by user]"}]}) + "\n")
        else:
            process.kill()
        wait_until(lambda: len(agent.ask("snapshots")["snapshots"]) > before, "the snapshot of what it left")
        process.kill()
    agent.write("b.py", "repaired by hand\n")
    agent.on("UserPromptSubmit", prompt="go on", prompt_id="P2")
    assert [(step.part, step.files) for step in agent.steps()] == [("T1", ("half",))]
    assert agent.of_the_user() == {"b.py"}
