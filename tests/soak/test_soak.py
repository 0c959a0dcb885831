"""A few seconds of what `make soak` does for as long as one likes."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.places import DISK

from .problems import Broken
from .soak import Soak


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at the daemon through /proc")
def test_soak() -> None:
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=DISK)).resolve()
    soak = Soak(folder, seed=4, kill_every=1 << 30, verify_every=2)
    try:
        asyncio.run(soak.run(0, kill_in_round=2))
    except Broken as broken:
        raise AssertionError(f"{broken}\n{folder} is kept; before it:\n{soak.diary.last()}") from broken
    figures = soak.figures
    assert figures.kills == 1
    assert figures.steps > 0
    assert figures.undos > 0
    assert figures.snapshots_checked > 10
    assert figures.notifications > 100
    shutil.rmtree(os.fsencode(folder))
