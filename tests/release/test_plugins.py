"""The plugins for agents and the skill, as real agents get them: from the marketplace, from npm, and by a copy.

The agents are those of `make agents`; a scripted model stands in for theirs, and git says what the timeline must be.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import snapd
from tests.real_agents.agents.agent import Agent, Start
from tests.real_agents.agents.claude import Claude
from tests.real_agents.agents.opencode import OpenCode
from tests.real_agents.agents.table import AGENTS
from tests.real_agents.install import cache_folder, install
from tests.real_agents.model import script
from tests.real_agents.model.request import strings
from tests.real_agents.model.server import Model, running
from tests.real_agents.place import Place, new_place
from tests.real_agents.play import Play
from tests.real_agents.scenarios.actions import Edit, Shell, Write
from tests.real_agents.scenarios.scenario import Prompt, Redoes, Undoes

from .machine import DIST, FILE, ROOT

PLUGIN = ROOT / "clients/claude-code"
SKILL = PLUGIN / "skills/snapd"
_COMMENT = Edit("calc.py", "    return a + b\n", "    return a + b  # the sum\n")
_PROMPT = Prompt("Please greet", ((Write("greet.py", "print('hello')\n"),), (Shell("echo one > one.txt"),)))
_OFFERED = "Use it before a risky change"
"""Of the skill's description, which agents tell their model."""


@contextmanager
def at_work(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Model, Place]]:
    """An agent in a project, with the executable as `snapd` on its PATH, and without hooks."""
    program = install(agent, cache_folder()) / agent.program
    monkeypatch.setattr("tests.real_agents.place.SNAPD", str(FILE))
    with running() as model, new_place() as place:
        place.settle(agent, program, model.url, installed=False, has_tools=False)
        (place.above / "bin/snapd").symlink_to(FILE)
        yield model, place


def played(agent: Agent, model: Model, place: Place) -> None:
    """A turn is recorded as git says, and one of its steps is undone and redone."""
    play = Play(agent, model, place, "hooks")
    for act in (_PROMPT, Undoes(_PROMPT.turns[0][0]), Redoes()):
        play.act(act)


def with_marketplace(place: Place, model: Model) -> None:
    """Claude Code has the plugin from a copy of the repository, as from a clone."""
    clone = place.above / "clone"
    shutil.copytree(ROOT / ".claude-plugin", clone / ".claude-plugin")
    shutil.copytree(PLUGIN, clone / "clients/claude-code")
    variables = Claude().environment(place.home, model.url)
    place.run(["claude", "plugin", "marketplace", "add", str(clone)], variables)
    place.run(["claude", "plugin", "install", "snapd@snapd"], variables)


