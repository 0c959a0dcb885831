"""Where the tests themselves put their files."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.support import places

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)


@pytest.mark.parametrize(("free", "is_used"), [(places.ROOM, True), (places.ROOM - 1, False), (64 << 20, False)])
def test_memory_with_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, is_used: bool) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert places.choose(str(tmp_path)) == (str(tmp_path) if is_used else places.DISK)


def test_no_memory(tmp_path: Path) -> None:
    assert places.choose(str(tmp_path / "none")) == places.DISK


def test_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert places.choose(str(tmp_path)) == places.DISK


def test_some_stay_on_the_disk(on_disk: None) -> None:
    folder = places.make_folder("sp-")
    folder.rmdir()
    assert str(folder.parent) == str(places.Path(places.DISK).resolve())
