"""Buffers follow the disk: cursor, marks and undo stay, and unsaved text is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.steps import put, read
from tests.neovim.test_operations import LINES, changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.running import Home
    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim


def attached(editor: Neovim) -> None:
    """Waits until the daemon hears of the current buffer."""
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd', bufnr = 0 }) == 1")


def text(editor: Neovim) -> bytes:
    return "".join(f"{line}\n" for line in editor.lines()).encode()


def test_a_buffer_follows_an_undo_with_cursor_and_undo_history(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": b"new\nlines\n" + changed(l18=b"eighteen")})
    editor = neovim("a.txt")
    attached(editor)
    editor.type("/^10$\r3GOtyped\x1b:w\r")
    editor.until(lambda: b"typed" in (read(agent.folder, "a.txt") or b""), lambda: editor.text)
    editor.command("/^10$")
    editor.lua("vim.api.nvim_buf_set_mark(0, 'x', vim.fn.search('^15$', 'nw'), 0, {})")
    agent.client.session_undo("claude")
    editor.until(lambda: text(editor) == b"typed\n" + LINES, lambda: editor.text)
    assert editor.lua("return { vim.fn.getline('.'), vim.fn.getline(\"'x\"), vim.bo.modified }") == ["10", "15", False]
    editor.press("u")
    assert text(editor) == b"new\nlines\ntyped\n" + changed(l18=b"eighteen")
    editor.press("u")
    assert text(editor) == b"new\nlines\n" + changed(l18=b"eighteen"), "what was typed before can be undone, too"
    editor.press("<C-r><C-r>")
    editor.command("write")
    assert read(agent.folder, "a.txt") == b"typed\n" + LINES, "Neovim does not ask about the file"


def test_a_buffer_follows_what_an_agent_writes(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim("a.txt")
    attached(editor)
    editor.command("12")
    agent.step("change", {"a.txt": b"first\n" + LINES})
    editor.until(lambda: text(editor) == b"first\n" + LINES, lambda: editor.text)
    assert editor.lua("return vim.fn.getline('.')") == "12"


def test_unsaved_text_stays_whatever_happens_on_disk(
    neovim: Callable[..., Neovim], agent: Agent, home: Home, project: str
) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three")})
    editor = neovim("a.txt")
    attached(editor)
    editor.type("ggOtyped\x1b")
    editor.until(lambda: editor.lines()[0] == "typed", lambda: editor.text)
    editor.lua_until("return vim.bo.modified")
    # another client may insist
    agent.client.session_undo("claude", on_conflict="overwrite")
    editor.tells("a.txt changed on disk and has unsaved text here, which stays.")
    assert text(editor) == b"typed\n" + changed(l3=b"three")
    assert editor.lua("return vim.bo.modified")


def test_the_daemon_knows_of_unsaved_text_at_once(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three")})
    editor = neovim("a.txt")
    attached(editor)
    editor.type("Gotyped\x1b")

    def reasons() -> list[str | None]:
        return [file.get("reason") for file in agent.client.session_undo("claude", dry_run=True)["files"]]

    editor.until(lambda: reasons() == ["unsavedInEditor"], lambda: str(reasons()))
    editor.type("u")
    editor.until(lambda: reasons() == [None], lambda: str(reasons()))


def test_what_is_typed_and_saved_at_once_is_the_users(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim("a.txt")
    attached(editor)
    step = agent.begin("agent's")
    agent.write({"a.txt": changed(l3=b"three")})
    editor.until(lambda: text(editor) == changed(l3=b"three"), lambda: editor.text)
    # by itself, Neovim tells of a text a while after it said that it saved it
    sent = editor.lua("""
        local rpc = vim.lsp.get_clients({ name = "snapd" })[1].rpc
        local notify, sent = rpc.notify, {}
        rpc.notify = function(method, params)
          table.insert(sent, { method, params.contentChanges and params.contentChanges[1].text or nil })
          return notify(method, params)
        end
        vim.api.nvim_buf_set_lines(0, 17, 18, true, { 'typed' })
        vim.cmd.write()
        return sent
    """)
    assert sent == [
        ["textDocument/didChange", changed(l3=b"three", l18=b"typed").decode()],
        ["textDocument/didSave"],
    ]
    # the daemon has heard of it once it answers what comes after them
    editor.lua("""
        require("snapd.task").start("ask", function()
          require("snapd.daemon.folders").current():ask("snapshot/list", { limit = 1 })
          answered = true
        end)
    """)
    editor.lua_until("return answered")
    agent.client.step_end(step)
    agent.client.session_undo("claude", step_id=step)
    assert read(agent.folder, "a.txt") == changed(l18=b"typed")
    editor.until(lambda: text(editor) == changed(l18=b"typed"), lambda: editor.text)


def test_a_deleted_file_leaves_its_buffer(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("create", {"new.txt": b"new\n"})
    editor = neovim("new.txt")
    attached(editor)
    agent.client.session_undo("claude")
    editor.tells("new.txt is no longer on disk. The buffer keeps its text; :w writes it again.")
    assert text(editor) == b"new\n"
    agent.client.session_redo("claude")
    put(agent.folder, {"new.txt": b"newer\n"})
    editor.until(lambda: text(editor) == b"newer\n", lambda: editor.text)


def test_noautoread_is_respected(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("change", {"a.txt": changed(l3=b"three")})
    editor = neovim("--cmd", "set noautoread", "a.txt")
    attached(editor)
    agent.client.session_undo("claude")
    editor.tells("a.txt changed on disk. :e shows it as it is now.")
    assert text(editor) == changed(l3=b"three")


def test_other_encodings_and_line_ends(neovim: Callable[..., Neovim], agent: Agent) -> None:
    latin, dos = "grün\nrot\n".encode("latin-1"), b"one\r\ntwo\r\n"
    agent.write({"latin.txt": latin, "dos.txt": dos, "open.txt": b"no end"})
    editor = neovim("latin.txt", "dos.txt", "open.txt")
    attached(editor)
    editor.command("argdo edit")
    agent.step("change", {"latin.txt": latin + "weiß\n".encode("latin-1"), "dos.txt": dos + b"three\r\n"})
    agent.step("more", {"open.txt": b"no end\nstill none"})

    def seen(name: str) -> list[str]:
        return editor.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)", name)

    editor.until(lambda: seen("latin.txt") == ["grün", "rot", "weiß"], lambda: str(seen("latin.txt")))
    editor.until(lambda: seen("dos.txt") == ["one", "two", "three"], lambda: str(seen("dos.txt")))
    editor.until(lambda: seen("open.txt") == ["no end", "still none"], lambda: str(seen("open.txt")))
    before = {name: read(agent.folder, name) for name in ("latin.txt", "dos.txt", "open.txt")}
    editor.command("set nofixendofline | argdo setlocal nofixendofline | write")
    assert {name: read(agent.folder, name) for name in before} == before
