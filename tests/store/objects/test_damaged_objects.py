"""No damaged object, ours or the project's own, holds up or ends the process that reads it; and libgit2 opens none."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.reads import FAR, LOOSE, PACKS
from tests.test_structure import MODULES, name_of, parse

ROOT = Path(__file__).parents[3]
SECONDS = 240.0
DAMAGES = {"loose": [*LOOSE], "packed": [*PACKS, FAR]}
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


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_one_module_lets_libgit2_have_objects(path: Path) -> None:
    # a type in an annotation opens nothing
    called = [node.func for node in ast.walk(parse(path)) if isinstance(node, ast.Call)]
    bases = [base for node in ast.walk(parse(path)) if isinstance(node, ast.ClassDef) for base in node.bases]
    used = {node.attr for node in called + bases if isinstance(node, ast.Attribute)}
    used |= {node.id for node in called + bases if isinstance(node, ast.Name)}
    assert used & NEVER == set()
    if name_of(path) != "snapd.store.objects.libgit2":
        pygit2 = {
            node.attr
            for node in called + bases
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pygit2"
        }
        assert pygit2 & READS == set()
