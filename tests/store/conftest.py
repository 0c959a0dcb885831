from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snapd.store.fsck import checker
from tests.store.steps import Steps


@pytest.fixture(autouse=True)
def checks_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full checks run in this process, which is quicker; `test_checker` holds that another one answers the same."""
    monkeypatch.setattr(checker, "can_start", lambda: False)


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    """A store that is open, and empty."""
    found = Steps(tmp_path / "store")
    yield found
    found.store.close()
