"""A moving picture of a terminal: an SVG that shows one command after the other, and scrolls."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROWS = 24
LINE = 24.4
CELL = 12.2
MARGIN = 14
TYPED_A_SECOND = 28
FRAME = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" xml:space="preserve">
<style>
.snapd-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 20px; white-space: pre; }}
{colors}
.screen {{ transform: translateY({end}px); }}
.cover {{ visibility: hidden; }}
@media (prefers-reduced-motion: no-preference) {{
.screen, .line, .cover {{ animation-duration: {seconds}s; animation-iteration-count: infinite; }}
.screen, .line {{ animation-timing-function: step-end; }}
.screen {{ animation-name: scroll; }}
{keyframes}
}}
</style>
<rect fill="#292929" width="{width}" height="{height}" rx="8"/>
<svg x="{margin}" y="{margin}" width="{inner_width}" height="{inner_height}">
<g class="screen snapd-matrix">
{lines}
</g>
</svg>
</svg>
"""


class Moving:
    """What is typed and printed, and when.

    Attributes:
        columns: the width of the terminal.
    """

    columns = 86

    def __init__(self) -> None:
        self._console = Console(record=True, width=self.columns, file=io.StringIO(), color_system="truecolor")
        self._seconds = 0.6
        self._shown: list[float] = []
        """When each line is there, in seconds."""
        self._typed: dict[int, tuple[float, float, int]] = {}
        """Of lines that are typed: from when, until when, and the number of characters."""

    def command(self, typed: str, *printed: str) -> None:
        """Types a command, prints what it printed, and leaves time to read it.

        Args:
            typed: at most as long as the terminal is wide.
            printed: with its colors, one part after the other; wrapped where it is too wide.
        """
        began = self._seconds
        self._seconds += len(typed) / TYPED_A_SECOND
        self._typed[len(self._shown)] = (began, self._seconds, len(typed) + 2)
        self._print(Text.assemble(("$ ", "bold green"), (typed, "bold")), began)
        self._seconds += 0.5
        for part in printed:
            text = Text.from_ansi(part)
            text.rstrip()
            if text:
                self._print(text, self._seconds)
                self._seconds += 1 + 0.32 * len(text.plain.splitlines())

    def _print(self, text: Text, seconds: float) -> None:
        lines = text.wrap(self._console, self.columns)
        self._console.print(text)
        self._shown += [seconds] * len(lines)

    def save(self, path: Path) -> None:
        """Writes the picture.

        Args:
            path: of the SVG.
        """
        whole = self._seconds + 5
        drawn = self._console.export_svg(title="", unique_id="snapd", code_format="{styles}\n===\n{matrix}")
        colors, _, matrix = drawn.partition("\n===\n")
        lines: list[list[str]] = [[] for _ in self._shown]
        for element, line in re.findall(r'(<text [^>]* clip-path="url\(#snapd-line-(\d+)\)">[^<]*</text>)', matrix):
            if element.partition(">")[2].strip() != "</text>":
                lines[int(line)].append(re.sub(r' clip-path="[^"]*"', "", element))

        def percent(seconds: float) -> str:
            return f"{100 * seconds / whole:.2f}%"

        keyframes, groups = [], []
        for number, (shown, elements) in enumerate(zip(self._shown, lines, strict=True)):
            name = f"at{self._shown.index(shown)}"
            if number == self._shown.index(shown):
                visible = f"{percent(shown)} {{ visibility: visible; }}"
                keyframes.append(f"@keyframes {name} {{ 0% {{ visibility: hidden; }} {visible} }}")
            groups.append(f'<g class="line" style="animation-name: {name}">{"".join(elements)}</g>')
            if number in self._typed:
                began, ended, width = self._typed[number]
                # a cover with a cursor moves to the right, a character at a time
                covers = (
                    f"0% {{ visibility: hidden; animation-timing-function: step-end; }} "
                    f"{percent(began)} {{ visibility: visible; transform: none; "
                    f"animation-timing-function: steps({width - 2}); }} {percent(ended)} {{ visibility: hidden; "
                    f"transform: translateX({(width - 2) * CELL:.1f}px); }} 100% {{ visibility: hidden; }}"
                )
                keyframes.append(f"@keyframes type{number} {{ {covers} }}")
                top = number * LINE + 2
                groups.append(
                    f'<g class="cover" style="animation-name: type{number}">'
                    f'<rect fill="#292929" x="{2 * CELL}" y="{top:.1f}" width="{width * CELL:.1f}" height="{LINE}"/>'
                    f'<rect fill="#c5c8c6" x="{2 * CELL}" y="{top:.1f}" width="{CELL}" height="{LINE - 2}"/></g>'
                )
        scrolled = [(0.0, 0)]
        for number, shown in enumerate(self._shown):
            away = max(0, self._shown.count(shown) + self._shown.index(shown) - ROWS)
            if away > scrolled[-1][1] and number == self._shown.index(shown):
                scrolled.append((shown, away))
        moved = " ".join(f"{percent(at)} {{ transform: translateY({-away * LINE:.1f}px); }}" for at, away in scrolled)
        keyframes.append(f"@keyframes scroll {{ {moved} }}")
        width, height = self.columns * CELL, ROWS * LINE + 6
        picture = FRAME.format(
            width=round(width + 2 * MARGIN),
            height=round(height + 2 * MARGIN),
            inner_width=round(width),
            inner_height=round(height),
            margin=MARGIN,
            colors=colors,
            end=f"{-scrolled[-1][1] * LINE:.1f}",
            seconds=f"{whole:.1f}",
            keyframes="\n".join(keyframes),
            lines="\n".join(groups),
        )
        path.write_text(picture, encoding="utf-8")
