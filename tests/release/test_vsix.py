"""The extension for VS Code with the executable inside, where there is neither network nor Python nor snapd."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import snapd

from .machine import DIST, FILE, HIDDEN, ROOT

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
VSIX = DIST / f"snapd-{snapd.__version__}-linux-{MACHINE}.vsix"
END_TO_END = ROOT / "vscode-extension" / "e2e"
TOOLS = "bash cat chromium cut dirname git grep gzip ln ls mkdir mv readlink rm sed sh tail tar uname"
"""What the editor, the browser and snapd are given. A terminal of the editor is a bash."""
KEPT = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "SNAPD_E2E_CACHE")
"""Variables that say where the editor is installed."""
LOOPBACK = """\
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP | IFF_RUNNING))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Has a new network namespace, in which nobody else is, talk to itself."""


def test_it_holds_the_executable() -> None:
    with zipfile.ZipFile(VSIX) as archive:
        entry = archive.getinfo("extension/bundled/snapd-linux")
        assert archive.read(entry) == FILE.read_bytes()
        assert entry.external_attr >> 16 & 0o111 == 0o111
        manifest = archive.read("extension.vsixmanifest").decode()
    assert f'TargetPlatform="linux-{MACHINE}"' in manifest
    assert f'Version="{snapd.__version__}"' in manifest


@pytest.fixture
def node() -> str:
    """The program that runs the editor."""
    words = [str(ROOT / "scripts" / "with-node"), "node", "--print", "process.execPath"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def end_to_end(tmp_path: Path, node: str) -> Path:
    """The programs that drive the editor, which is installed."""
    made = tmp_path / "e2e"
    shutil.copytree(END_TO_END, made, symlinks=True)
    env = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([node, str(made / "install.mjs")], check=True, env=env)
    return made


@pytest.fixture
def tools(tmp_path: Path, node: str, end_to_end: Path) -> Path:
    """The only directory of programs."""
    made = tmp_path / "bin"
    made.mkdir()
    for tool in TOOLS.split():
        found = shutil.which(tool)
        assert found is not None, tool
        (made / tool).symlink_to(found)
    shutil.copy2(node, made / "node")
    return made


def test_nothing_else_is_there(tools: Path) -> None:
    hidden = [f"{path}/bin" for path in HIDDEN if path != str(ROOT)] + [f"{ROOT}/snapd"]
    programs = "for each in snapd python3 python; do command -v $each && exit 1; done"
    files = f"for each in {' '.join(hidden)}; do [ -e $each ] && exit 1; done"
    script = f"{programs}; {files}; cat /proc/net/dev"
    command = _alone([str(tools / "sh"), "-c", script])
    done = subprocess.run(command, env={"PATH": str(tools)}, capture_output=True, text=True, check=True)
    interfaces = [line.split(":")[0].strip() for line in done.stdout.splitlines()[2:]]
    assert interfaces == ["lo"]


@pytest.mark.timeout(1200)
def test_a_step_is_shown_and_undone(tmp_path: Path, end_to_end: Path, tools: Path) -> None:
    """In a real VS Code in a real browser: from the extension to the first step that is undone."""
    shutil.copy2(VSIX, tmp_path / VSIX.name)
    shots = tmp_path / "shots"
    run = [str(tools / "node"), str(end_to_end / "run.mjs"), "--only", "nothing-else-installed"]
    command = _alone([*run, "--vsix", str(tmp_path / VSIX.name), "--shots", str(shots)])
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {"PATH": str(tools), "LC_ALL": "C.UTF-8", "SHELL": str(tools / "bash")}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 scenarios, 0 failed" in done.stdout
    assert (shots / "nothing-else-installed.png").exists()


def _alone(command: list[str]) -> list[str]:
    unshare = shutil.which("unshare")
    assert unshare is not None
    mounts = "".join(f"/bin/mount -t tmpfs none '{path}'; " for path in HIDDEN)
    alone = [unshare, "--map-root-user", "--mount", "--net", sys.executable, "-c", LOOPBACK]
    return [*alone, "/bin/sh", "-ec", mounts + 'exec "$@"', "sh", *command]
