"""Draws `neovim.svg`: a Neovim with the steps of two agents, and what one of them changed in two panes.

PYTHONPATH=. .venv/bin/python docs/pictures/draw_neovim.py
"""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from snapd_client import Client
from terminal import recording, save

from tests.cli.running import Home
from tests.neovim.agent import Agent
from tests.neovim.editor import Neovim

if TYPE_CHECKING:
    import pyte

SIZE = (124, 21)
BACKGROUND, FOREGROUND = "#292929", "#d0d0d0"
BASKET = b"""class Basket:
    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(item.price for item in self.items)
"""
COUNTED = BASKET.replace(b"self.items.append(item)", b"self.items.append(item)\n        return len(self.items)")
ROUNDED = COUNTED.replace(
    b"return sum(item.price for item in self.items)",
    b"prices = (each.price * each.count for each in self.items)\n        return round(sum(prices), 2)",
)
TEST = b"def test_total():\n    assert Basket().total() == 0\n"
CONFIG = "vim.o.laststatus = 0 vim.o.showmode = false vim.o.ruler = false vim.o.fillchars = 'eob: '"


def main() -> None:
    """Has the agents work, and draws what is shown."""
    home = Home()
    try:
        folder = home.project("shop", {"basket.py": BASKET, ".git/HEAD": b"ref: refs/heads/main\n"})
        home.track(folder)
        with Client.connect(home.at("run/daemon.sock"), timeout=60) as client:
            client.initialize([folder])
            work(client, folder)
            editor = Neovim(home, folder, "basket.py", size=SIZE, env={"COLORTERM": "truecolor"}, config=CONFIG)
            try:
                draw(editor)
            finally:
                editor.close()
    finally:
        home.close()


def work(client: Client, folder: str) -> None:
    """What two agents and a user do."""
    claude = Agent(client, folder, "claude")
    claude.prompt("m1", "Round the totals, and multiply by the counts")
    claude.step("add tells the count", {"basket.py": COUNTED})
    guess = claude.step("a first guess", {"money.py": b"CENTS = 100\n"})
    client.session_undo("claude", step_id=guess)
    with open(os.path.join(folder, "notes.txt"), "wb") as notes:
        notes.write(b"what about taxes?\n")
    claude.step("prices times counts", {"basket.py": ROUNDED})
    codex = Agent(client, folder, "codex")
    codex.prompt("m2", "Test the basket")
    codex.step("test_basket.py", {"test_basket.py": TEST})
    codex.begin("pytest")


def draw(editor: Neovim) -> None:
    """Opens the window with the steps, and a file of one of them."""
    editor.lua("vim.o.termguicolors = true require('snapd').setup({ width = 44 })")
    editor.command("Snapd")
    editor.shows("prices times counts", "Test the basket")
    editor.lua("vim.fn.search('prices times counts', 'w')")
    editor.press("j<CR>")
    editor.shows("before · basket.py")
    editor.lua("vim.cmd('redraw!')")
    editor.shows("after · basket.py", "round(sum")
    console = recording(SIZE[0])
    for row in range(SIZE[1] - 1):
        console.print(line(editor.screen.buffer[row], SIZE[0]), end="\n", no_wrap=True, soft_wrap=False)
    save(console, "neovim.svg")


def line(cells: pyte.screens.StaticDefaultDict[int, pyte.screens.Char], columns: int) -> Text:
    """A line of the screen, with its colours."""
    text = Text()
    for style, group in groupby(range(columns), key=lambda column: style_of(cells[column])):
        text.append("".join(cells[column].data for column in group), style)
    return text


def style_of(cell: pyte.screens.Char) -> Style:
    """How a character looks."""
    front, back = color(cell.fg, FOREGROUND), color(cell.bg, BACKGROUND)
    if cell.reverse:
        front, back = back, front
    return Style(color=front, bgcolor=back, bold=cell.bold, italic=cell.italics, underline=cell.underscore)


def color(name: str, default: str) -> str:
    """A colour as rich has it; with `termguicolors`, Neovim gives each by its numbers."""
    if name == "default":
        return default
    return f"#{name}"


if __name__ == "__main__":
    main()
