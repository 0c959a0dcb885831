"""`snapd agent`, the real command, on the files of a user of its own."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from snapd.agents.table import AGENTS
from tests.cli.running import Home, Result

if TYPE_CHECKING:
    from collections.abc import Iterator


class User:
    """A user with a stand-in for the `snapd` program, which answers every event with nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = Home()
        self.project = Path(os.path.realpath(self.home.project("p", {".git/HEAD": b"x"})))
        self.at = Path(self.home.at("home"))
        self.home.env["PATH"] = f"{self.home.at('bin')}:/usr/bin:/bin"
        self.snapd = self.program("bin/snapd", "cat > /dev/null")
        monkeypatch.setattr("sys.argv", [self.snapd])

    def program(self, name: str, script: str) -> str:
        path = self.write(Path(self.home.at(name)), f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def agent(self, *words: str) -> Result:
        return self.home.run(str(self.project), "agent", *words)

    def states(self) -> dict[str, dict[str, object]]:
        return {state["name"]: state for state in self.agent("status", "--json").json["agents"]}

    def files(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.at.rglob("*")) if path.is_file()}


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    made = User(monkeypatch)
    yield made
    made.home.close()


def test_the_files_of_the_contract(user: User) -> None:
    assert user.agent("install", "claude", "codex", "gemini", "opencode", "cursor").code == 0
    for name in (
        ".claude/settings.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".config/opencode/plugins/snapd.js",
        ".cursor/hooks.json",
    ):
        assert f"{user.snapd}" in (user.at / name).read_text("utf-8"), name
    hook = f"! command -v {user.snapd} >/dev/null || exec {user.snapd} hook"
    claude = json.loads((user.at / ".claude/settings.json").read_text("utf-8"))["hooks"]
    assert claude["PreToolUse"] == [
        {
            "matcher": "Edit|Write|MultiEdit|NotebookEdit|Bash|PowerShell|mcp__.*",
            "hooks": [{"type": "command", "command": hook, "timeout": 10}],
        }
    ]
    gemini = json.loads((user.at / ".gemini/settings.json").read_text("utf-8"))["hooks"]
    assert gemini["BeforeTool"][0]["hooks"][0]["timeout"] == 10_000, "Gemini counts milliseconds"
    cursor = json.loads((user.at / ".cursor/hooks.json").read_text("utf-8"))
    assert cursor["version"] == 1
    assert cursor["hooks"]["stop"] == [{"command": hook, "timeout": 10}]


def test_hooks_whose_program_is_gone_are_silent(user: User) -> None:
    assert user.agent("install", "claude", "cline").code == 0
    settings = json.loads((user.at / ".claude/settings.json").read_text("utf-8"))
    (script,) = (user.at / "Documents/Cline/Hooks").glob("PreToolUse")
    commands = [(settings["hooks"]["Stop"][0]["hooks"][0]["command"], b""), (str(script), b'{"cancel": false}\n')]
    os.unlink(user.snapd)
    for command, said in commands:
        for shell in ("sh", "bash", "zsh", "fish"):
            if (program := shutil.which(shell)) is None:
                continue
            done = subprocess.run([program, "-c", command], input=b"{}", capture_output=True, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, said, b""), (shell, command)
    # as versions before wrote them
    text = (user.at / ".claude/settings.json").read_text("utf-8")
    user.write(user.at / ".claude/settings.json", text.replace(f"! command -v {user.snapd} >/dev/null || exec ", ""))
    assert user.agent("uninstall", "claude", "cline").code == 0
    assert not (user.at / ".claude").exists()


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("scope", [[], ["--project"]])
def test_every_agent_there_and_back(user: User, name: str, scope: list[str]) -> None:
    place = user.project if scope else user.at
    before = sorted(place.rglob("*"))
    said = user.agent("install", name, *scope)
    assert said.code == 0
    assert "created" in said.text
    written = user.files()
    assert "nothing to do" in user.agent("install", name, *scope).text
    assert user.files() == written
    state = user.states()[name]
    assert (state["installed"], state["scopes"]) == (True, ["project" if scope else "user"])
    # those of Codex are not trusted yet
    assert state["working"] is (name != "codex"), state
    assert user.agent("uninstall", name, *scope).code == 0
    assert sorted(place.rglob("*")) == before
    assert user.states()[name]["installed"] is False


