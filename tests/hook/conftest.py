from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.cli.running import Home
from tests.support.git import run_git

from .agent import Agent

_numbers = itertools.count()


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    found = Home()
    yield found
    found.close()


@pytest.fixture
def agent(home: Home) -> Agent:
    """At work in a git project, of which there is a snapshot."""
    files = {"a.py": b"a\n", "b.py": b"b\n", "calc.py": b"def add(a, b):\n    return a + b\n", "README.md": b"read\n"}
    root = home.project(f"project-{next(_numbers)}", files)
    run_git(root, "init", "-q")
    home.track(root)
    return Agent(home, root)
