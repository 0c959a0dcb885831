"""What a session is called where its agent gives it no title."""

from __future__ import annotations

import pytest

from snapd.model.timeline import Session, prompt_name

LONG = "Add an endpoint to the server that returns the list of all users, sorted by name"


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("", None),
        (" \n---\n```\n", None),
        ("Fix the tests", "Fix the tests"),
        ("\n\n  Fix   the\ttests \nand more", "Fix the tests"),
        ("## Fix the login\n\nIt fails.", "Fix the login"),
        ("> - Fix the login", "Fix the login"),
        ("/review", "/review"),
        ("1. Fix the login", "1. Fix the login"),
        ("<ide_opened_file>shop.py\nis open</ide_opened_file>\nFix the login", "Fix the login"),
        ("<command-name>/review</command-name>", "/review"),
        ("Draw <b>bold</b> text", "Draw <b>bold</b> text"),
        (LONG, "Add an endpoint to the server that returns the list of all…"),
        ("a" * 61, "a" * 59 + "…"),
        ("修" * 100, "修" * 59 + "…"),
        ("Fix\x1b[31m\x07 it\u202e", "Fix [31m it"),
    ],
)
def test_the_name_of_a_prompt(prompt: str, name: str | None) -> None:
    assert prompt_name(prompt) == name


def test_a_title_comes_before_the_prompt() -> None:
    session = Session("s", "claude", None, 0, None, 0, LONG)
    assert session.name == "Add an endpoint to the server that returns the list of all…"
    assert Session("s", "claude", f"{LONG}\n", 0, None, 0, "Fix it").name == LONG
    assert Session("s", "claude", None, 0, None, 0).name == "Claude Code"
    assert Session("3f2a9c1b77", None, None, 0, None, 0).name == "session 3f2a9c1b"
