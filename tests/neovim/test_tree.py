"""What the window with the steps does besides showing them: folding, details, keys, older entries, other windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.neovim.test_operations import changed
from tests.neovim.test_steps import go_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim


def rows(editor: Neovim) -> list[str]:
    """The rows below the title."""
    return editor.lines()[1:]


def test_folding_and_the_place_of_the_cursor(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.prompt("m1", "First")
    agent.step("one", {"a.txt": changed(l3=b"three")})
    agent.client.review_keep(all=True)
    editor = neovim()
    editor.command("Snapd")
    editor.shows("M a.txt")
    go_to(editor, "Edit one")
    editor.press("<CR>")
    editor.until(lambda: not any("M a.txt" in row for row in rows(editor)), lambda: editor.text)
    agent.prompt("m2", "Second")
    agent.step("two", {"b.txt": b"b\n"})
    editor.shows("● Edit two")
    assert "Edit one" in editor.lua("return vim.fn.getline('.')"), "the cursor stays on its row"
    assert not any("M a.txt" in row for row in rows(editor)), "what is folded stays folded"
    editor.press("<CR>")
    assert any("M a.txt" in row for row in rows(editor))


def test_parts_stand_below_their_step(neovim: Callable[..., Neovim], agent: Agent) -> None:
    whole = agent.begin("delegate")
    agent.step("part", {"b.txt": b"b\n"}, parent_step_id=whole)
    agent.client.step_end(whole)
    agent.client.review_keep(all=True)
    editor = neovim()
    editor.command("Snapd")
    editor.shows("● Claude Code Edit part")
    shown = [row.split(" +")[0].rstrip() for row in rows(editor)]
    assert shown == [
        "▾ ● Claude Code Edit delegate",
        "  ▾ ● Claude Code Edit part",
        "      A b.txt",
        "    A b.txt",
    ]


def test_texts_of_others_are_one_line_each(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.prompt("m\n1", "Line one\nline two\x1b[31m\0end " + "x" * 500)
    agent.step("a\r\nb\tc\x07", {"a.txt": changed(l3=b"three")})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Line one line two [31m end xxx", "a b c")
    go_to(editor, "Line one")
    editor.press("u")
    editor.shows("Undo all for “Line one line two")
    editor.type("q")


def test_details_and_keys(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.prompt("m1", "Say it\nin two lines")
    step = agent.step("say", {"a.txt": changed(l3=b"three")})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Edit say")
    go_to(editor, "Edit say")
    editor.press("K")
    editor.shows("Details", f"step      {step}", "agent     Claude Code", "what      say", "state     applied")
    editor.press("<Esc>")
    go_to(editor, "Say it")
    editor.press("K")
    editor.shows("message   m1", "in two lines")
    editor.press("q")
    editor.press("?")
    editor.shows("undo a step, a turn, a file of a step, or what is pending")
    editor.press("q")
    editor.until(lambda: editor.lua("return vim.bo.filetype") == "snapd", lambda: editor.text)
    editor.press("q")
    assert editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 1


def test_older_entries_come_when_they_are_asked_for(neovim: Callable[..., Neovim], agent: Agent) -> None:
    for number in range(60):
        agent.prompt(f"m{number}", f"prompt {number}")
        agent.step(f"step {number}", {"a.txt": b"%d\n" % number})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("prompt 59", "step 59")
    assert not any("prompt 0 " in row for row in rows(editor))
    editor.press("G")
    assert "older entries" in editor.lua("return vim.fn.getline('.')")
    editor.press("<CR>")
    editor.until(lambda: any("prompt 0 " in row for row in rows(editor)), lambda: editor.text)
    assert not any("older entries" in row for row in rows(editor))


def test_the_window_is_shown_hidden_and_the_last_one(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("one", {"a.txt": changed(l3=b"three")})
    editor = neovim("a.txt")
    for count in (2, 1, 2):
        editor.command("Snapd")
        assert editor.lua("return #vim.api.nvim_tabpage_list_wins(0)") == count
    editor.command("only")
    editor.press("q")
    assert editor.lua("return vim.bo.filetype") == ""
    editor.command("Snapd")
    editor.command("only")
    editor.shows("M a.txt")
    go_to(editor, "M a.txt")
    editor.press("<CR>")
    editor.shows("before · a.txt", "after · a.txt")


def test_nothing_to_show(neovim: Callable[..., Neovim]) -> None:
    editor = neovim()
    editor.command("Snapd")
    editor.shows("No agent has worked here yet.")
    editor.press("u")
    editor.press("y")
    assert [message.split(".")[0] for message in editor.messages] == [
        "snapd: no step is under the cursor",
        "snapd: no pending file is under the cursor",
    ]
