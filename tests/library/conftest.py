"""A user of their own for each test, and a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd import Snapshot
from tests.cli.running import Home
from tests.library.others import Daemon

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def works_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the library does is the same through a daemon (`test_beside_others.py`), which takes a second to start."""
    assert Snapshot.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Snapshot.__init__.__kwdefaults__, "in_process", True)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    made = Home()
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SNAPD_DATA_DIR", "SNAPD_RUNTIME_DIR"):
        monkeypatch.setenv(name, made.env[name])
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.py").write_text("print(1)\nprint(2)\n")
    (root / "config.yaml").write_text("a: 1\n")
    return root


@pytest.fixture
def snap(home: Home, project: Path) -> Iterator[Snapshot]:
    with Snapshot(project) as made:
        yield made


@pytest.fixture
def daemon(home: Home, project: Path) -> Iterator[Daemon]:
    made = Daemon(home, project)
    yield made
    if made.process.poll() is None:
        made.stop()
