from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .checkout import Checkout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    made = Checkout(tmp_path)
    yield made
    made.snapd("stop")
