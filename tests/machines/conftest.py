"""Two machines that know the same server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.sessions import TEXT, Agents, at_work

from .servers import Kind, Served, served


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Kind], Served]]:
    """Starts a server with an empty repository."""
    with ExitStack() as servers:

        def start(kind: Kind) -> Served:
            folder = tmp_path / "server"
            folder.mkdir()
            return servers.enter_context(served(kind, folder))

        yield start


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str, str], Agents]:
    """Makes a machine, by its name and by what the user's git configuration says there."""

    def make(name: str, config: str = "") -> Agents:
        agents = at_work(tmp_path / name, {"a.txt": TEXT, "b.txt": TEXT})
        (agents.bench.home / ".gitconfig").write_text(config)
        return agents

    return make
