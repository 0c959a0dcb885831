"""The commands that pages show, as somebody who reads them would type them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^( *)```(\w*)(?: (\w+))?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@attrs.frozen
class Block:
    """A block of code of a page.

    Attributes:
        mark: what stands behind the language: `norun` for commands that no test runs.
    """

    page: Path
    language: str
    mark: str
    text: str

    def lines(self) -> Iterator[str]:
        """The commands, one line each; in a console, those behind a prompt."""
        text = self.text.replace("\\\n", "")
        for line in text.splitlines():
            if self.language == "console":
                if line.startswith("$ "):
                    yield line[2:]
            elif line.strip():
                yield line.strip()


def blocks(page: Path) -> list[Block]:
    """All blocks between fences."""
    return [Block(page, *found[1:]) for found in _BLOCK.findall(page.read_text("utf-8"))]


def outside(page: Path) -> str:
    """A page without its blocks."""
    return _BLOCK.sub("", page.read_text("utf-8"))


def commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a line of a shell, those in `$(...)` included."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();|&<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if word.strip("<>") == "":
            # where its output goes, or its input comes from
            next(lexer, None)
            continue
        for inner in re.findall(r"\$\(([^)]*)\)", word):
            yield from commands(inner)
        if word.strip("();|&$!{}") == "" or word.endswith("=$"):
            yield words
            words = []
        else:
            words.append(word)
    yield words
