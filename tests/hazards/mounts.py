"""File systems of a test's own, where the machine lets us mount."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount, make devices and immutable files")


def done(*command: str) -> bool:
    """Whether a command did what it was told: the machine may not let us."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@contextmanager
def mounted(path: Path, *how: str) -> Iterator[Path]:
    """Something mounted somewhere for as long as the block takes; the test is skipped where that cannot be.

    Args:
        path: where; an existing directory.
        how: arguments of mount(8) before it.
    """
    if not done("mount", *how, str(path)):
        pytest.skip(f"this machine does not let us mount: {' '.join(how)}")
    try:
        yield path
    finally:
        assert done("umount", str(path)) or done("umount", "-l", str(path))
