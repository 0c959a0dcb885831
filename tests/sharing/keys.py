"""Real ssh keys, and an agent that has one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.git import run_git


def make_key(folder: Path, name: str, passphrase: str = "") -> str:
    """Makes a key; gives the path of the private one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", f"{name}@example.com", "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return str(path)


def public(key: str) -> str:
    """The public key of a private one, without its comment."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def fingerprint(key: str) -> str:
    """What ssh itself calls the key."""
    done = subprocess.run(["ssh-keygen", "-l", "-f", f"{key}.pub"], check=True, capture_output=True, text=True)
    return done.stdout.split()[1]


@contextmanager
def agent(folder: Path, key: str) -> Iterator[str]:
    """An ssh agent that has a key; gives its socket."""
    socket = str(folder / "agent")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        # it says where it listens once it does
        process.stdout.readline()
        subprocess.run(
            ["ssh-add", "-q", key], check=True, env={**os.environ, "SSH_AUTH_SOCK": socket}, stdin=subprocess.DEVNULL
        )
        yield socket
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def signatures_at(remote: str) -> dict[str, str]:
    """What the references of signatures at a remote name, by name."""
    form = "--format=%(refname) %(objectname)"
    lines = run_git(Path(remote), "for-each-ref", form, "refs/snapd/signatures").decode().splitlines()
    return dict(line.split() for line in lines)


def git_says(repository: str, tag: str, allowed: str) -> tuple[bool, str]:
    """Whether git itself finds that a key which is allowed made a signature, and what it says."""
    words = ["git", "-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-tag", tag]
    done = subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr
