"""`snapd export`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.conftest import FILES
from tests.cli.steps import put, take

if TYPE_CHECKING:
    from tests.cli.running import Home


def test_a_snapshot_comes_out_as_plain_files(home: Home, project: str, tmp_path: Path) -> None:
    home.track(project)
    put(project, {"README.md": b"# changed\n"})
    out = str(tmp_path / "out")
    size = sum(map(len, FILES.values()))
    assert home.ok(project, "export", "last", out) == f"wrote 3 files, {size} bytes, to {out}\n"
    assert {name: Path(out, name).read_bytes() for name in FILES} == FILES
    assert Path(project, "README.md").read_bytes() == b"# changed\n"


def test_the_folder_is_named_from_where_the_command_runs(home: Home, project: str, tmp_path: Path) -> None:
    step = take(home, project, "s1", {"README.md": b"# by a step\n"})
    inner = os.path.join(project, "src")
    name = os.path.relpath(tmp_path / "two words", inner)
    result = home.run(inner, "export", f"{step}+", name)
    assert (result.code, result.text.split(", to ")[1]) == (0, f"'{name}'\n")
    assert (tmp_path / "two words" / "README.md").read_bytes() == b"# by a step\n"
    assert home.run(tmp_path, "-C", project, "export", step, "../no utf-8 \udcff").code == 0
    assert Path(f"{project}/../no utf-8 \udcff/README.md").read_bytes() == FILES["README.md"]


def test_it_is_refused_with_what_to_do(home: Home, project: str, tmp_path: Path) -> None:
    home.track(project)
    for directory, said in ((str(tmp_path), "is not empty"), ("inside", "in the project")):
        put(str(tmp_path), {"mine": b"mine\n"})
        result = home.run(project, "export", "last", directory)
        assert (result.code, result.out) == (2, b"")
        assert said in result.err
        assert "hint: name a folder that is empty or does not exist yet" in result.err
    assert os.listdir(tmp_path) == ["mine"]
    assert not Path(project, "inside").exists()
