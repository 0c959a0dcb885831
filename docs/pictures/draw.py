"""Draws `command-line.svg`: real commands, run in a scratch folder, as a terminal shows them.

.venv/bin/python docs/pictures/draw.py
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

WIDTH = 92
# rich's own frame refers to fonts on the web; a picture in a repository must stand on its own
FRAME = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" xml:space="preserve">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
font-size: {char_height}px; white-space: pre; }}
{styles}
</style>
<defs>
{lines}
</defs>
<rect fill="#292929" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""

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
    here = os.path.dirname(os.path.abspath(__file__))
    console = Console(record=True, width=WIDTH, file=io.StringIO())
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
            console.print(Text.from_markup(f"[bold green]$[/] [bold]{command}[/]"))
            console.print(Text.from_ansi(snapd(*command.split()[1:], "--color=always").rstrip("\n")))

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
    with open(os.path.join(here, "command-line.svg"), "w", encoding="utf-8") as file:
        file.write(console.export_svg(title="", code_format=FRAME, unique_id="snapd"))


if __name__ == "__main__":
    main()
