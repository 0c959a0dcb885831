"""The dev container feature: packed, then installed as root into a system of its own, for a user who is not root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import snapd

from .machine import DIST, HIDDEN, ROOT, alone
from .test_npm import TOOLS, run
from .test_wheel import wheels  # noqa: F401 - a fixture

PACKED = DIST / "devcontainer-feature-snapd.tgz"
USER = "vscode" if os.getuid() == 0 else "root"
"""The user of the container. Who is not root can be nobody else in a namespace."""


class Container:
    """A system with a user; its `/usr/local`, home directories and list of users are its own, and it has no network.

    The Python of these tests is in `/srv` and nowhere else, the feature in `/media`.

    Args:
        folder: an empty directory.
        feature: the unpacked feature.
    """

    def __init__(self, folder: Path, feature: Path) -> None:
        self.feature = feature
        self.home = folder / "homes" / USER
        self.local = folder / "local"
        self.project = self.home / "project"
        for each in (self.project, self.home / ".claude", self.local / "bin", folder / "etc"):
            each.mkdir(parents=True)
        self.users = [folder / "etc/passwd", folder / "etc/shadow"]
        self.users[0].write_text(f"root:x:0:0::/root:/bin/sh\nvscode:x:1000:1000::/home/{USER}:/bin/sh\n")
        self.users[1].write_text("root:*:20000::::::\nvscode:*:20000::::::\n")
        for path in folder.rglob("*"):
            path.chmod(0o755)
        if os.getuid() == 0:
            for path in (self.home, self.project, self.home / ".claude"):
                shutil.chown(path, 1000, 1000)

    def run(self, script: str, code: int = 0, user: str = "root", **variables: str) -> str:
        """What a script prints in the container."""
        mounts = [(self.home.parent, "/home"), *zip(self.users, ("/etc/passwd", "/etc/shadow"), strict=True)]
        binds = "".join(f"mount --bind {source} {target}; " for source, target in mounts)
        # what is hidden may hold the folders that are mounted
        keep = (
            f"mount --bind {self.local} /mnt; mount --bind {self.feature} /media; mount --bind {sys.base_prefix} /srv; "
        )
        hide = "".join(f"mount -t tmpfs none {path}; " for path in HIDDEN if path != "/usr/local")
        change = f'exec su {user} -c "$0"' if user != "root" else 'exec sh -c "$0"'
        command = ["/bin/sh", "-ec", f"{binds}{keep}mount --move /mnt /usr/local; {hide}{change}", script]
        namespaces = alone("--mount")
        if os.getuid() == 0:
            namespaces.remove("--map-root-user")
        env = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **variables}
        done = subprocess.run([*namespaces, *command], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def install(self, code: int = 0, **options: str) -> str:
        """Runs `install.sh` as the tools of dev containers do."""
        return self.run("cd /media && ./install.sh", code, _REMOTE_USER=USER, _CONTAINER_USER=USER, **options)


@pytest.fixture
def feature(tmp_path: Path) -> Path:
    folder = tmp_path / "feature"
    with tarfile.open(PACKED) as archive:
        archive.extractall(folder, filter="tar")
    tmp_path.chmod(0o755)
    return folder


@pytest.fixture
def container(tmp_path: Path, feature: Path) -> Container:
    return Container(tmp_path / "container", feature)


def test_the_tools_of_dev_containers_take_it(feature: Path, tmp_path: Path) -> None:
    run(TOOLS / "devcontainer", "features", "package", feature, "-o", tmp_path / "packed", cwd=tmp_path)
    (listed,) = json.loads((tmp_path / "packed/devcontainer-collection.json").read_text())["features"]
    assert listed == json.loads((ROOT / "devcontainer-feature/devcontainer-feature.json").read_text())
    assert (tmp_path / "packed/devcontainer-feature-snapd.tgz").is_file()


def test_the_executable_is_installed_and_the_agents_of_the_user_are_connected(container: Container) -> None:
    container.install()
    hooks = (container.home / ".claude/settings.json").read_text()
    assert "snapd hook" in hooks
    assert (container.home / ".claude/settings.json").stat().st_uid == (1000 if USER == "vscode" else os.getuid())
    story = (
        "cd ~/project && echo one > a.txt && snapd track --no-daemon && echo two > a.txt"
        " && snapd restore --no-daemon last --yes && cat a.txt && snapd --version"
    )
    assert container.run(story, user=USER).endswith(f"one\nsnapd {snapd.__version__}\n")


def test_named_agents_or_none_are_connected(container: Container) -> None:
    container.install(AGENTS="none")
    assert not (container.home / ".claude/settings.json").exists()
    container.install(AGENTS="claude codex")
    assert (container.home / ".claude/settings.json").exists()
    assert (container.home / ".codex/hooks.json").exists()
    said = container.install(code=1, AGENTS="claude; true")
    assert 'hint: it is "all", "none", or names separated by spaces' in said


def test_the_agents_of_later_features_are_connected_when_the_container_is_made(container: Container) -> None:
    shutil.rmtree(container.home / ".claude")
    container.install()
    assert not (container.home / ".claude").exists()
    (container.home / ".claude").mkdir()
    shutil.chown(container.home / ".claude", *((1000, 1000) if USER == "vscode" else (os.getuid(), os.getgid())))
    then = json.loads((container.feature / "devcontainer-feature.json").read_text())["postCreateCommand"]
    container.run(then, user=USER)
    assert "snapd hook" in (container.home / ".claude/settings.json").read_text()


def without_executable(container: Container) -> None:
    for executable in container.feature.glob("snapd-*-linux-*"):
        executable.unlink()


def test_without_an_executable_for_the_image_it_takes_a_python(container: Container, wheels: Path) -> None:  # noqa: F811
    without_executable(container)
    python = "export PATH=/srv/bin:$PATH LD_LIBRARY_PATH=/srv/lib; test -x /srv/bin/python3; "
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    installs = (
        "cd /media && ./install.sh && snapd --version && readlink /usr/local/bin/snapd /usr/local/lib/snapd/bin/python3"
    )
    said = container.run(python + installs, _REMOTE_USER="root", AGENTS="none", **pip)
    assert said == f"snapd {snapd.__version__}\n/usr/local/lib/snapd/bin/snapd\n/srv/bin/python3\n"


def test_without_a_python_either_it_says_what_to_do(container: Container) -> None:
    without_executable(container)
    tools = container.feature / "bin"
    tools.mkdir()
    for tool in ["cat", "dirname", "install", "mkdir", "mktemp", "rm", "sed", "uname"]:
        found = shutil.which(tool)
        assert found is not None, tool
        (tools / tool).symlink_to(found)
    said = container.run("export PATH=/media/bin; cd /media && ./install.sh", code=1)
    assert "has no Python 3.11" in said
    assert "hint: add the feature" in said
