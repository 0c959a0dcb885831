"""That the traps are armed: git itself, in the same place and with the same variables, sets them off."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.git import GIT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hazards.traps import Traps

_UNFILTERED = ("-c", "filter.trap.process=", "-c", "filter.trap.clean=", "-c", "filter.trap.required=false")


def _git(folder: Path, *arguments: str, home: Path | None = None, **variables: str) -> None:
    """Runs git as a careless program would, where it fails as it likes."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home or "/nonexistent"), **variables}
    subprocess.run([GIT, *arguments], cwd=folder, env=environment, capture_output=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "trap"),
    [
        (("status",), "nested-fsmonitor"),
        (("add", "inner.txt"), "nested-filter-process"),
        ((*_UNFILTERED, "diff", "--no-index", "inner.txt", "/dev/null"), "nested-diff-command"),
        (("read-tree", "--empty"), "hook-post-index-change"),
        (("fetch", "ssh://localhost/x"), "nested-ssh"),
    ],
)
def test_git_sets_off_what_a_nested_repository_configures(
    folder: Path, traps: Traps, arguments: tuple[str, ...], trap: str
) -> None:
    _git(folder / "nested", *arguments)
    assert trap in traps.fired()
    traps.rearm()


def test_git_sets_off_what_the_home_configures(folder: Path, traps: Traps, tmp_path: Path) -> None:
    traps.fill_home(tmp_path)
    (folder / "nested" / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
    _git(folder / "nested", "status", home=tmp_path)
    assert "home-fsmonitor" in traps.fired()
    traps.rearm()


def test_git_sets_off_what_variables_configure(folder: Path, traps: Traps) -> None:
    variables = traps.environment()
    only = {name: value for name, value in variables.items() if name.startswith("GIT_CONFIG_")}
    _git(folder / "nested", "status", **only)
    assert "variable-fsmonitor" in traps.fired()
    traps.rearm()


def test_whoever_starts_git_by_its_name_sets_off_the_one_on_the_path(traps: Traps) -> None:
    subprocess.run(["git", "--version"], capture_output=True, check=False, timeout=60)
    assert traps.fired() == ["git-on-the-path"]
    traps.rearm()
