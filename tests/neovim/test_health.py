"""`:checkhealth snapd`, and what users see where snapd is not there or not well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.neovim.agent import Agent
    from tests.neovim.editor import Neovim


def health(editor: Neovim) -> str:
    editor.command("checkhealth snapd")
    editor.lua_until("return vim.bo.filetype == 'checkhealth' and vim.fn.search('Folder\\\\|ERROR', 'nw') > 0")
    return "\n".join(editor.lines())


def test_all_is_well(neovim: Callable[..., Neovim], agent: Agent) -> None:
    report = health(neovim("a.txt"))
    assert "ERROR" not in report
    assert "WARNING" not in report
    for words in (
        "OK Neovim 0.",
        "snapd: snapd 0.",
        "supports everything that the plugin needs",
        f"The history is that of {agent.folder}",
        "1 files are captured",
        "Changes are noticed by inotify",
    ):
        assert words in report, report


def test_no_program(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim("a.txt", config="vim.g.snapd = { cmd = { 'no-such-snapd', 'connect' } }")
    editor.tells("There is no program no-such-snapd. Install snapd, put its folder on the PATH, or set the option cmd")
    assert "ERROR There is no program no-such-snapd." in health(editor)
    assert len(editor.messages) == 1
    editor.command("SnapdUndo")
    editor.tells("could not undo the last step. There is no program no-such-snapd.")


def test_a_program_that_ends_at_once(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim(config="vim.g.snapd = { cmd = { 'false' } }")
    assert "ERROR false --version ended with code 1" in health(editor)
    editor.command("SnapdUndo")
    editor.tells("could not undo the last step. false ended with code 1. See :checkhealth snapd and :LspLog.")


def test_a_program_that_always_ends_is_not_started_for_ever(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim(config="vim.g.snapd = { cmd = { 'false' } }")
    editor.command("Snapd")
    editor.shows("not connected")
    count = len(editor.messages)
    assert count <= 5, editor.messages
    editor.command("SnapdUndo")
    editor.tells("could not undo the last step. false ended with code 1.")
    editor.shows("not connected")


def test_a_folder_that_is_refused(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim(cwd="/")
    editor.command("SnapdUndo")
    told = editor.tells("could not undo the last step.")
    assert told.count(".") >= 2, "the message and its hint"


def test_options_that_are_none(neovim: Callable[..., Neovim]) -> None:
    editor = neovim()

    def refused(options: str) -> str:
        found: str = editor.lua(f"return select(2, pcall(require('snapd').setup, {options}))")
        return found

    assert refused("{ wdith = 3 }") == "snapd: there is no option wdith. See :help snapd-options."
    assert refused("{ width = 'x' }") == "snapd: the option width must be a number. See :help snapd-options."
    assert refused("{ keys = { next = ']s' } }") == "snapd: there is no option keys.next. See :help snapd-options."
    assert editor.lua("return require('snapd').setup({ keys = { blame = false } })") is None
