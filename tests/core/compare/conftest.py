"""A store of trees for the tests that compare."""

from __future__ import annotations

import pytest

from tests.core.compare.stories import Objects


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Objects:
    return Objects(tmp_path_factory.mktemp("objects"))
