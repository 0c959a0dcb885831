from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.steps import Steps


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    """A store that is open, and empty."""
    found = Steps(tmp_path / "store")
    yield found
    found.store.close()
