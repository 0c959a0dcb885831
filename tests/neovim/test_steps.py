"""The window with the steps, and what a step changed in two panes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim


def go_to(editor: Neovim, words: str) -> None:
    """Moves the cursor to the line with these words."""
    editor.lua_until("return vim.fn.search(..., 'cw') > 0", f"\\V{words}")


def test_steps_are_shown_as_they_happen(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.prompt("m1", "Round the totals\nplease")
    agent.step("round", {"b.txt": b"1\n2\n"})
    editor = neovim()
    editor.type(":Snapd\r")
    editor.shows("Round the totals please", "● Edit round +2", "A b.txt +2")
    step = agent.begin("another")
    editor.shows("◎ Edit another goes on")
    agent.write({"b.txt": b"1\n3\n"})
    agent.client.step_end(step)
    editor.shows("● Edit another +1 -1")
    agent.client.session_undo()
    editor.shows("○ Edit another")


def test_a_file_of_a_step_in_two_panes(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.write({"b.txt": b"before\n"})
    agent.step("change", {"b.txt": b"after\n"})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("M b.txt")
    go_to(editor, "Edit change")
    editor.press("j<CR>")
    screen = editor.shows("before · b.txt · change", "after · b.txt · change")
    assert any("before" in line and "after" in line for line in screen.splitlines()[1:]), screen
    shown = editor.lua("""
        return vim.tbl_map(function(window)
          local buf = vim.api.nvim_win_get_buf(window)
          return { vim.wo[window].diff, vim.api.nvim_buf_get_lines(buf, 0, -1, true), vim.bo[buf].modifiable }
        end, vim.api.nvim_tabpage_list_wins(0))
    """)
    assert shown[1:] == [[True, ["before"], False], [True, ["after"], False]]
    editor.press("q")
    assert editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2
