"""What `snapd doctor` says of a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from snapd.cli.admin import doctor
from snapd.cli.admin.machine import Unwell

if TYPE_CHECKING:
    from pathlib import Path


def closed(monkeypatch: pytest.MonkeyPatch, error: type[OSError], *directories: Path) -> None:
    """Has some directories refuse to be listed, whoever asks."""
    real = os.scandir
    refused = {str(directory) for directory in directories}

    def scandir(path: Any) -> Any:
        if os.fspath(path) in refused:
            raise error(1, "refused", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_folders_that_cannot_be_listed_are_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/b/c", "d", ".git/hidden"):
        (tmp_path / name).mkdir(parents=True)
    closed(monkeypatch, PermissionError, tmp_path / "a/b", tmp_path / "d", tmp_path / ".git/hidden")
    with pytest.raises(Unwell) as caught:
        doctor._leftovers(str(tmp_path))
    said = str(caught.value)
    assert said.startswith(("a/b, d: cannot be listed", "d, a/b: cannot be listed"))
    assert "hidden" not in said
    # and what is left elsewhere is told all the same
    (tmp_path / "a" / ".snapd-tmp-0123456789abcdef").touch()
    with pytest.raises(Unwell, match=r"^a/\.snapd-tmp-0123456789abcdef: left by an operation .*; .*cannot be listed"):
        doctor._leftovers(str(tmp_path))


def test_a_folder_that_has_just_gone_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    closed(monkeypatch, FileNotFoundError, tmp_path / "a")
    assert doctor._leftovers(str(tmp_path)) == "no operation left anything in the folder"


def test_the_folder_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed(monkeypatch, PermissionError, tmp_path)
    with pytest.raises(Unwell, match=r"^\.: cannot be listed"):
        doctor._leftovers(str(tmp_path))
