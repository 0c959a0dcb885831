"""Products with no agent: the calls are carried out here, on the disk."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from tests.yardstick.place import Place, end_group
from tests.yardstick.scenario import Scenario, Turn, Undo

from .product import Gate, NotOffered, Product, Refused, wait_until


class Disk(Product):
    """Carries out the calls of an agent itself."""

    _command: subprocess.Popen[str] | None = None
    _killed = False

    def open(self) -> None:
        """Nothing is to be started."""

    def turn(self, turn: Turn, gate: Gate) -> None:
        self._killed = False
        for call in turn.calls:
            if call[0] == "shell":
                self._shell(call[1])
            elif call[0] == "hold":
                self._shell(gate.command)
            elif call[0] == "pause":
                gate.reached.touch()
                wait_until(gate.passed.exists, "the person")
            else:
                words = ("write", *call[1:]) if call[0] != "edit" else ("replace", *call[1:])
                self.place.person([words])
            if self._killed:
                return

    def _shell(self, command: str) -> None:
        self._command = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.place.start,
            env=self.place.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        self._command.wait()

    def kill(self) -> None:
        self._killed = True
        if self._command is not None and self._command.poll() is None:
            end_group(self._command)


class GitStash(Disk):
    """The habit of people who have git alone: they stash all before a turn and apply that at once, and later again."""

    name = "git-stash"
    title = "git stash"
    undo_with = "`git reset --hard`, `git clean -fd`, `git stash apply --index`"
    stores = ("project/.git/objects",)
    excluded: ClassVar[dict[str, str]] = {
        "no-git": "https://git-scm.com/docs/git-stash",
        "ignored": "https://git-scm.com/docs/git-stash",
        "empty-folder": "https://git-scm.com/docs/gitfaq",
    }

    def __init__(self, place: Place, scenario: Scenario) -> None:
        super().__init__(place, scenario)
        # the stash of each turn that can still be taken back; empty where there was nothing to stash
        self._stashes: list[str] = []

    @classmethod
    def install(cls, cache: Path) -> str:  # noqa: ARG003 - the machine has it
        return subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]

    def turn(self, turn: Turn, gate: Gate) -> None:
        if self.scenario.has_git:
            before = self._stash()
            self._git("stash", "push", "-q", "--include-untracked")
            made = self._stash() if self._stash() != before else ""
            if made:
                self._git("stash", "apply", "-q", "--index")
                # it is known by its hash, and out of the way of the agent and the person
                self._git("stash", "drop", "-q")
            self._stashes.append(made)
        super().turn(turn, gate)

    def undo(self, undo: Undo) -> None:
        if not self.scenario.has_git:
            self._git("stash", "list")
        if undo.way == "only" or len(self.scenario.sessions) > 1:
            raise NotOffered("an undo of one turn alone")
        for _ in self.chosen(undo):
            self._git("reset", "-q", "--hard")
            self._git("clean", "-q", "-fd")
            made = self._stashes.pop()
            if made:
                self._git("stash", "apply", "-q", "--index", made)

    def _stash(self) -> str:
        command = ["git", "rev-parse", "-q", "--verify", "refs/stash"]
        return self.place.run(command, cwd=self.place.project).stdout.strip()

    def _git(self, *arguments: str) -> None:
        done = self.place.run(["git", *arguments], cwd=self.place.project)
        if done.returncode:
            raise Refused(done.stderr.strip())


class Perfect(Disk):
    """Has a copy of the folder before each turn, and can be told what is right: for the tests of the suite."""

    name = "perfect"
    undo_with = "a copy of the whole folder"

    def turn(self, turn: Turn, gate: Gate) -> None:
        shutil.copytree(self.place.project, self.place.above / f"copy-{turn.number}", symlinks=True)
        super().turn(turn, gate)

    def undo(self, undo: Undo) -> None:
        _replace(self.place.project, self.place.above / f"copy-{self.chosen(undo)[0].number}")


class Idle(Disk):
    """Takes nothing back: for the tests of the suite."""

    name = "idle"
    undo_with = "nothing"

    def undo(self, undo: Undo) -> None:
        """Does nothing, and does not say so."""


class Wipe(Disk):
    """Deletes all: for the tests of the suite."""

    name = "wipe"
    undo_with = "an empty folder"

    def undo(self, undo: Undo) -> None:
        _replace(self.place.project, None)


def _replace(folder: Path, source: Path | None) -> None:
    for item in folder.iterdir():
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()
    if source is not None:
        shutil.copytree(source, folder, symlinks=True, dirs_exist_ok=True)
