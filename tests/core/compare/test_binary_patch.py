"""A binary file in a unified diff is a patch that `git apply` takes."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from snapd.model.call import Call
from tests.support.git import run_git
from tests.support.sessions import at_work
from tests.support.workspace import Item, Symlink, write

NOISE = os.urandom(5000)


@pytest.mark.parametrize("size", [1, 51, 52, 53, 5000])
def test_git_applies_what_a_step_changed(tmp_path: Path, size: int) -> None:
    before = {"changed.bin": b"\0" + NOISE, "gone.bin": b"\0gone", "was.bin": b"\0" * 9000, "end": b"a\nno end"}
    here, there = at_work(tmp_path / "here", before), at_work(tmp_path / "there", before)
    root = Path(here.bench.root)

    def work() -> None:
        (root / "changed.bin").write_bytes(b"\0" + NOISE[:size])
        (root / "gone.bin").unlink()
        (root / "was.bin").rename(root / "odd \t\u00fc name.bin")
        (root / "odd \t\u00fc name.bin").chmod(0o755)
        (root / "new.bin").write_bytes(b"\0" * size)
        (root / "empty").write_bytes(b"")
        (root / "end").write_bytes(b"b\nno end")

    step = here.step("one", work)
    parts = here.bench.workspace.readers.of_step(step).net_changes.step(step, (), Call(), binary=True)
    run_git(there.bench.root, "apply", "-", input=b"".join(parts))
    for name in ("changed.bin", "odd \t\u00fc name.bin", "new.bin", "empty", "end"):
        one, other = root / name, Path(there.bench.root) / name
        assert (one.read_bytes(), one.stat().st_mode) == (other.read_bytes(), other.stat().st_mode)
    assert not (Path(there.bench.root) / "gone.bin").exists()
    assert not (Path(there.bench.root) / "was.bin").exists()


NAMES = (
    "plain",
    "two words",
    'quo"te',
    "back\\slash",
    "tab\t",
    "new\nline",
    "\u00fc\u65e5",
    "raw\udcff",
    "-f",
    "a b/c d/e",
    "a b/f",
    "x ",
)
CONTENTS = (
    b"",
    b"one\n",
    b"no end",
    b"\n\n",
    b"".join(b"%d\n" % line for line in range(40)),
    b"".join(b"%d\n" % line for line in range(40) if line % 9) + b"no end",
    b"dos\r\nlines\r\n",
    b"trailing  \n\t\n",
    b"latin \xe9\n",
    b"\0binary",
    b"\0" * 3000 + NOISE[:999],
    b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-- \n",
)


@pytest.mark.parametrize("seed", range(12))
def test_git_makes_of_the_beginning_exactly_the_end(tmp_path: Path, seed: int) -> None:
    """Random steps; git applies the patch to the beginning, and says which tree came of it."""
    chance = Random(seed)

    def item() -> Item:
        if chance.random() < 0.2:
            return Symlink(chance.choice(("plain", "no where", "\u00fc")))
        return chance.choice(CONTENTS)

    before = {name: item() for name in chance.sample(NAMES, 7)}
    agents = at_work(tmp_path / "here", before)
    root = Path(agents.bench.root)

    def work() -> None:
        for name in chance.sample(NAMES, 7):
            path, other = root / name, root / f"{name} moved"
            kind = chance.choice(("write", "delete", "move", "chmod", "edit"))
            if not os.path.lexists(path):
                kind = "write"
            if kind in ("write", "delete"):
                path.unlink(missing_ok=True)
            if kind == "write":
                agents.bench.write({name: item()})
            elif kind == "move":
                path.rename(other)
            elif path.is_symlink() or not path.is_file():
                continue
            elif kind == "chmod":
                path.chmod(path.stat().st_mode ^ 0o111)
            elif kind == "edit":
                path.write_bytes(path.read_bytes() + chance.choice(CONTENTS))

    agents.start("one")
    step = agents.view(agents.step("one", work)).step
    assert step.to is not None
    trees = step.from_.tree, step.to.tree
    workspace = agents.bench.workspace
    of_step = workspace.readers.of_step(step.step_id).net_changes.step(step.step_id, (), Call(), binary=True)
    for number, parts in enumerate((of_step, workspace.comparison.diff(*trees, (), Call(), renames=True, binary=True))):
        there = tmp_path / f"there{number}"
        there.mkdir()
        write(there, before)
        run_git(there, "init", "--quiet")
        # git refuses a patch of nothing
        if parts:
            run_git(there, "apply", "--whitespace=nowarn", "-", input=b"".join(parts))
        run_git(there, "add", "--all", "--force")
        assert run_git(there, "write-tree").decode().strip() == step.to.tree.hex()
