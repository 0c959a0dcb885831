"""What files, prompts and agents say is shown on a terminal, and obeyed by none."""

from __future__ import annotations

import json
import os
import re

import pytest

from snapd.cli.terminal.layout import STYLE, visible
from tests.cli.running import Home, Terminal
from tests.cli.steps import put

HOSTILE = "x\x1b[1A\x1b[2K\r+safe()\x1b[31m\x1b]0;t\x07\x1b[8m\x08\x7f\x9b2K\u202e)(\u2066\x0b\x00y"
LINE = HOSTILE.replace("\0", "") + "\n"
STYLED = re.compile(rb"\x1b\[(?:0|1|2|3[1-6]|38;5;[0-9]{1,3})m")
OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def folder(home: Home) -> str:
    """A folder in which everything that an agent can name has all of it."""
    project = home.project("hostile", {"a.txt": b"a\nb\n", "b.txt": b"b\n"})
    home.track(project)
    asked = ("--session", "s", "--agent", LINE, "--tool", LINE, "--description", LINE)
    step = home.ok(project, "step", "begin", *asked).strip()
    put(project, {"a.txt": b"a\nb\n" + LINE.encode() + b"\x9b2Jno utf-8\xff\n", f"n{LINE[:-1]}": LINE.encode()})
    home.ok(project, "step", "end", step)
    put(project, {"b.txt": LINE.encode()})
    home.track(project)
    return project


def shown(home: Home, folder: str, *args: str, keys: bytes = b"", **env: str) -> bytes:
    """What a terminal gets, without the styles of snapd itself and the ends of lines."""
    terminal = Terminal(home, folder, *args, env=env)
    terminal.type(keys)
    terminal.finish()
    return STYLED.sub(b"", terminal.seen).replace(b"\r\n", b"\n")


COMMANDS = [
    ("log",),
    ("log", "-p"),
    ("log", "--json"),
    ("show", "last"),
    ("show", "a.txt@last"),
    ("patch", "{step}"),
    ("files", "last"),
    ("snapshots",),
    ("review", "-p"),
    ("blame", "a.txt"),
    ("undo", "-n"),
    ("restore", HOSTILE[:3]),
    ("watch", HOSTILE[:4]),
]


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: args[0])
def test_nothing_reaches_a_terminal_that_it_would_obey(home: Home, folder: str, args: tuple[str, ...]) -> None:
    step = home.run(folder, "log", "--json").json["entries"][-1]["step"]["stepId"]
    seen = shown(home, folder, *(word.format(step=step) for word in args), "--color", "always").decode("utf-8")
    assert "\\x1b" in seen or "\\u001b" in seen
    assert not OBEYED.search(seen), seen


@pytest.mark.parametrize("args", [("keep", "-p"), ("revert", "-p"), ("undo", "last")], ids=" ".join)
def test_nothing_that_a_person_decides_upon_is_obeyed(home: Home, folder: str, args: tuple[str, ...]) -> None:
    seen = shown(home, folder, *args, keys=b"n\nd\nq\nn\n").decode("utf-8")
    assert "\\x1b[1A\\x1b[2K\\r+safe()\\x1b[31m" in seen
    assert not OBEYED.search(seen), seen
    paged = shown(home, folder, "log", "-p", SNAPD_PAGER="cat -", LESS="-r").decode("utf-8")
    assert not OBEYED.search(paged), paged


def test_json_on_a_terminal_is_json(home: Home, folder: str) -> None:
    on_terminal = shown(home, folder, "show", "last", "--json", "--no-pager")
    assert json.loads(on_terminal) == home.run(folder, "show", "last", "--json").json


def test_a_pipe_gets_the_bytes(home: Home, folder: str) -> None:
    assert home.run(folder, "show", "b.txt@last").out == LINE.encode()
    with open(os.path.join(folder, "a.txt"), "rb") as file:
        assert home.run(folder, "show", "a.txt@last", "--color", "always").out == file.read()


def test_styles_are_ours_alone() -> None:
    assert visible(f"{STYLE}[31mred{STYLE}[0m \x1b[31m {STYLE} é\t\n") == "\x1b[31mred\x1b[0m \\x1b[31m \\ud800 é\t\n"
    assert visible("\udc9b\x9b\u2067\x7f漢\u3000🙂") == "\\x9b\\u009b\\u2067\\u007f漢\u3000🙂"
