"""The examples of `docs/cli.md`: real commands in a made-up project.

`python -m scripts.generate.examples` runs them, and prints the document.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from itertools import cycle
from typing import TYPE_CHECKING, Any

from snapd.cli.parsing.command import COMMANDS
from snapd.sharing.sessions import SHORTEST

from . import markdown
from .answers import load_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .markdown import Played

_BEGINNING = 1_709_647_200
"""5 March 2024, 14:00 UTC: before any file of the project was written, so that files are always read again."""
_MINUTE = 60
_WIDTH = "88"
_HOME = "/home/you"
_CHANGING = (
    (re.compile(r"/snapshot/[0-9a-f]{16}"), "/snapshot/5d1f0c9a7be24e63"),
    (re.compile(r"Python [\d.]+, libgit2 [\d.]+"), "Python 3.12.3, libgit2 1.9.1"),
    (re.compile(r"[\d.]+ [A-Za-z]+ free\b"), "212 GiB free"),
    (re.compile(r"(\d+ directories; a user may watch) \d+ with \d+"), r"\1 65536 with 128"),
    (re.compile(r"(watching +|watcher )(?:inotify|watchdog|none)(?: \(.*\))?"), r"\1inotify"),
)
"""What differs from machine to machine, and its replacement in the examples."""
_SIZE = re.compile(r"(^ *|)\b\d[\d.]* (?:bytes|KiB)", re.MULTILINE)
_SIZES = ("42.4 KiB", "6.1 KiB", "14.9 KiB", "17.4 KiB", "4 KiB")


class DemoProject:
    """The project, and the user who types commands in it."""

    def __init__(self, scratch: str) -> None:
        self._scratch = os.path.realpath(scratch)
        self.folder = os.path.join(self._scratch, "project")
        self._now = _BEGINNING
        self._made = 0
        os.makedirs(self.folder)

    def write(self, name: str, text: str | None) -> None:
        """Writes a file of the project; None deletes it."""
        path = os.path.join(self.folder, name)
        if text is None:
            os.remove(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    @contextmanager
    def repository(self, files: dict[str, str]) -> Iterator[None]:
        """Makes the project a git repository during the block, with these files committed."""

        def git(*words: str, text: str = "") -> str:
            return subprocess.run(
                ["git", *words], cwd=self.folder, input=text, check=True, stdout=subprocess.PIPE, encoding="utf-8"
            ).stdout.strip()

        git("init", "--quiet")
        for name, text in files.items():
            git("update-index", "--add", "--cacheinfo", "100644", git("hash-object", "-w", "--stdin", text=text), name)
        you = ("-c", "user.name=You", "-c", "user.email=you@example.com")
        git(*you, "commit", "--quiet", "--message", "Begin")
        yield
        shutil.rmtree(os.path.join(self.folder, ".git"))

    def later(self, minutes: int = 1) -> None:
        """Advances the clock."""
        self._now += minutes * _MINUTE

    def run(self, *words: str, sizes: bool = True) -> str:
        """Returns what a command prints to both streams; without `sizes`, hides those that depend on the machine."""
        from snapd.cli.main import main

        with open(os.path.join(self._scratch, "said"), "w+b") as message, _streams_to(message.fileno()):
            code = main(list(words))
            sys.stdout.flush()
            sys.stderr.flush()
            message.seek(0)
            text = self._settled(message.read().decode("utf-8"))
        if code:
            raise RuntimeError(f"snapd {' '.join(words)} ended with {code}: {text}")
        if sizes:
            return text
        shown = cycle(_SIZES)
        return _SIZE.sub(lambda result: next(shown).rjust(len(result[0]) if result[1] else 0), text)

    def begin(self) -> None:
        """Moves this process into the project, at its fixed time, as a user without settings, permanently."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        os.environ.clear()
        home = os.path.join(self._scratch, "home")
        # a socket needs a short path
        runtime = os.path.join(self._scratch, "run")
        os.environ.update(kept, HOME=home, SNAPD_RUNTIME_DIR=runtime, COLUMNS=_WIDTH, TZ="UTC", NO_COLOR="1")
        time.tzset()
        os.chdir(self.folder)
        # only this makes the store's ids and times the same each time
        from snapd.cli.terminal import times
        from snapd.store.journal import journal

        replaced: list[tuple[Any, str, Any]] = [
            (time, "time", lambda: float(self._now)),
            (time, "time_ns", lambda: self._now * 1_000_000_000),
            (time, "clock_gettime_ns", lambda _: self._now * 1_000_000_000),
            (times, "local_now", lambda: datetime.fromtimestamp(self._now, UTC)),
            (secrets, "token_hex", self._token),
            (journal, "publish_later", journal.Journal.publish_in_background),
        ]
        for module, name, function in replaced:
            setattr(module, name, function)

    def _token(self, count: int = 8) -> str:
        self._made += 1
        return sha256(b"%d" % self._made).hexdigest()[: 2 * count]

    def _settled(self, text: str) -> str:
        text = text.replace(self.folder, f"{_HOME}/project").replace(f"{self._scratch}/home", _HOME)
        text = text.replace(f"{self._scratch}/run", "/run/user/1000/snapd")
        for pattern, shown in _CHANGING:
            text = pattern.sub(shown, text)
        return text


