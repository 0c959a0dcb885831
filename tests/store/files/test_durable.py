"""Durable files, where the system does not do what it does elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from snapd.model.errors import IoError
from snapd.store.files.durable import make_directories

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", ["/proc/snapd", "/proc/snapd/snapshot/0123"])
def test_a_directory_where_none_can_be_made(path: str) -> None:
    with pytest.raises(IoError) as raised:
        make_directories(path)
    assert raised.value.data == {"path": "/proc/snapd", "errno": "ENOENT"}
    assert "SNAPD_DATA_DIR" in raised.value.hint


def test_a_directory_above_that_vanishes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir, gone = os.mkdir, []

    def vanishing(path: str, mode: int) -> None:
        if path.endswith("/b") and len(gone) < 3:
            gone.append(path)
            os.rmdir(tmp_path / "a")
        mkdir(path, mode)

    monkeypatch.setattr(os, "mkdir", vanishing)
    make_directories(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    assert len(gone) == 3


def test_a_relative_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_directories("a/b")
    assert (tmp_path / "a" / "b").is_dir()
