"""Draws `command-line.svg`: real commands, run in a scratch folder, as a terminal shows them.

.venv/bin/python docs/pictures/draw.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from terminal import recording, save, show_command

PARSER = """def parse(text):
    rows = []
    for line in text.splitlines():
        rows.append(line.split(","))
    return rows
"""
BETTER = """import csv


def parse(text):
    return list(csv.reader(text.splitlines()))
"""
MINE = (
    BETTER
    + """

def header(text):
    return parse(text)[0]
"""
)


def main() -> None:
    """Runs the commands and draws what they print."""
    console = recording()
    with tempfile.TemporaryDirectory(prefix="snapd-picture-") as scratch:
        folder = os.path.join(scratch, "project")
        os.makedirs(os.path.join(folder, "src"))
        environment = {**os.environ, "SNAPD_DATA_DIR": scratch + "/data", "SNAPD_RUNTIME_DIR": scratch + "/run"}

        def write(name: str, data: str) -> None:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(data)

        def snapd(*words: str) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "snapd", *words, "--no-daemon"],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            return done.stdout

        def show(command: str) -> None:
            show_command(console, command, snapd(*command.split()[1:], "--color=always"))

        def step(session: str, agent: str, tool: str, about: str, files: dict[str, str]) -> str:
            named = ("--session", session, "--agent", agent, "--tool", tool, "--description", about)
            name = snapd("step", "begin", *named).strip()
            for file, data in files.items():
                write(file, data)
            snapd("step", "end", name, *(word for file in files for word in ("--file", file)))
            return name[:8]

        write("src/parser.py", PARSER)
        write("notes.txt", "todo: quoting\n")
        snapd("track")
        quoted = step(
            "s1", "claude", "Edit", "read quoted names", {"src/parser.py": BETTER, "src/data.csv": "a,b\n1,2\n"}
        )
        write("src/parser.py", MINE)
        step("s2", "codex", "shell", "make docs", {"index.md": "# Parser\n"})
        show("snapd log")
        show(f"snapd undo {quoted} --yes")
        show("snapd log -n 2")
    save(console, "command-line.svg")


if __name__ == "__main__":
    main()
