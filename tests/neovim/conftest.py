"""One daemon for all tests; a folder and an editor for each."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from snapd_client import Client

from tests.cli.running import Home
from tests.neovim.agent import Agent
from tests.neovim.editor import Neovim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_numbers = count()


@pytest.fixture(scope="session")
def home() -> Iterator[Home]:
    made = Home()
    yield made
    made.close()


@pytest.fixture
def project(home: Home) -> str:
    """A git folder with a file of twenty lines, of which a snapshot was taken."""
    made = home.project(f"p{next(_numbers)}", {"a.txt": b"".join(b"%d\n" % line for line in range(1, 21))})
    home.project(f"{made}/.git", {"HEAD": b"ref: refs/heads/main\n"})
    home.track(made)
    return made


@pytest.fixture
def client(home: Home, project: str) -> Iterator[Client]:
    """A second client, which says what is true."""
    with Client.connect(home.at("run/daemon.sock"), timeout=60) as client:
        client.initialize([project])
        yield client


@pytest.fixture
def agent(client: Client, project: str) -> Agent:
    """An agent at work in the folder."""
    return Agent(client, project)


@pytest.fixture
def neovim(home: Home, project: str) -> Iterator[Callable[..., Neovim]]:
    """Starts editors in the folder."""
    started: list[Neovim] = []

    def start(*args: str, **options: Any) -> Neovim:
        started.append(Neovim(home, options.pop("cwd", project), *args, **options))
        return started[-1]

    yield start
    for editor in started:
        editor.close()
