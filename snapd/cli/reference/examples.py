"""The examples of `docs/cli.md`: real commands in a made-up project, in the order in which they are typed.

`python -m snapd.cli.reference.examples` plays them, and prints for each command what was typed and what came back.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from typing import TYPE_CHECKING

from snapd.sharing.sessions import SHORTEST

from .scene import Scene

if TYPE_CHECKING:
    Played = dict[str, tuple[str, str]]

_BASKET = """def total(items):
    sum = 0
    for item in items:
        sum += item.price
    return sum
"""
_BETTER = """def total(items):
    return sum(item.price * item.count for item in items)
"""
_WIRING = ("agent install", "agent uninstall")
_RUN_NAME = re.compile(r"\b[0-9a-f]{6,}\b")


class _Player:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.played: Played = {}

    def show(self, words: str, typed: str, *, sizes: bool = True) -> str:
        """Runs what is typed, as the example of a command; gives what it printed."""
        alone = [] if words in ("du", "stop", *_WIRING) else ["--no-daemon"]
        own, *command = typed.partition(" -- ")
        said = self.scene.run(*own.split(), *alone, *"".join(command).split(), sizes=sizes)
        self.played[words] = (f"snapd {typed}", said)
        self.scene.later()
        return said

    def step(self, tool: str, name: str, text: str | None) -> str:
        """A step of the agent; gives its name."""
        begun = self.show("step begin", f"step begin --session s1 --agent bot --tool {tool}").strip()
        self.scene.write(name, text)
        self.show("step end", f"step end {begun[:SHORTEST]} --file {name}")
        return begun[:SHORTEST]


def play(scene: Scene) -> Played:
    """Plays all examples.

    Args:
        scene: where nothing has happened yet.

    Returns:
        What was typed and what was printed, by the words of the command.
    """
    player = _Player(scene)
    show = player.show
    scene.write("src/basket.py", _BASKET)
    scene.write("notes.txt", "ask about discounts\n")
    scene.write("token.txt", "a secret\n")
    first = show("track", "track").strip()
    step = player.step("Edit", "src/basket.py", _BETTER)
    player.step("Write", "src/discount.py", "RATE = 0.9\n")
    scene.write("notes.txt", "discounts: 10 %\n")
    scene.later(20)
    show("log", "log")
    show("sessions", "sessions")
    show("show", f"show {step}")
    show("diff", "diff last")
    show("patch", f"patch {first}")
    show("files", f"files {first}")
    show("snapshots", "snapshots")
    show("review", "review")
    show("blame", "blame src/basket.py")
    show("keep", "keep src/discount.py")
    show("export", f"export {step} ../before")
    show("bisect", "bisect -- grep -q sum.=.0 src/basket.py")
    show("undo", f"undo {step} --yes")
    show("redo", "redo --yes")
    with scene.repository({"src/basket.py": _BASKET}):
        show("stage", "stage s1")
    show("revert-hunk", f"revert-hunk {step} src/basket.py 1")
    show("revert", f"revert {first} notes.txt --yes")
    show("restore", f"restore {first} --dry-run")
    show("session end", "session end s1")
    scene.write("token.txt", None)
    show("purge", "purge token.txt --dry-run")
    show("status", "status", sizes=False)
    show("du", "du", sizes=False)
    show("gc", "gc", sizes=False)
    show("doctor", "doctor", sizes=False)
    show("fsck", "fsck", sizes=False)
    # by this folder, it is found
    scene.write("../home/.codex/config.toml", 'model = "gpt-5.5"\n')
    show("agent install", "agent install codex")
    show("agent uninstall", "agent uninstall codex")
    return player.played | _with_daemon(scene) | _UNPLAYED


def _with_daemon(scene: Scene) -> Played:
    """The examples that need a daemon, which lives in real time and makes names of its own."""
    said = scene.run("run", "--", "sh", "-c", "echo 'VAT = 0.2' > src/vat.py")
    scene.run("stop")
    return {
        "run": ("snapd run -- sh -c \"echo 'VAT = 0.2' > src/vat.py\"", _RUN_NAME.sub("7c1e90", said)),
        "stop": ("snapd stop", ""),
    }


_UNPLAYED: Played = {
    "adopt": ("snapd adopt ~/old-name", ""),
    "uninstall": ("snapd uninstall --dry-run", ""),
    "hook": ("snapd hook < event.json", ""),
    "push": ("snapd push origin --exclude '*.env'", ""),
    "fetch": ("snapd fetch origin", ""),
    "bundle": ("snapd bundle ../parser.bundle 5f1c0a22 --dry-run", ""),
    "unbundle": ("snapd unbundle ../parser.bundle", ""),
    "handover": ("snapd handover origin --dry-run", ""),
    "takeover": ("snapd takeover origin --dry-run", ""),
    "apply": ("snapd apply 7c1e90b2 --dry-run", ""),
    "watch": ("snapd watch", ""),
    "acp": ("snapd acp -- claude-agent-acp", ""),
    "mcp": ("snapd mcp", ""),
    "agent status": ("snapd agent status", ""),
    "ui": ("snapd ui", ""),
    "web": ("snapd web --open", ""),
    "serve": ("snapd serve --idle-exit 0", ""),
    "connect": ("snapd connect", ""),
    "completion": ("snapd completion bash > ~/.local/share/bash-completion/completions/snapd", ""),
    "help": ("snapd help undo", ""),
}
"""Examples that print nothing, or what this document says anyway."""


def main() -> None:
    """Plays them in this process, whose clock and names are those of the scene from then on."""
    output = sys.stdout
    with tempfile.TemporaryDirectory(prefix="snapd-docs-", ignore_cleanup_errors=True) as scratch:
        scene = Scene(scratch)
        scene.begin()
        json.dump(play(scene), output)


if __name__ == "__main__":
    main()
