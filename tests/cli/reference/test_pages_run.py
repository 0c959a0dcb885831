"""Each block of commands in README and docs runs, in a project in which two agents have worked, as somebody types it.

Blocks that are marked `norun` do not: they need another machine or a program that is not here, or they do not end.
A word in capitals, such as STEP, stands for one that fits. Questions are answered with yes.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.first_hour import SHOP
from tests.cli.running import WAIT, Home
from tests.support.git import run_git

from .commands_in_pages import PAGES, ROOT, Block, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

ELSEWHERE = {"web.md": "tests/web/test_document.py"}
"""Pages whose commands another test runs."""
RUN = [
    block
    for page in PAGES
    if page.name not in ELSEWHERE
    for block in blocks(page)
    if block.language == "sh" and block.mark != "norun"
]
_MEANT = {
    "STEP": "$(meant step)",
    "SESSION": "$(meant session)",
    "FILE": "$(meant file)",
    "SNAPSHOT": "last",
}
_LATEST = """\
import json, subprocess, sys
said = json.loads(subprocess.check_output(["snapd", "log", "--json", "-n", "0"]))["entries"]
step = next(e["step"] for e in said if e["kind"] == "step" and e["step"]["state"] == "applied" and e["step"]["files"])
print({"step": step["stepId"], "session": step["sessionId"], "file": step["files"][0]["file"]}[sys.argv[1]])
"""
_QUESTION = re.compile(rb"\[[^\]\n]*\]\?? $")


@pytest.fixture
def home() -> Iterator[Home]:
    home = Home()
    programs = Path(home.at("bin"))
    programs.mkdir()
    for name, text in {
        "claude": "#!/bin/sh\n",
        "meant": f"#!{sys.executable}\n{_LATEST}",
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    home.env["PATH"] = os.pathsep.join([str(programs), os.path.dirname(sys.executable), home.env["PATH"]])
    home.env |= {
        "NO_COLOR": "1",
        "GIT_CONFIG_GLOBAL": home.at("gitconfig"),
        "ID": "s9",
        "GIT_EDITOR": "true",
    }
    Path(home.at("gitconfig")).write_text("[user]\nname = You\nemail = you@example.com\n")
    yield home
    home.close()


@pytest.fixture
def project(home: Home) -> str:
    """A project on a branch of its own, in which `claude` has done something for a prompt, and then `codex`."""
    project = home.project("shop", {name: text.encode() for name, text in SHOP.items()})
    folder = Path(project)
    you = ("-c", "user.name=You", "-c", "user.email=you@example.com")
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", ".")
    run_git(folder, *you, "commit", "-q", "-m", "Begin")
    run_git(folder, "switch", "-q", "-c", "work")
    for name in ("origin", "shared"):
        run_git(folder, "init", "-q", "--bare", home.at(f"{name}.git"))
    run_git(folder, "remote", "add", "origin", home.at("origin.git"))
    home.track(project)
    _report(home, project, "claude", "UserPromptSubmit", prompt="tidy up", prompt_id="m1")
    for number, agent in enumerate(["claude"] * 6 + ["codex"] * 3):
        call = {"tool_use_id": f"t{number}", "tool_name": "Bash", "tool_input": {"command": "make"}, "prompt_id": "m1"}
        _report(home, project, agent, "PreToolUse", **call)
        name = list(SHOP)[number % 3]
        (folder / name).write_text((folder / name).read_text().replace("\n", f"\n# {number}\n", 1))
        (folder / f"new{number}.txt").write_text(f"{number}\n")
        _report(home, project, agent, "PostToolUse", **call)
        if number == 2:
            run_git(folder, "add", ".")
            run_git(folder, *you, "commit", "-q", "-m", "Tidy up")
    return project


def _report(home: Home, project: str, agent: str, event: str, **told: object) -> None:
    said = {"hook_event_name": event, "session_id": f"{agent}-7", "cwd": project, **told}
    assert home.run(project, "hook", agent, stdin=json.dumps(said).encode()).code == 0


@pytest.mark.parametrize("block", RUN, ids=lambda block: block.page.name)
def test_it_runs(block: Block, home: Home, project: str) -> None:
    script = block.text
    for word, meant in _MEANT.items():
        script = re.sub(rf"(?<![\w$]){word}\b", meant, script)
    shown, code = _typed(home, project, script)
    assert code == 0, shown
    assert "Traceback" not in shown


def _typed(home: Home, project: str, script: str) -> tuple[str, int]:
    """What the terminal shows, and the exit code of the first command that fails."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        ["bash", "-euo", "pipefail", "-xc", script], cwd=project, env=home.env, stdin=slave, stdout=slave, stderr=slave
    ) as shell:
        os.close(slave)
        shown, answered, another = b"", 0, False
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                shown += os.read(master, 1 << 16)
            except OSError:
                break
            if asked := _QUESTION.search(shown, answered):
                # of hunks, the first is enough
                another = asked[0].startswith(b"[y,n,q") and not another
                answered = len(shown)
                os.write(master, b"y\n" if another or b"y/N" in asked[0] else b"q\n")
        else:
            shell.kill()
        os.close(master)
    return shown.decode("utf-8", "replace"), shell.returncode


def test_an_agent_of_your_own_in_python(home: Home, project: str) -> None:
    (block,) = (block for block in blocks(ROOT / "docs" / "agents.md") if block.language == "python")
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=project, env=home.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "mine" in home.ok(project, "log")


def test_the_pages_that_are_run_elsewhere_are() -> None:
    for page, test in ELSEWHERE.items():
        assert f'"{page}"' in (ROOT / test).read_text("utf-8")
