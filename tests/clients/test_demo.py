"""The demo, which checks itself; and what the pages show of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.git import run_git

ROOT = Path(__file__).parents[2]
_TIME = re.compile(r"[0-9]+\.[0-9] ms")
_HASH = re.compile(r"snapshot [0-9a-f]{10}")


def plain(line: str) -> str:
    """A line without what differs from run to run."""
    return _HASH.sub("snapshot HASH", _TIME.sub("TIME", line)).strip()


def excerpt() -> list[str]:
    """What the page shows."""
    text = (ROOT / "docs" / "several-agents.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL) if "Ada   write" in block)
    return [plain(line) for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("in_git", [True, False])
def test_the_demo_tells_its_story(tmp_path: Path, in_git: bool) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    if in_git:
        for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "first"]):
            run_git(folder, *command)
        (folder / "a.txt").write_text("changed\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SNAPD_")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "clients" / "python" / "demo.py"), str(folder)],
        env={**environment, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 65
    assert sum(line.startswith("  ok: ") for line in lines) == (18 if in_git else 15)
    assert ("  ok: .git was never written" in lines) == in_git
    told = [plain(line) for line in lines]
    shown = excerpt()
    assert len(shown) > 5
    # in this order, with nothing between but what was left out
    places = [told.index(line) for line in shown]
    assert places == sorted(places)
    # it left nothing behind
    assert sorted(path.name for path in folder.iterdir()) == (([".git"] if in_git else []) + ["a.txt"])


def test_the_demo_of_two_machines_tells_its_story(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SNAPD_")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "clients" / "python" / "demo_machines.py")],
        env={**environment, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sum(line.startswith("  ok: ") for line in done.stdout.splitlines()) == 12
