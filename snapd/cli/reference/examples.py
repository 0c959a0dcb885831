"""The examples of `docs/cli.md`: real commands in a made-up project.

`python -m snapd.cli.reference.examples` runs them, and prints the document.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from typing import TYPE_CHECKING

from snapd.cli.parsing.command import COMMANDS
from snapd.sharing.sessions import SHORTEST

from . import markdown
from .answers import load_all
from .demo_project import DemoProject

if TYPE_CHECKING:
    from .markdown import Played

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
