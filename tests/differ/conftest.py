"""A differ that sends everything to its process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from snapd.differ.differ import Limits, ProcessDiffer

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = Limits(large_bytes=0, large_lines=0)


@pytest.fixture(scope="module")
def shared_differ() -> Iterator[ProcessDiffer]:
    """Compares nothing in this process, and is the same one for several tests."""
    made = ProcessDiffer(ALL)
    yield made
    made.close()


@pytest.fixture
def differ() -> Iterator[ProcessDiffer]:
    """Compares nothing in this process."""
    made = ProcessDiffer(ALL)
    yield made
    made.close()
