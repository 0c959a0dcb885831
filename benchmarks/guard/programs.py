"""What the programs load that people and agents wait for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.daemon import Daemon, environment

if TYPE_CHECKING:
    from .committed import Counts

_LOADING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loading.py")
_EVENT = {
    "hook_event_name": "PreToolUse",
    "session_id": "guard",
    "prompt_id": "prompt",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_use_id": "call",
}


def programs(directory: str) -> Counts:
    """The counts of a hook, of commands, and of a daemon from its start to the answer to `initialize`."""
    tree = os.path.join(directory, "project")
    os.makedirs(tree)
    with open(os.path.join(tree, "f.txt"), "w") as file:
        file.write("a line\n")
    with Daemon(os.path.join(directory, "d")) as daemon:
        daemon.first_track(tree)
        given = {
            "hook": (["hook"], json.dumps({**_EVENT, "cwd": tree}).encode()),
            "cli-version": (["--version"], b""),
            "cli-log": (["log", "--socket", daemon.socket], b""),
            "cli-status": (["status", "--socket", daemon.socket], b""),
            "cli-track": (["track", "--socket", daemon.socket], b""),
        }
        counts = {row: _run(daemon.directory, tree, *of) for row, of in given.items()}
    counts["spawn"] = _run(os.path.join(directory, "d"), tree, ["serve", "--stdio"], _opening(tree))
    return counts


def _run(directory: str, tree: str, words: list[str], given: bytes) -> dict[str, int]:
    report = os.path.join(directory, "loaded.json")
    subprocess.run(
        [sys.executable, _LOADING, report, *words],
        cwd=tree,
        env=environment(directory),
        input=given,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    with open(report, encoding="ascii") as file:
        counts: dict[str, int] = json.load(file)
    return counts


def _opening(tree: str) -> bytes:
    """What an editor sends to a new daemon of its own, which then ends."""
    folder = {"uri": f"file://{tree}", "name": "project"}
    params: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}, "workspaceFolders": [folder]}
    messages: tuple[dict[str, object], ...] = (
        {"id": 1, "method": "initialize", "params": params},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    )
    content = b""
    for message in messages:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        content += b"Content-Length: %d\r\n\r\n%b" % (len(data), data)
    return content
