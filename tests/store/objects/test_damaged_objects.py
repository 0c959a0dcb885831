"""No damaged object, ours or the project's own, holds up or ends the process that reads it; and libgit2 opens none."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.reads import FAR, LOOSE, PACKS
from tests.support.amounts import amount
from tests.test_structure import MODULES, name_of, parse

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SECONDS = 240.0
DAMAGES = {form: damages[:: amount(3, 1)] for form, damages in {"loose": [*LOOSE], "packed": [*PACKS, FAR]}.items()}
COMMON = {"first", "second", "closed", "open", "close"}


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("form", DAMAGES)
@pytest.mark.parametrize("side", ["theirs", "ours"])
def test_every_place_comes_back(tmp_path: Path, side: str, form: str) -> None:
    command = [sys.executable, "-m", "tests.store.reads", str(tmp_path / "bench"), side, form, *DAMAGES[form]]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        pytest.fail(f"it never came back from the end of {said}")
    assert done.returncode == 0, done.stdout + done.stderr
    seen = []
    for said in done.stdout.split("[")[1:]:
        damage, *answers = said.splitlines()
        seen.append(damage.rstrip("]"))
        lines = dict(line.split() for line in answers)
        assert lines.keys() - COMMON, said
        # there is no session in a project that was only just opened, and a purge spares what the folder has
        known = {"done", "storeCorrupt", "unknownSession", "unknownSnapshot", "invalidParams"}
        assert set(lines.values()) <= known, said
        if side == "theirs":
            # what the project's own git has lost is read from the folder
            assert {lines[name] for name in ("first", "second", "track", "diff", "restore", "fsck")} == {"done"}, said
    assert seen == DAMAGES[form]


# -- that a new place is found


READS = {"Repository", "Odb", "OdbBackend", "OdbBackendLoose", "OdbBackendPack", "init_repository", "clone_repository"}
"""What opens objects in pygit2; one module alone has it."""
NEVER = {"OdbBackendLoose", "add_disk_alternate", "discover_repository", "init_repository", "clone_repository"}


def test_only_one_module_lets_libgit2_have_objects() -> None:
    for path in MODULES:
        used = list(called(path))
        assert {name for _, name in used} & NEVER == set(), path
        if name_of(path) != "snapd.store.objects.libgit2":
            assert {name for module, name in used if module == "pygit2"} & READS == set(), path


def called(path: Path) -> Iterator[tuple[str, str]]:
    """What a module calls or derives from, each after the name that it takes it from; an annotation opens nothing."""
    for node in ast.walk(parse(path)):
        uses = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        for use in uses:
            if isinstance(use, ast.Attribute):
                yield (use.value.id if isinstance(use.value, ast.Name) else ""), use.attr
            elif isinstance(use, ast.Name):
                yield "", use.id
