"""What an install changes an uninstall takes back: to the byte, and whatever others change stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapd.agents.install import Change, to_install, to_uninstall
from snapd.agents.jsonc import BrokenText
from snapd.agents.styles import entries
from snapd.agents.table import AGENTS, Agent
from snapd.model.errors import InvalidParams
from tests.agents.settings import made_up
from tests.agents.settings.oracle import comments, meaning
from tests.support.amounts import amount

SNAPD = "/opt/a b/snapd"
OF_JSON = [agent for agent in AGENTS.values() if agent.style not in ("executables", "plugin")]
ODD = [
    None,
    b"",
    b"\n",
    b"  \t\r\n",
    b"\xef\xbb\xbf",
    b"// nothing but this",
    b"/* nothing\n but this */\n",
    b"{}",
    b"{ }",
    b"{}\n",
    b"{\n}\n",
    b"{\r\n}\r\n",
    b"{\n\n\n}",
    b"{ /* a */ }",
    b"{ // a\n}",
    b"{\n  // a\n  // b\n}\n",
    b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}\r\n',
    b'{"a":1}',
    b'{"a":1,}',
    b'{"a":1 , }',
    b'{ "a": 1 }',
    b'{"a": 1} // the end',
    b'{\n  "a": 1 // why\n}\n',
    b'{\n  "a": 1, // why\n}\n',
    b'{\n  "a": 1 /* why */ /* and */\n}\n',
    b'{\n    "a": 1\n    // the next one is missing\n}',
    b'{\n\t"a": {\n\t\t"b": [\n\t\t\t1,\n\t\t\t2,\n\t\t],\n\t},\n}\n',
    b'{"hooks": {}}',
    b'{"hooks": {},}',
    b'{\n  "hooks": {\n  }\n}',
    b'{\n  "hooks": {\n    // mine\n  },\n  "z": 1\n}',
    b'{"hooks": {"PreToolUse": []}}',
    b'{"hooks": {"PreToolUse": [ ]}, "x": 1}',
    b'{"hooks": {"PreToolUse": [], "PostToolUse": [], "preToolUse": [], "postToolUse": []}}',
    b'{\n  "hooks": {\n    "PreToolUse": [\n      {"hooks": [{"command": "x"}]} // x\n    ],\n  }\n}\n',
    b'{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]},]}}',
    b'{"version": 2, "hooks": {"stop": [{"command": "x"}]}}',
    b'{"a": 1, "hooks": {"Mine": [1]}, "hooks": {"Stop": []}}',
    '{"größe": "\\u00e9 \u2028 🎉"}'.encode(),
]


def result_of(change: Change) -> bytes:
    assert change.after is not None
    return change.after


def expected(agent: Agent, text: str) -> dict[str, Any]:
    """The plain rule: behind what is there."""
    value = meaning(text) or {}
    hooks = dict(value.get("hooks", {}))
    for event, ours in entries(agent, SNAPD).items():
        hooks[event] = [*hooks.get(event, []), *ours]
    return {**(agent.members or {}), **value, "hooks": hooks}


@pytest.mark.parametrize("agent", OF_JSON, ids=lambda agent: agent.name)
@pytest.mark.parametrize("before", ODD, ids=repr)
def test_odd_files(agent: Agent, before: bytes | None) -> None:
    installed = to_install(agent, SNAPD, before, None)
    after = result_of(installed)
    text = (before or b"").decode()
    assert meaning(after.decode()) == expected(agent, text)
    assert comments(after.decode()) == comments(text)
    again = to_install(agent, SNAPD, after, installed.record)
    assert again.after == after
    assert to_install(agent, SNAPD, after, None).after == after, "without what is remembered, too"
    assert to_uninstall(agent, after, installed.record).after == before


@settings(max_examples=amount(50, 1500))
@given(text=made_up.settings(), agent=st.sampled_from(OF_JSON))
def test_made_up_files(text: str, agent: Agent) -> None:
    installed = to_install(agent, SNAPD, text.encode(), None)
    after = result_of(installed)
    assert meaning(after.decode()) == expected(agent, text)
    assert comments(after.decode()) == comments(text)
    assert result_of(to_uninstall(agent, after, installed.record)).decode() == text
    moved = to_install(agent, "/elsewhere/snapd", after, installed.record)
    assert SNAPD not in result_of(moved).decode()
    assert result_of(to_uninstall(agent, result_of(moved), moved.record)).decode() == text


@settings(max_examples=amount(50, 1500))
@given(text=made_up.settings(), agent=st.sampled_from(OF_JSON))
def test_what_somebody_adds_meanwhile_stays(text: str, agent: Agent) -> None:
    def edit(old: str) -> str:
        return old.replace("{", '{ "added": [1, "{"], // by hand\n', 1)

    if not meaning(text):
        return
    installed = to_install(agent, SNAPD, text.encode(), None)
    edited = edit(result_of(installed).decode())
    assert result_of(to_uninstall(agent, edited.encode(), installed.record)).decode() == edit(text)


@settings(max_examples=amount(50, 1500))
@given(text=made_up.settings(), agent=st.sampled_from(OF_JSON), kept=st.booleans())
def test_what_a_program_writes_anew_keeps_its_meaning(text: str, agent: Agent, kept: bool) -> None:
    installed = to_install(agent, SNAPD, text.encode(), None)
    value = meaning(result_of(installed).decode())
    value["model"] = "large"
    for event in value["hooks"]:
        value["hooks"][event].append({"hooks": [{"type": "command", "command": "theirs"}]})
    rewritten = json.dumps(value, indent=4)
    left = result_of(to_uninstall(agent, rewritten.encode(), installed.record if kept else None)).decode()
    known = set(entries(agent, SNAPD)) | set((meaning(text) or {}).get("hooks", {}))
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    before = {"hooks": {}, **(meaning(text) or {})}
    hooks = {event: [*before["hooks"].get(event, []), theirs] for event in known}
    found = meaning(left)
    members = set(agent.members or {}) - set(before)
    assert {name: each for name, each in found.items() if name not in members} == {
        **before,
        "hooks": hooks,
        "model": "large",
    }


def test_entries_in_the_persons_own_groups_go_alone() -> None:
    ours = {"type": "command", "command": "/usr/bin/snapd hook"}
    theirs = {"type": "command", "command": "x"}
    before = {"hooks": {"Stop": [{"hooks": [theirs, ours]}, {"hooks": [ours, theirs, ours]}, {"hooks": [ours]}]}}
    for text in (json.dumps(before), json.dumps(before, indent=2)):
        left = result_of(to_uninstall(AGENTS["claude"], text.encode(), None))
        assert json.loads(left) == {"hooks": {"Stop": [{"hooks": [theirs]}, {"hooks": [theirs]}]}}


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (b'{"a": 1', "line 1, column 8"),
        (b'{\n  "a": 1\n  "b": 2\n}', "line 3"),
        (b"[]", "expected an object"),
        (b"null", "expected an object"),
        (b'{"hooks": []}', "value of hooks"),
        (b'{"hooks": {"Stop": {}}}', "value of Stop"),
    ],
)
def test_broken_files_are_refused(before: bytes, said: str) -> None:
    with pytest.raises(BrokenText, match=said):
        to_install(AGENTS["claude"], SNAPD, before, None)


@pytest.mark.parametrize("before", [b"\xff\xfe{\0}\0", b'{"a": "\xe9"}'])
def test_what_is_not_utf_8_is_refused(before: bytes) -> None:
    for work in (
        lambda: to_install(AGENTS["claude"], SNAPD, before, None),
        lambda: to_uninstall(AGENTS["claude"], before, None),
    ):
        with pytest.raises(InvalidParams, match="not UTF-8"):
            work()


@pytest.mark.parametrize(
    "command",
    [
        "snapdx hook",
        "echo snapd hook",
        "snapd",
        "/x/snapd step begin",
        "'unclosed snapd hook",
        7,
        "snapd hook a b",
        "hook",
    ],
)
def test_other_commands_are_not_snapds(command: Any) -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}, {"command": command}]}})
    assert result_of(to_uninstall(AGENTS["claude"], text.encode(), None)).decode() == text
