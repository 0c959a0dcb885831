"""Where a scenario is played: a folder with a project, a home and nothing of this machine's user; and the person."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.places import bare_environment

from .scenario import Scenario, Words, path_bytes

LIMIT = 60.0
"""How long a product may take for anything, seconds."""
_FILES = {
    "README.md": "# demo\n\nA small project.\n",
    "calc.py": "".join(
        f"def {name}(a, b):\n    return a {sign} b\n\n\n" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"))
    ),
    "notes.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n",
}
_INIT = """
git init -q -b main
git config user.name person
git config user.email person@example.com
git config gc.auto 0
git add -A
git commit -q -m begun
"""


class NoRoom(Exception):
    """The disk that a scenario wants cannot be had here."""


class Place:
    """Folders and environment of one run.

    Attributes:
        above: what has it all.
        project: the folder that is worked in.
        home: the user's.
        start: where the agent is started.
        environment: of each process that is started here, whole.
    """

    def __init__(self, above: Path, start: str) -> None:
        self.above = above
        self.project = above / "project"
        self.home = above / "home"
        self.start = self.project / start if start else self.project
        self.environment = {**bare_environment(above), "TERM": "xterm-256color"}
        for name in ("bin", "home", "run", "runtime", "tmp", "project"):
            (above / name).mkdir(mode=0o700)

    def run(
        self, command: Sequence[str], more: Mapping[str, str] | None = None, *, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command where the agent is started, to its end.

        Raises:
            subprocess.TimeoutExpired: it takes too long, and was ended.
        """
        process = subprocess.Popen(
            command,
            cwd=cwd or self.start,
            env={**self.environment, **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            end_group(process)
            process.communicate()
            raise
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def person(self, operations: Iterable[Words]) -> None:
        """Has the person do something to the project, on the disk, as an editor or a shell does."""
        for what, *words in operations:
            if what == "sh":
                done = self.run(["sh", "-ec", words[0]], cwd=self.project)
                assert done.returncode == 0, f"{words[0]}: {done.stderr}"
                continue
            path = os.path.join(os.fsencode(self.project), path_bytes(words[0]))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            text = words[1].encode()
            if what == "replace":
                with open(path, "rb") as file:
                    old = file.read()
                assert text in old, f"{words[0]} has no {words[1]!r}: {old!r}"
                text = old.replace(text, words[2].encode())
            with open(path, "ab" if what == "append" else "wb") as file:
                file.write(text)

    def size_of(self, *patterns: str) -> int:
        """How many bytes the files of some patterns below it have."""
        total = 0
        for path in {path for pattern in patterns for path in self.above.glob(pattern)}:
            for below, _, names in os.walk(path):
                for name in names:
                    # a product may still tidy up
                    with contextlib.suppress(FileNotFoundError):
                        total += os.lstat(os.path.join(below, name)).st_size
        return total

    def written(self) -> dict[str, tuple[int, int]]:
        """Time and size of each file outside the project."""
        found = {}
        for below, folders, names in os.walk(self.above):
            if below == str(self.above):
                folders.remove("project")
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    status = os.lstat(os.path.join(below, name))
                    found[os.path.join(below, name)] = status.st_mtime_ns, status.st_size
        return found


def wait_until_still(look: Callable[[], object], still: float) -> None:
    """Waits until something that can be observed stays the same for some seconds, at most 10 seconds."""
    deadline = time.monotonic() + 10.0
    before, since = look(), time.monotonic()
    while time.monotonic() < min(since + still, deadline):
        time.sleep(0.1)
        now = look()
        if now != before:
            before, since = now, time.monotonic()


def end_group(process: subprocess.Popen[str]) -> None:
    """Ends a process that was started here, and all that it has started in its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def new_place(scenario: Scenario) -> Iterator[Place]:
    """A new place with a project that is set up for a scenario.

    Raises:
        NoRoom: the disk that it wants cannot be had.
    """
    above = Path(tempfile.mkdtemp(prefix="yardstick-")).resolve()
    place = Place(above, scenario.start)
    mounted = False
    try:
        if scenario.size:
            size = f"size={scenario.size}m,mode=755"
            done = place.run(["mount", "-t", "tmpfs", "-o", size, "none", str(place.project)], cwd=above)
            if done.returncode:
                raise NoRoom(done.stderr.strip())
            mounted = True
        place.person([("write", name, text) for name, text in _FILES.items()])
        if scenario.has_git:
            place.person([("sh", _INIT)])
        place.person(scenario.setup)
        yield place
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place.project)], check=False)
        subprocess.run(["chmod", "-R", "u+rwX", str(above)], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(above, ignore_errors=True)
