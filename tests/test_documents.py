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
# pages with a table, whose notes say where each cell is from: by the column that it stands in, the letter of its notes
TABLES = {"compare.md": "svcz", "editors.md": "vbnac"}
TEXTS = {page: (ROOT / "docs" / page).read_text("utf-8") for page in TABLES}
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
    tests = (ast.FunctionDef, ast.AsyncFunctionDef)
    return test in {node.name for node in ast.parse(text).body if isinstance(node, tests)}


def _rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the table below a heading, without the names of the columns."""
    section = TEXTS[page].partition(f"{heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) > 15
    return rows[1:]


def _from_where(cell: str) -> set[str]:
    """The letters of a cell's notes."""
    return {name.partition("-")[0] for name in USED.findall(cell)}


@pytest.mark.parametrize("page", TABLES)
def test_every_test_that_a_table_names_is_there(page: str) -> None:
    named = TEST.findall(TEXTS[page])
    assert len(named) == TEXTS[page].count("::")
    assert [f"{file}::{test}" for file, test in named if not _has(file, test)] == []
    assert [link for link in LINK.findall(TEXTS[page]) if not (ROOT / "docs" / link).exists()] == []
    assert set(USED.findall(TEXTS[page])) == {name for name, _ in DEFINED.findall(TEXTS[page])}


def test_the_comparison_says_where_everything_is_from() -> None:
    for name, note in DEFINED.findall(TEXTS["compare.md"]):
        assert (TEST if name.startswith("s-") else re.compile(r"\]\(https://")).search(note), name
    for topic, *cells in _rows("compare.md", "## Side by side"):
        for cell, peer in zip(cells, TABLES["compare.md"], strict=True):
            assert _from_where(cell) <= {peer}, topic
            assert _from_where(cell) or (peer != "s" and "ot documented." in cell), topic


def test_what_works_in_an_editor_is_shown_by_a_test() -> None:
    assert all(TEST.search(note) for _, note in DEFINED.findall(TEXTS["editors.md"]))
    for topic, *cells in _rows("editors.md", "# What works where"):
        for cell, editor in zip(cells, TABLES["editors.md"], strict=True):
            assert _from_where(cell) <= {editor}, topic
            claims_nothing = cell.strip().startswith(("no", "only if ", "the editor's own"))
            assert _from_where(cell) or claims_nothing, (topic, cell)
