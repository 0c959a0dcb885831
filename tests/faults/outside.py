"""Faults from outside: `strace` lets a system call of the real command fail, or kills the process before it.

The command works on a folder and a store that a scenario prepared. A run in which nothing goes wrong shows which calls
there are that touch these; then one of them at a time goes wrong.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable

import attrs

from .scenarios import SCENARIOS, Scenario
from .sweep import Sweep

CALLS = (
    "write",
    "fsync",
    "fdatasync",
    "openat",
    "rename",
    "renameat2",
    "unlink",
    "unlinkat",
    "linkat",
    "mkdirat",
    "mkdir",
)
FAULTS = ("EIO", "ENOSPC", "KILL")
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")
_CHANGES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT")


@attrs.frozen
class Command:
    """A command of snapd.

    Attributes:
        scenario: whose preparation it goes on from.
        arguments: of it; given the hash of each state.
        before: the state of the folder.
        after: likewise, when it is done.
        answers: whether it prints the hash of the snapshot that it took.
    """

    scenario: Scenario
    arguments: Callable[[dict[str, str]], list[str]]
    before: str
    after: str
    answers: bool = False


COMMANDS = {
    "track": Command(SCENARIOS["restore"], lambda _: ["track"], "third", "third", answers=True),
    "restore": Command(SCENARIOS["restore"], lambda known: ["restore", "--yes", known["first"]], "third", "first"),
    "undo": Command(SCENARIOS["undo"], lambda _: ["undo", "--yes", "--session", "s", "--count", "3"], "many", "first"),
    "undo_git": Command(
        SCENARIOS["undo_git"], lambda _: ["undo", "--yes", "--git", "--session", "s", "--count", "2"], "many", "first"
    ),
}


@attrs.frozen
class Injected:
    """A call that goes wrong.

    Attributes:
        call: its name.
        nth: which of them in the thread that does the work.
        fault: an error, or KILL.
    """

    call: str
    nth: int
    fault: str

    def __str__(self) -> str:
        return f"{self.fault}@{self.call}:{self.nth}"


class Outside:
    """Runs commands of which a call goes wrong.

    Args:
        sweep: has the templates, the checks and the numbers.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._trace = sweep.directory / "trace"

    def calls(self, command: Command) -> list[tuple[str, int]]:
        """The calls that touch the store or the folder, with how many of that name the thread had made by then."""
        self._sweep.fresh(command.scenario)
        ended = self._run(command, [f"--trace={','.join(CALLS)}", "-y"])
        assert ended.returncode == 0, ended.stderr
        counts: dict[tuple[str, str], int] = {}
        ours: dict[tuple[str, int], bool] = {}
        for line in self._trace.read_text(errors="replace").splitlines():
            match = _LINE.match(line)
            if match is None:
                continue
            pid, name, rest = match.groups()
            number = counts[pid, name] = counts.get((pid, name), 0) + 1
            changes = name != "openat" or _CHANGES.search(rest) is not None
            # strace counts in each thread: that of another must not be one of Python's own
            ours[name, number] = ours.get((name, number), True) and changes and str(self._sweep.folder) in rest
        return sorted(call for call, is_ours in ours.items() if is_ours)

    def case(self, name: str, command: Command, injected: Injected) -> None:
        """One run, noted."""
        sweep = self._sweep
        sweep.numbers.cases += 1
        sweep.fresh(command.scenario)
        fault = "signal=KILL" if injected.fault == "KILL" else f"error={injected.fault}"
        trace = [f"--trace={injected.call}", f"--inject={injected.call}:{fault}:when={injected.nth}"]
        ended = self._run(command, trace)
        said: list[dict[str, object]] = [{"doing": [command.before, command.after]}]
        if ended.returncode == 0:
            said = [{"folder": command.after}]
            if command.answers:
                said.append({"ack": [json.loads(ended.stdout)["hash"], command.after]})
        elif ended.returncode == 3:
            said.append({"left": True})
        hit = "(INJECTED)" in self._trace.read_text(errors="replace") or ended.returncode in (-9, 137)
        if not hit:
            sweep.numbers.missed += 1
        elif injected.fault == "KILL":
            sweep.numbers.kills += 1
        else:
            sweep.numbers.errors += 1
        told = ended.stderr.decode(errors="replace")
        # where the nth write of another thread is of the error's own words, nobody can be told them
        if "Traceback" in told and injected.call != "write":
            problem: str | None = told
        else:
            problem = sweep.look(command.scenario, said)
        if problem:
            sweep.numbers.failures.append(f"{name} {injected}: {problem}")

    def _run(self, command: Command, trace: list[str]) -> subprocess.CompletedProcess[bytes]:
        sweep = self._sweep
        folder = sweep.folder
        known = sweep.hashes(command.scenario)
        return subprocess.run(
            [
                *("strace", "-f", "-o", str(self._trace), *trace, "--"),
                *(sys.executable, "-m", "snapd", *command.arguments(known)[:1], "--no-daemon", "--json"),
                *("-C", str(folder / "work"), *command.arguments(known)[1:]),
            ],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder / "home"),
                "SNAPD_DATA_DIR": str(folder / "data"),
                "SNAPD_RUNTIME_DIR": str(folder / "run"),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
