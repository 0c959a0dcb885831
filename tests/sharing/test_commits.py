"""Questions about the commits of the project run nothing that it names, and fetch nothing that it lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from snapd.model.call import Call
from snapd.remotes.program import GitProgram
from snapd.sharing.commits import ProjectCommits
from snapd.worktree.git.repository import find_repository
from tests.hazards.traps import Traps
from tests.support.git import GIT, run_git
from tests.support.workspace import make

UNKNOWN = b"\x11" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with two commits, of which the first one's tree is missing."""
    top = tmp_path / "project"
    top.mkdir()
    run_git(top, "init", "-q", "-b", "main", "--template=")
    for number in range(2):
        (top / "a.txt").write_text(f"{number}\n")
        run_git(top, "add", "a.txt")
        run_git(top, "-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "-m", str(number))
    tree = run_git(top, "rev-parse", "HEAD~1^{tree}").decode().strip()
    (top / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    return top


@pytest.fixture
def traps(tmp_path: Path, folder: Path) -> Traps:
    """The project is a partial clone, whose configuration names programs for everything."""
    found = Traps(tmp_path / "traps")
    with (folder / ".git" / "config").open("a") as config:
        config.write(found.configuration("project"))
        config.write("[extensions]\n\tpartialClone = origin\n")
        config.write(f'[remote "origin"]\n\turl = {tmp_path}\n\tpromisor = true\n')
        config.write(f"\tuploadpack = {found.command('upload-pack')}\n")
    return found


def test_nothing_is_run_and_nothing_fetched(folder: Path, traps: Traps) -> None:
    root = os.fsencode(folder)
    commits = ProjectCommits(root, find_repository(root), GitProgram(dict(os.environ), protocols=()))
    newest, first = commits.newest(9, Call())
    assert commits.common([UNKNOWN, first], Call()) == first
    assert commits.common([UNKNOWN], Call()) is None
    assert commits.tree(UNKNOWN, Call()) is None
    assert commits.branches(Call()) == {newest}
    assert commits.likely_shared(Call()) == newest
    assert traps.fired() == []
    # git itself sets them off
    asked = UNKNOWN.hex().encode() + b"\n"
    subprocess.run([GIT, "cat-file", "--batch-check"], cwd=folder, input=asked, capture_output=True, check=False)
    assert traps.fired() != []


def test_a_workspace_asks_in_this_way(tmp_path: Path, folder: Path, traps: Traps) -> None:
    bench = make(tmp_path / "bench", {"a": b"1"})
    shutil.copytree(folder / ".git", bench.root / ".git")
    assert bench.workspace.remote_sessions.project.common([UNKNOWN], Call()) is None
    assert traps.fired() == []
