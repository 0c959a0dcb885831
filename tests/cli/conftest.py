"""One daemon for the tests of a module; a folder for each test."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from .running import Home

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = count()

FILES = {"src/main.py": b"print(1)\nprint(2)\n", "README.md": b"# read\n", "src/data.bin": bytes(range(256))}


def _home() -> Iterator[Home]:
    made = Home()
    yield made
    made.close()


home = pytest.fixture(_home, scope="module")
own_home = pytest.fixture(_home)


@pytest.fixture
def project(home: Home) -> str:
    return home.project(f"p{next(_numbers)}", FILES)
