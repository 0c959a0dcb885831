"""Events as real agents sent them, replayed with what the calls did: each call owns what it wrote, and nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from snapd.hook.dialects import recognised
from snapd.hook.tools import begins_step
from tests.support.amounts import amount
from tests.support.workspace import read

from .agent import Agent

PAYLOADS = sorted((Path(__file__).parent / "payloads").glob("*.jsonl"))
ENDS = ("PostToolUse", "PostToolUseFailure", "AfterTool")
BEGINS = ("PreToolUse", "BeforeTool")
AGENTS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "qwen-code": "qwen"}


def events(path: Path, root: str) -> list[tuple[dict[str, str], dict[str, Any]]]:
    lines = path.read_text(encoding="utf-8").replace("${PROJECT}", root).replace("${RUN}", "/run/agent").splitlines()
    return [(json.loads(line)["env"], json.loads(line)["payload"]) for line in lines]


def do(agent: Agent, tool: str, given: dict[str, Any]) -> None:
    """Does what a call of a tool did."""
    file = given.get("file_path", "")
    if "content" in given:
        agent.write(os.path.relpath(file, agent.root), given["content"])
    elif "old_string" in given and os.path.exists(file):
        text = Path(file).read_text(encoding="utf-8")
        Path(file).write_text(text.replace(given["old_string"], given["new_string"], 1), encoding="utf-8")
    elif tool == "apply_patch":
        agent.write("greet.py", "def greet(name):\n    return name\n")
        agent.write("calc.py", "def add(a, b):\n    return a + b  # sum\n")
    elif "command" in given:
        subprocess.run(
            ["sh", "-c", given["command"].replace("sleep", "true")], cwd=agent.root, check=False, capture_output=True
        )


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.stem)
def test_a_real_run(agent: Agent, path: Path) -> None:
    agent.write(".gitignore", "__pycache__\n")
    agent.home.track(agent.root)
    expected: list[tuple[str, set[str]]] = []
    prompts = []
    for variables, payload in events(path, agent.root):
        agent.variables = variables
        agent.report(payload)
        name, tool = payload["hook_event_name"], payload.get("tool_name", "")
        if name in ("UserPromptSubmit", "BeforeAgent") and not payload["prompt"].startswith("<task"):
            prompts += [payload["prompt"]] if payload["prompt"] else []
        if name in BEGINS and begins_step(tool):
            before = read(agent.root)
            expected.append((tool, set()))
            if _is_carried_out(path, payload):
                do(agent, tool, payload["tool_input"])
                after = read(agent.root)
                expected[-1][1].update(
                    file
                    for file in before.keys() | after.keys()
                    if not file.endswith("/") and before.get(file) != after.get(file)
                )
    calls = [step for step in agent.steps() if not (step.part or "").startswith(("subagent:", "background:"))]
    assert [step.tool for step in calls] == [tool for tool, _ in expected]
    for step, (_, files) in zip(calls, expected, strict=True):
        # calls that are open at the same time share what neither names
        assert set(step.files or ()) >= files if "codex" in path.stem else set(step.files or ()) == files
    assert {file for step in calls for file in step.files or ()} == {file for _, files in expected for file in files}
    assert all(step.state == "applied" for step in agent.steps())
    assert [entry["text"] for entry in agent.entries() if entry["kind"] == "message"] == prompts
    assert agent.of_the_user() <= {".gitignore"}
    assert agent.log() == ""
    if any(files for _, files in expected):
        (session,) = agent.ask("sessions")["sessions"]
        assert session["agent"] == next(name for start, name in AGENTS.items() if path.stem.startswith(start))
        # Codex runs calls at the same time, which then share what they wrote
        agent.home.ok(agent.root, "undo", "-y", "--all", "--on-conflict", "overwrite")
        assert {name: data for name, data in read(agent.root).items() if name != ".gitignore"} == {
            "a.py": b"a\n",
            "b.py": b"b\n",
            "calc.py": b"def add(a, b):\n    return a + b\n",
            "README.md": b"read\n",
        }


def _is_carried_out(path: Path, begun: dict[str, Any]) -> bool:
    """Whether a call was carried out: only then does an event say that it has ended."""
    same = [
        payload
        for _, payload in events(path, begun["cwd"])
        if payload["hook_event_name"] in ENDS
        and payload["tool_input"] == begun["tool_input"]
        and payload.get("tool_use_id") == begun.get("tool_use_id")
    ]
    return bool(same)


@pytest.mark.parametrize("seed", range(amount(3, 60)))
def test_mutations_never_fail_the_agent(agent: Agent, seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(amount(10, 40)):
        variables, payload = chosen.choice(events(chosen.choice(PAYLOADS), agent.root))
        agent.variables = variables
        key = chosen.choice(sorted(payload))
        match chosen.randrange(6):
            case 0:
                del payload[key]
            case 1:
                payload[key] = chosen.choice([None, 7, [], {}, True, "", "\0", "\ud800", "x" * 5000, [[]], {"a": 1}])
            case 2:
                payload["cwd"] = chosen.choice(["/", "relative", "/nowhere", "/proc/self", "/etc", agent.path("a.py")])
            case 3:
                payload["hook_event_name"] = chosen.choice([*BEGINS, *ENDS, "Stop", "SessionEnd", "SubagentStop", ""])
            case 4:
                payload["tool_input"] = chosen.choice(
                    [None, "x", [1], {"file_path": 3}, {"file_path": "/etc/passwd"}, {"files": [{}, 1, "a.py", "../x"]}]
                )
        data = json.dumps(payload).encode()
        if chosen.randrange(6) == 0:
            data = data[: chosen.randrange(len(data))] + bytes(chosen.randrange(256) for _ in range(3))
        agent.report(data)
    # the timeline is whole, and the agent can go on
    agent.variables = {}
    agent.on("SessionStart", source="startup")
    agent.edit("after", "a.py", f"{seed}\n")
    assert agent.steps()[-1].files == ("a.py",)
    assert agent.ask("fsck")["problems"] == []


def test_agents_are_recognised_by_their_events() -> None:
    for path in PAYLOADS:
        for variables, payload in events(path, "/p"):
            # one agent may run within another
            for more in ({}, {"CLAUDECODE": "1"}):
                found = recognised(payload, {**variables, **more})
                assert found is not None
                assert path.stem.startswith(next(start for start, name in AGENTS.items() if name == found.name))
