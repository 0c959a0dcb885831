from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapd.store.fsck import checkers
from snapd.store.maintenance import repack
from snapd.workers import processes
from snapd.workers.processes import ChildProcess
from tests.store import gate as gated
from tests.store.gate import Gate
from tests.store.steps import Steps


@pytest.fixture(autouse=True)
def jobs_run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks and repacks run in this process, which is quicker; `test_checker` and `test_worker` test the others."""
    for module in (checkers, repack):
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

    monkeypatch.setattr(processes, "ChildProcess", Noted)
    return started


@pytest.fixture
def gate(tmp_path: Path, children: list[ChildProcess], monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Processes that are started for jobs wait at it; with `children`."""
    found = Gate(tmp_path / "gate")
    noted = processes.ChildProcess
    monkeypatch.setattr(processes, "ChildProcess", lambda module: noted(gated.__name__, found.argument(module)))
    return found
