"""What keeps installed hooks from working, found by `snapd agent status`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.agents.settings.test_commands import User

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    made = User(monkeypatch)
    yield made
    made.home.close()


@pytest.mark.parametrize(
    ("name", "file", "text", "said"),
    [
        ("claude", "home/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude", "p/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude", "p/.claude/settings.local.json", '{"disableAllHooks": true} // so', "disableAllHooks"),
        ("gemini", "home/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}', "switched off"),
        ("gemini", "p/.gemini/settings.json", '{"hooksConfig": {"disabled": ["/x/snapd hook"]}}', "disabled"),
        ("qwen", "home/.qwen/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("copilot", "home/.copilot/config.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("codex", "home/.codex/config.toml", "[features]\nhooks = false\n", "feature hooks switched off"),
        ("codex", "home/.codex/config.toml", "[features\n", "config.toml"),
        ("codex", "home/.codex/config.toml", "", "8 hooks are not trusted"),
    ],
)
def test_hooks_that_are_switched_off(user: User, name: str, file: str, text: str, said: str) -> None:
    from pathlib import Path

    path = user.write(Path(user.home.at(file)), text)
    assert user.agent("install", name).code == 0
    state = user.states()[name]
    assert (state["found"], state["installed"], state["working"]) == (True, True, False)
    assert said in str(state["problem"])
    assert state["hint"]
    assert user.agent("status").code == 1
    user.agent("uninstall", name)
    assert path.read_text("utf-8") == text


def test_the_digests_are_those_of_codex(user: User) -> None:
    """Digests as Codex 0.169.0 told them by `hooks/list`."""
    from snapd.agents.switches import codex_hooks

    hooks = {
        "PreToolUse": [
            {"matcher": "Bash|apply_patch", "hooks": [{"type": "command", "command": "/x/snapd hook", "timeout": 20}]}
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "echo"}, {"type": "command", "command": "/x/snapd hook"}]}],
    }
    file = user.write(user.at / ".codex/hooks.json", json.dumps({"hooks": hooks}))
    assert dict(codex_hooks(str(file))) == {
        f"{file}:pre_tool_use:0:0": "sha256:cc2d7aa5e26024c2d14a8efd7ebe5073a7fb45369b0be6f99fa8a0c877383ce5",
        f"{file}:stop:0:1": "sha256:26f0c33002e40800b2907a54750401c4c57dd0ed7e99385b6fde881bbefaf3fd",
    }


def test_hooks_that_codex_trusts(user: User) -> None:
    from snapd.agents.switches import codex_hooks

    user.agent("install", "codex")
    file = user.at / ".codex/hooks.json"
    trusted = "".join(f'[hooks.state."{key}"]\ntrusted_hash = "{digest}"\n' for key, digest in codex_hooks(str(file)))
    config = user.write(user.at / ".codex/config.toml", trusted)
    assert user.states()["codex"]["working"] is True
    config.write_text(trusted.replace("sha256:", "sha256:0", 1), "utf-8")
    assert "1 hook is not trusted" in str(user.states()["codex"]["problem"])
    config.write_text(trusted + "enabled = false\n", "utf-8")
    assert "switched off in Codex" in str(user.states()["codex"]["problem"])


def test_hooks_of_a_project_that_codex_does_not_trust(user: User) -> None:
    user.agent("install", "codex", "--project")
    assert "does not trust this project" in str(user.states()["codex"]["problem"])
    user.write(user.at / ".codex/config.toml", f'[projects."{user.project}"]\ntrust_level = "trusted"\n')
    assert "this project" not in str(user.states()["codex"]["problem"])


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no >&2; exit 2", "ends with exit code 2: no"),
        ("echo hello", "prints something"),
        ("exit 1", "ends with exit code 1"),
    ],
)
def test_a_command_that_does_not_pass_over_what_it_does_not_know(user: User, script: str, said: str) -> None:
    user.agent("install", "claude")
    user.program("bin/snapd", script)
    assert said in str(user.states()["claude"]["problem"])


def test_another_snapd_than_this_one(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.agent("install", "claude", "opencode")
    monkeypatch.setattr("sys.argv", [user.program("other/snapd", "cat > /dev/null")])
    user.home.env["PATH"] = "/usr/bin:/bin"
    for name in ("claude", "opencode"):
        assert "another snapd than this one" in str(user.states()[name]["problem"])


def test_hooks_that_are_not_all_there(user: User) -> None:
    user.agent("install", "claude")
    path = user.at / ".claude/settings.json"
    value = json.loads(path.read_text("utf-8"))
    del value["hooks"]["PostToolUse"]
    path.write_text(json.dumps(value), "utf-8")
    assert "not have all of the hooks" in str(user.states()["claude"]["problem"])
    user.agent("install", "claude")
    assert user.states()["claude"]["working"] is True


def test_what_people_read(user: User) -> None:
    user.program("bin/claude", "exit 1")
    said = user.agent("status")
    assert said.code == 0
    assert "no  claude    not installed\nhint: 'snapd agent install claude' installs its hooks" in said.text
    assert "not on this machine: codex, gemini" in said.text
    user.agent("install", "claude")
    assert f"ok  claude    {user.at}/.claude/settings.json (user)\n" in user.agent("status").text


def test_the_plugin_of_claude(user: User) -> None:
    """Settings as `claude plugin install snapd@snapd` of Claude Code 2.1.330 writes them."""
    path = user.write(user.at / ".claude/settings.json", '{"enabledPlugins": {"snapd@snapd": true, "x@y": true}}')
    state = user.states()["claude"]
    assert (state["scopes"], state["working"], state["settings"]) == (["plugin"], True, str(path))
    user.program("bin/snapd", "exit 1")
    assert "'snapd hook' ends with exit code 1" in str(user.states()["claude"]["problem"])
    user.home.env["PATH"] = "/usr/bin:/bin"
    assert "not on the PATH" in str(user.states()["claude"]["problem"])
    path.write_text('{"enabledPlugins": {"snapd@snapd": false}}', "utf-8")
    assert user.states()["claude"]["installed"] is False


def test_settings_of_codex_that_cannot_be_read(user: User) -> None:
    (user.at / ".codex/config.toml").mkdir(parents=True)
    user.agent("install", "codex")
    assert "config.toml is not a file" in str(user.states()["codex"]["problem"])
