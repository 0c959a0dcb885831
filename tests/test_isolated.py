"""The command `snapd` runs nothing of the project in whose folder, and with whose variables, it is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import snapd
from snapd.environment import own_command
from snapd.launch import daemon_environment

LAUNCHER = Path(snapd.__file__).parent.parent / "scripts" / "snapd"
BAD = """
import os
open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "EXECUTED"), "a").write(__name__)
raise ImportError("not the one")
"""
NAMES = ("struct", "re", "runpy", "json", "platform", "sitecustomize", "usercustomize", "encodings", "attr", "snapd")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    for name in NAMES:
        for file in (root / f"{name}.py", root / "src" / name / "__init__.py"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(BAD)
    return root


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The launcher as an installer leaves it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(LAUNCHER, folder)
    (folder / "snapd-python").write_text(f"#!{sys.executable}\nraise SystemExit(9)\n")
    return folder


def run(command: list[str], cwd: Path, tmp_path: Path, **variables: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SNAPD_RUNTIME_DIR": str(tmp_path / "run"), **variables}
    done = subprocess.run(command, cwd=cwd, env=env, input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONPATH": "."},
        {"PYTHONPATH": "src:."},
        {"PYTHONPATH": "/nowhere:"},
        {"PYTHONHOME": "/opt/none"},
        {"PYTHONSAFEPATH": "", "PYTHONSTARTUP": "struct.py", "PYTHONINSPECT": "1"},
        {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1", "PYTHONUSERBASE": "."},
    ],
)
def test_nothing_of_the_project_is_executed(
    installed: Path, project: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    said = f"snapd {snapd.__version__}\n"
    assert run([str(installed / "snapd"), "--version"], project, tmp_path, **variables) == said
    assert run([str(installed / "snapd"), "hook"], project, tmp_path, **variables) == ""
    # as snapd itself starts the daemon
    assert run(own_command("--version"), project, tmp_path, **variables) == said
    assert not list(project.rglob("EXECUTED"))


def test_however_it_is_called(installed: Path, project: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "there").symlink_to("../bin/snapd")
    (tmp_path / "links" / "snapd").symlink_to(tmp_path / "links" / "there")
    path = f"{tmp_path / 'links'}:{os.environ['PATH']}"
    for command in ("snapd", "../links/snapd", "../bin/snapd", str(tmp_path / "links" / "snapd")):
        for words in (["--version"], ["help", "a b"]):
            done = subprocess.run(
                ["sh", "-c", 'exec "$0" "$@"', command, *words],
                cwd=project,
                env={"PATH": path},
                capture_output=True,
                check=False,
            )
            assert (b"snapd" in done.stdout) is (words == ["--version"]), done
            assert (b"'a b'" in done.stderr or b"a b" in done.stderr) is (words != ["--version"]), done


def test_what_installers_write_where_the_path_is_long(installed: Path, project: Path, tmp_path: Path) -> None:
    (installed / "snapd-python").write_text(
        f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\nprint(3)\n"
    )
    (installed / "snapd-python").chmod(0o755)
    # no Python is beside it
    assert run([str(installed / "snapd"), "--version"], project, tmp_path) == "3\n"
    (installed / "python").symlink_to(sys.executable)
    # a link to a Python is none that has snapd's packages, but it is the one that counts
    done = subprocess.run([str(installed / "snapd"), "--version"], env={}, capture_output=True, check=False)
    assert done.stdout != b"3\n"


def test_the_daemon_gets_none_of_these_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "src")
    assert not {name for name in daemon_environment() if name.startswith("PYTHON")}


def test_what_a_variable_names_that_python_has_anyway_stays(tmp_path: Path) -> None:
    everything = os.pathsep.join(path for path in sys.path if path)
    program = "import sys; sys.argv[1:] = ['--version']; from snapd.__main__ import main; main(); import snapd_client"
    run([sys.executable, "-c", program], tmp_path, tmp_path, PYTHONPATH=everything)
