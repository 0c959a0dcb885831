"""Pending hunks: signs, moving, keeping, undoing, lists; and what happens to them while somebody types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cli.steps import read
from tests.neovim.test_operations import LINES, changed, quickfix

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim


def signs(editor: Neovim) -> dict[int, str]:
    """The signs of the current buffer: what stands at which line."""
    found = editor.lua("""
        local namespace = vim.api.nvim_get_namespaces()["snapd.signs"]
        return vim.tbl_map(function(mark)
          return { mark[2] + 1, vim.trim(mark[4].sign_text) .. mark[4].sign_hl_group:gsub("Snapd", " ") }
        end, vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true }))
    """)
    return {int(line): text for line, text in found}


def shows_signs(editor: Neovim, wanted: dict[int, str]) -> None:
    editor.until(lambda: signs(editor) == wanted, lambda: str(signs(editor)))


def pending(agent: Agent) -> list[tuple[str, int]]:
    return [(file["file"], file["hunks"]) for file in agent.client.review_list()["files"]]


TWO = changed(l3=b"three", l17=b"seventeen\nmore")


def test_signs_say_what_is_pending(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim("a.txt")
    agent.step("change", {"a.txt": TWO.replace(b"8\n", b"", 1)})
    shows_signs(editor, {3: "┃ Changed", 7: "▁ Deleted", 16: "┃ Changed", 17: "┃ Changed"})
    screen = editor.shows("┃ three")
    assert "┃ seventeen" in screen
    agent.client.session_undo("claude")
    shows_signs(editor, {})


def test_moving_from_hunk_to_hunk(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO})
    editor = neovim("a.txt")
    shows_signs(editor, {3: "┃ Changed", 17: "┃ Changed", 18: "┃ Changed"})

    def after(keys: str) -> int:
        editor.press(keys)
        line: int = editor.lua("return vim.fn.line('.')")
        return line

    assert [after(keys) for keys in ("]s", "]s", "]s", "[s", "[s", "2]s")] == [3, 17, 3, 17, 3, 3]
    editor.command("set nowrapscan")
    assert after("[s") == 3
    editor.tells("there is no other pending hunk in this direction.")
    # what Neovim itself has these keys for
    editor.lua("vim.wo.spell = true vim.fn.append('$', 'mispeled') vim.bo.modified = false")
    assert after("gg]s") == 21 + 1


def test_keeping_a_hunk(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO})
    editor = neovim("a.txt")
    shows_signs(editor, {3: "┃ Changed", 17: "┃ Changed", 18: "┃ Changed"})
    editor.type("]s\\sk")
    editor.tells("kept. 1 hunk left in this file.")
    shows_signs(editor, {17: "┃ Changed", 18: "┃ Changed"})
    assert pending(agent) == [("a.txt", 1)]
    assert read(agent.folder, "a.txt") == TWO
    editor.command("SnapdKeepFile")
    editor.tells("kept a.txt.")
    shows_signs(editor, {})
    assert pending(agent) == []


def test_undoing_a_hunk(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO})
    editor = neovim("a.txt")
    shows_signs(editor, {3: "┃ Changed", 17: "┃ Changed", 18: "┃ Changed"})
    editor.type("G\\su")
    editor.tells("There is no pending hunk under the cursor. ]s goes to the next one.")
    editor.type("gg2]s\\su")
    editor.tells("undid the hunk: 1 file")
    assert read(agent.folder, "a.txt") == changed(l3=b"three")
    editor.until(lambda: editor.lines() == changed(l3=b"three").decode().splitlines(), lambda: editor.text)
    shows_signs(editor, {3: "┃ Changed"})
    editor.command("SnapdUndoFile")
    editor.shows("Undo what is pending in a.txt?", "restore   a.txt")
    editor.type("y")
    editor.tells("undid what was pending in a.txt: 1 file restored.")
    assert read(agent.folder, "a.txt") == LINES


def test_hunks_stay_on_their_lines_while_somebody_types(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO})
    editor = neovim("a.txt")
    shows_signs(editor, {3: "┃ Changed", 17: "┃ Changed", 18: "┃ Changed"})
    editor.type("ggOone\rtwo\x1b")
    shows_signs(editor, {5: "┃ Changed", 19: "┃ Changed", 20: "┃ Changed"})
    editor.press("]s")
    assert editor.lua("return vim.fn.line('.')") == 5
    for command in ("SnapdKeepHunk", "SnapdUndoHunk", "SnapdKeepFile"):
        editor.lua("messages = {}")
        editor.command(command)
        editor.tells("The buffer has unsaved text. Save it first")
    assert pending(agent) == [("a.txt", 2)]
    editor.command("write")
    editor.command("SnapdKeepHunk")
    editor.tells("kept. 1 hunk left")
    assert pending(agent) == [("a.txt", 1)]


def test_a_hunk_that_is_no_longer_so_is_refused(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO})
    editor = neovim("a.txt")
    shows_signs(editor, {3: "┃ Changed", 17: "┃ Changed", 18: "┃ Changed"})
    # what is shown stays, as if the news had not come yet: files are not read again, and no answer is under way
    editor.lua("""
      connection = require('snapd.daemon.folders').current()
      local ask = connection.ask
      function connection:ask(method, ...)
        return method == 'review/file' and coroutine.yield(function() end) or ask(self, method, ...)
      end
    """)
    editor.lua_until("return next(connection.pending) == nil")
    editor.lua("require('snapd.buffers.reload').reload = function() return 'same' end")
    agent.step("again", {"a.txt": changed(l3=b"THREE", l17=b"seventeen")})
    editor.command("3")
    editor.command("SnapdKeepHunk")
    told = editor.tells("could not keep the hunk. ")
    assert "a.txt" in told
    assert len(pending(agent)) == 1


def test_who_made_a_hunk(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count to three", {"a.txt": TWO})
    editor = neovim("a.txt")
    shows_signs(editor, {3: "┃ Changed", 17: "┃ Changed", 18: "┃ Changed"})
    editor.type("]s\\sp")
    editor.shows("Claude Code: count to three, just now", "-3", "+three")


def test_all_pending_hunks_in_the_quickfix_list(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO, "b.txt": b"b\n"})
    agent.step("remove", {"gone.txt": b"x\n"})
    editor = neovim()
    editor.command("SnapdPending")
    editor.until(lambda: quickfix(editor), lambda: editor.text)
    assert quickfix(editor) == [
        ("a.txt", 3, "-3"),
        ("a.txt", 17, "-17"),
        ("b.txt", 1, "+b"),
        ("gone.txt", 1, "+x"),
    ]


def test_a_file_and_its_baseline(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO})
    editor = neovim("a.txt")
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd' }) == 1")
    editor.command("SnapdDiff")
    editor.shows("before · a.txt · pending", "after · a.txt · pending")
    shown: list[Any] = editor.lua("""
        return vim.tbl_map(function(window)
          local buf = vim.api.nvim_win_get_buf(window)
          return { vim.wo[window].diff, vim.api.nvim_buf_get_lines(buf, 0, -1, true), vim.bo[buf].modifiable }
        end, vim.api.nvim_tabpage_list_wins(0))
    """)
    assert shown == [
        [True, LINES.decode().splitlines(), False],
        [True, TWO.decode().splitlines(), True],
    ]


def test_keeping_from_the_window_with_the_steps(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": TWO, "b.txt": b"b\n", "c.txt": b"c\n"})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Pending 3 files")
    editor.lua("vim.fn.search('A b.txt', 'w')")
    editor.press("y")
    editor.tells("kept b.txt.")
    editor.shows("Pending 2 files")
    assert [name for name, _ in pending(agent)] == ["a.txt", "c.txt"]
    editor.lua("vim.fn.search('Pending', 'w')")
    editor.press("y")
    editor.shows("Keep all that is pending in 2 files?")
    editor.type("y")
    editor.tells("kept all that is pending in 2 files.")
    editor.until(lambda: "Pending" not in editor.text, lambda: editor.text)
    assert pending(agent) == []


def test_keys_that_somebody_has_mapped_stay(neovim: Callable[..., Neovim], agent: Agent) -> None:
    config = "vim.keymap.set('n', ']s', '2j') vim.g.snapd = { keys = { previous_hunk = false, blame = 'gb' } }"
    editor = neovim("a.txt", config=config)
    editor.lua_until("return vim.fn.maparg('gb', 'n') ~= ''")
    assert editor.lua("return { vim.fn.maparg(']s', 'n'), vim.fn.maparg('[s', 'n') }") == ["2j", ""]
