"""Whether a file is younger than a look is asked of the clock that its times come from."""

from __future__ import annotations

import os
from pathlib import Path

from snapd.model.snapshot import file_clock_ns
from snapd.worktree.fs.system import birth_ns


def test_no_file_is_older_than_a_look_before_it(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        for number in range(2000):
            looked_at = file_clock_ns()
            (tmp_path / str(number)).write_bytes(b"")
            born = birth_ns(directory, b"%d" % number)
            assert born is None or born >= looked_at
            assert (tmp_path / str(number)).stat().st_ctime_ns >= looked_at
    finally:
        os.close(directory)
