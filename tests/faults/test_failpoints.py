"""The failpoints themselves: one table, each name one place, and none that somebody outside could arm."""

from __future__ import annotations

import ast
import dis
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import snapd
from snapd import failpoints
from snapd.failpoints import DATABASE, POINTS, STEPS, SYSTEM, failpoint

pytestmark = pytest.mark.slow

ROOT = Path(snapd.__file__).parent
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "failpoints.py"]


def calls(tree: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "failpoint"]


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def test_each_name_of_the_table_is_one_place_and_each_place_in_the_table() -> None:
    used: Counter[str] = Counter()
    for path in MODULES:
        for call in calls(ast.parse(path.read_text(encoding="utf-8"))):
            (argument,) = call.args
            assert isinstance(argument, ast.Constant), f"{path}:{call.lineno}"
            used[argument.value] += 1
    assert used == Counter(POINTS.keys())
    assert len(POINTS) == len(SYSTEM) + len(DATABASE) + len(STEPS)


def test_nothing_in_snapd_arms_one() -> None:
    """The variable is set by its own line alone; of the module nobody has more than the function."""
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.endswith("failpoints"):
                assert [alias.name for alias in node.names] == ["failpoint"], path
            elif isinstance(node, ast.Import):
                assert not any("failpoints" in alias.name for alias in node.names), path
            elif isinstance(node, ast.ImportFrom):
                assert not any(alias.name == "failpoints" for alias in node.names), path
    tree = ast.parse(Path(failpoints.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported == set(), "nothing that could read the environment"
    # the tables cannot be written to, and the variable has no value
    assert failpoints.listener is None
    with pytest.raises(TypeError):
        POINTS["x"] = "y"  # type: ignore[index]


def test_it_costs_a_comparison_where_none_is_armed() -> None:
    """No call, no loop, no lookup beside the variable's own: what is measured is some 50 ns."""
    steps = [step.opname for step in dis.get_instructions(failpoint)]
    before = steps[: next(at for at, name in enumerate(steps) if "JUMP" in name)]
    assert not any("CALL" in name for name in before)
    assert sum("LOAD" in name for name in before) <= 2
    assert failpoint("no such name") is None


NAMES = (
    "FAILPOINT",
    "FAILPOINTS",
    "SNAPD_FAILPOINT",
    "SNAPD_FAILPOINTS",
    "SNAPD_FAULT",
    "SNAPD_TEST",
    "SNAPD_LISTENER",
)
OUTSIDE = """
import sys
from snapd.cli.main import main
sys.argv = ["snapd", "--version"]
try:
    main()
except SystemExit:
    pass
import snapd.daemon, snapd.handlers, snapd.library, snapd.store.store, snapd.worktree.worktree
from snapd import failpoints
assert failpoints.listener is None, failpoints.listener
print("none")
"""


def test_no_variable_of_the_environment_arms_one(tmp_path: Path) -> None:
    values = {name: value for name in NAMES for value in ("journal.append=kill",)}
    done = subprocess.run(
        [sys.executable, "-X", "failpoints=journal.append=kill", "-c", OUTSIDE],
        env={**os.environ, **values, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        cwd=ROOT.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["none"], done.stderr
