"""The wheel and the source archive, installed from a folder of wheels, and used without the checkout."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pyte
import pytest
from packaging.utils import canonicalize_name

import snapd
from scripts.executable import dependencies
from scripts.metadata import project

from .machine import DIST, ROOT, alone

WHEEL = DIST / f"snapd-{snapd.__version__}-py3-none-any.whl"
SDIST = DIST / f"snapd-{snapd.__version__}.tar.gz"
_WAIT = 120.0


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with our wheel and, by the hashes of the lock, those that it needs."""
    folder = tmp_path_factory.mktemp("wheels")
    names = {canonicalize_name(name) for name in dependencies("snapd")}
    locked = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text("utf-8"))
    ours = [entry for entry in locked if canonicalize_name(entry.partition("==")[0]) in names]
    assert len(ours) == len(names)
    (folder / "lock").write_text("\n".join(ours) + "\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    only = ["--only-binary", ":all:", "--require-hashes", "--dest", str(folder)]
    subprocess.run([*pip, *only, "--requirement", str(folder / "lock")], check=True)
    (folder / WHEEL.name).symlink_to(WHEEL)
    return folder


@pytest.fixture(scope="module")
def installed(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment that has the wheel; pip had no network."""
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command = [*alone(), *pip, "--no-index", "--find-links", str(wheels), "snapd"]
    subprocess.run(command, env={**os.environ, "PIP_CONFIG_FILE": os.devnull}, check=True)
    return folder


@pytest.fixture
def env(installed: Path, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{installed / 'bin'}:/usr/bin:/bin",
        "SNAPD_RUNTIME_DIR": str(tmp_path / "run"),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
    }


@pytest.fixture
def folder(installed: Path, env: dict[str, str], tmp_path: Path) -> Path:
    """A project with one step."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")

    def run(*words: str) -> str:
        return subprocess.check_output([installed / "bin/snapd", *words], cwd=folder, env=env, text=True).strip()

    run("track")
    step = run("step", "begin", "--session", "s1", "--agent", "bot", "--tool", "Edit", "--description", "add a line")
    (folder / "a.txt").write_text("one\ntwo\n")
    run("step", "end", step)
    return folder


def test_the_archives_can_be_published() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", WHEEL, SDIST], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr


def test_the_page_on_pypi_leads_to_the_repository() -> None:
    with zipfile.ZipFile(WHEEL) as wheel:
        metadata = wheel.read(f"snapd-{snapd.__version__}.dist-info/METADATA").decode()
    home = project().repository
    targets = re.findall(r"\]\(([^)]+)\)", metadata)
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    ours = [target for target in targets if urlsplit(target).netloc == urlsplit(home).netloc]
    for target in ours:
        kind, _, path = target.removeprefix(f"{home}/").partition("/main/")
        path = path.partition("#")[0]
        assert kind == ("raw" if path.endswith((".svg", ".png")) else "blob"), target
        assert (ROOT / path).is_file(), target
    assert f"mcp-name: {project().server} " in metadata
    for name in ("Homepage", "Documentation", "Repository", "Issues", "Changelog"):
        assert f"\nProject-URL: {name}, {home}" in metadata


def test_the_page_belongs_to_both() -> None:
    for archive, list_it in ((WHEEL, ["-m", "zipfile", "-l"]), (SDIST, ["-m", "tarfile", "-l"])):
        assert "snapd/web/page/index.html" in subprocess.check_output([sys.executable, *list_it, archive], text=True)


def test_the_main_job(installed: Path, env: dict[str, str], tmp_path: Path) -> None:
    """The story of `make demo`."""
    script = tmp_path / "demo.py"
    script.write_bytes((ROOT / "clients/python/demo.py").read_bytes())
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "README.md").write_text("# code\n")
    said = subprocess.check_output([installed / "bin/python", script, folder], cwd=tmp_path, env=env, text=True)
    assert "ok: the user's line and Ben's are there, in the same file" in said
    assert "NOT TRUE" not in said


def test_the_page_is_served(installed: Path, env: dict[str, str], folder: Path) -> None:
    command = [installed / "bin/snapd", "web", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = json.loads(server.stdout.readline())
            with urllib.request.urlopen(told["url"].partition("#")[0], timeout=_WAIT) as page:
                assert b"<html" in page.read()
        finally:
            server.terminate()
    subprocess.run([installed / "bin/snapd", "stop"], env=env, check=True)


def test_the_terminal_view_shows_the_step(installed: Path, env: dict[str, str], folder: Path) -> None:
    screen = pyte.Screen(100, 30)
    stream = pyte.ByteStream(screen)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(installed / "bin/snapd", ["snapd", "ui"], {**env, "COLUMNS": "100", "LINES": "30"})
    deadline = time.monotonic() + _WAIT
    while "add a line" not in "\n".join(screen.display):
        assert select.select([terminal], [], [], deadline - time.monotonic())[0], screen.display
        stream.feed(os.read(terminal, 65536))
    os.write(terminal, b"q")
    while True:
        try:
            if not os.read(terminal, 65536):
                break
        except OSError:
            break  # it has closed the terminal
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(terminal)
    subprocess.run([installed / "bin/snapd", "stop"], env=env, check=True)
