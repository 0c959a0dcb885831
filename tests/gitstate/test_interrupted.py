"""An undo with git that is killed at any point: the next use finishes it, or nothing was done."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from snapd import failpoints
from tests.support.amounts import amount
from tests.support.sessions import Agents

from .oracle import git
from .test_undo import all_of, undo, with_git


def changes(folder: Path) -> dict[str, Callable[[], object]]:
    """What a step does."""

    def commit() -> None:
        (folder / "a").write_text("fourth")
        (folder / "new").write_text("new")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "fourth")

    def stash() -> None:
        git(folder, "stash", "drop", "stash@{1}")
        git(folder, "stash", "pop")

    def much() -> None:
        git(folder, "checkout", "-qf", "topic")
        git(folder, "branch", "-D", "main")
        git(folder, "branch", "main/sub")
        git(folder, "stash", "clear")
        git(folder, "tag", "v1")
        (folder / "b").write_text("staged")
        git(folder, "add", "-A")
        git(folder, "bisect", "start")

    return {
        "commit": commit,
        "stash": stash,
        "much": much,
        "delete": lambda: shutil.rmtree(folder / ".git"),
        "rebase": lambda: git(folder, "rebase", "--onto", "main~2", "main~1", "main"),
    }


def killed(agents: Agents, step: str, at: int) -> str | None:
    """Undoes a step in a process that is killed at a failpoint; returns its name, None if there are not as many."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        left = [at]

        def listen(name: str) -> None:
            left[0] -= 1
            if left[0] < 0:
                os.write(writing, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            agents.bench.open()
            failpoints.listener = listen
            undo(agents, step)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, "rb") as file:
        name = file.read().decode()
    status = os.waitpid(pid, 0)[1]
    assert name or status == 0
    return name or None


@pytest.mark.parametrize("what", ["commit", "stash", "much", "delete", "rebase"])
def test_every_failpoint(tmp_path: Path, what: str) -> None:
    agents, folder = with_git(tmp_path)
    for text in ("one", "two"):
        (folder / "b").write_text(text)
        git(folder, "stash")
    was = all_of(folder)
    step = agents.step("s", changes(folder)[what])
    became = all_of(folder)
    assert became != was
    agents.bench.close()
    at = 0
    saved = tmp_path / "saved"
    shutil.copytree(tmp_path / "data", saved / "data", symlinks=True)
    shutil.copytree(folder, saved / "folder", symlinks=True)
    while (name := killed(agents, step, at)) is not None:
        agents.bench.open()
        # any request finishes it
        agents.bench.track()
        now = all_of(folder)
        assert now in (was, became), name
        assert "missing" not in git(folder, "fsck", "--no-dangling"), name
        if now == became:
            undo(agents, step)
        assert all_of(folder) == was, name
        agents.bench.close()
        for at_path, to in ((saved / "data", tmp_path / "data"), (saved / "folder", folder)):
            shutil.rmtree(to)
            shutil.copytree(at_path, to, symlinks=True)
        at += amount(7, 1)
