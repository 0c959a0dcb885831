"""What is shipped: built as `make dist` builds it, installed where nothing of the source tree is near."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

import snapd

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.slow

ROOT = Path(snapd.__file__).parent.parent


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source archive, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"snapd-{snapd.__version__}.dist-info/METADATA").decode()
        scripts = archive.read(f"snapd-{snapd.__version__}.dist-info/entry_points.txt").decode()
    assert {name.partition("/")[0] for name in names} == {
        "snapd",
        "snapd_client",
        f"snapd-{snapd.__version__}.dist-info",
        f"snapd-{snapd.__version__}.data",
    }
    assert [name for name in names if ".data/" in name] == [f"snapd-{snapd.__version__}.data/scripts/snapd"]
    assert {
        "snapd/py.typed",
        "snapd_client/py.typed",
        "snapd/wire/prose.md",
        "snapd/secret_rules/rules.toml",
        "snapd/__main__.py",
    } <= set(names)
    assert f"snapd-{snapd.__version__}.dist-info/licenses/LICENSE" in names
    for package, folder in (("snapd", ROOT / "snapd"), ("snapd_client", ROOT / "clients" / "python" / "snapd_client")):
        modules = {f"{package}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.py")}
        assert {name for name in names if name.startswith(f"{package}/") and name.endswith(".py")} == modules
    unwanted = re.compile(r"(^|/)(tests?(/|$)|test_|conftest|__pycache__)|\.pyc$")
    assert not [name for name in names if unwanted.search(name)]
    assert f"\nVersion: {snapd.__version__}\n" in metadata
    assert "snapd-python = snapd.__main__:main" in scripts


def test_the_source_archive(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "snapd/cli/main.py",
        "scripts/snapd",
        "clients/python/snapd_client/client.py",
    } <= names
    assert "tests/test_package.py" in names
    assert not [name for name in names if name.startswith((".venv", ".git/", ".mypy_cache")) or "__pycache__" in name]


@attrs.frozen
class Installed:
    """The wheel in an environment of its own."""

    folder: Path
    env: Mapping[str, str]

    def run(self, *command: str, cwd: Path) -> str:
        program, *args = command
        full = [str(self.folder / "bin" / program), *args]
        done = subprocess.run(full, cwd=cwd, env=self.env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    # The dependencies come from the environment that runs the tests: `make install` puts them there by the hashes of
    # the lock, and fetching them once more would only test the network. A directory named in a .pth file comes behind
    # the environment's own packages, and its own .pth files (that of the editable snapd) are not read.
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(os.path.dirname(os.path.dirname(attrs.__file__)) + "\n")
    home = tmp_path_factory.mktemp("home")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "SNAPD_DATA_DIR": str(home / "data"), "LC_ALL": "C.UTF-8"}
    return Installed(folder, env)


def test_the_installed_command(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.txt").write_text("a\n")
    assert installed.run("snapd", "--version", cwd=tmp_path) == f"snapd {snapd.__version__}\n"
    tree = installed.run("snapd", "track", "--no-daemon", cwd=tmp_path)
    assert re.fullmatch(r"[0-9a-f]{40}\n", tree)
    assert installed.run("snapd", "files", "--no-daemon", tree.strip(), cwd=tmp_path) == "src/a.txt\n"


def test_the_installed_library(installed: Installed, tmp_path: Path) -> None:
    code = """
import os, sys, snapd, snapd_client
from snapd import FileDiff, Patch, Snapshot
import snapd.daemon, snapd.rpc.connection, snapd.cli.commands.serve
print(os.path.dirname(snapd.__file__), os.path.dirname(snapd_client.__file__))
"""
    (packages,) = (installed.folder / "lib").glob("python*/site-packages")
    shown = installed.run("python", "-c", code, cwd=tmp_path)
    assert shown.split() == [str(packages / "snapd"), str(packages / "snapd_client")]


def test_the_plugins_of_agents_are_installed(installed: Installed, tmp_path: Path) -> None:
    program = installed.folder / "bin" / "snapd"
    said = installed.run("snapd", "agent", "install", "opencode", "amp", "pi", cwd=tmp_path)
    files = [Path(line.split()[1].rstrip(":")) for line in said.splitlines() if line.endswith(": created")]
    assert len(files) == 3
    for file in files:
        assert f'const PROGRAM = "{program}"' in file.read_text("utf-8")
    installed.run("snapd", "agent", "uninstall", "--all", cwd=tmp_path)
    assert not any(file.exists() for file in files)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_pins_every_dependency_by_hash() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    # where packages come from is the machine's business
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|file:|git\+", text)
    lines = [
        line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.strip().startswith("#")
    ]
    pinned = {}
    for line in lines:
        found = re.match(r"([A-Za-z0-9._-]+)==([^ ;]+)( ; [^-]+(?:-[^-]+)*?)?( +--hash=sha256:[0-9a-f]{64})+ *$", line)
        assert found, line[:100]
        pinned[_canonical(found[1])] = found[2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
        *project["build-system"]["requires"],
    ]
    names = {_canonical(re.split(r"[^A-Za-z0-9._-]", requirement)[0]) for requirement in wanted}
    assert names - set(pinned) == set()
