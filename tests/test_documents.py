"""Pages name files, sections and tests that are there, and what they promise has a test behind it."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / name
    for name in subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, text=True
    ).split()
]
# the last is not a page but the text that one is made from
PAGES = [page for page in PAGES if page.exists() and page.name != "prose.md"]
FOR_DEVELOPERS = [DOCS / "architecture.md", ROOT / "CONTRIBUTING.md", *sorted((DOCS / "design").glob("*.md"))]
MODULES = {path.name for path in (ROOT / "snapd").rglob("*.py")}
EVIDENCE = tomllib.loads((DOCS / "design" / "evidence.toml").read_text("utf-8"))
USED, DEFINED = re.compile(r"\[\^([\w-]+)\](?!:)"), re.compile(r"^\[\^([\w-]+)\]: (.+)$", re.MULTILINE)


def _without_code(text: str) -> str:
    """A page without its blocks of code and without code in lines."""
    return re.sub(r"^(```+).*?^\1$|`[^`\n]+`", "code", text, flags=re.MULTILINE | re.DOTALL)


@cache
def _sections(page: Path) -> set[str]:
    """The names that the sections of a page have in addresses, as git hosts make them."""
    text = re.sub(r"^(```+).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_something(page: Path) -> None:
    dead = []
    for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", _without_code(page.read_text("utf-8"))):
        name, _, section = link.partition("#")
        to = (page.parent / name).resolve() if name else page
        if not to.exists() or (section and to.suffix == ".md" and section not in _sections(to)):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("page", FOR_DEVELOPERS, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`([a-z_][a-z_/0-9.-]*\.py)`", page.read_text("utf-8"))
    # a name without a folder is that of a module in the room that the text is about
    assert [name for name in named if not (_is_there(name) if "/" in name else name in MODULES)] == []


def _is_there(name: str) -> bool:
    return (ROOT / "snapd" / name).exists() or (ROOT / name).exists()


def test_the_list_of_pages_has_every_page() -> None:
    listed = set(re.findall(r"\]\(([\w/-]+\.md)\)", (DOCS / "README.md").read_text("utf-8")))
    assert listed == {str(page.relative_to(DOCS)) for page in PAGES if page.is_relative_to(DOCS)} - {"README.md"}


@pytest.mark.parametrize("page", EVIDENCE)
def test_a_page_says_what_is_shown(page: str) -> None:
    text = " ".join((DOCS / page).read_text("utf-8").split())
    assert [claim for claim in EVIDENCE[page] if not _says(page, text, claim)] == []


def _says(page: str, text: str, claim: str) -> bool:
    topic, found, words = claim.partition(" | ")
    if not found:
        return claim in text
    names, *rows = _rows(page)
    cells = [row for row in rows if row[0].strip(" *") == topic]
    return len(cells) == 1 and (any(words in name for name in names[1:]) or words in "|".join(cells[0]))


@pytest.mark.parametrize("page", EVIDENCE)
def test_what_shows_it_is_there(page: str) -> None:
    missing = [
        (claim, shown)
        for claim, tests in EVIDENCE[page].items()
        for shown in tests
        if not _exists(shown.split(" (")[0])
    ]
    assert missing == []


def _exists(shown: str) -> bool:
    kind, _, what = shown.partition(" ")
    if kind == "hazard":
        return bool(re.search(rf"@pytest\.mark\.hazard\((?:\d+, )*{what}[,)]", _hazards()))
    if kind == "make":
        return f"\n{what}: " in (ROOT / "Makefile").read_text("utf-8")
    file, _, test = shown.partition("::")
    return (ROOT / file).exists() and (not test or test in _tests(file))


@cache
def _hazards() -> str:
    return "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "hazards").glob("test_*.py"))


@cache
def _tests(file: str) -> set[str]:
    """The tests of a file, or the scenarios of a file of end-to-end tests."""
    text = (ROOT / file).read_text("utf-8")
    if file.endswith(".mjs"):
        return set(re.findall(r'name: "([\w-]+)"', text))
    if file.endswith(".ts"):
        return set(re.findall(r'^test\("([^"]+)"', text, re.MULTILINE))
    return {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@cache
def _rows(page: str) -> list[list[str]]:
    """The rows of the first table of a page, the one with the names of the columns first."""
    table = re.search(r"^\|(?:.+\n\|)+.+$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    assert table
    rows = [line.strip("|").split("|") for line in table[0].splitlines()]
    assert len(rows) > 15
    return [rows[0], *rows[2:]]


def test_whatever_is_promised_is_shown() -> None:
    text = (DOCS / "reliability.md").read_text("utf-8").partition("\n## What it does not promise\n")[0]
    promises = [" ".join(each.split()) for each in re.findall(r"^- (.+\n(?:  .+\n)*)", text, re.MULTILINE)]
    assert len(promises) > 25
    shown = EVIDENCE["reliability.md"]
    assert [promise for promise in promises if not any(claim in promise for claim in shown)] == []


def test_the_comparison_says_where_everything_is_from() -> None:
    text = (DOCS / "compare-editors.md").read_text("utf-8")
    assert set(USED.findall(text)) == {name for name, _ in DEFINED.findall(text)}
    assert [name for name, note in DEFINED.findall(text) if "](https://" not in note] == []
    shown = {claim.partition(" | ")[0] for claim in EVIDENCE["compare-editors.md"]}
    for topic, snapd, *others in _rows("compare-editors.md")[1:]:
        assert topic.strip(" *") in shown
        assert USED.findall(snapd) == []
        for cell, letter in zip(others, "vcz", strict=True):
            notes = {name.partition("-")[0] for name in USED.findall(cell)}
            assert notes == {letter} or (not notes and "ot documented." in cell), topic


def test_what_works_in_an_editor_is_shown() -> None:
    shown = EVIDENCE["editors.md"]
    names, *rows = _rows("editors.md")
    for topic, *cells in rows:
        for name, cell in zip(names[1:], cells, strict=True):
            claims_nothing = cell.strip().startswith(("no", "only if ", "the editor's own"))
            backed = any(
                claim.startswith(f"{topic.strip()} | ") and claim.partition(" | ")[2] in name for claim in shown
            )
            assert backed or claims_nothing, (topic, name)
