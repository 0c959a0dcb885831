"""Real daemons for the tests: each with a home, a configuration, data and a socket of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .machine import Machine, short_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder() -> Iterator[Path]:
    """A workspace that lies outside every home, under a short path."""
    with short_folder("sw-", {"a.txt": "one\n", "sub/b.txt": "two\n"}) as path:
        yield path


@pytest.fixture
def other_folder() -> Iterator[Path]:
    """One more workspace."""
    with short_folder("so-", {"other.txt": "other\n"}) as path:
        yield path


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A user's environment, in which no daemon runs yet."""
    machine = Machine()
    yield machine
    machine.finish()


@pytest.fixture(scope="session")
def _daemon() -> Iterator[Machine]:
    machine = Machine()
    machine.serve_socket()
    yield machine
    machine.finish()


@pytest.fixture
def daemon(_daemon: Machine) -> Iterator[Machine]:
    """The daemon that many tests share."""
    with _daemon.lent() as machine:
        yield machine