@pytest.mark.parametrize(
    ("variable", "name", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "claude", "settings.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/plugins/snapd.js"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/settings.json"),
        ("COPILOT_HOME", "copilot", "hooks/snapd.json"),
        ("QWEN_HOME", "qwen", "settings.json"),
        ("CONTINUE_GLOBAL_DIR", "continue", "settings.json"),
        ("PI_CODING_AGENT_DIR", "pi", "extensions/snapd.ts"),
    ],
)
def test_variables_of_agents(user: User, variable: str, name: str, file: str) -> None:
    user.home.env[variable] = str(user.at / "else where")
    assert user.agent("install", name).code == 0
    assert (user.at / "else where" / file).is_file()


def test_all_takes_those_that_are_here(user: User) -> None:
    assert user.agent("install", "--all").code == 0
    assert user.files() == {}
    user.program("bin/claude", "exit 1")
    (user.at / ".cursor").mkdir(parents=True)
    said = user.agent("install", "--all", "--json").json
    assert [(each["agent"], each["did"]) for each in said["files"]] == [("claude", "created"), ("cursor", "created")]
    assert user.agent("uninstall", "--all").code == 0
    assert user.files() == {}


def test_a_dry_run_shows_and_writes_nothing(user: User) -> None:
    path = user.write(user.at / ".claude/settings.json", '{\n  "model": "x"\n}\n')
    before = user.files()
    said = user.agent("install", "claude", "cline", "--dry-run")
    assert user.files() == before
    assert f"--- {path}\n+++ {path}\n" in said.text
    assert '-  "model": "x"\n+  "model": "x",\n+  "hooks": {\n' in said.text
    assert "--- /dev/null\n" in said.text
    user.agent("install", "claude")
    assert '+  "model": "x"\n' in user.agent("uninstall", "claude", "-n").text


def test_a_broken_file_is_told_and_left_and_the_others_are_done(user: User) -> None:
    broken = user.write(user.at / ".claude/settings.json", '{\n  "model": "x"\n  "hooks": {}\n}\n')
    before = broken.read_bytes()
    said = user.agent("install", "claude", "gemini")
    assert said.code == 3
    assert f"{broken}: not changed: line 3, column 3: expected , or }}" in said.text
    assert "hint: " in said.text
    assert broken.read_bytes() == before
    assert (user.at / ".gemini/settings.json").is_file()
    assert user.agent("install", "claude").code == 1
    state = user.states()["claude"]
    assert (state["installed"], state["working"]) == (False, False)
    assert "line 3" in str(state["problem"])
    assert user.agent("uninstall", "claude", "gemini").code == 3


def test_links_and_modes_stay(user: User) -> None:
    real = user.write(user.at / "dotfiles/claude.json", "{}\n")
    real.chmod(0o640)
    link = user.at / ".claude/settings.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")
    user.agent("install", "claude")
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "snapd hook" in real.read_text("utf-8")
    user.agent("uninstall", "claude")
    assert (link.is_symlink(), real.read_bytes()) == (True, b"{}\n")
    assert sorted(path.name for path in real.parent.iterdir()) == ["claude.json"]


def test_a_link_to_nowhere_is_followed(user: User) -> None:
    link = user.at / ".claude/settings.json"
    link.parent.mkdir(parents=True)
    link.symlink_to("../dotfiles/claude.json")
    assert user.agent("install", "claude").code == 0
    assert (user.at / "dotfiles/claude.json").is_file()
    user.agent("uninstall", "claude")
    assert (link.is_symlink(), link.exists()) == (True, False)


@pytest.mark.parametrize("what", ["directory", "pipe"])
def test_what_is_no_file_is_told(user: User, what: str) -> None:
    path = user.at / ".claude/settings.json"
    path.parent.mkdir(parents=True)
    if what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    said = user.agent("install", "claude")
    assert (said.code, "is not a file" in said.text) == (1, True)


def test_executables_of_others_are_left_alone(user: User) -> None:
    theirs = user.write(user.at / "Documents/Cline/Hooks/PreToolUse", "#!/bin/sh\necho mine\n")
    said = user.agent("install", "cline")
    assert (said.code, "not from snapd" in said.text) == (3, True)
    assert theirs.read_text("utf-8") == "#!/bin/sh\necho mine\n"
    ours = theirs.with_name("PostToolUse")
    assert ours.stat().st_mode & 0o111
    assert user.agent("uninstall", "cline").code == 0
    assert theirs.read_text("utf-8") == "#!/bin/sh\necho mine\n"
    assert not ours.exists()


def test_clines_executables_answer_in_any_case(user: User) -> None:
    import subprocess

    user.agent("install", "cline")
    hook = user.at / "Documents/Cline/Hooks/PreToolUse"
    for script, expected in (
        ("cat > /dev/null", {"cancel": False}),
        ("cat", {"a": 1}),
        ("exit 2", {"cancel": False}),
        ("exit 127", {"cancel": False}),
    ):
        user.program("bin/snapd", script)
        done = subprocess.run([hook], input=b'{"a": 1}', capture_output=True, check=False)
        assert (done.returncode, json.loads(done.stdout)) == (0, expected), script


