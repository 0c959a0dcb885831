"""Each command that README and docs show is one that snapd takes, and is run by a test or marked as not run."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from scripts.generate import markdown
from snapd.cli.parsing.parser import build_parser
from tests.cli.first_hour import TRANSCRIPTS

from .commands_in_pages import PAGES, ROOT, blocks, commands, outside

if TYPE_CHECKING:
    from pathlib import Path

TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
PARSER = build_parser()
COMMANDS = dict(markdown.commands(PARSER))
TRANSCRIPT = "\n".join(path.read_text("utf-8") for path in sorted(TRANSCRIPTS.iterdir()))
EXAMPLES_OF_COMMANDS = ROOT / "docs" / "cli.md"
"""Its examples are written from runs."""


def _name(value: object) -> str:
    return str(value.relative_to(ROOT)) if hasattr(value, "relative_to") else ""


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_stand_in_blocks_that_say_so(page: Path) -> None:
    text = re.sub(r"^<!--.*?-->$", "", outside(page), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\n\n    \S.*", text) == []
    for block in blocks(page):
        assert block.language in {"console", "json", "lua", "python", "sh", "text", "toml", "ts", ""}, block
        assert block.mark in {"", "norun"}, block
        if block.language not in {"console", "sh"}:
            assert (
                re.findall(r"^(?:\$ )?(?:snapd|make|git|pip|pipx) (?![0-9a-f]{8} )[a-z].*", block.text, re.MULTILINE)
                == []
            ), block


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_it_is_a_command_that_there_is(page: Path) -> None:
    lines = [line for block in blocks(page) if block.language in {"console", "sh"} for line in block.lines()]
    for words in (words for line in lines for words in commands(line)):
        if words[:1] == ["snapd"] and words[1:2] != ["help"]:
            # raises where there is no such command, argument or option; `--help` exits
            with suppress(SystemExit):
                PARSER.parse_args(words[1:])
        if words[:1] == ["make"]:
            assert {word for word in words[1:] if "=" not in word and not word.startswith("-")} <= TARGETS, words


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_within_sentences_are_spelled_right(page: Path) -> None:
    """The first word of each, and its options."""
    wrong = []
    for code in re.findall(r"`snapd ((?:-C DIR )?[a-z][^`]*)`", outside(page).replace("\n", " ")):
        words = code.replace("-C DIR ", "").partition(" | ")[0].split()
        command = COMMANDS.get(" ".join(words[:2]), COMMANDS.get(words[0]))
        if command is None:
            wrong += [] if words[0] in {"agent", "step", "session", "help"} else [code]
            continue
        options = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
        options = options[: words.index("--")] if "--" in words else options
        wrong += [code for option in options if option not in command.options]
    assert wrong == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != EXAMPLES_OF_COMMANDS], ids=_name)
def test_what_a_console_shows_was_seen(page: Path) -> None:
    """`tests/cli/test_first_hour.py` runs these commands and compares what they print."""
    for block in blocks(page):
        if block.language == "console" and block.mark != "norun":
            assert _narrow(block.text) in _narrow(TRANSCRIPT), block


def _narrow(text: str) -> str:
    """Without the widths of columns, which a transcript does not keep."""
    return "".join(f"{re.sub(' +', ' ', line).strip()}\n" for line in text.splitlines())
