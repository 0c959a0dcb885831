"""Installs the agents from npm, at the versions of their lock files, below a cache outside the checkout."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .agents.agent import Agent

PACKAGES = Path(__file__).parent / "agents" / "packages"
_FILES = ("package.json", "package-lock.json")
_STAMP = "stamp"
_WAIT = 300
# Nothing is built or fetched by scripts: the programs are in the packages. `npm ci` would want a registry to have what
# is optional for other platforms; so we install, and look afterwards at what came.
_NPM = ("npm", "install", "--no-save", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund")


class NotInstalled(Exception):
    """An agent could not be installed; says why."""


def cache_folder() -> Path:
    """Where agents are installed if nobody says so."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "snapd-agents"


def install(agent: Agent, cache: Path, packages: Path | None = None) -> Path:
    """Installs an agent, if that version is not there already.

    Args:
        agent: to install.
        cache: a folder; made if it is not there.
        packages: what has the folder that says what to install; None for ours.

    Returns:
        The folder that has the agent's `node_modules`.

    Raises:
        NotInstalled: npm failed, what came is not what the lock file says, or it is larger than it should be.
    """
    target = cache / agent.name
    locked = (packages or PACKAGES) / agent.name
    stamp = _stamp(locked)
    with _alone(cache):
        if (target / _STAMP).is_file() and (target / _STAMP).read_text() == stamp:
            return target
        print(f"installing {agent.name} into {target}", flush=True)
        made = Path(tempfile.mkdtemp(prefix="making-", dir=cache))
        try:
            _fill(agent, locked, made)
            (made / _STAMP).write_text(stamp)
            shutil.rmtree(target, ignore_errors=True)
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def _stamp(locked: Path) -> str:
    """Changes whenever what is installed does."""
    digest = hashlib.sha256(" ".join(_NPM).encode())
    for name in _FILES:
        digest.update((locked / name).read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Keeps other installs into the cache waiting."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _packages(lock: Path) -> dict[str, str]:
    """The hashes of the packages of a lock file, by the folders that they are installed in."""
    packages = json.loads(lock.read_text())["packages"]
    return {name: found["integrity"] for name, found in packages.items() if name}


def _fill(agent: Agent, locked: Path, folder: Path) -> None:
    for name in _FILES:
        shutil.copy(locked / name, folder)
    try:
        # what npm keeps for the next time would be as large again
        command = [*_NPM, "--cache", str(folder / "npm")]
        subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True, timeout=_WAIT)
    except FileNotFoundError:
        raise NotInstalled("there is no npm here") from None
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm took longer than {_WAIT} s") from None
    except subprocess.CalledProcessError as error:
        raise NotInstalled(f"npm failed: {error.stderr.strip()[-2000:]}") from None
    shutil.rmtree(folder / "npm")
    came, known = _packages(folder / "node_modules/.package-lock.json"), _packages(folder / "package-lock.json")
    foreign = [name for name, integrity in came.items() if known.get(name) != integrity]
    if foreign:
        raise NotInstalled(f"the lock file has no such {', '.join(foreign)}")
    if not (folder / agent.program).is_file():
        raise NotInstalled(f"the package has no {agent.program}")
    size = sum(path.lstat().st_size for path in folder.rglob("*")) >> 20
    if size > agent.most_mib:
        raise NotInstalled(f"it takes {size} MiB; {agent.most_mib} MiB are allowed")


def version(agent: Agent, packages: Path | None = None) -> str:
    """The version of an agent that is installed: of the package that has its program."""
    wanted = json.loads(((packages or PACKAGES) / agent.name / "package.json").read_text())["dependencies"]
    # a package may stand under another's name
    return str(next(iter(wanted.values()))).rpartition("@")[2].removesuffix("-linux-x64")
