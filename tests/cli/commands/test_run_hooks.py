"""`snapd run` with an agent that is given hooks: stand-ins for the agent and for `snapd hook`, and the real command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import WAIT, Home, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

SNAPD = """#!{python}
import json, os, subprocess, sys, tempfile
from snapd.cli.main import main
tempfile.tempdir = os.environ.get("TEMPORARY")
sys.argv[0] = __file__
if sys.argv[1] != "hook":
    sys.exit(main())
event = json.load(sys.stdin)
words = {{
    "PreToolUse": ["step", "begin", "--session", event["session_id"], "--agent", "claude", "--tool", "Edit"],
    "PostToolUse": ["step", "end", "--file", event.get("file", ""), "last"],
    "SessionEnd": ["session", "end", event["session_id"]],
}}.get(event["hook_event_name"])
if words is not None:
    subprocess.run([__file__, *words], stdout=subprocess.DEVNULL, check=True)
"""
"""Does what the tests need of `snapd hook` by the other commands."""

CLAUDE = """#!{python}
import json, subprocess, sys
settings = json.loads(sys.argv[sys.argv.index("--settings") + 1]) if "--settings" in sys.argv else {{"hooks": {{}}}}
def tell(name, **more):
    for group in settings["hooks"].get(name, []):
        event = json.dumps({{"hook_event_name": name, "session_id": "S", **more}})
        for hook in group["hooks"]:
            subprocess.run(hook["command"], shell=True, input=event, text=True, check=True)
def write(name):
    with open(name, "w") as file:
        file.write("x\\n")
for what in sys.argv[sys.argv.index("--") + 1:]:
    if what.startswith("call:"):
        tell("PreToolUse")
        write(what[5:])
        tell("PostToolUse", file=what[5:])
    elif what == "begin":
        tell("PreToolUse")
    elif what == "end":
        tell("SessionEnd")
    else:
        write(what)
sys.exit(7)
"""
"""An agent that does what its words say: calls a tool that writes, writes without a call, ends its session or not."""


class Place:
    def __init__(self) -> None:
        self.home = Home()
        self.project = self.home.project("p", {"a": b"a\n", ".git/HEAD": b"x"})
        for name, text in {"snapd": SNAPD, "claude": CLAUDE}.items():
            path = Path(self.home.at(f"bin/{name}"))
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.format(python=sys.executable), "utf-8")
            path.chmod(0o755)
        self.home.env["PATH"] = f"{self.home.at('bin')}:{os.environ['PATH']}"

    def run(self, *words: str) -> Result:
        done = subprocess.run(
            [self.home.at("bin/snapd"), "run", *words],
            cwd=self.project,
            env=self.home.env,
            capture_output=True,
            timeout=WAIT,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr.decode("utf-8"))


@pytest.fixture(scope="module")
def shared() -> Iterator[Place]:
    made = Place()
    yield made
    made.home.close()


@pytest.fixture
def place(shared: Place) -> Place:
    for name in os.listdir(shared.project):
        if name not in ("a", ".git"):
            os.remove(os.path.join(shared.project, name))
    return shared


def test_steps_are_the_calls_and_the_rest_is_the_users(place: Place) -> None:
    done = place.run("--", "claude", "--", "call:one", "mine", "call:two", "end")
    assert done.code == 7
    assert "session S: 2 steps" in done.err
    assert "steps are the tool calls of Claude Code, told by hooks for this run" in done.err
    log = place.home.run(place.project, "log", "--json", "-n", "0").json["entries"]
    steps = [entry["step"] for entry in log if entry["kind"] == "step"]
    assert [[file["file"] for file in step["files"]] for step in steps[:2]] == [["two"], ["one"]]
    assert not any(file["file"] == "mine" for step in steps for file in step["files"])
    sessions = place.home.run(place.project, "sessions", "--json").json["sessions"]
    assert [session["sessionId"] for session in sessions if session["agent"] == "claude"] == ["S"]
    assert not os.path.exists(place.home.at("home/.claude"))


def test_a_session_that_the_agent_left_open_is_ended(place: Place) -> None:
    Path(place.home.at("bin/claude")).write_text(CLAUDE.format(python=sys.executable).replace('"S"', '"T"'), "utf-8")
    place.run("--", "claude", "--", "call:three", "begin")
    Path(place.home.at("bin/claude")).write_text(CLAUDE.format(python=sys.executable), "utf-8")
    sessions = place.home.run(place.project, "sessions", "--json").json["sessions"]
    assert next("endedAt" in session for session in sessions if session["sessionId"] == "T")


def test_hooks_that_told_nothing_are_no_secret(place: Place) -> None:
    done = place.run("--", "claude", "--", "mine")
    assert "no step was recorded: the hooks of Claude Code told of none" in done.err
    assert "'snapd diff" in done.err
    assert "nothing changed" in place.run("--", "claude", "--").err


@pytest.mark.parametrize("options", [["--title", "x"], ["--agent", "x"], ["--here"]])
def test_options_about_the_session_ask_for_bursts(place: Place, options: list[str]) -> None:
    done = place.run("--quiet", "0.1", *options, "--", "claude", "--", "call:four")
    assert "steps are bursts of changes" in done.err
    assert "agent install" not in done.err


def test_an_agent_that_cannot_be_given_hooks_is_recorded_by_bursts(place: Place) -> None:
    done = place.run("--quiet", "0.1", "--", "claude", "--bare", "--", "five")
    assert "1 step" in done.err
    assert "steps are bursts of changes" in done.err
    assert "after 'snapd agent install claude', steps are the tool calls of Claude Code" in done.err


def test_an_agent_runs_though_it_cannot_be_given_hooks(place: Place) -> None:
    program = Path(place.home.at("bin/opencode"))
    program.write_text("#!/bin/sh\necho six > six\nexit 5\n", "utf-8")
    program.chmod(0o755)
    place.home.env["TEMPORARY"] = place.home.at("nowhere")
    try:
        done = place.run("--quiet", "0.1", "--", "opencode")
    finally:
        del place.home.env["TEMPORARY"]
    assert done.code == 5
    assert "the agent is not given hooks: " in done.err
    assert "steps are bursts of changes" in done.err
