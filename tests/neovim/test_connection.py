"""The connection: found again when it is lost, with everything that was open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.neovim.agent import Agent
from tests.neovim.test_operations import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from snapd_client import Client

    from tests.cli.running import Home
    from tests.neovim.editor import Neovim


def test_a_daemon_that_ends_is_found_again(
    neovim: Callable[..., Neovim], home: Home, project: str, client: Client
) -> None:
    agent = Agent(client, project)
    agent.step("before", {"a.txt": changed(l3=b"three")})
    editor = neovim("a.txt")
    editor.command("Snapd")
    editor.shows("● Claude Code Edit before")
    editor.command("wincmd p")
    editor.type("Gotyped\x1b")
    editor.until(lambda: editor.lines()[-1] == "typed", lambda: editor.text)
    assert home.run(project, "stop").code == 0
    home.ok(project, "log")
    with type(client).connect(home.at("run/daemon.sock"), timeout=60) as other:
        other.initialize([project])
        again = Agent(other, project)

        def reasons() -> list[str | None]:
            return [file.get("reason") for file in other.session_undo("claude", dry_run=True)["files"]]

        editor.until(lambda: reasons() == ["unsavedInEditor"], lambda: str(reasons()))
        again.step("after", {"b.txt": b"b\n"})
        editor.shows("● Claude Code Edit after")


def test_an_answer_that_never_comes_is_told(neovim: Callable[..., Neovim], agent: Agent) -> None:
    editor = neovim("a.txt")
    editor.lua_until("return #vim.lsp.get_clients({ name = 'snapd', bufnr = 0 }) == 1")
    editor.lua("""
        local client = vim.lsp.get_clients({ name = 'snapd' })[1]
        client.rpc.request = function() return true, 1 end
    """)
    editor.command("SnapdRedo")
    editor.lua("vim.lsp.get_clients({ name = 'snapd' })[1]:stop(true)")
    editor.tells("could not redo what was undone last. The connection to snapd was lost. Reconnecting; check whether")
