"""Draws `agent.svg`: a session of Claude Code as `snapd log` shows it.

.venv/bin/python docs/pictures/draw_agent.py

The events are those that Claude Code 2.1.330 sent in a real run; they go to `snapd hook` again, and what the calls
did is done again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from terminal import recording, save, show_command

EVENTS = "../../tests/hook/payloads/claude-code-2.1.330-print-mode.jsonl"
PROMPT = "Please add a greeting"
FILES = {"calc.py": "def add(a, b):\n    return a + b\n", "README.md": "# demo\n"}


def main() -> None:
    """Replays the session and draws it."""
    console = recording()
    with tempfile.TemporaryDirectory(prefix="snapd-picture-") as scratch:
        folder = os.path.join(scratch, "project")
        os.makedirs(folder)
        for name, text in FILES.items():
            _write(os.path.join(folder, name), text)
        environment = {
            **os.environ,
            "SNAPD_DATA_DIR": f"{scratch}/data",
            "SNAPD_RUNTIME_DIR": f"{scratch}/run",
            "SNAPD_HOOK_SECONDS": "60",
        }

        def snapd(*words: str, event: str = "") -> str:
            command = [sys.executable, "-m", "snapd", *words]
            done = subprocess.run(
                command, cwd=folder, env=environment, input=event, capture_output=True, text=True, check=True
            )
            return done.stdout

        snapd("track")
        try:
            _replay(folder, lambda event: snapd("hook", event=event))
            show_command(console, f'claude -p "{PROMPT}"', "All done.")
            show_command(console, "snapd log", snapd("log", "--color=always"))
            steps = json.loads(snapd("log", "--json"))["entries"]
            edited = next(each["step"]["stepId"][:8] for each in steps if each.get("step", {}).get("tool") == "Edit")
            show_command(console, f"snapd undo {edited} --yes", snapd("undo", edited, "--yes", "--color=always"))
        finally:
            snapd("stop")
    save(console, "agent.svg")


def _replay(folder: str, report: Any) -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, EVENTS), encoding="utf-8") as file:
        events = [json.loads(line.replace("${PROJECT}", folder))["payload"] for line in file]
    for event in events:
        report(json.dumps(event))
        if event["hook_event_name"] == "PreToolUse":
            _do(folder, event["tool_input"])


def _do(folder: str, given: dict[str, Any]) -> None:
    """Does what a call did."""
    if "content" in given:
        _write(given["file_path"], given["content"])
    elif "old_string" in given:
        with open(given["file_path"], encoding="utf-8") as file:
            text = file.read()
        _write(given["file_path"], text.replace(given["old_string"], given["new_string"]))
    elif "command" in given:
        subprocess.run(["sh", "-c", given["command"]], cwd=folder, capture_output=True, check=False)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
