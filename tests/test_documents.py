"""The pages for developers name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "design").glob("*.md"))]
FILE = re.compile(r"`([a-z_][a-z_/0-9.-]*\.py)`")
LINK = re.compile(r"\]\((?!http)([^)#]+)[^)]*\)")


MODULES = {path.name for path in (ROOT / "snapd").rglob("*.py")}


def _is_there(name: str) -> bool:
    return (ROOT / "snapd" / name).exists() or (ROOT / name).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    # a name without a folder is that of a module in the room that the text is about
    missing = [name for name in FILE.findall(text) if not (_is_there(name) if "/" in name else name in MODULES)]
    missing += [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []
