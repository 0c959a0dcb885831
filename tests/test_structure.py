"""What holds for the modules of snapd beside the directions of their imports, which pyproject.toml has as contracts."""

from __future__ import annotations

import ast
import functools
import re
import sys
from pathlib import Path

import snapd
from snapd.handlers import HANDLERS
from snapd.wire.methods import METHODS

ROOT = Path(snapd.__file__).parent
CLIENT = ROOT.parent / "clients" / "python" / "snapd_client"
MODULES = sorted(ROOT.rglob("*.py"))
MOST_LINES = 700
"""Of a module. A folder may have as many modules as its subject needs."""


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def attributes(path: Path) -> set[str]:
    return {node.attr for node in ast.walk(parse(path)) if isinstance(node, ast.Attribute)}


def imports(path: Path) -> set[str]:
    """The modules that a module imports, wherever in it and for whatever; relative names made absolute."""
    package = list(path.relative_to(ROOT.parent).parent.parts)
    found = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # a name may be a module of the package
            found |= {f"{base}.{alias.name}" if _is_module(f"{base}.{alias.name}") else base for alias in node.names}
    return found


def _is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def room(name: str) -> list[Path]:
    folder = ROOT / name
    found = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    assert found
    return found


PATCHES = {"setattr", "delattr", "getattr", "patch", "object"}
PRIVATE = re.compile(r"(.*\.)?_(?!_)\w+")


def test_the_tests_reach_for_no_private_name() -> None:
    """ruff sees the attributes (SLF001), and neither the strings that a patch is given nor the imports."""
    private = []
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(parse(path)):
            names: list[object] = []
            if isinstance(node, ast.Call):
                function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if function in PATCHES:
                    names = [argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant)]
            elif isinstance(node, ast.ImportFrom) and (node.level or str(node.module).startswith(("snapd", "tests"))):
                names = [alias.name for alias in node.names]
            private += [f"{path.name}:{node.lineno}: {name}" for name in names if PRIVATE.fullmatch(str(name))]
    assert private == []


NO_ENVIRONMENT = {"environ", "environb", "getenv", "expanduser", "getcwd", "getcwdb"}
BELOW_THE_EDGE = [*room("store"), *room("watch"), *room("worktree"), *room("wire"), *room("handlers")]


def test_the_core_is_plain() -> None:
    outside = {"argparse", "asyncio", "json", "logging", "multiprocessing", "pathlib", "socket", "subprocess", "sys"}
    for path in (*room("core"), *room("model")):
        used = {module.partition(".")[0] for module in imports(path)}
        assert used <= {"attrs", "pygit2", "snapd", *sys.stdlib_module_names} - outside, path
        assert attributes(path).isdisjoint(NO_ENVIRONMENT), path


def test_rooms_below_the_edge_read_no_environment() -> None:
    outside = {"asyncio", "socket", "argparse", "pygls", "lsprotocol", "rich", "platformdirs", "subprocess"}
    for path in BELOW_THE_EDGE:
        assert outside.isdisjoint(module.partition(".")[0] for module in imports(path)), path
        assert attributes(path).isdisjoint(NO_ENVIRONMENT), path


def test_the_client_needs_nothing() -> None:
    for path in sorted(CLIENT.rglob("*.py")):
        used = {module.partition(".")[0] for module in imports(path)}
        assert used <= {*sys.stdlib_module_names, "snapd_client", "typing_extensions"}, path


def test_every_module_is_small() -> None:
    for path in MODULES:
        assert path.stem not in ("utils", "util", "helpers", "misc", "common"), path
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path


def test_methods_and_handlers_are_the_same_table() -> None:
    assert list(HANDLERS) == list(METHODS)
