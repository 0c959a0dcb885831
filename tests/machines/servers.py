"""Real servers of git repositories on loopback: `git daemon`, `sshd`, `git http-backend` behind a web server."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

import attrs
import pytest

from tests.support.git import run_git

from .listening import Inetd

Kind = Literal["path", "file", "git", "ssh", "http"]
KINDS: tuple[Kind, ...] = ("path", "file", "git", "ssh", "http")
USER, PASSWORD = "somebody", "right horse"
_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
_PATIENCE = 60.0


@attrs.frozen
class Served:
    """A repository that a server serves.

    Attributes:
        address: as git takes it.
        path: where it lies.
        config: what the user's git configuration needs to say to be let in.
        port: of the server; 0 where there is none.
    """

    address: str
    path: Path
    config: str = ""
    port: int = 0

    def git(self, *words: str) -> str:
        """Asks git about it, where it lies."""
        return run_git(self.path, "--git-dir=.", *words).decode()

    def references(self) -> dict[str, str]:
        """Its references and their targets."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return {name: oid for name, _, oid in (line.partition(" ") for line in lines)}

    def check(self) -> None:
        """Asks git whether it is whole."""
        assert self.git("fsck", "--strict", "--full", "--no-dangling") == ""

    def hook(self, name: str, script: str) -> None:
        """Has it run a script."""
        path = self.path / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def program(name: str, package: str) -> str:
    """The path of a server program; the test is skipped where it is not installed. CI has all of them."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if found is None:
        reason = f"{name} is not installed; on Debian: apt-get install {package}"
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    return found


@contextmanager
def served(kind: Kind, folder: Path) -> Iterator[Served]:
    """An empty repository that a server of this kind serves.

    Args:
        kind: of the server.
        folder: where the repository lies, and all that the server needs.
    """
    projects = folder / "projects"
    path = projects / "shared.git"
    path.mkdir(parents=True)
    run_git(path, "init", "--quiet", "--bare", ".")
    with _SERVERS[kind](folder, projects) as (address, config, port):
        yield Served(address, path, config, port)


_Server = tuple[str, str, int]


@contextmanager
def _path(folder: Path, projects: Path) -> Iterator[_Server]:
    yield str(projects / "shared.git"), "", 0


@contextmanager
def _file(folder: Path, projects: Path) -> Iterator[_Server]:
    yield f"file://{projects}/shared.git", "", 0


@contextmanager
def _git(folder: Path, projects: Path) -> Iterator[_Server]:
    words = ["git", "daemon", "--inetd", "--export-all", "--enable=receive-pack", f"--base-path={projects}"]
    with _inetd(words, folder) as port:
        yield f"git://127.0.0.1:{port}/shared.git", "", port


@contextmanager
def _ssh(folder: Path, projects: Path) -> Iterator[_Server]:
    sshd = program("sshd", "openssh-server")
    if os.geteuid() == 0:
        # where the service was never started, root's sshd misses the empty folder that it wants
        os.makedirs("/run/sshd", 0o755, exist_ok=True)
    for key in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\nUsePAM no\nStrictModes no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\n"
    )
    with _inetd([sshd, "-i", "-e", "-f", str(folder / "sshd_config")], folder) as port:
        host_key = " ".join((folder / "host.pub").read_text().split()[:2])
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
        (folder / "ssh_config").write_text(
            f"IdentityFile {folder}/user\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known_hosts\n"
            "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nBatchMode yes\nIdentityAgent none\n"
        )
        config = f"[core]\n\tsshCommand = ssh -F {folder}/ssh_config\n"
        yield f"ssh://{getpass.getuser()}@127.0.0.1:{port}{projects}/shared.git", config, port


@contextmanager
def _inetd(words: list[str], folder: Path) -> Iterator[int]:
    server = Inetd(words, folder / "server.log", _ENVIRONMENT)
    try:
        yield server.port
    finally:
        server.close()


@contextmanager
def _http(folder: Path, projects: Path) -> Iterator[_Server]:
    lighttpd = program("lighttpd", "lighttpd")
    backend = Path(run_git(folder, "--exec-path").decode().strip()) / "git-http-backend"
    (folder / "passwords").write_text(f"{USER}:{PASSWORD}\n")
    process, port = _on_free_port(lighttpd, folder, backend, projects)
    try:
        yield f"http://127.0.0.1:{port}/git/shared.git", credentials(folder / "credentials", port, PASSWORD), port
    finally:
        process.terminate()
        process.wait()


def credentials(path: Path, port: int, password: str) -> str:
    """The configuration of a user whose credential helper knows a password for a server."""
    path.write_text(f"http://{USER}:{password.replace(' ', '%20')}@127.0.0.1:{port}\n")
    return f"[credential]\n\thelper = store --file={path}\n"


def _on_free_port(lighttpd: str, folder: Path, backend: Path, projects: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The web server cannot choose its port: somebody else may have taken it before it listens there."""
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        config = folder / "lighttpd.conf"
        config.write_text(_LIGHTTPD.format(port=port, folder=folder, backend=backend, projects=projects))
        with (folder / "lighttpd.log").open("ab") as log:
            process = subprocess.Popen([lighttpd, "-D", "-f", str(config)], stdout=log, stderr=log, env=_ENVIRONMENT)
        deadline = time.monotonic() + _PATIENCE
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, (folder / "lighttpd.log").read_text()
                time.sleep(0.01)
            else:
                return process, port
    raise AssertionError((folder / "lighttpd.log").read_text())


_LIGHTTPD = """\
server.modules = ("mod_alias", "mod_setenv", "mod_auth", "mod_authn_file", "mod_cgi")
server.document-root = "{folder}"
server.upload-dirs = ("{folder}")
server.bind = "127.0.0.1"
server.port = {port}
alias.url = ("/git" => "{backend}")
auth.backend = "plain"
auth.backend.plain.userfile = "{folder}/passwords"
auth.require = ("" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
cgi.assign = ("" => "")
setenv.set-environment = ("GIT_PROJECT_ROOT" => "{projects}", "GIT_HTTP_EXPORT_ALL" => "1")
"""

_SERVERS: Mapping[Kind, Callable[[Path, Path], AbstractContextManager[_Server]]] = {
    "path": _path,
    "file": _file,
    "git": _git,
    "ssh": _ssh,
    "http": _http,
}
