"""What the pictures of terminals have in common."""

from __future__ import annotations

import io
import os

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


def recording(width: int = WIDTH) -> Console:
    """A terminal that remembers what is printed."""
    return Console(record=True, width=width, file=io.StringIO())


def show_command(console: Console, command: str, printed: str) -> None:
    """Prints a command and what it printed, with its colors."""
    console.print(Text.from_markup(f"[bold green]$[/] [bold]{command}[/]"))
    if printed:
        console.print(Text.from_ansi(printed.rstrip("\n")))


def save(console: Console, name: str) -> None:
    """Writes what was printed as a picture of that name, beside this file."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, name), "w", encoding="utf-8") as file:
        file.write(console.export_svg(title="", code_format=FRAME, unique_id="snapd"))
