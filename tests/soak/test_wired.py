"""One of the folders in which `make soak` has agents report through hooks."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.places import DISK

from .client import Tape
from .problems import Broken
from .wired import wired


@pytest.mark.parametrize("seed", [3, 11])
def test_agents_that_report_through_hooks(seed: int) -> None:
    above = Path(tempfile.mkdtemp(prefix="wired-", dir=DISK)).resolve()
    tape = Tape()
    try:
        asyncio.run(wired(above / "all", seed, 0, 1, tape))
    except Broken as broken:
        raise AssertionError(f"{broken}\n{above} is kept; before it:\n{tape.diary.last()}") from broken
    shutil.rmtree(above)
    assert tape.figures.histories_of_hooks == 1
    assert tape.figures.undos > 5
    assert tape.figures.authors_checked > 10