@contextmanager
def _streams_to(descriptor: int) -> Iterator[None]:
    before = [os.dup(number) for number in (1, 2)]
    streams = sys.stdout, sys.stderr
    for number in (1, 2):
        os.dup2(descriptor, number)
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(number, "w", closefd=False)) for number in (1, 2))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        for number, saved in zip((1, 2), before, strict=True):
            os.dup2(saved, number)
            os.close(saved)


_BASKET = """def total(items):
    sum = 0
    for item in items:
        sum += item.price
    return sum
"""
_BETTER = """def total(items):
    return sum(item.price * item.count for item in items)
"""
_STEP = "step begin --session s1 --agent bot --tool Edit"
_RANDOM_NAME = re.compile(r"\b[0-9a-f]{6,}\b")
_LATER = (
    *("keep", "export", "bisect", "undo", "redo", "stage", "revert-hunk", "revert", "restore", "session end", "purge"),
    *("status", "du", "gc", "doctor", "fsck", "agent install", "agent uninstall", "run", "stop"),
)
"""The commands whose examples change the project, or summarize what the others did, in this order."""
_SIZES_OF_STORES = frozenset({"status", "du", "gc", "doctor", "fsck"})
"""The commands that show sizes which depend on libraries and the file system."""


class _Player:
    def __init__(self, project: DemoProject) -> None:
        self.project = project
        self.played: Played = {}
        self.names: dict[str, str] = {}

    def show(self, words: str) -> str:
        """Runs the example of a command; returns what it printed."""
        command = COMMANDS[words]
        if not command.plays:
            self.played[words] = (f"snapd {command.example}", "")
            return ""
        typed = command.example.format(**self.names)
        printed = self.run(typed, sizes=words not in _SIZES_OF_STORES)
        self.played[words] = (f"snapd {typed}", printed)
        return printed

    def run(self, typed: str, *, sizes: bool = True) -> str:
        """Runs a command, without a daemon if possible."""
        words = shlex.split(typed)
        options = markdown.options_of(words)
        at = words.index("--") if "--" in words else len(words)
        alone = ["--no-daemon"] if "--no-daemon" in options else []
        printed = self.project.run(*words[:at], *alone, *words[at:], sizes=sizes)
        self.project.later()
        return printed


def play(project: DemoProject) -> Played:
    """Runs all examples; returns what was typed and what was printed, by the words of the command."""
    every = load_all()
    player = _Player(project)
    project.write("src/basket.py", _BASKET)
    project.write("notes.txt", "ask about discounts\n")
    project.write("token.txt", "a secret\n")
    player.names["first"] = player.show("track").strip()
    step = player.run(_STEP).strip()[:SHORTEST]
    project.write("src/basket.py", _BETTER)
    player.run(f"step end {step} --file src/basket.py")
    player.names["step"] = player.show("step begin").strip()[:SHORTEST]
    project.write("src/discount.py", "RATE = 0.9\n")
    player.show("step end")
    player.names["step"] = step
    project.write("notes.txt", "discounts: 10 %\n")
    project.later(20)
    for words, command in every.items():
        if command.example and words not in (*player.played, *_LATER):
            player.show(words)
    for words in _LATER:
        _prepare(project, words)
        if words == "stage":
            with project.repository({"src/basket.py": _BASKET}):
                player.show(words)
        else:
            player.show(words)
    # a daemon uses the real time and generates its own ids
    typed, printed = player.played["run"]
    return {**player.played, "run": (typed, _RANDOM_NAME.sub("7c1e90", printed))}


def _prepare(project: DemoProject, words: str) -> None:
    if words == "purge":
        project.write("token.txt", None)
    elif words == "agent install":
        # makes the agent look installed
        project.write("../home/.codex/config.toml", 'model = "gpt-5.5"\n')


def main() -> None:
    """Runs them in this process, whose clock and ids are those of the project from then on."""
    output = sys.stdout
    with tempfile.TemporaryDirectory(prefix="snapd-docs-", ignore_cleanup_errors=True) as scratch:
        project = DemoProject(scratch)
        project.begin()
        output.write(markdown.document(play(project)))


if __name__ == "__main__":
    main()
