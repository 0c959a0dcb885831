"""A folder with an agent in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sessions import TEXT, Agents
from tests.support.workspace import make


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    made = Agents(make(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"}))
    made.start("one")
    return made
