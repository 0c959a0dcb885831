"""One daemon for the tests of a module; a folder for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.cli.running import Home

_numbers = count()


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    made = Home()
    yield made
    made.close()


@pytest.fixture
def own_home() -> Iterator[Home]:
    made = Home()
    yield made
    made.close()


@pytest.fixture
def project(home: Home) -> str:
    return home.project(f"p{next(_numbers)}", {"a.txt": b"1\n2\n3\n"})
