"""A folder with an agent in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sessions import TEXT, Agents, at_work


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    return at_work(tmp_path, {"a.txt": TEXT, "b.txt": b"b\n"})
