from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .telling import Telling


@pytest.fixture
def telling(tmp_path: Path) -> Iterator[Telling]:
    teller = Telling(tmp_path / "store")
    yield teller
    teller.store.close()