@pytest.mark.parametrize("folder", [ROOT, PLUGIN], ids=["marketplace", "plugin"])
def test_claude_code_finds_them_valid(folder: Path, tmp_path: Path) -> None:
    program = install(Claude(), cache_folder()) / Claude.program
    command = [program, "plugin", "validate", "--strict", folder]
    done = subprocess.run(command, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_claude_code_records_with_the_plugin_of_the_marketplace(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Claude()
    with at_work(agent, monkeypatch) as (model, place):
        with_marketplace(place, model)
        played(agent, model, place)
        first = next(asked.body for asked in model.asked if asked.said and asked.said.opening)
        said = "\n".join(strings(first))
        assert _OFFERED in said, "the skill"
        assert "mcp__plugin_snapd_snapd__history" in said, "the tools of the server"


def test_claude_code_undoes_its_own_step_by_the_skill(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Claude()
    with at_work(agent, monkeypatch) as (model, place):
        with_marketplace(place, model)
        # both ways to connect it together record each step once
        place.snapd("agent", "install", "claude")
        play = Play(agent, model, place, "hooks")
        prompt = Prompt("Please comment", ((_COMMENT,), (Write("b.txt", "b\n"),)))
        play.act(prompt)
        place.write("calc.py", "# by the user\n" + (place.project / "calc.py").read_text())
        with place.client() as client:
            steps = [entry["step"] for entry in client.session_history_all() if entry["kind"] == "step"]
        (step,) = [each["stepId"] for each in steps if each["tool"] == "Edit"]
        calls = [
            script.Call("Skill", {"skill": "snapd:snapd"}),
            *(
                script.Call("Bash", {"command": command, "description": "undo"})
                for command in (
                    'snapd log --session "$CLAUDE_CODE_SESSION_ID" --oneline --no-pager',
                    f"snapd undo {step} --dry-run",
                    f"snapd undo {step} --yes",
                )
            ),
        ]
        turns = tuple(script.Turn(f"Turn {number}.", (call,)) for number, call in enumerate(calls))
        model.script = (*model.script, script.Conversation("Take the comment back", turns))
        start = Start("Take the comment back", True, False, "hooks")
        place.run([agent.name, *agent.arguments(start)], agent.environment(place.home, model.url))
        assert (place.project / "calc.py").read_text() == "# by the user\ndef add(a, b):\n    return a + b\n"
        assert (place.project / "b.txt").read_text() == "b\n"
        last = "\n".join(strings(model.asked[-1].body))
        assert "Don't undo a step of the user or of another agent" in last, "it has read the skill"
        assert re.search(rf"{step[:6]}\S*\s+\d\d:\d\d\s+Claude Code\s+Edit", last), "the log of its session"
        assert "calc.py" in last
        assert step[:6] in last


@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "qwen"])
def test_other_agents_read_a_copy_of_the_skill(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = AGENTS[name]
    with at_work(agent, monkeypatch) as (model, place):
        shutil.copytree(SKILL, place.home / ".agents/skills/snapd")
        model.script = (script.Conversation("Please say hello", (script.Turn("Hello."),)),)
        start = Start("Please say hello", False, False, "hooks")
        place.run([name, *agent.arguments(start)], agent.environment(place.home, model.url))
        assert any(_OFFERED in text for asked in model.asked for text in strings(asked.body))


class _Registry(ThreadingHTTPServer):
    """A registry of npm that has one package."""

    daemon_threads = True

    def __init__(self, pack: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Package)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.data = pack.read_bytes()
        with tarfile.open(pack) as archive:
            member = archive.extractfile("package/package.json")
            assert member is not None
            manifest = json.load(member)
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(self.data).digest()).decode()
        version = {**manifest, "dist": {"tarball": f"{self.url}/pack.tgz", "integrity": integrity}}
        self.document = {
            "name": manifest["name"],
            "dist-tags": {"latest": manifest["version"]},
            "versions": {manifest["version"]: version},
        }


class _Package(BaseHTTPRequestHandler):
    server: _Registry

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        if self.path == "/pack.tgz":
            self._send("application/octet-stream", self.server.data)
        elif re.fullmatch("/@snapd(%2f|/)opencode", self.path, re.IGNORECASE):
            self._send("application/json", json.dumps(self.server.document).encode())
        else:
            self.send_error(404)

    def _send(self, kind: str, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def registry() -> Iterator[str]:
    """The address of a registry that has our plugin."""
    server = _Registry(DIST / f"snapd-opencode-{snapd.__version__}.tgz")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.url
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("options", [None, {"program": str(FILE)}], ids=["path", "named"])
def test_opencode_loads_the_plugin_from_npm(
    registry: str, options: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FromNpm(OpenCode):
        def settings(self, home: Path, url: str) -> dict[str, str]:
            ((name, text),) = super().settings(home, url).items()
            plugin = "@snapd/opencode" if options is None else ["@snapd/opencode", options]
            return {name: json.dumps({**json.loads(text), "plugin": [plugin]})}

        def environment(self, home: Path, url: str) -> dict[str, str]:
            return {**super().environment(home, url), "npm_config_registry": registry}

    agent = FromNpm()
    with at_work(agent, monkeypatch) as (model, place):
        if options is not None:
            (place.above / "bin/snapd").unlink()
            # both ways to connect it together record each step once
            place.snapd("agent", "install", "opencode")
        played(agent, model, place)
