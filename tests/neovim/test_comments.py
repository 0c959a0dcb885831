"""Comments below their lines: made, answered and resolved here and elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.cli.steps import put
from tests.neovim.test_operations import LINES, changed, quickfix

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim

THREE = changed(l3=b"three", l4=b"four")


def below(editor: Neovim) -> dict[int, list[str]]:
    """What stands below which line of the current buffer."""
    found = editor.lua("""
        local namespace = vim.api.nvim_get_namespaces()["snapd.comments"]
        local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
        return vim.iter(marks):filter(function(mark) return mark[4].virt_lines end):map(function(mark)
          return { mark[2] + 1, vim.iter(mark[4].virt_lines):map(function(line)
            return table.concat(vim.iter(line):map(function(part) return part[1] end):totable())
          end):totable() }
        end):totable()
    """)
    return {int(line): [text.strip(" ┌│") for text in lines] for line, lines in found}


def shows_below(editor: Neovim, wanted: dict[int, list[str]]) -> None:
    editor.until(lambda: below(editor) == wanted, lambda: str(below(editor)))


def comments(agent: Agent, state: str = "open") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = agent.client.request("review/comments", {"state": state})["comments"]
    return found


def test_the_commands_have_another_spelling(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": THREE})
    editor = neovim("a.txt")
    editor.command("3,4Snapd comment use the  helper")
    editor.tells("Claude Code hears of it with its next prompt or call.")
    (made,) = comments(agent)
    assert (made["start"], made["count"], made["text"]) == (3, 2, "use the  helper")
    assert "comments" in editor.lua("return vim.fn.getcompletion('Snapd com', 'cmdline')")
    shows_below(editor, {4: ["comment for Claude Code, not told yet", "you: use the  helper"]})
    editor.command("3")
    editor.command("Snapd resolve")
    editor.until(lambda: comments(agent) == [], lambda: str(comments(agent)))
    editor.command("Snapd nothing")
    editor.tells("there is no command :Snapdnothing.")


def test_a_comment_and_its_replies(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": THREE})
    editor = neovim("a.txt")
    editor.command("3,4SnapdComment use the helper")
    editor.tells("Claude Code hears of it with its next prompt or call.")
    (made,) = comments(agent)
    assert (made["start"], made["count"], made["lines"]) == (3, 2, "three\nfour\n")
    shows_below(editor, {4: ["comment for Claude Code, not told yet", "you: use the helper"]})
    editor.shows("┌ comment for Claude Code, not told yet", "│ you: use the helper")
    news = agent.client.request("session/news", {"sessionId": "claude"})
    agent.client.request("session/told", {"sessionId": "claude", "newsId": news["newsId"]})
    reply = {"replyTo": made["commentId"], "text": "done\n\x1b[31m" + "word " * 30, "by": "claude"}
    agent.client.request("review/comment", reply)
    texts = ["comment for Claude Code, told", "you: use the helper", "Claude Code: done"]
    long = "[31m" + "word " * 30
    editor.until(lambda: below(editor).get(4, [])[:3] == texts, lambda: str(below(editor)))
    wrapped = below(editor)[4][3:]
    assert len(wrapped) == 2
    assert " ".join(wrapped) == long.strip()
    editor.command("3")
    editor.command("SnapdReply thanks")
    editor.until(lambda: below(editor)[4][-1:] == ["you: thanks"], lambda: str(below(editor)))
    editor.command("SnapdShowComment")
    editor.shows("comment for Claude Code, told", "you: thanks")
    editor.press("q")
    editor.command("SnapdResolve")
    editor.tells("resolved. :SnapdResolve! opens it again.")
    shows_below(editor, {})
    assert [each["state"] for each in comments(agent, "all")] == ["resolved"]
    editor.command("SnapdResolve!")
    editor.until(lambda: list(below(editor)) == [4], lambda: str(below(editor)))
    editor.command("SnapdResolve")
    shows_below(editor, {})
    editor.lua("messages = {}")
    editor.command("SnapdReply again")
    editor.tells("There is no comment under the cursor.")


def test_it_follows_its_lines(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": THREE})
    agent.client.request("review/comment", {"file": "a.txt", "start": 3, "text": "no"})
    editor = neovim("a.txt")
    texts = ["comment for Claude Code, not told yet", "you: no"]
    shows_below(editor, {3: texts})
    editor.type("ggOtyped\x1b")
    shows_below(editor, {4: texts})
    editor.command("5SnapdComment on unsaved text")
    editor.tells("The buffer has unsaved text. Save it first")
    editor.command("write")
    agent.step("above", {"a.txt": b"first\ntyped\n" + THREE})
    shows_below(editor, {5: texts})
    agent.step("away", {"a.txt": LINES})
    shows_below(editor, {5: ["comment for Claude Code, not told yet, outdated", "| three", "you: no"]})


def test_by_key_and_for_nobody(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": THREE})
    editor = neovim("a.txt")
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd' }) == 1")
    editor.type("8GVj\\sc")
    editor.shows("Comment on lines 8 to 9:")
    editor.type("mine\r")
    editor.tells("no agent wrote these lines, so none hears of it.")
    shows_below(editor, {9: ["comment for no agent", "you: mine"]})
    editor.type("3G\\sc")
    editor.shows("Comment on line 3:")
    editor.type("\x1b")
    editor.lua_until("return vim.api.nvim_get_mode().mode == 'n'")
    assert len(comments(agent)) == 1


def test_all_comments_in_the_quickfix_list(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": THREE, "b.txt": b"b\n"})
    editor = neovim("a.txt")
    editor.command("SnapdComments")
    editor.tells("no comment is open.")
    for file, start, text in (("a.txt", 3, "one"), ("b.txt", 1, "two\nlines")):
        agent.client.request("review/comment", {"file": file, "start": start, "text": text})
    agent.client.request("review/resolve", {"commentId": comments(agent)[0]["commentId"]})
    editor.command("SnapdComments")
    editor.until(lambda: len(quickfix(editor)) == 1, lambda: editor.text)
    editor.shows("b.txt|1| comment for Claude Code, not told yet: two lines")
    editor.command("SnapdComments!")
    editor.until(lambda: len(quickfix(editor)) == 2, lambda: editor.text)
    editor.shows("a.txt|3| comment for Claude Code, not told yet, resolved: one")


def test_lines_that_are_others_on_disk_are_refused(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.step("count", {"a.txt": THREE})
    editor = neovim("a.txt")
    editor.lua("vim.o.autoread = false vim.bo.autoread = false")
    put(agent.folder, {"a.txt": b"first\n" + THREE})
    editor.command("3SnapdComment no")
    editor.tells("The file has changed on disk. Read it again with :checktime first.")
    assert comments(agent) == []
