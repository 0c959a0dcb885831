"""Where an agent works: a user, a project and a daemon of its own, with nothing of this machine's user in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from snapd_client import Client

from tests.support.git import run_git
from tests.support.places import bare_environment, make_folder

from .agents.agent import Agent

WAIT = 120.0
"""How long anything may take, seconds; then it is killed."""
SNAPD = str(Path(sys.executable).with_name("snapd"))
_FILES = {"calc.py": "def add(a, b):\n    return a + b\n", "README.md": "# demo\n"}


class Failed(Exception):
    """An agent, or something that it was checked by, did not do what it had to."""


@attrs.frozen
class Place:
    """Folders and environment of one run.

    Attributes:
        above: what has it all.
        environment: of each process that is started here, whole.
    """

    above: Path
    environment: dict[str, str]

    @property
    def project(self) -> Path:
        return self.above / "project"

    @property
    def home(self) -> Path:
        return self.above / "home"

    @property
    def temporary(self) -> Path:
        return self.above / "tmp"

    def run(self, command: Sequence[str], more: Mapping[str, str] | None = None) -> None:
        """Runs a command in the project, to its end.

        Args:
            command: and its arguments.
            more: what its environment has besides.

        Raises:
            Failed: it ended with an error, or takes too long.
        """
        with self.started(command, more or {}):
            pass

    @contextmanager
    def started(
        self, command: Sequence[str], more: Mapping[str, str], *, speaks: bool = False
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Starts a command in the project, and waits for its end after the block.

        Args:
            command: and its arguments.
            more: what its environment has besides.
            speaks: whether its input and output are pipes; else it has no input.

        Raises:
            Failed: it ended with an error, or takes too long; says what it wrote.
        """
        # all of them are there where the place is kept
        output = self.above / f"output-{len(list(self.above.glob('output-*'))):02}"
        with output.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=self.project,
                env={**self.environment, **more},
                stdin=subprocess.PIPE if speaks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if speaks else out,
                stderr=out,
                start_new_session=True,
            )
        # whoever reads what it says reads no further then
        too_long = threading.Timer(WAIT, os.killpg, (process.pid, signal.SIGKILL))
        too_long.start()
        try:
            yield process
            if process.stdin is not None:
                process.stdin.close()
            code = process.wait()
        finally:
            too_long.cancel()
            _end_group(process)
            if process.stdout is not None:
                process.stdout.close()
        if code != 0:
            said = output.read_text("utf-8", "replace")
            raise Failed(f"{' '.join(command)} ended with {code}:\n{said[-3000:]}")

    def settle(self, agent: Agent, program: Path, url: str, *, installed: bool, has_tools: bool) -> None:
        """Has an agent here, as its user does who wants its steps: the program, its settings, its hooks.

        Args:
            agent: to have.
            program: of it, wherever it is.
            url: of the model, without a path.
            installed: whether it gets hooks.
            has_tools: whether it gets snapd's MCP server.
        """
        (self.above / "bin" / agent.name).symlink_to(program)
        settings = agent.settings(self.home, url)
        for name, text in (agent.with_tools(settings, SNAPD) if has_tools else settings).items():
            _write(self.home / name, text)
        if installed:
            self.snapd("agent", "install", agent.name)

    def snapd(self, *arguments: str) -> None:
        """Runs `snapd` as its user does."""
        self.run([SNAPD, *arguments])

    def answer(self, *arguments: str) -> Any:
        """What `snapd` prints with `--json`."""
        command = [SNAPD, *arguments, "--json"]
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, timeout=WAIT, check=False
        )
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout + done.stderr!r}")
        return json.loads(done.stdout)

    def passed_over(self) -> str:
        """What hooks said of events that they did not record."""
        log = self.above / "run" / "hook.log"
        return log.read_text() if log.exists() else ""

    @contextmanager
    def client(self) -> Iterator[Client]:
        """A connection to the daemon, with the project open."""
        command = [SNAPD, "connect"]
        with Client.spawn(command, cwd=str(self.project), env=self.environment, timeout=WAIT) as client:
            client.initialize([str(self.project)])
            yield client

    def write(self, name: str, text: str) -> None:
        """Writes a file of the project, as its user does; the folders above it are made."""
        _write(self.project / name, text)


@contextmanager
def new_place() -> Iterator[Place]:
    """A new place with a small git project; removed where all went well."""
    above = make_folder("agents-")
    environment = {
        **bare_environment(above),
        "SNAPD_DATA_DIR": str(above / "data"),
        "SNAPD_RUNTIME_DIR": str(above / "run"),
        # a machine that has other work starts the daemon slowly, and then the first prompts would go unseen
        "SNAPD_HOOK_SECONDS": "30",
        "TERM": "dumb",
    }
    made = Place(above, environment)
    for name in ("bin", "home", "run", "runtime", "tmp", "project"):
        (above / name).mkdir(mode=0o700)
    for name, text in _FILES.items():
        made.write(name, text)
    run_git(made.project, "init", "-q", "-b", "main")
    run_git(made.project, "add", "-A")
    run_git(made.project, "commit", "-q", "-m", "begun")
    try:
        yield made
    finally:
        if (above / "run" / "daemon.sock").exists():
            made.snapd("stop")
    shutil.rmtree(above)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends whatever a command has left behind, by the group that it leads."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.poll()
        if time.monotonic() > deadline:
            raise Failed(f"the group {process.pid} does not end")
        time.sleep(0.01)
