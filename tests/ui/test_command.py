"""`snapd ui` as a command: on a terminal, without one, and where its extra is not installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Terminal
from tests.cli.steps import take

if TYPE_CHECKING:
    from tests.cli.running import Home

_COLOUR = re.compile(rb"[34]8;2;(\d+);(\d+);(\d+)")


@pytest.mark.parametrize("monochrome", [False, True])
def test_on_a_terminal(home: Home, project: str, monochrome: bool) -> None:
    take(home, project, "S", {"new.txt": b"new\n"}, "--description", "the step")
    colour = ["--color", "never"] if monochrome else []
    terminal = Terminal(home, project, "ui", *colour, keys=True, env={"COLORTERM": "truecolor"})
    terminal.wait_for(b"the step")
    terminal.wait_for(b"new.txt")
    terminal.type(b"q")
    assert terminal.finish().code == 0
    colours = {tuple(map(int, found)) for found in _COLOUR.findall(terminal.seen)}
    assert colours
    assert all(red == green == blue for red, green, blue in colours) == monochrome


def test_without_a_terminal(home: Home, project: str) -> None:
    done = home.run(project, "ui")
    assert (done.code, done.out) == (2, b"")
    assert done.err == "snapd: the terminal view needs a terminal\nhint: 'snapd log' prints the same\n"
