"""Who wrote the line under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.steps import put
from tests.neovim.test_operations import changed
from tests.notes.noting import KEY, note
from tests.support.git import run_git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim


def behind(editor: Neovim) -> dict[int, str]:
    """The virtual text: what stands behind which line."""
    found = editor.lua("""
        local namespace = vim.api.nvim_get_namespaces()["snapd.blame"]
        return vim.tbl_map(function(mark)
          return { mark[2] + 1, vim.trim(mark[4].virt_text[1][1]) }
        end, vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }))
    """)
    return {int(line): text for line, text in found}


def shows_behind(editor: Neovim, wanted: dict[int, str]) -> None:
    editor.until(lambda: behind(editor) == wanted, lambda: str(behind(editor)))


def test_who_wrote_the_line(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": changed(l3=b"three")})
    put(agent.folder, {"a.txt": changed(l3=b"three", l7=b"mine")})
    agent.client.track()
    editor = neovim("a.txt")
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd' }) == 1")
    editor.type("3G")
    editor.until(lambda: editor.lua("return vim.fn.line('.')") == 3, lambda: editor.text)
    assert behind(editor) == {}, "it is off at first"
    editor.type("\\sb")
    shows_behind(editor, {3: "Claude Code, just now · count"})
    editor.shows("three   Claude Code, just now · count")
    editor.type("7G")
    shows_behind(editor, {7: "you"})
    editor.type("8G")
    shows_behind(editor, {8: "there before any agent"})
    editor.type("ggOtyped\x1b")
    shows_behind(editor, {})
    editor.type(":w\r")
    shows_behind(editor, {1: "you"})
    agent.step("again", {"a.txt": b"claude's\n" + changed(l3=b"three")})
    shows_behind(editor, {1: "Claude Code, just now · again"})
    editor.type(":SnapdBlame\r")
    shows_behind(editor, {})


def test_a_note_says_who_wrote_a_line_from_before(neovim: Callable[..., Neovim], agent: Agent) -> None:
    run_git(agent.folder, "init", "--quiet")
    run_git(agent.folder, "add", "a.txt")
    run_git(agent.folder, "commit", "--quiet", "--message", "one")
    run_git(agent.folder, "notes", "--ref=ai", "add", "-F", "-", input=note(f"a.txt\n  {KEY} 1\n"))
    commit = run_git(agent.folder, "rev-parse", "HEAD").decode().strip()
    editor = neovim("a.txt")
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd' }) == 1")
    editor.type("\\sb")
    shows_behind(editor, {1: f"Claude Code, just now, git {commit[:8]} · one"})
    editor.type("2G")
    shows_behind(editor, {2: f"Author, just now, git {commit[:8]} · one"})
