"""Pages name files and tests that are there, and the page that compares says where it has everything from."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "design").glob("*.md"))]
FILE = re.compile(r"`([a-z_][a-z_/0-9.-]*\.py)`")
LINK = re.compile(r"\]\((?!http)([^)#]+)[^)]*\)")
COMPARISON = (ROOT / "docs" / "compare.md").read_text("utf-8")
TEST = re.compile(r"`([\w/-]+\.(?:py|mjs))::([\w-]+)`")
USED, DEFINED = re.compile(r"\[\^([\w-]+)\](?!:)"), re.compile(r"^\[\^([\w-]+)\]: (.+)$", re.MULTILINE)


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


def _has(file: str, test: str) -> bool:
    """Whether a file has a test, or a scenario of the end-to-end tests, of that name."""
    text = (ROOT / file).read_text("utf-8")
    if file.endswith(".mjs"):
        return f'name: "{test}"' in text
    return test in {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def test_every_test_that_the_comparison_names_is_there() -> None:
    named = TEST.findall(COMPARISON)
    assert len(named) == COMPARISON.count("::")
    assert [f"{file}::{test}" for file, test in named if not _has(file, test)] == []
    assert [link for link in LINK.findall(COMPARISON) if not (ROOT / "docs" / link).exists()] == []


def test_the_comparison_says_where_everything_is_from() -> None:
    notes = dict(DEFINED.findall(COMPARISON))
    assert set(USED.findall(COMPARISON)) == set(notes)
    for name, note in notes.items():
        assert (TEST if name.startswith("s-") else re.compile(r"\]\(https://")).search(note), name
    section = COMPARISON.partition("\n## Side by side\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    for topic, *cells in rows[1:]:
        for cell, peer in zip(cells, "svcz", strict=True):
            from_where = {name.partition("-")[0] for name in USED.findall(cell)}
            assert from_where <= {peer}, topic
            assert from_where or (peer != "s" and "ot documented." in cell), topic
