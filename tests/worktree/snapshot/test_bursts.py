from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support import places
from tests.support.amounts import amount
from tests.support.git import run_git
from tests.support.workspace import close_all
from tests.worktree.edits import Editor
from tests.worktree.oracle import Oracle
from tests.worktree.snapshot.bursts import CASES, Generator, explain, play

pytestmark = pytest.mark.slow

SEEDS = {11: places.base, 12: places.DISK}
"""Each with where it is played: inodes, times and orders are others on a disk."""
BURSTS = amount(10, 250)
"""For each case and seed; `python -m tests.worktree.snapshot.bursts ROUNDS` runs as many as one likes."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_each_burst_is_in_the_snapshot_that_follows_it(name: str, seed: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="snapd-bursts-", dir=SEEDS[seed]))
    try:
        history, trouble = play(CASES[name], seed, BURSTS, folder / "run")
        assert trouble is None, explain(CASES[name], seed, history, trouble, folder / "again")
    finally:
        close_all()
        shutil.rmtree(folder)


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_is_git(tmp_path: Path, seed: int) -> None:
    """Its trees and its ignore rules, on what bursts leave behind."""
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    run_git(tmp_path, "init", "-q", "--bare", "git")
    (tmp_path / "git/info/attributes").write_text("* -text -eol -ident -filter -working-tree-encoding\n")
    editor = Editor(str(root))
    generator = Generator(CASES["inotify"], seed, root)
    dice = random.Random(seed)
    for _ in range(8):
        for _ in range(dice.randrange(5, 40)):
            edit = generator.edit_step()[2:]
            # git would wait for ever for a FIFO named `.gitattributes`
            if edit[0] != "fifo":
                editor.make(edit)
        editor.make(("unmap_all",))
        (tmp_path / "git/index").unlink(missing_ok=True)
        run_git(root, f"--git-dir={tmp_path}/git", f"--work-tree={root}", "-c", "core.bare=false", "add", "-A")
        expected = run_git(root, f"--git-dir={tmp_path}/git", "write-tree").decode().strip()
        assert Oracle(root, 1 << 30).tree().hex() == expected
    editor.close()
