"""Real daemons for the tests: each with a home, a configuration, data and a socket of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .machine import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def folder() -> Iterator[Path]:
    """A workspace that lies outside every home, under a short path."""
    path = Path(tempfile.mkdtemp(prefix="sw-", dir="/tmp")).resolve()
    (path / "a.txt").write_text("one\n")
    (path / "sub").mkdir()
    (path / "sub" / "b.txt").write_text("two\n")
    yield path
    shutil.rmtree(os.fsencode(path), ignore_errors=True)


@pytest.fixture
def other_folder() -> Iterator[Path]:
    """One more workspace."""
    path = Path(tempfile.mkdtemp(prefix="so-", dir="/tmp")).resolve()
    (path / "other.txt").write_text("other\n")
    yield path
    shutil.rmtree(os.fsencode(path), ignore_errors=True)


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
    """The daemon that many tests share; every one of them has to leave it alive and without a defect."""
    seen = len(_daemon.logged())
    yield _daemon
    # the system has 128 queues for a user, and each open folder takes one
    _daemon.disconnect()
    assert _daemon.processes[0].poll() is None, f"the daemon ended:\n{_daemon.logged()}"
    _daemon.check_log(seen)
