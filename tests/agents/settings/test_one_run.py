"""The hooks that an agent is given for one run, read as the agent reads them."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from snapd.agents.one_run import OneRun, with_hooks
from snapd.agents.styles import entries, whole
from snapd.agents.table import AGENTS


class Place:
    def __init__(self, scratch: Path) -> None:
        self.home = scratch / "home"
        self.root = scratch / "p"
        self.home.mkdir()
        self.root.mkdir()
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        self.snapd = self.home / 'it\'s a "bin"' / "snapd"
        self.snapd.parent.mkdir()
        self.says("cat > /dev/null")

    def says(self, script: str) -> None:
        self.snapd.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        self.snapd.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def ask(self, *words: str) -> OneRun | None:
        return with_hooks(list(words), str(self.snapd), self.env, str(self.root))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_claude_has_them_as_settings(place: Place) -> None:
    found = place.ask("/x/claude", "-p", "go")
    assert found is not None
    assert (found.words[0], found.words[1], found.words[3:]) == ("/x/claude", "--settings", ["-p", "go"])
    assert json.loads(found.words[2]) == {"hooks": entries(AGENTS["claude"], str(place.snapd))}


def test_codex_has_them_as_settings_that_are_trusted_and_no_others(place: Place) -> None:
    found = place.ask("codex", "exec", "go")
    assert found is not None
    assert (found.words[0], found.words[-2:]) == ("codex", ["exec", "go"])
    assert "--dangerously-bypass-hook-trust" not in found.words
    options = found.words[1:-2]
    assert set(options[::2]) == {"-c"}
    hooks: dict[str, Any] = tomllib.loads("\n".join(options[1::2]))["hooks"]
    trusted = hooks.pop("state")
    assert hooks == entries(AGENTS["codex"], str(place.snapd))
    assert len(trusted) == len(hooks)
    assert all(name.startswith("/<session-flags>/config.toml:") for name in trusted)


def test_the_trust_for_one_run_is_by_the_digests_of_codex() -> None:
    """Names and digests as Codex 0.169.0 told them by `hooks/list`, for the same settings on its command line."""
    from snapd.agents.switches import codex_digest

    handler = {"type": "command", "command": "/x/snapd hook", "timeout": 10}
    digests = [codex_digest("pre_tool_use", "Bash|apply_patch", handler), codex_digest("stop", None, handler)]
    assert digests == [
        "sha256:97249ee454ce35137b8f945d8d18c789756473a581088dd1f41af63701a00fd7",
        "sha256:dea8cdb66a76c37fbedbe2054a13146ffa0ac983adb4b73c49c7c95d6ddf1017",
    ]


def test_opencode_has_a_plugin_beside_its_own(place: Place) -> None:
    place.env["OPENCODE_CONFIG_CONTENT"] = '{"model": "x", "plugin": ["mine"]}'
    found = place.ask("opencode")
    assert found is not None
    assert found.words == ["opencode"]
    config = json.loads(found.variables["OPENCODE_CONFIG_CONTENT"])
    assert (config["model"], config["plugin"][0]) == ("x", "mine")
    plugin = config["plugin"][1].removeprefix("file://")
    assert Path(plugin).read_text("utf-8") == whole(AGENTS["opencode"], str(place.snapd))
    found.close()
    assert not os.path.exists(os.path.dirname(plugin))


def test_pi_has_an_extension(place: Place) -> None:
    other = place.home / "bin/pi"
    other.parent.mkdir()
    shutil.copy("/bin/true", other)
    assert place.ask(str(other), "-p", "go") is None, "a program that happens to have this name"
    script = place.home / "lib/node_modules/@x/pi-coding-agent/dist/cli.js"
    script.parent.mkdir(parents=True)
    shutil.move(other, script)
    other.symlink_to(script)
    found = place.ask(str(other), "-p", "go")
    assert found is not None
    assert (found.words[:2], found.words[3:]) == ([str(other), "--extension"], ["-p", "go"])
    assert Path(found.words[2]).read_text("utf-8") == whole(AGENTS["pi"], str(place.snapd))
    found.close()
    assert not os.path.exists(found.words[2])


def test_qwen_has_defaults(place: Place) -> None:
    found = place.ask("qwen", "-p", "go")
    assert found is not None
    (path,) = found.variables.values()
    with open(path, encoding="utf-8") as file:
        assert json.load(file) == {"hooks": entries(AGENTS["qwen"], str(place.snapd))}
    found.close()
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "claude"],
        ["gemini"],
        ["claude", "--settings", "mine.json"],
        ["claude", "--settings={}"],
        ["claude", "--bare", "-p"],
        ["codex", "-c", "features.hooks=false"],
    ],
)
def test_who_gets_none(place: Place, words: list[str]) -> None:
    assert place.ask(*words) is None


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("claude", ".claude/settings.json", '{"disableAllHooks": true}'),
        ("codex", ".codex/config.toml", "features.hooks = false"),
        ("codex", ".codex/config.toml", "broken"),
        ("qwen", ".qwen/settings.json", '{"disableAllHooks": true}'),
    ],
)
def test_none_where_they_would_not_run(place: Place, name: str, file: str, text: str) -> None:
    assert place.ask(name) is not None
    place.write(file, text)
    assert place.ask(name) is None


@pytest.mark.parametrize(
    ("variable", "value"), [("OPENCODE_CONFIG_CONTENT", "{,"), ("OPENCODE_CONFIG_CONTENT", '{"plugin": 1}')]
)
def test_none_where_the_environment_says_what_cannot_be_kept(place: Place, variable: str, value: str) -> None:
    place.env[variable] = value
    assert place.ask("opencode") is None


def test_none_where_hooks_fail(place: Place) -> None:
    place.says("exit 2")
    assert all(place.ask(name) is None for name in ("claude", "codex", "opencode", "qwen"))


def test_installed_hooks_are_enough(place: Place) -> None:
    settings = {"hooks": entries(AGENTS["claude"], str(place.snapd))}
    place.write(".claude/settings.json", json.dumps(settings))
    found = place.ask("claude", "-p")
    assert found is not None
    assert (found.installed, found.words, found.variables) == (True, ["claude", "-p"], {})
    assert place.ask("claude", "--safe-mode") is None, "it leaves them out"
