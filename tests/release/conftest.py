"""A machine for each test that wants one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .machine import Machine

if not sys.platform.startswith("linux"):
    collect_ignore_glob = ["test_*.py"]  # the executable is for Linux


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    if made.file.exists():
        made.snapd("stop")
