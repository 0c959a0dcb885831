"""`docs/cli.md`: what it has to say of every command, and that nothing is forgotten."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path

import pytest

from scripts.generate import __main__ as program
from scripts.generate import markdown
from scripts.generate.answers import load_all
from snapd.cli import exit_codes
from snapd.cli.parsing.parser import build_parser

DOCUMENT = (Path(__file__).parents[3] / "docs" / "cli.md").read_text("utf-8")
COMMANDS = dict(markdown.commands(build_parser()))


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_with_every_option_and_an_example(words: str) -> None:
    section = DOCUMENT.partition(f"\n### snapd {words}\n")[2].partition("\n##")[0]
    everywhere = DOCUMENT.partition("\n## Options that most commands have\n")[2].partition("\n## ")[0]
    assert f"$ snapd {words}" in section
    for option in COMMANDS[words].options.keys() - {"-h", "--help"}:
        assert re.search(rf"`{option}[ `]", section + everywhere), f"{words} {option}"
    assert f"(#snapd-{words.replace(' ', '-')})" in DOCUMENT


def test_every_exit_code() -> None:
    rows = re.findall(r"^\| (\d+) \| \S", DOCUMENT, re.MULTILINE)
    assert rows == sorted((str(value) for name, value in vars(exit_codes).items() if name.isupper()), key=int)


def test_a_command_without_an_example_is_named() -> None:
    every = load_all()
    undo = copy(every["undo"])
    undo.example = ""
    with pytest.raises(LookupError, match=r"no example of undo: give its @Command one in snapd\.cli\.commands\.undo"):
        markdown.check_examples({**every, "undo": undo})


def test_nothing_of_this_machine_gets_into_it() -> None:
    assert "/tmp/" not in DOCUMENT
    assert "snapd-docs-" not in DOCUMENT


def test_what_is_stale_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(markdown, "text", lambda: "fresh\n")
    (tmp_path / "docs/design").mkdir(parents=True)
    for source in program.SOURCES:
        (tmp_path / source).write_bytes((program.ROOT / source).read_bytes())
    assert program.main(["--quick"], tmp_path) == 0
    (tmp_path / "docs/cli.md").write_text("stale\n")
    assert program.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().err == "stale: docs/cli.md; run make generate\n"
    assert (tmp_path / "docs/cli.md").read_text() == "stale\n"
    assert program.main([], tmp_path) == 0
    assert (tmp_path / "docs/cli.md").read_text() == "fresh\n"
    assert program.main(["--check"], tmp_path) == 0
