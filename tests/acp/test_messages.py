"""Messages are read as far as they can be, and changed no more than needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snapd.acp.commands import OFFERS, Command, command_in
from snapd.acp.conversation import known_agent
from snapd.acp.messages import (
    ToolNews,
    asked_for,
    offered,
    parse,
    permission,
    prompt_text,
    request_key,
    tool_news,
    with_commands,
)

OURS = offered(OFFERS, 1)
NAMES = ["undo", "redo", "rewind", "steps"]


def listed(line: bytes) -> list[str]:
    return [each["name"] for each in json.loads(line)["params"]["update"]["availableCommands"]]


def commands_line(commands: str, before: str = "", after: str = "") -> bytes:
    update = f'{{{before}"sessionUpdate" : "available_commands_update","availableCommands":{commands}{after}}}'
    return f'{{"params": {{"sessionId":"s","update":{update}}}, "x": 1.50, "method":"session/update"}}\r\n'.encode()


@pytest.mark.parametrize(
    "commands", ["[]", "[ ]", '[{"name":"a","description":"\\u00e4 é \\ud83d\\ude00"}]', '["odd", 3]']
)
def test_our_commands_come_last_and_the_rest_stays_as_it_was_written(commands: str) -> None:
    line = commands_line(commands)
    found = with_commands(line, json.loads(line), OURS)
    at = found.index(b'{"name":"undo"')
    assert json.loads(found)["params"]["update"]["availableCommands"][-4:] == OURS
    ours = json.dumps(OURS, separators=(",", ":"))[1:-1].encode()
    assert found.replace(ours, b"").replace(b",]", b"]") == line
    assert at > line.index(b"availableCommands")


@pytest.mark.parametrize(
    "line",
    [
        commands_line('[{"name":"undo","description":"the agent\'s own"},{"name":"b"}]'),
        commands_line('[{"name":"b"}]', before='"_meta":{"availableCommands":[1]},'),
        commands_line('[{"name":"b"}]').replace(b"availableCommands", b"available\\u0043ommands"),
        commands_line('[{"name":"b","description":"\\"availableCommands\\":["}]'),
    ],
)
def test_our_commands_come_last_wherever_the_list_is(line: bytes) -> None:
    message = json.loads(line)
    found = with_commands(line, json.loads(line), OURS)
    assert listed(found) == ["b", *NAMES]
    message["params"]["update"]["availableCommands"] = [{**message["params"]["update"]["availableCommands"][-1]}, *OURS]
    assert json.loads(found) == message
    assert found.count(b"\n") == 1


@pytest.mark.parametrize("commands", ["null", '{"name":"a"}', '"a"'])
def test_what_is_no_list_stays(commands: str) -> None:
    line = commands_line(commands)
    assert with_commands(line, json.loads(line), OURS) == line


def test_the_second_version_wants_types() -> None:
    assert offered(OFFERS, 2)[0]["type"] == "command"
    assert offered(OFFERS, 2)[0]["input"]["type"] == "text"
    assert "type" not in OURS[0]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"[]\n",
        b"3\n",
        b'{"a":',
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"1" * 10_000,
    ],
)
def test_what_is_no_message(line: bytes) -> None:
    assert parse(line) is None


def test_ids_are_told_apart() -> None:
    assert len({request_key({"id": each}) for each in (1, "1", None, 1.5, "a")}) == 5


def test_the_text_of_a_prompt() -> None:
    blocks: list[Any] = [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "x"},
        {"type": "text", "text": 3},
        "odd",
        {"type": "text", "text": "two"},
    ]
    assert prompt_text(blocks) == "one\ntwo"
    assert prompt_text("one") == prompt_text(None) == prompt_text([]) == ""


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/undo", Command("undo", None)),
        (" /undo \n", Command("undo", None)),
        ("/undo 2", Command("undo", "2")),
        ("/redo\t3", Command("redo", "3")),
        ("/steps", Command("steps", None)),
        ("/undo a1b2c3d4", Command("undo", "a1b2c3d4")),
        ("/undone", None),
        ("undo", None),
        ("/undo this and that", None),
        ("/undo\nand then go on", None),
        ("please /undo", None),
        ("/UNDO", None),
        ("", None),
    ],
)
def test_what_is_a_command(prompt: str, command: Command | None) -> None:
    assert command_in(prompt) == command


def test_what_is_told_of_a_call() -> None:
    update = {
        "toolCallId": "t1",
        "kind": "edit",
        "status": "pending",
        "title": "Edit",
        "locations": [{"path": "/p/a", "line": 3}, {"path": 5}, "odd"],
        "content": [
            {"type": "diff", "path": "/p/b", "oldText": None, "newText": ""},
            {"type": "diff", "changes": [{"operation": "move", "oldPath": "/p/c", "path": "/p/d"}, {"path": "/p/a"}]},
            {"type": "content", "path": "/p/none"},
        ],
        "_meta": {"claudeCode": {"toolName": "Edit", "parentToolUseId": "t0"}},
    }
    files = ("/p/a", "/p/b", "/p/c", "/p/d")
    assert tool_news(update) == ToolNews("t1", "edit", "pending", "Edit", "Edit", "t0", files)


def test_strange_calls() -> None:
    assert tool_news({}) is None
    assert tool_news({"toolCallId": 3}) is None
    strange: dict[str, Any] = {
        "toolCallId": "t",
        "kind": 1,
        "status": [],
        "title": {},
        "locations": {},
        "content": "x",
        "_meta": [],
    }
    assert tool_news(strange) == ToolNews("t", None, None, None, None, None, ())


def test_what_a_permission_is_asked_for() -> None:
    call = {"toolCallId": "t"}
    assert asked_for({"toolCall": call}) == asked_for({"subject": {"type": "tool_call", "toolCall": call}}) == call
    assert asked_for({"subject": {"type": "command", "command": "ls"}}) == asked_for({}) == {}


def test_a_permission_of_our_own_in_each_version() -> None:
    about = ("S", "q", "Take back a?", "- `a`")
    first, second = (json.loads(permission(*about, version, offers_git=False)) for version in (1, 2))
    assert first["params"]["toolCall"]["title"] == second["params"]["title"] == "Take back a?"
    assert first["params"]["toolCall"]["content"] == [{"type": "content", "content": {"type": "text", "text": "- `a`"}}]
    assert second["params"]["description"] == "- `a`"
    # version 2 knows permissions that are about no call
    assert asked_for(first["params"])["toolCallId"] == "q"
    assert asked_for(second["params"]) == {}
    assert [option["kind"] for option in second["params"]["options"]] == ["allow_once", "reject_once"]
    third = json.loads(permission(*about, 1, offers_git=True))
    names = ["Go on", "Go on, with git", "Change nothing"]
    assert [option["name"] for option in third["params"]["options"]] == names


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("@zed-industries/claude-agent-acp", "claude"),
        ("codex-acp", "codex"),
        ("gemini-cli", "gemini"),
        ("opencode", "opencode"),
        ("amp", "amp"),
        ("stamp-agent", None),
        ("", None),
    ],
)
def test_names_of_agents(told: str, name: str | None) -> None:
    assert known_agent(told) == name
