"""One daemon for the tests of a module; a folder for each test; the view runs in this process."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from snapd_client import Client

from tests.cli.in_process import popen
from tests.cli.running import Home

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = count()


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    made = Home()
    yield made
    made.close()


@pytest.fixture
def project(home: Home, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder whose daemon runs, and is found by the environment."""
    made = home.project(f"p{next(_numbers)}", {"basket.py": b"".join(b"%d\n" % line for line in range(40))})
    home.track(made)
    for name, value in home.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("subprocess.Popen", popen)
    return made


@pytest.fixture
def client(home: Home, project: str) -> Iterator[Client]:
    """A second client, which says what is true."""
    with Client.connect(home.at("run/daemon.sock"), timeout=30) as client:
        client.initialize([project])
        yield client
