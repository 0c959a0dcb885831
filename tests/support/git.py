"""Runs git as an oracle, in an environment that holds nothing of the machine's or the user's."""

from __future__ import annotations

import os
import shutil
import subprocess

GIT = shutil.which("git") or "git"
"""The machine's own: a test may put another earlier on the path."""


def run_git(
    cwd: str | bytes | os.PathLike[str],
    *args: str | bytes,
    home: str | os.PathLike[str] | None = None,
    input: bytes | None = None,  # noqa: A002 - named as in subprocess.run
) -> bytes:
    """Run git and give what it writes to stdout.

    Args:
        cwd: The directory to run in.
        *args: The arguments behind 'git'.
        home: The home directory, whose configuration git reads; one that does not exist if None.
        input: What git reads from stdin.

    Returns:
        The bytes of stdout.

    Raises:
        AssertionError: Git failed; the message holds what it wrote to stderr. An exit status of 1 without
            a complaint on stderr is an answer ("no match", "differs") and no failure.
    """
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent" if home is None else os.fspath(home),
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Author",
        "GIT_AUTHOR_EMAIL": "author@example.com",
        "GIT_COMMITTER_NAME": "Committer",
        "GIT_COMMITTER_EMAIL": "committer@example.com",
    }
    done = subprocess.run([GIT, *args], cwd=cwd, env=environment, input=input or b"", capture_output=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith(b"warning: ")]
    failed = done.returncode > 1 or done.returncode < 0 or (done.returncode == 1 and complaints)
    assert not failed, f"git {args!r} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
    return done.stdout
