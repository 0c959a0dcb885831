"""One daemon and one server for the tests of a module, and a folder in which agents work."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.rpc.machine import Machine, short_folder
from tests.support.git import run_git

from .browser import Web

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from snapd_client import Client

FILES = {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "sub/c.txt": "c\n"}


class World:
    """A folder in which agents work, the daemon, and servers for it.

    Attributes:
        folder: the folder, a git repository.
        client: a second client of the daemon, which says what is true.
    """

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self.folder = folder
        self.client: Client = machine.client(folder)
        self._servers: list[subprocess.Popen[bytes]] = []

    def serve(self, *arguments: str, env: dict[str, str] | None = None) -> Web:
        """A server for the folder, once it answers."""
        return Web(self.start(*arguments, env=env))

    def start(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """The process of a server."""
        words = ("web", "-C", str(self.folder), "--here", "--port", "0", "--json", *arguments)
        process = self.machine.start(*words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self._servers.append(process)
        return process

    def write(self, files: dict[str, str | bytes | None]) -> None:
        """Writes files; None deletes one."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def step(
        self, session: str, files: dict[str, str | bytes | None], *, message: str | None = None, part: str | None = None
    ) -> str:
        """A step of an agent that does this to files; gives its id."""
        self.client.session_start(session, agent="bot")
        begun = self.client.step_begin(session, tool="Edit", message_id=message, part_id=part)
        self.write(files)
        self.client.step_end(begun["stepId"])
        return str(begun["stepId"])

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
        """Ends the servers."""
        for process in self._servers:
            if process.stdout is not None:
                process.stdout.close()
            if process.poll() is None:
                process.terminate()
            assert process.wait(60) is not None


@contextlib.contextmanager
def world_on(machine: Machine) -> Iterator[World]:
    """A world, for as long as the block takes."""
    with short_folder("sw-", FILES) as folder:
        run_git(folder, "init", "-q", ".")
        made = World(machine, folder)
        made.commit()
        try:
            yield made
        finally:
            made.close()
            machine.disconnect()


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    made = Machine()
    made.serve_socket()
    yield made
    made.finish()


@pytest.fixture(scope="module")
def world(machine: Machine) -> Iterator[World]:
    with world_on(machine) as made:
        yield made


@pytest.fixture(scope="module")
def web(world: World) -> Web:
    return world.serve()
