"""One daemon for the tests of a module; a folder for each test."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from snapd.cli.terminal import naming

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


class _Cut(dict[str, str]):
    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name, name[:8])


@pytest.fixture
def cut_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids that no daemon was asked about are shown by 8 characters."""
    monkeypatch.setattr(naming, "SHORT_NAMES", _Cut())


@pytest.fixture
def project(home: Home) -> str:
    return home.project(f"p{next(_numbers)}", FILES)
