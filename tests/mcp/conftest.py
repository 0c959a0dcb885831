"""One daemon for the tests of a module, a folder for each test, and servers that work on it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.rpc.machine import Machine, short_folder
from tests.support.git import run_git

from .peer import MIDDLE, Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from snapd_client import Client

SESSION = "the-agents-own"


def start(
    machine: Machine,
    folder: Path,
    version: str = MIDDLE,
    ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    *arguments: str,
    env: dict[str, str] | None = None,
) -> tuple[subprocess.Popen[bytes], Peer]:
    """The process of a server that was started as agents do, and its client."""
    pipe = subprocess.PIPE
    given = {"CLAUDE_PROJECT_DIR": str(folder), "CLAUDE_CODE_SESSION_ID": SESSION, **(env or {})}
    process = machine.start("mcp", *arguments, env=given, stdin=pipe, stdout=pipe, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None
    peer = Peer(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()), version, ask)
    process.stdin.close()
    process.stdout.close()
    return process, peer


class World:
    """A folder in which agents work, the daemon, and MCP servers."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self.folder = folder
        self.client: Client = machine.client(folder)
        self._peers: list[Peer] = []

    def peer(
        self,
        version: str = MIDDLE,
        ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        *arguments: str,
        env: dict[str, str] | None = None,
    ) -> Peer:
        """A client of a server that was started as agents do, once they have shaken hands."""
        _, peer = self.start(version, ask, *arguments, env=env)
        peer.connect()
        return peer

    def start(
        self,
        version: str = MIDDLE,
        ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        *arguments: str,
        env: dict[str, str] | None = None,
    ) -> tuple[subprocess.Popen[bytes], Peer]:
        """The process of a server, and its client."""
        process, peer = start(self.machine, self.folder, version, ask, *arguments, env=env)
        self._peers.append(peer)
        return process, peer

    def write(self, **files: str | None) -> None:
        """Writes files, whose dots are `_` here; None deletes one."""
        for name, text in files.items():
            path = self.folder / name.replace("_", ".")
            if text is None:
                path.unlink()
            else:
                path.write_text(text)

    def step(self, session: str = SESSION, tool: str = "Edit", **files: str | None) -> str:
        """A step of an agent that does this to files; gives its id."""
        self.client.session_start(session, agent="bot")
        step_id = str(self.client.step_begin(session, tool=tool, description="a step", message_id="m1")["stepId"])
        self.write(**files)
        self.client.step_end(step_id)
        return step_id

    def text(self, name: str) -> str | None:
        path = self.folder / name
        return path.read_text() if path.exists() else None

    def git(self, *words: str) -> str:
        return run_git(self.folder, *words).decode()

    def commit(self) -> None:
        """Has git know the files as they are."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "as it is")

    def close(self) -> None:
        for peer in self._peers:
            peer.close()


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    made = Machine()
    made.serve_socket()
    yield made
    made.finish()


@pytest.fixture
def world(machine: Machine) -> Iterator[World]:
    with short_folder("sm-", {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"}) as folder:
        run_git(folder, "init", "-q", ".")
        made = World(machine, folder)
        made.commit()
        yield made
        made.close()
        machine.disconnect()
