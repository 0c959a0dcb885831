"""The plugins that snapd ships, against the table of agents and against the real language."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from snapd.agents.styles import entries, is_own_file, program_of_own_file, whole
from snapd.agents.table import AGENTS

CLIENTS = Path(__file__).parents[3] / "clients"
WITH_NODE = CLIENTS.parent / "scripts/with-node"
CLAUDE = CLIENTS / "claude-code"
DRIVER = """
import { SnapdPlugin } from %s
const hooks = await SnapdPlugin({ directory: process.cwd() })
const session = { sessionID: "S" }
const message = { id: "M1" }
const parts = [{ type: "text", text: "do it" }, { type: "text", text: "hidden", synthetic: true }, { type: "file" }]
const call = { ...session, tool: "write", callID: "C1" }
await hooks.event({ event: { type: "session.created", properties: { info: { id: "S2", parentID: "S" } } } })
await hooks["chat.message"]({ ...session, agent: "build" }, { message, parts })
await hooks["tool.execute.before"](call, { args: { filePath: "a\\u2028b" } })
await hooks["tool.execute.after"]({ ...call, args: { filePath: "a" } }, { output: "x" })
await hooks["tool.execute.before"]({ ...call, tool: "read" }, { args: {} })
await hooks["tool.execute.before"]({ ...call, sessionID: "S2", callID: "C2" }, { args: { big: "x".repeat(300000) } })
const state = { status: "error", input: { a: 1 } }
const failed = { ...session, type: "tool", tool: "edit", callID: "C3", state }
await hooks.event({ event: { type: "message.part.updated", properties: { part: failed } } })
await hooks.event({ event: { type: "message.part.updated", properties: { part: { ...session, type: "text" } } } })
await hooks.event({ event: { type: "session.idle", properties: session } })
await hooks.dispose()
console.log(JSON.stringify(parts))
"""


@pytest.mark.parametrize("name", ["opencode", "amp", "pi"])
def test_the_program_is_filled_in(name: str) -> None:
    path = '/opt/it\'s "odd" ✓/snapd'
    text = whole(AGENTS[name], path)
    assert is_own_file(text)
    assert program_of_own_file(text) == path
    assert 'PROGRAM = "snapd"' not in text
    assert name != "amp" or text.startswith("// @i-know-the-amp-plugin-api-is-wip"), "Amp takes it only so"


def run_opencode(tmp_path: Path, script: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The events that the plugin sends, and the parts of the message after it."""
    program = tmp_path / "snapd"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    plugin = tmp_path / "plugin.mjs"
    plugin.write_text(whole(AGENTS["opencode"], str(program)), "utf-8")
    driver = tmp_path / "driver.mjs"
    driver.write_text(DRIVER % json.dumps(str(plugin)), "utf-8")
    done = subprocess.run(
        [WITH_NODE, "node", driver], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    heard = tmp_path / "heard"
    lines = heard.read_text("utf-8").split("\n") if heard.exists() else []
    return [json.loads(line) for line in lines if line], json.loads(done.stdout)


def test_the_events_of_opencode(tmp_path: Path) -> None:
    told = """case "$(tee -a heard)" in *chat.message*) echo '{"additionalContext": "news"}';; esac; echo >> heard"""
    events, parts = run_opencode(tmp_path, told)
    common = {"directory": os.path.realpath(tmp_path), "sessionID": "S", "messageID": "M1"}
    call = {**common, "callID": "C1", "tool": "write"}
    assert [event["event"] for event in events] == [
        "chat.message",
        "tool.execute.before",
        "tool.execute.after",
        "tool.execute.before",
        "tool.execute.error",
        "session.idle",
        "dispose",
    ]
    assert events[0] == {**common, "event": "chat.message", "prompt": "do it"}
    assert events[1] == {**call, "event": "tool.execute.before", "args": {"filePath": "a\u2028b"}}
    assert events[2] == {**call, "event": "tool.execute.after", "args": {"filePath": "a"}}
    assert (events[3]["sessionID"], events[3]["parentID"]) == ("S2", "S")
    assert len(str(events[3]["args"])) > 300_000
    assert (events[4]["callID"], events[4]["args"]) == ("C3", {"a": 1})
    assert parts[3]["text"] == "news"
    assert (parts[3]["synthetic"], parts[3]["messageID"], parts[3]["sessionID"]) == (True, "M1", "S")
    assert str(parts[3]["id"]).startswith("prt")


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "exec 0<&-; exit 3", "echo '{}'", 'echo "null"'])
def test_nothing_that_snapd_does_stops_opencode(tmp_path: Path, script: str) -> None:
    _, parts = run_opencode(tmp_path, script)
    assert len(parts) == 3


def test_the_hooks_of_the_plugin_for_claude_are_those_of_an_install() -> None:
    shipped = json.loads((CLAUDE / "hooks/hooks.json").read_text("utf-8"))
    assert shipped["hooks"] == entries(AGENTS["claude"], "snapd")


def test_the_plugin_for_claude_brings_the_server() -> None:
    assert json.loads((CLAUDE / ".mcp.json").read_text("utf-8")) == {
        "mcpServers": {"snapd": {"command": "snapd", "args": ["mcp"]}}
    }
