"""That no hazard is without a test, and that README.md tells which test it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
HAZARDS = range(1, 83)


def marked() -> dict[int, set[str]]:
    """The names of the tests that are marked with each hazard."""
    found: dict[int, set[str]] = {}
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.hazard":
                    for number in decorator.args:
                        found.setdefault(ast.literal_eval(number), set()).add(node.name)
    return found


def told() -> dict[int, set[str]]:
    """The names of the tests that the page gives for each hazard."""
    found: dict[int, set[str]] = {}
    for line in (HERE / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].isdigit():
            found.setdefault(int(cells[0]), set()).update(re.findall(r"`(test_\w+)`", cells[1]))
    return found


def test_every_hazard_has_a_test() -> None:
    assert set(marked()) == set(HAZARDS)


def test_the_page_names_the_tests_of_every_hazard() -> None:
    assert told() == marked()
