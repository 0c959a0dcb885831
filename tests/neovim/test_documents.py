"""Files as they were: any kind of file, by name too, and never more than text."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from tests.cli.steps import put
from tests.neovim.test_operations import LINES, changed
from tests.neovim.test_steps import go_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim

PANES = """
    return vim.iter(vim.api.nvim_tabpage_list_wins(0)):filter(function(window)
      return vim.wo[window].diff
    end):map(function(window)
      return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true)
    end):totable()
"""


def panes(editor: Neovim, row: str) -> list[list[str]]:
    """What both panes show for a row of the window with the steps."""
    go_to(editor, row)
    editor.press("<CR>")
    found: list[list[str]] = editor.lua_until(f"local found = (function() {PANES} end)() return #found == 2 and found")
    editor.lua("require('snapd.diff').close()")
    editor.command("1wincmd w")
    return found


def test_each_kind_of_change(neovim: Callable[..., Neovim], agent: Agent) -> None:
    many = b"".join(b"line %d\n" % line for line in range(50))
    agent.write({"gone.txt": b"gone\n", "old.txt": many, "data.bin": b"\0\1", "dos.txt": b"a\r\nb\r\n"})
    agent.step(
        "all",
        {
            "gone.txt": None,
            "new.txt": b"new\n",
            "old.txt": None,
            "moved.txt": many + b"more\n",
            "data.bin": b"\0\2",
            "dos.txt": b"a\r\nB\r\n",
            "latin.txt": "grün\n".encode("latin-1"),
            "bom.txt": b"\xef\xbb\xbfbom\n",
        },
    )
    agent.client.review_keep(all=True)
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Edit all", "R old.txt → moved.txt +1")
    lines = many.decode().splitlines()
    assert panes(editor, "D gone.txt") == [["gone"], [""]]
    assert panes(editor, "A new.txt") == [[""], ["new"]]
    assert panes(editor, "old.txt → moved.txt") == [lines, [*lines, "more"]]
    assert panes(editor, "M data.bin") == [["A binary file of 2 bytes."], ["A binary file of 2 bytes."]]
    assert panes(editor, "M dos.txt") == [["a", "b"], ["a", "B"]]
    assert panes(editor, "A latin.txt") == [[""], ["grün"]]
    assert panes(editor, "A bom.txt") == [[""], ["bom"]]


def test_what_a_step_alone_changed(neovim: Callable[..., Neovim], agent: Agent) -> None:
    """Beside another one in the same file: the snapshots around it hold what both did."""
    one = agent.begin("one")
    agent.client.session_start("codex", agent="codex")
    other = agent.client.step_begin("codex", tool="Edit", description="other")["stepId"]
    agent.write({"a.txt": changed(l3=b"three"), "b.txt": b"b\n"})
    agent.client.step_end(other, ["b.txt"])
    agent.client.step_end(one, ["a.txt"])
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Edit one", "Edit other")
    go_to(editor, "Edit one")
    assert panes(editor, "M a.txt") == [LINES.decode().splitlines(), changed(l3=b"three").decode().splitlines()]


def test_a_step_that_goes_on_beside_the_file_as_it_is(neovim: Callable[..., Neovim], agent: Agent) -> None:
    agent.begin("still at it")
    agent.write({"a.txt": changed(l3=b"three")})
    agent.client.track()
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Edit still at it goes on", "Pending 1 file")
    assert panes(editor, "M a.txt") == [LINES.decode().splitlines(), changed(l3=b"three").decode().splitlines()]


def test_a_document_by_its_name(neovim: Callable[..., Neovim], agent: Agent) -> None:
    hash_ = agent.client.track()["hash"]
    agent.write({"latin.txt": "grün\n".encode("latin-1"), "wide.txt": "grün 😀\n".encode()})
    agent.write({"run.py": b"# vim: set shiftwidth=3:\nprint(1)\n"})
    step = agent.step("change", {"run.py": b"print(2)\n"})
    before = agent.client.session_steps(agent.name)["steps"][0]["from"]
    editor = neovim()

    def opened(side: str, file: str) -> list[Any]:
        editor.command(f"edit snapd://{side}{agent.folder}/{file}")
        found: list[Any] = editor.lua("""
            local lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
            return { lines, vim.bo.filetype, vim.bo.modifiable, vim.bo.shiftwidth }
        """)
        return found

    python = ["# vim: set shiftwidth=3:", "print(1)"]
    assert opened(before, "run.py") == [python, "python", False, 4], "a file of others sets no options"
    assert opened(before, "latin.txt")[0] == ["grün"]
    assert opened(before, "wide.txt")[0] == ["grün 😀"]
    assert opened(f"{step}.after", "run.py")[0] == ["print(2)"]
    assert opened("baseline", "run.py")[0] == python
    assert opened(hash_, "run.py")[0] == [""], "it was not there"
    assert editor.messages == []
    opened("0" * 40, "run.py")
    editor.tells("could not show the file. ")
    editor.command("edit snapd://nothing-more")
    editor.tells("this is not the name of a document. See :help snapd-documents.")


def test_names_with_blanks_and_percent_signs(neovim: Callable[..., Neovim], agent: Agent) -> None:
    name = "50% off [x] $HOME 'é'.txt"
    agent.write({name: b"before\n"})
    agent.step("change %s", {name: b"after\n"})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Edit change %s", f"M {name}")
    go_to(editor, "Edit change")
    assert panes(editor, f"M {name}") == [["before"], ["after"]]
    go_to(editor, f"M {name}")
    editor.press("o")
    editor.lua_until("return vim.fn.expand('%:t') == ...", name)
    assert editor.lines() == ["after"]


def test_a_name_that_is_no_utf_8(neovim: Callable[..., Neovim], agent: Agent) -> None:
    put(agent.folder, {b"\xff.txt".decode("utf-8", "surrogateescape"): b"before\n"})
    agent.step("change", {b"\xff.txt".decode("utf-8", "surrogateescape"): b"after\n"})
    editor = neovim()
    editor.command("Snapd")
    editor.shows("Edit change +1 -1")
    go_to(editor, "Edit change")
    assert panes(editor, ".txt +1 -1") == [["before"], ["after"]]


def test_a_folder_below_the_root_of_git(neovim: Callable[..., Neovim], agent: Agent) -> None:
    subprocess.run(["mkdir", "-p", f"{agent.folder}/deep/er"], check=True)
    agent.step("change", {"deep/er/b.txt": b"b\n"})
    editor = neovim(cwd=f"{agent.folder}/deep/er")
    editor.command("Snapd")
    editor.shows("Edit change", "A deep/er/b.txt")
