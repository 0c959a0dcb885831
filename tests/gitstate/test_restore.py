"""What of git is taken back, judged by git itself after random commands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest

from snapd.gitstate.plan import planned
from snapd.gitstate.read import GitRecorder
from snapd.gitstate.restore import GitRestorer
from snapd.model.git import GitStateId
from tests.support.amounts import amount
from tests.support.sessions import at_work

from .oracle import ENVIRONMENT, State, git, work


class Desk:
    """A repository, what records its state, and what takes it back."""

    def __init__(self, tmp_path: Path) -> None:
        agents = at_work(tmp_path, {"a": b"x\n", "b": b"y\n"})
        self.folder = Path(agents.bench.root)
        self.store = agents.bench.workspace.store
        root = os.fsencode(self.folder)
        self.recorder = GitRecorder(root, self.store)
        self.restorer = GitRestorer(root, self.store, self.recorder.project, ENVIRONMENT)
        git(self.folder, "init", "-qb", "main")
        for message in ("first", "second", "third"):
            (self.folder / "a").write_text(message)
            git(self.folder, "add", "-A")
            git(self.folder, "commit", "-qm", message)
        git(self.folder, "branch", "topic", "HEAD~1")

    def state(self) -> GitStateId:
        state = self.recorder.record(None, is_on=True)
        assert state is not None
        return state

    def files(self) -> dict[Path, bytes]:
        """The files of the work tree."""
        every = (path for path in self.folder.rglob("*") if ".git" not in path.parts and path.is_file())
        return {path: path.read_bytes() for path in every}

    def put(self, files: dict[Path, bytes]) -> None:
        """Makes the files of the work tree these, as an operation does before it turns to git."""
        for path in self.files().keys() - files.keys():
            path.unlink()
        for path, data in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def take_back(self, base: GitStateId, target: GitStateId) -> tuple[str, ...]:
        """Goes from a state back to one before it; returns the parts that were left."""
        plan = planned(self.store, self.state(), base, target, self.restorer.in_use())
        plan = self.restorer.possible(plan)
        self.restorer.restore(plan)
        return tuple(f"{each.part} {each.reason}" for each in plan.left)


@pytest.mark.parametrize("seed", range(amount(12, 300)))
def test_random_commands_are_taken_back_and_done_again(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    desk = Desk(tmp_path)
    for _ in range(6):
        before, was, files = desk.state(), State.of(desk.folder), desk.files()
        if random.random() < 0.1:
            shutil.rmtree(desk.folder / ".git")
            commands = [("rm", "-rf", ".git")]
        else:
            commands = [work(desk.folder, random) for _ in range(random.randint(1, 4))]
        if random.random() < 0.3 and (desk.folder / ".git").exists():
            desk.state()
            git(desk.folder, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
            git(desk.folder, "gc", "-q", "--prune=now")
            commands.append(("gc",))
        after, became = desk.state(), State.of(desk.folder)
        files_after = desk.files()
        desk.put(files)
        assert desk.take_back(after, before) == (), commands
        assert State.of(desk.folder) == was, commands
        assert "missing" not in git(desk.folder, "fsck", "--no-dangling"), commands
        if became.exists:
            back = desk.state()
            desk.put(files_after)
            assert desk.take_back(back, after) == (), commands
            assert State.of(desk.folder) == became, commands
