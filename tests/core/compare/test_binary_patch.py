"""A binary file in a unified diff is a patch that `git apply` takes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapd.core.call import Call
from tests.support.git import run_git
from tests.support.sessions import at_work

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