def test_a_new_place_of_the_program_replaces_the_old_one(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.write(user.at / ".claude/settings.json", '{"model": "x"}')
    user.agent("install", "claude")
    os.remove(user.snapd)
    moved = user.program("other/snapd", "cat > /dev/null")
    monkeypatch.setattr("sys.argv", [moved])
    state = user.states()["claude"]
    assert (state["working"], "which is not there" in str(state["problem"])) == (False, True)
    user.agent("install", "claude")
    text = path.read_text("utf-8")
    assert (user.snapd in text, text.count(f"{moved} hook")) == (False, 12)
    assert user.states()["claude"]["working"] is True
    user.agent("uninstall", "claude")
    assert path.read_text("utf-8") == '{"model": "x"}'


def test_what_is_remembered_is_none_of_the_files_own_text(user: User) -> None:
    user.write(user.at / ".claude/settings.json", '{"env": {"TOKEN": "very-secret"}}')
    user.agent("install", "claude")
    kept = b"".join(path.read_bytes() for path in Path(user.home.at("data")).rglob("*") if path.is_file())
    assert b"snapd hook" in kept
    assert b"very-secret" not in kept


def test_without_what_is_remembered_the_hooks_go_all_the_same(user: User) -> None:
    import shutil

    path = user.write(user.at / ".claude/settings.json", '{\n  "model": "x" // why\n}\n')
    user.agent("install", "claude", "copilot")
    shutil.rmtree(Path(user.home.at("data")) / "snapd/agents")
    user.agent("uninstall", "claude", "copilot")
    assert path.read_text("utf-8") == '{\n  "model": "x" // why\n}\n'
    assert not (user.at / ".copilot/hooks/snapd.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["install", "claud"], "did you mean 'claude'?"),
        (["install"], "expected names of agents, or --all"),
        (["install", "claude", "--all"], "expected names of agents, or --all"),
        (["uninstall"], "expected names of agents, or --all"),
    ],
)
def test_wrong_words(user: User, words: list[str], said: str) -> None:
    result = user.agent(*words)
    assert (result.code, said in result.err) == (2, True), result.err


def test_links_out_of_a_project_are_not_followed(user: User) -> None:
    elsewhere = user.at / "elsewhere"
    elsewhere.mkdir(parents=True)
    (user.project / ".claude").symlink_to(elsewhere)
    said = user.agent("install", "claude", "codex", "--project")
    assert (said.code, "leads out of the project" in said.text) == (3, True)
    assert list(elsewhere.iterdir()) == []
    assert (user.project / ".codex/hooks.json").is_file()


@pytest.mark.parametrize(
    ("name", "file"), [("opencode", ".config/opencode/plugins/snapd.js"), ("cline", "Documents/Cline/Hooks/PreToolUse")]
)
def test_an_edited_file_of_snapds_is_not_removed(
    user: User, name: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.agent("install", name)
    path = user.at / file
    with path.open("a", encoding="utf-8") as out:
        out.write("// my own addition\n")
    edited = path.read_bytes()
    monkeypatch.setattr("sys.argv", [user.program("other/snapd", "cat > /dev/null")])
    for action in ("uninstall", "install"):
        said = user.agent(action, name)
        assert (said.code in (1, 3), "edited after snapd wrote it" in said.text) == (True, True)
        assert path.read_bytes() == edited


def test_what_is_written_meanwhile_is_kept(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    from snapd.agents import install, settings_file

    path = user.write(user.at / ".claude/settings.json", '{"a": 1}')
    texts = iter(['{"a": 2}', '{"a": 3}'])

    def slowly(file: str, *how: Any, **more: Any) -> list[str]:
        text = next(texts, None)
        if text is not None:
            path.write_text(text, "utf-8")
        return settings_file.replace(file, *how, **more)

    monkeypatch.setattr(install, "replace", slowly)
    assert user.agent("install", "claude").code == 0
    assert json.loads(path.read_text("utf-8"))["a"] == 3
    texts = iter(['{"a": 4}', '{"a": 5}', '{"a": 6}'])
    said = user.agent("uninstall", "claude")
    assert (said.code, path.read_text("utf-8")) == (0, '{"a": 4}'), "what somebody wrote has no hooks of snapd's"
    texts = iter([f'{{"a": {number}}}' for number in range(9)])
    said = user.agent("install", "claude")
    assert (said.code, "was changed meanwhile" in said.text) == (1, True)
    assert list(path.parent.iterdir()) == [path]
