"""A copy of the checkout to which something is added."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts import metadata
from scripts.generate.__main__ import ROOT, SOURCES
from tests.cli.running import WAIT

CODE = ("snapd", "scripts", "clients/python/snapd_client")


class Checkout:
    """What `make generate` needs of the project, and what runs snapd.

    Args:
        path: an empty directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / "checkout"
        self.work = path / "work"
        """A folder to run snapd in."""
        self.work.mkdir()
        self.touched: set[str] = set()
        """The files that were edited by hand."""
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(path / "home"),
            "SNAPD_DATA_DIR": str(path / "data"),
            "SNAPD_RUNTIME_DIR": str(path / "run"),
            # the machine may be busy
            "SNAPD_HOOK_SECONDS": "60",
            "PYTHONPATH": os.pathsep.join(map(str, (self.path, self.path / "clients/python"))),
        }
        for part in CODE:
            shutil.copytree(ROOT / part, self.path / part, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", *SOURCES, *metadata.texts()):
            if not name.startswith(CODE):
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.path / name)

    def read(self, name: str) -> str:
        return (self.path / name).read_text("utf-8")

    def write(self, name: str, text: str) -> None:
        """Writes a whole file."""
        self.touched.add(name)
        (self.path / name).write_text(text, "utf-8")

    def append(self, name: str, text: str) -> None:
        self.write(name, self.read(name) + text)

    def insert(self, name: str, before: str, text: str) -> None:
        """Puts text before a place that is there once."""
        old = self.read(name)
        assert old.count(before) == 1, (name, before)
        self.write(name, old.replace(before, text + before))

    def run(self, *words: str, cwd: Path | None = None, stdin: str = "") -> str:
        """Runs a Python module or script, which succeeds; returns what it prints."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=cwd or self.path,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def snapd(self, *words: str, stdin: str = "") -> str:
        """Runs the command in the folder."""
        return self.run("-m", "snapd", *words, cwd=self.work, stdin=stdin)

    def generate(self) -> None:
        """Runs `make generate` without docs/cli.md, whose examples take a while."""
        self.run("-m", "scripts.generate", "--quick")
        self.run("scripts/metadata.py")
        self.run("-m", "scripts.generate", "--quick", "--check")
        self.run("scripts/metadata.py", "--check")
