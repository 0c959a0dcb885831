"""One daemon for all that is thrown at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.hostile import Hostile
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    """A daemon, which has to be alive and without a defect afterwards."""
    target = Target()
    yield target
    target.close()


@pytest.fixture(scope="module")
def hostile() -> Iterator[Hostile]:
    """A daemon and a remote that nobody should believe."""
    hostile = Hostile()
    yield hostile
    hostile.close()
