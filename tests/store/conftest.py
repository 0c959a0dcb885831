from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.store.fsck import checker
from snapd.store.maintenance import worker
from snapd.workers import job
from snapd.workers.processes import ChildProcess
from tests.store.steps import Steps


@pytest.fixture(autouse=True)
def jobs_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks and repacks run in this process, which is quicker; `test_checker` and `test_worker` test the others."""
    for module in (checker, worker):
        monkeypatch.setattr(module, "can_start", lambda: False)


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    """A store that is open, and empty."""
    found = Steps(tmp_path / "store")
    yield found
    found.store.close()


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[ChildProcess]:
    """The processes that were started for jobs."""
    started: list[ChildProcess] = []

    class Noted(ChildProcess):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            started.append(self)

    monkeypatch.setattr(job, "ChildProcess", Noted)
    return started
