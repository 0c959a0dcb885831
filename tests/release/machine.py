"""A user of a machine that has none of what snapd is made with."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import snapd

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
"""What `make release` built."""
FILE = DIST / f"snapd-{snapd.__version__}-linux-{platform.machine()}"
TOOLS = "cat git gzip ln ls mkdir mv readlink rm sh tail tar"
"""All that the machine has, besides the file."""
HIDDEN = [path for path in (sys.base_prefix, str(ROOT)) if path != "/usr"]
"""What is covered: the Python of these tests, and the checkout."""


def alone(*more: str, network: bool = False) -> list[str]:
    """What a command begins with that has no network, or other namespaces of its own."""
    unshare = shutil.which("unshare")
    assert unshare is not None
    return [unshare, "--map-root-user", *more, *([] if network else ["--net"])]


class Machine:
    """A user of a machine without Python and without this checkout.

    Args:
        folder: an empty directory for their files.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.file = self.home / FILE.name
        for each in (self.home, self.project, folder / "bin"):
            each.mkdir()
        for tool in TOOLS.split():
            found = shutil.which(tool)
            assert found is not None, tool
            (folder / "bin" / tool).symlink_to(found)
        shutil.copy2(FILE, self.file)
        self.env = {
            "HOME": str(self.home),
            "PATH": str(folder / "bin"),
            "SNAPD_RUNTIME_DIR": str(folder / "run"),
            # a machine that has other work starts the daemon slowly, and then a hook would give up
            "SNAPD_HOOK_SECONDS": "30",
            "LC_ALL": "C.UTF-8",
        }

    def command(self, *words: str, network: bool = False) -> list[str]:
        """A command line that runs words where neither Python nor the checkout is to be seen."""
        mounts = "".join(f"/bin/mount -t tmpfs none '{path}'; " for path in HIDDEN)
        return [*alone("--mount", network=network), "/bin/sh", "-ec", mounts + 'exec "$@"', "sh", *words]

    def run(self, *words: str, code: int = 0, stdin: str = "") -> str:
        """What a command prints, in the project."""
        done = subprocess.run(
            self.command(*words),
            cwd=self.project,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout

    def snapd(self, *words: str, code: int = 0, stdin: str = "") -> str:
        return self.run(str(self.file), *words, code=code, stdin=stdin)
