from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.workspace import close_all


@pytest.fixture(autouse=True)
def _closed_workspaces() -> Iterator[None]:
    yield
    close_all()
